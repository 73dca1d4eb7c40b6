package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"liftstream/model/wire"
)

// roomChunk is the number of records in one stored part of the room.
const roomChunk = 1024

// room is where records wait for their labels, and where learnt ones stay as long as a label may still correct them.
// It is a queue in order of arrival, bounded in bytes and by the window of record time. A record that leaves it out of
// turn leaves a gap, and when more than half of the queue is gaps, the rest gets new numbers, behind all numbers
// so far: one record that never gets its label does not keep the places of all later ones.
type room struct {
	limit   int64
	window  int64
	bytes   int64
	first   uint64     // number of the oldest entry
	entries []*waiting // nil = a gap
	gaps    int
	byID    map[string]uint64
	byPlace map[place]uint64
	newest  int64 // largest record time seen
	version map[uint64]uint64
	free    []*waiting
	buffers [][]float64 // for pending: an entry that has none keeps no room for it
}

type place struct {
	offset int64
	row    int32
}

// waiting is one record in the room.
type waiting struct {
	record
	number  uint64
	id      string    // "" = none, or a newer record has it: labels mean the newest
	pending []float64 // the memory of its score; empty once learnt
	learnt  bool      // Class and Clock are those it was learnt with
}

func newRoom(limit, window int64) *room {
	return &room{limit: limit, window: window, byID: map[string]uint64{}, byPlace: map[place]uint64{},
		version: map[uint64]uint64{}}
}

func (w *waiting) size() int64 { return int64(8*(len(w.Row)+len(w.pending))+2*len(w.id)) + 200 }

func (r *room) next() uint64 { return r.first + uint64(len(r.entries)) }

// admit copies a record into the room. The id may be a part of a longer text, which must not be kept for its sake.
func (r *room) admit(rec *record, id string, pending []float64, learnt bool) {
	w := &waiting{}
	if n := len(r.free); n > 0 {
		w, r.free = r.free[n-1], r.free[:n-1]
	}
	row := append(w.Row[:0], rec.Row...)
	*w = waiting{record: *rec, id: strings.Clone(id), learnt: learnt}
	w.Row = row
	if len(pending) > 0 {
		if n := len(r.buffers); n > 0 {
			w.pending, r.buffers = r.buffers[n-1], r.buffers[:n-1]
		}
		w.pending = append(w.pending[:0], pending...)
	}
	r.append(w)
	r.newest = max(r.newest, rec.Time)
}

// append puts an entry at the end of the queue.
func (r *room) append(w *waiting) {
	w.number = r.next()
	if old, ok := r.byID[w.id]; ok {
		o := r.entries[old-r.first]
		r.bytes -= o.size()
		o.id = ""
		r.bytes += o.size()
		r.version[old/roomChunk]++
	}
	r.entries = append(r.entries, w)
	r.bytes += w.size()
	if w.id != "" {
		r.byID[w.id] = w.number
	}
	r.byPlace[place{w.offset, w.row}] = w.number
	r.version[w.number/roomChunk]++
}

// gap puts a gap at the end of the queue.
func (r *room) gap() {
	r.version[r.next()/roomChunk]++
	r.entries = append(r.entries, nil)
	r.gaps++
}

func (r *room) find(id string, at place, byID bool) *waiting {
	n, ok := r.byPlace[at]
	if byID {
		n, ok = r.byID[id]
	}
	if !ok {
		return nil
	}
	r.version[n/roomChunk]++
	return r.entries[n-r.first]
}

// overdue removes and returns the oldest entry if the room holds more bytes than its limit or the entry is older than
// the window; nil when nothing is overdue. The entry is valid until the next admit.
func (r *room) overdue() *waiting {
	for len(r.entries) > 0 {
		w := r.entries[0]
		if w != nil && r.bytes <= r.limit && (r.window <= 0 || w.Time >= r.newest-r.window) {
			return nil
		}
		n := r.first
		r.entries[0] = nil
		r.entries = r.entries[1:]
		r.first++
		if r.first%roomChunk == 0 {
			delete(r.version, n/roomChunk)
		} else {
			r.version[n/roomChunk]++
		}
		if w == nil {
			r.gaps--
			continue
		}
		r.forget(w)
		r.recycle(w)
		return w
	}
	return nil
}

// recycle keeps the memory of an entry for others; its values stay as they are until the next admit.
func (r *room) recycle(w *waiting) {
	r.spare(w.pending)
	if len(r.free) < roomChunk {
		r.free = append(r.free, w)
	}
}

func (r *room) spare(pending []float64) {
	if cap(pending) > 0 && len(r.buffers) < roomChunk {
		r.buffers = append(r.buffers, pending)
	}
}

// settle keeps an entry that was learnt, without the memory of its score.
func (r *room) settle(w *waiting) {
	r.bytes -= w.size()
	r.spare(w.pending)
	w.pending, w.learnt = nil, true
	r.bytes += w.size()
}

func (r *room) forget(w *waiting) {
	r.bytes -= w.size()
	delete(r.byID, w.id)
	if at := (place{w.offset, w.row}); r.byPlace[at] == w.number {
		delete(r.byPlace, at)
	}
}

// remove takes an entry out of the middle of the queue; it must not be used afterwards.
func (r *room) remove(w *waiting) {
	r.forget(w)
	r.version[w.number/roomChunk]++
	r.entries[w.number-r.first] = nil
	r.gaps++
	r.recycle(w)
	if r.gaps >= roomChunk && r.gaps > len(r.entries)/2 {
		r.close()
	}
}

// close closes the gaps.
func (r *room) close() {
	old := *r
	r.first, r.entries, r.gaps = old.next(), make([]*waiting, 0, len(old.entries)-old.gaps), 0
	r.version = map[uint64]uint64{r.first / roomChunk: old.version[r.first/roomChunk]} // other parts are new
	for _, w := range old.entries {
		if w == nil {
			continue
		}
		at, was := place{w.offset, w.row}, w.number
		w.number = r.next()
		r.entries = append(r.entries, w)
		r.version[w.number/roomChunk]++
		if w.id != "" {
			r.byID[w.id] = w.number
		}
		if r.byPlace[at] == was {
			r.byPlace[at] = w.number
		}
	}
}

func (r *room) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	for _, w := range r.entries {
		if w == nil {
			continue
		}
		for f := range w.Row {
			w.Row[f] = rc.Value(f, w.Row[f])
		}
	}
	for c := range r.version {
		r.version[c]++
	}
}

func roomName(chunk uint64) string { return "room/" + strconv.FormatUint(chunk, 10) }

// chunks returns the numbers of the stored parts that hold entries.
func (r *room) chunks() (lo, hi uint64) {
	if len(r.entries) == 0 {
		return 0, 0
	}
	return r.first / roomChunk, (r.next()-1)/roomChunk + 1
}

func (r *room) appendChunk(b []byte, chunk uint64) []byte {
	lo, hi := max(r.first, chunk*roomChunk), min(r.next(), (chunk+1)*roomChunk)
	for n := lo; n < hi; n++ {
		w := r.entries[n-r.first]
		b = wire.AppendBool(b, w == nil)
		if w == nil {
			continue
		}
		b = wire.AppendFloats(b, w.Row)
		b = wire.AppendVarint(b, int64(w.Class))
		b = wire.AppendFloat(b, w.Weight)
		b = wire.AppendFloat(b, w.Clock)
		b = wire.AppendVarint(b, w.Time)
		b = wire.AppendVarint(b, w.offset)
		b = wire.AppendVarint(b, int64(w.row))
		b = wire.AppendString(b, w.id)
		b = wire.AppendFloats(b, w.pending)
		b = wire.AppendBool(b, w.learnt)
	}
	return b
}

// noPending is the length of pending that load refuses to no record and keeps of none: the state was made by other
// components, whose inputs these are.
const noPending = -1

func (r *room) load(
	first, next uint64, newest int64, features, classes, pending int, section func(string) []byte,
) error {
	if next < first || next-first > 1<<32 || next > math.MaxInt64 {
		return fmt.Errorf("room from %d to %d", first, next)
	}
	r.first, r.newest = first, newest
	for n := first; n < next; {
		chunk := n / roomChunk
		hi := min(next, (chunk+1)*roomChunk)
		w := wire.NewReader(section(roomName(chunk)))
		for ; n < hi && w.Err() == nil; n++ {
			if w.Bool() {
				r.gap()
				continue
			}
			e := &waiting{}
			e.Row, e.Class, e.Weight, e.Clock = w.Floats(), int32(w.Varint()), w.Float(), w.Float()
			e.Time, e.offset, e.row, e.id = w.Varint(), w.Varint(), int32(w.Varint()), w.String()
			e.pending, e.learnt = w.Floats(), w.Bool()
			if pending == noPending {
				e.pending = nil
			}
			if len(e.Row) != features || e.Class < UnknownClass || int(e.Class) >= classes ||
				len(e.pending) != 0 && len(e.pending) != pending {
				w.Fail(fmt.Errorf("record %d does not fit the schema", n))
			}
			r.append(e)
		}
		if err := w.Done(); err != nil {
			return fmt.Errorf("decoding %s: %w", roomName(chunk), err)
		}
	}
	for chunk := range r.version {
		r.version[chunk] = 1
	}
	return nil
}
