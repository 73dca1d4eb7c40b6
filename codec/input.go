package codec

import (
	"cmp"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// stream is a schema that was seen.
type stream struct {
	schema  *arrow.Schema
	version int
	columns []*node
	dicts   map[int64]*dictionary
	cost    int64 // bytes of memory
	widened bool  // a column is of a wider type than it says
	events  *plan
	labels  *plan
}

// input reads the record batches of messages.
type input struct {
	loader
	max    int64
	known  map[string]*stream // by the schema's metadata
	kept   int64              // cost of these
	frames []frame
	last   []arrow.Record
}

// inflation is how many times the bound of a message its content may take.
const inflation = 16

func (in *input) init(max int64, shared *Budget) {
	in.max, in.known = cmp.Or(max, DefaultMaxMessage), map[string]*stream{}
	in.account = account{limit: inflation * in.max, shared: shared,
		name: strconv.Itoa(inflation) + " times the bound of a message (memory.message)"}
	if shared != nil && shared.share() < in.account.limit {
		in.account.limit = shared.share()
		in.account.name = "half of the memory for decoded messages (memory.decoded)"
	}
}

// guarded runs f, and makes a panic an error of the message: nothing in a message may end the process, not even by
// a mistake of this package or of Arrow.
func (in *input) guarded(f func() *MessageError) (err error) {
	defer func() {
		if p := recover(); p != nil {
			clear(in.known) // their state is not known
			err = dead(ReasonPanic, "%v", p)
		}
		if err != nil {
			in.last = in.last[:0]
			in.account.release()
		}
	}()
	merr := f()
	switch {
	case in.account.stopped:
		return ErrStopped
	case merr != nil:
		return merr
	case in.account.over:
		return in.account.refusal()
	}
	return nil
}

// open begins with a message: it checks the size and the headers, and returns the announced number of rows, -1 when
// none was.
func (in *input) open(m *Message) (rows int64, err *MessageError) {
	in.last = in.last[:0]
	in.account.begin(m.Done)
	if int64(len(m.Value)) > in.max {
		return 0, dead(ReasonTooLarge, "%d bytes, at most %d are taken (memory.message)", len(m.Value), in.max)
	}
	return checkHeaders(m.Headers, m.Value)
}

// read returns the record batches of a message. They stay valid: nothing of them is reused.
func (in *input) read(m *Message) (*stream, []arrow.Record, *MessageError) {
	announced, err := in.open(m)
	if err != nil {
		return nil, nil, err
	}
	if in.frames, err = split(m.Value, in.frames); err != nil {
		return nil, nil, err
	}
	rows := int64(0)
	for i := range in.frames {
		if in.frames[i].kind != headerRecords {
			continue
		}
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
	in.values = nil
	if len(s.dicts) > 0 {
		in.values = make(map[int64]*array.Data, len(s.dicts))
	}
	for i := range in.frames[1:] {
		rec, err := in.batchOf(s, &in.frames[1+i])
		if err != nil {
			return nil, nil, err
		}
		if rec != nil {
			in.last = append(in.last, rec)
		}
	}
	return s, in.last, nil
}

// batchOf reads a frame after the schema; the record is nil for a dictionary.
func (in *input) batchOf(s *stream, f *frame) (arrow.Record, *MessageError) {
	if !in.account.running() {
		return nil, in.account.refusal()
	}
	if f.version != s.version {
		return nil, dead(ReasonDamaged, "a batch of another metadata version than the schema")
	}
	if f.kind == headerDictionary {
		return nil, in.dictionary(s, f)
	}
	return in.record(s, f)
}

// maxKept bounds the memory of the schemas that are remembered.
const maxKept = 8 << 20

func (in *input) stream(f frame) (*stream, *MessageError) {
	s, ok := in.known[string(f.meta)]
	if !ok {
		s = &stream{version: f.version}
		if err := readSchema(f.meta, s); err != nil {
			return nil, err
		}
		s.cost += int64(len(f.meta))
		if len(in.known) >= maxStreams || in.kept+s.cost > maxKept {
			clear(in.known)
			in.kept = 0
		}
		in.known[string(f.meta)] = s
		in.kept += s.cost
	}
	if !in.account.take(s.cost) {
		return nil, in.account.refusal()
	}
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
