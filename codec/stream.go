package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// streamEncoder writes Arrow IPC streams of one batch each. The bytes of the schema are made once and copied after
// that, unless it has dictionaries, which Arrow's writer would leave out of a second stream.
type streamEncoder struct {
	schema *arrow.Schema
	prefix []byte
	out    []byte
	w      *ipc.Writer
	dicts  bool
}

var endOfStream = []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}

func (e *streamEncoder) encode(dst []byte, rec arrow.Record) (out []byte, err error) {
	defer func() {
		// The writer recovers its own panics, but not the panics of its dictionaries and of this package.
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("encoding batch: %v", p)
		}
		if err != nil {
			e.w = nil
		}
		e.out = nil
	}()
	if e.w == nil || e.dicts || e.schema != rec.Schema() {
		e.schema, e.prefix, e.dicts = rec.Schema(), nil, false
		for _, f := range e.schema.Fields() {
			e.dicts = e.dicts || hasDictionary(f.Type)
		}
		e.w = ipc.NewWriterWithPayloadWriter(e, ipc.WithSchema(e.schema))
	}
	e.out = append(dst, e.prefix...)
	if err := e.w.Write(rebasedRecord(rec)); err != nil {
		return dst, fmt.Errorf("encoding batch: %w", err)
	}
	return append(e.out, endOfStream...), nil
}

// more appends one more batch to the stream at the end of dst, which encode or more has written last.
func (e *streamEncoder) more(dst []byte, rec arrow.Record) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("encoding batch: %v", p)
		}
		if err != nil {
			e.w = nil
		}
		e.out = nil
	}()
	e.out = dst[:len(dst)-len(endOfStream)]
	if err := e.w.Write(rebasedRecord(rec)); err != nil {
		return append(e.out[:len(dst)-len(endOfStream)], endOfStream...), fmt.Errorf("encoding batch: %w", err)
	}
	return append(e.out, endOfStream...), nil
}

// Start implements ipc.PayloadWriter.
func (e *streamEncoder) Start() error { return nil }

// Close implements ipc.PayloadWriter.
func (e *streamEncoder) Close() error { return nil }

// WritePayload implements ipc.PayloadWriter: it frames the payload.
func (e *streamEncoder) WritePayload(p ipc.Payload) error {
	meta := p.Meta()
	if meta == nil {
		return errors.New("a payload without metadata")
	}
	defer meta.Release()
	start := len(e.out)
	size := (meta.Len() + 7) &^ 7
	e.out = append(e.out, 0xFF, 0xFF, 0xFF, 0xFF)
	e.out = binary.LittleEndian.AppendUint32(e.out, uint32(size))
	e.out = append(e.out, meta.Bytes()...)
	for range size - meta.Len() {
		e.out = append(e.out, 0)
	}
	w := appender{e.out}
	if err := p.SerializeBody(&w); err != nil {
		return err
	}
	e.out = w.b
	if e.prefix == nil {
		e.prefix = append([]byte{}, e.out[start:]...)
	}
	return nil
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
