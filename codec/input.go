package codec

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// stream is a schema that was seen, with the reader that goes on reading batches of it. Readers are kept only without
// dictionaries: Arrow's reader loads them once and would decode a later message with the values of the first.
type stream struct {
	schema  *arrow.Schema
	version int
	needs   []need
	top     []int // node of each column
	dicts   bool
	reader  *ipc.Reader
	feed    *feed
	events  *plan
	labels  *plan
}

// feed hands frames to Arrow's reader and never says that the stream is at its end, which the reader would remember.
type feed struct{ queue []frame }

func (f *feed) Message() (*ipc.Message, error) {
	if len(f.queue) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	m := f.queue[0]
	f.queue = f.queue[1:]
	return ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(m.body)), nil
}

func (f *feed) Retain()  {}
func (f *feed) Release() {}

// input reads the record batches of messages.
type input struct {
	guard
	max    int64
	known  map[string]*stream // by the schema's metadata
	frames []frame
	last   []arrow.Record
	mem    capped
}

func (in *input) init(max int64) {
	if max <= 0 {
		max = DefaultMaxMessage
	}
	in.max, in.known = max, map[string]*stream{}
	in.mem = capped{memory.NewGoAllocator(), &in.budget}
}

// guarded runs f and makes a panic an error of the message: the offsets inside a batch are looked at only with the
// values.
func (in *input) guarded(f func() *MessageError) (err *MessageError) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case overBudget:
			in.forget()
			err = dead(ReasonTooLarge, "it would decode to more than %d bytes", inflation*in.max)
		default:
			err = dead(ReasonPanic, "%v", p)
		}
		if err != nil && err.Reason == ReasonPanic {
			in.forget()
		}
	}()
	return f()
}

// forget drops the readers: their state after an error is not known.
func (in *input) forget() {
	clear(in.known)
	in.last = in.last[:0]
}

// inflation is how many times the bound of a message its content may take.
const inflation = 16

// read returns the record batches of a message. They stay valid: nothing of them is reused.
func (in *input) read(m *Message) (*stream, []arrow.Record, *MessageError) {
	in.last = in.last[:0]
	in.budget = budget{left: inflation * in.max}
	if int64(len(m.Value)) > in.max {
		return nil, nil, dead(ReasonTooLarge, "%d bytes, at most %d are taken", len(m.Value), in.max)
	}
	announced, err := checkHeaders(m.Headers, m.Value)
	if err != nil {
		return nil, nil, err
	}
	if in.frames, err = split(m.Value, in.frames); err != nil {
		return nil, nil, err
	}
	rows, batches := int64(0), 0
	for i := range in.frames {
		if in.frames[i].kind != headerRecords {
			continue
		}
		batches++
		if in.frames[i].rows > maxRows || rows+in.frames[i].rows > maxRows {
			return nil, nil, dead(ReasonTooLarge, "more than %d rows", maxRows)
		}
		rows += in.frames[i].rows
	}
	if announced >= 0 && announced != rows {
		return nil, nil, dead(ReasonRows, "the header says %d, the batches hold %d", announced, rows)
	}
	s, err := in.stream(in.frames[0])
	if err != nil {
		return nil, nil, err
	}
	for i := range in.frames[1:] {
		if err := in.checkFrame(s, &in.frames[1+i]); err != nil {
			return nil, nil, err
		}
	}
	if batches == 0 {
		return s, nil, nil
	}
	reader, source := s.reader, s.feed
	if s.dicts {
		source = &feed{queue: in.frames[:1]}
		var e error
		if reader, e = ipc.NewReaderFromMessageReader(source, ipc.WithAllocator(in.mem)); e != nil {
			return nil, nil, in.failed(e)
		}
	}
	source.queue = in.frames[1:]
	for range batches {
		if !reader.Next() {
			e := reader.Err()
			if e == nil {
				e = io.ErrUnexpectedEOF
			}
			return nil, nil, in.failed(e)
		}
		rec := reader.Record()
		rec.Retain()
		in.last = append(in.last, rec)
	}
	return s, in.last, nil
}

// checkFrame looks at a frame after the schema.
func (in *input) checkFrame(s *stream, f *frame) *MessageError {
	if f.version != s.version {
		return dead(ReasonDamaged, "a batch of another metadata version than the schema")
	}
	if f.kind == headerDictionary {
		if !s.dicts {
			return dead(ReasonDamaged, "a dictionary, and no column that has one")
		}
		return in.checkBatch(f, nil)
	}
	if err := in.checkBatch(f, s.needs); err != nil {
		return err
	}
	for c, node := range s.top {
		if n := topNode(f, node); n != f.rows {
			return dead(ReasonDamaged, "column %q has %d values, the batch %d rows", s.schema.Field(c).Name, n, f.rows)
		}
	}
	return nil
}

// failed names the error of Arrow's reader, which turns panics of the allocator into texts.
func (in *input) failed(e error) *MessageError {
	in.forget()
	if in.budget.over {
		return dead(ReasonTooLarge, "it would decode to more than %d bytes", inflation*in.max)
	}
	return dead(ReasonDamaged, "%w", e)
}

func (in *input) stream(f frame) (*stream, *MessageError) {
	if s, ok := in.known[string(f.meta)]; ok {
		return s, nil
	}
	if err := checkSchema(f.meta); err != nil {
		return nil, err
	}
	s := &stream{version: f.version, feed: &feed{queue: []frame{f}}}
	var e error
	if s.reader, e = ipc.NewReaderFromMessageReader(s.feed, ipc.WithAllocator(in.mem)); e != nil {
		return nil, in.failed(e)
	}
	s.schema = s.reader.Schema()
	for i, fd := range s.schema.Fields() {
		s.top = append(s.top, len(s.needs))
		var ok bool
		if s.needs, ok = layout(s.needs, fd.Type, f.version); !ok {
			return nil, &MessageError{Reason: ReasonSchema, Column: s.schema.Field(i).Name,
				Err: fmt.Errorf("of type %s, which is not read", fd.Type)}
		}
		s.dicts = s.dicts || hasDictionary(fd.Type)
	}
	if s.dicts {
		s.reader, s.feed = nil, nil
	}
	if len(in.known) >= maxStreams {
		clear(in.known)
	}
	in.known[string(f.meta)] = s
	return s, nil
}

func hasDictionary(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return true
	case arrow.ExtensionType:
		return hasDictionary(t.StorageType())
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasDictionary(f.Type) {
				return true
			}
		}
	}
	return false
}
