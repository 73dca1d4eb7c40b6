package codec

import (
	"encoding/binary"
	"maps"
	"slices"
)

// built is a flatbuffer that is written from its root on, parents before children. The builders of Arrow's libraries
// write children first; the format allows both.
type built struct {
	b       []byte
	reverse bool // the fields of a table lie in it in the opposite order
	behind  bool // a list of fields lies behind its table
	texts   map[string]int
}

// fields are the fields of a table by their numbers: numbers of Go's fixed sizes, texts, tables, lists of tables, and
// raw vectors. same is a text that is written once for all of its fields.
type (
	fields map[int]any
	raw    struct{ n, size int } // a vector of n elements of zeros
	same   string
)

func (w *built) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

// refer writes a reference to the end, as it is when the value is aligned.
func (w *built) refer(at int) { binary.LittleEndian.PutUint32(w.b[at:], uint32(len(w.b)-at)) }

func sizeOf(v any) int {
	switch v.(type) {
	case uint8:
		return 1
	case uint16:
		return 2
	case int64:
		return 8
	}
	return 4
}

// build writes a buffer of which t is the root, padded to a multiple of pad.
func (w *built) build(t fields, pad int) []byte {
	w.b, w.texts = make([]byte, 4), map[string]int{}
	w.table(0, t)
	w.align(pad)
	return w.b
}

// table writes a table, to which the reference at ref leads.
func (w *built) table(ref int, t fields) {
	le := binary.LittleEndian
	order := slices.Sorted(maps.Keys(t))
	most := 0
	if len(order) > 0 {
		most = order[len(order)-1] + 1
	}
	if w.reverse {
		slices.Reverse(order)
	}
	vtable := make([]byte, 4+2*most)
	w.align(2)
	list := len(w.b)
	if !w.behind {
		w.b = append(w.b, vtable...)
	}
	w.align(8)
	w.refer(ref)
	at := len(w.b)
	w.b = append(w.b, 0, 0, 0, 0)
	places := map[int]int{}
	for _, k := range order {
		n := sizeOf(t[k])
		w.align(n)
		places[k] = len(w.b)
		le.PutUint16(vtable[4+2*k:], uint16(len(w.b)-at))
		w.b = append(w.b, make([]byte, n)...)
	}
	le.PutUint16(vtable, uint16(len(vtable)))
	le.PutUint16(vtable[2:], uint16(len(w.b)-at))
	if w.behind {
		w.align(2)
		list = len(w.b)
		w.b = append(w.b, vtable...)
	} else {
		copy(w.b[list:], vtable)
	}
	le.PutUint32(w.b[at:], uint32(int32(at-list)))
	for _, k := range order {
		w.value(places[k], t[k])
	}
}

// value writes the value of a field at its place.
func (w *built) value(at int, v any) {
	le := binary.LittleEndian
	switch v := v.(type) {
	case uint8:
		w.b[at] = v
	case uint16:
		le.PutUint16(w.b[at:], v)
	case int32:
		le.PutUint32(w.b[at:], uint32(v))
	case int64:
		le.PutUint64(w.b[at:], uint64(v))
	case same:
		if p, ok := w.texts[string(v)]; ok && p > at {
			le.PutUint32(w.b[at:], uint32(p-at))
			return
		}
		w.align(4)
		w.texts[string(v)] = len(w.b)
		w.value(at, string(v))
	case string:
		w.align(4)
		w.refer(at)
		w.b = append(append(le.AppendUint32(w.b, uint32(len(v))), v...), 0)
	case raw:
		w.align(4)
		for (len(w.b)+4)%8 != 0 {
			w.b = append(w.b, 0)
		}
		w.refer(at)
		w.b = append(le.AppendUint32(w.b, uint32(v.n)), make([]byte, v.n*v.size)...)
	case fields:
		w.table(at, v)
	case []fields:
		w.align(4)
		w.refer(at)
		w.b = le.AppendUint32(w.b, uint32(len(v)))
		first := len(w.b)
		w.b = append(w.b, make([]byte, 4*len(v))...)
		for i, x := range v {
			w.table(first+4*i, x)
		}
	}
}
