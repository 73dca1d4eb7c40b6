package model

import (
	"fmt"
	"strconv"

	"liftstream/model/wire"
)

// roomChunk is the number of records in one stored part of the room.
const roomChunk = 1024

// room is where records wait for their labels, and where learnt ones stay as long as a label may still correct them.
// It is a queue in order of arrival, bounded in bytes and by the window of record time.
type room struct {
	limit   int64
	window  int64
	bytes   int64
	first   uint64 // number of the oldest entry
	entries []*waiting
	byID    map[string]uint64
	byPlace map[place]uint64
	newest  int64 // largest record time seen
	version map[uint64]uint64
	free    []*waiting
}

type place struct {
	offset int64
	row    int32
}

// waiting is one record in the room.
type waiting struct {
	record
	id      string
	pending []float64 // what the scorecard remembers of it; empty once learnt
	learnt  bool      // Class and Clock are those it was learnt with
	gone    bool
}

func newRoom(limit, window int64) *room {
	return &room{limit: limit, window: window, byID: map[string]uint64{}, byPlace: map[place]uint64{}, version: map[uint64]uint64{}}
}

func (w *waiting) size() int64 { return int64(8*(len(w.Row)+len(w.pending))+2*len(w.id)) + 200 }

func (r *room) next() uint64 { return r.first + uint64(len(r.entries)) }

// admit copies a record into the room.
func (r *room) admit(rec *record, id string, pending []float64, learnt bool) {
	w := &waiting{}
	if n := len(r.free); n > 0 {
		w, r.free = r.free[n-1], r.free[:n-1]
	}
	row, buf := append(w.Row[:0], rec.Row...), append(w.pending[:0], pending...)
	*w = waiting{record: *rec, id: id, pending: buf, learnt: learnt}
	w.Row = row
	n := r.next()
	r.entries = append(r.entries, w)
	r.bytes += w.size()
	if id != "" {
		r.byID[id] = n
	}
	r.byPlace[place{rec.offset, rec.row}] = n
	r.newest = max(r.newest, rec.Time)
	r.version[n/roomChunk]++
}

func (r *room) find(id string, at place, byID bool) *waiting {
	n, ok := r.byPlace[at]
	if byID {
		n, ok = r.byID[id]
	}
	if !ok || n < r.first {
		return nil
	}
	if w := r.entries[n-r.first]; !w.gone {
		r.version[n/roomChunk]++
		return w
	}
	return nil
}

// overdue removes and returns the oldest entry if the room holds more bytes than its limit or the entry is older than
// the window; nil when nothing is overdue. The entry is valid until the next admit.
func (r *room) overdue() *waiting {
	for len(r.entries) > 0 {
		w := r.entries[0]
		if !w.gone && r.bytes <= r.limit && (r.window <= 0 || w.Time+r.window >= r.newest) {
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
		if w.gone {
			r.recycle(w)
			continue
		}
		r.forget(w, n)
		r.recycle(w)
		return w
	}
	return nil
}

func (r *room) recycle(w *waiting) {
	if len(r.free) < roomChunk {
		r.free = append(r.free, w)
	}
}

func (r *room) forget(w *waiting, n uint64) {
	r.bytes -= w.size()
	if r.byID[w.id] == n {
		delete(r.byID, w.id)
	}
	delete(r.byPlace, place{w.offset, w.row})
}

// remove takes an entry out of the middle of the queue.
func (r *room) remove(w *waiting) {
	n := r.byPlace[place{w.offset, w.row}]
	r.forget(w, n)
	r.version[n/roomChunk]++
	w.gone = true
}

func (r *room) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	for _, w := range r.entries {
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
		b = wire.AppendBool(b, w.gone)
		if w.gone {
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

func (r *room) load(first, next uint64, newest int64, features, classes, pending int, section func(string) []byte) error {
	if next < first || next-first > 1<<32 {
		return fmt.Errorf("room from %d to %d", first, next)
	}
	r.first, r.newest = first, newest
	for n := first; n < next; {
		chunk := n / roomChunk
		hi := min(next, (chunk+1)*roomChunk)
		w := wire.NewReader(section(roomName(chunk)))
		for ; n < hi && w.Err() == nil; n++ {
			e := &waiting{gone: w.Bool()}
			if !e.gone {
				e.Row, e.Class, e.Weight, e.Clock = w.Floats(), int32(w.Varint()), w.Float(), w.Float()
				e.Time, e.offset, e.row, e.id = w.Varint(), w.Varint(), int32(w.Varint()), w.String()
				e.pending, e.learnt = w.Floats(), w.Bool()
				if len(e.Row) != features || e.Class < UnknownClass || int(e.Class) >= classes || len(e.pending) != 0 && len(e.pending) != pending {
					w.Fail(fmt.Errorf("record %d does not fit the schema", n))
				}
				r.bytes += e.size()
				if e.id != "" {
					r.byID[e.id] = n
				}
				r.byPlace[place{e.offset, e.row}] = n
			}
			r.entries = append(r.entries, e)
		}
		if err := w.Done(); err != nil {
			return fmt.Errorf("decoding %s: %w", roomName(chunk), err)
		}
		r.version[chunk] = 1
	}
	return nil
}
