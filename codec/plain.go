package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"liftstream/codec/internal/avro"
	"liftstream/model"
)

// Plain turns messages in the frame of a schema registry, scores and events, into lines of JSON, for people and for
// programs around a stage. It is not safe for concurrent use.
type Plain struct {
	// Schemas has the schemas of messages of Avro; nil = none can be read.
	Schemas Schemas
	// Avro says that each framed message is of Avro. Else one is JSON where an object follows the frame: no score of Avro
	// begins so.
	Avro bool
	// Most bounds the bytes of a line; 0 means DefaultMaxMessage.
	Most int64

	known map[uint32]*avro.Type
}

var errLong = errors.New("as JSON it is too long")

// Line returns a message as one line of JSON, without a line end; nil for a message without a frame, which is Arrow or
// plain JSON. Names are those of the columns, numbers and times as Table.AppendJSON writes them, bytes hexadecimal. The
// line of JSON aliases value. Where the registry does not answer it waits, until done is closed: ErrStopped. Any other
// error is a *MessageError.
func (p *Plain) Line(value []byte, done <-chan struct{}) (line []byte, err error) {
	if len(value) < frameBytes || value[0] != frameMagic {
		return nil, nil
	}
	datum := value[frameBytes:]
	if text := bytes.TrimLeft(datum, " \t\r\n"); len(text) > 0 && text[0] == '{' && !p.Avro {
		return text, nil
	}
	id := binary.BigEndian.Uint32(value[1:])
	t, err := p.schema(id, done)
	if err != nil {
		return nil, err
	}
	w := avroWriter{c: avro.NewCursor(datum), most: p.Most}
	if w.most <= 0 {
		w.most = DefaultMaxMessage
	}
	err = w.value(t, 0)
	if err == nil && w.c.Left() > 0 {
		err = fmt.Errorf("%w: %d", errTrailing, w.c.Left())
	}
	if err != nil {
		return nil, dead(damageOf(err), "schema %d: %w", id, err)
	}
	return w.out, nil
}

func (p *Plain) schema(id uint32, done <-chan struct{}) (*avro.Type, error) {
	if t := p.known[id]; t != nil {
		return t, nil
	}
	if p.Schemas == nil {
		return nil, dead(ReasonUnknownSchema, "schema %d: no registry is configured", id)
	}
	text, err := p.Schemas.Avro(id, done)
	if errors.Is(err, ErrStopped) {
		return nil, err
	}
	if err != nil {
		return nil, dead(ReasonUnknownSchema, "schema %d: %w", id, err)
	}
	t, err := avro.Parse(text)
	if err != nil {
		return nil, dead(ReasonSchema, "schema %d: %w", id, err)
	}
	if len(p.known) >= maxStreams || p.known == nil {
		p.known = map[uint32]*avro.Type{}
	}
	p.known[id] = t
	return t, nil
}

// avroWriter writes a datum as JSON. Its work is bounded by the steps of the cursor and by most.
type avroWriter struct {
	c    *avro.Cursor
	out  []byte
	most int64
}

func (w *avroWriter) value(t *avro.Type, depth int) error {
	if err := w.c.Step(depth); err != nil {
		return err
	}
	if int64(len(w.out)) > w.most {
		return errLong
	}
	switch t.Kind {
	case avro.Null:
		w.out = append(w.out, "null"...)
	case avro.Boolean:
		return appendRead(func(v bool) { w.out = strconv.AppendBool(w.out, v) }, w.c.Boolean)
	case avro.Int, avro.Long:
		return appendRead(func(v int64) { w.whole(v, t) }, w.c.Long)
	case avro.Float:
		return appendRead(func(v float32) { w.number(float64(v), 32) }, w.c.Float)
	case avro.Double:
		return appendRead(func(v float64) { w.number(v, 64) }, w.c.Double)
	case avro.Bytes, avro.String, avro.Fixed:
		return w.bytes(t)
	case avro.Enum:
		return appendRead(func(i int) { w.out = appendQuoted(w.out, t.Symbols[i]) },
			func() (int, error) { return w.c.Index(len(t.Symbols)) })
	case avro.Union:
		i, err := w.c.Index(len(t.Branches))
		if err != nil {
			return err
		}
		return w.value(t.Branches[i], depth+1)
	case avro.Array, avro.Map:
		return w.items(t, depth)
	case avro.Record:
		return w.fields(t, depth)
	}
	return nil
}

func (w *avroWriter) fields(t *avro.Type, depth int) error {
	w.out = append(w.out, '{')
	for i := range t.Fields {
		f := &t.Fields[i]
		w.out = append(appendQuoted(append(w.out, when(i > 0, ",")...), f.Column), ':')
		if err := w.value(f.Type, depth+1); err != nil {
			return fmt.Errorf("field %q: %w", cut(f.Name), err)
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// items writes the blocks of an array or a map.
func (w *avroWriter) items(t *avro.Type, depth int) error {
	ends := "[]"
	if t.Kind == avro.Map {
		ends = "{}"
	}
	w.out = append(w.out, ends[0])
	for first := true; ; {
		n, err := w.c.Block()
		if err != nil {
			return err
		}
		if n == 0 {
			w.out = append(w.out, ends[1])
			return nil
		}
		for ; n > 0; n-- {
			w.out = append(w.out, when(!first, ",")...)
			first = false
			if t.Kind == avro.Map {
				key, err := w.c.Bytes(&avro.Type{Kind: avro.String})
				if err != nil {
					return err
				}
				w.out = append(appendQuoted(w.out, string(key)), ':')
			}
			if err := w.value(t.Items, depth+1); err != nil {
				return err
			}
		}
	}
}

// whole writes an int or a long, or the time that it is.
func (w *avroWriter) whole(v int64, t *avro.Type) {
	var at time.Time
	switch t.Logical {
	case "date":
		at = time.Unix(v*(24*3600), 0)
	case "timestamp-millis", "local-timestamp-millis":
		at = time.UnixMilli(v)
	case "timestamp-micros", "local-timestamp-micros":
		at = time.UnixMicro(v)
	case "timestamp-nanos", "local-timestamp-nanos":
		at = time.Unix(0, v)
	default:
		w.out = strconv.AppendInt(w.out, v, 10)
		return
	}
	w.out = appendQuoted(w.out, at.UTC().Format(time.RFC3339Nano))
}

func (w *avroWriter) number(v float64, size int) {
	if !known(v) {
		w.out = append(w.out, "null"...)
		return
	}
	w.out = model.AppendNumber(w.out, v, size)
}

// bytes writes a text, a decimal, a uuid of 16 bytes, or bytes in hexadecimal.
func (w *avroWriter) bytes(t *avro.Type) error {
	b, err := w.c.Bytes(t)
	switch {
	case err != nil:
		return err
	case t.Kind == avro.String:
		w.out = appendQuoted(w.out, string(b))
	case t.Logical == "decimal" && len(b) <= 64 && t.Scale >= -maxScale && t.Scale <= maxScale:
		v := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		w.out = appendDecimal(w.out, v, t.Scale)
	case t.Logical == "uuid" && len(b) == 16:
		w.out = fmt.Appendf(w.out, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	default:
		w.out = append(hex.AppendEncode(append(w.out, '"'), b), '"')
	}
	return nil
}
