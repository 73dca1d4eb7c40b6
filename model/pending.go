package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"liftstream/model/wire"
)

// pendingChunk is the number of records in one stored part of the pending store.
const pendingChunk = 1024

// pendingStore holds the records that wait for their labels, and learnt ones as long as a label may still correct them.
// It is a queue in order of arrival, bounded in bytes and by the window of stream time. A record that leaves it out of
// turn leaves a gap, and when more than half of the queue is gaps, the rest gets new numbers, behind all numbers
// so far: one record that never gets its label does not keep the places of all later ones.
type pendingStore struct {
	limit   int64
	window  int64
	keep    int64 // how long a record that was learnt as its window closed stays on, for corrections
	cohorts bool  // Options.closes
	match   Match
	bytes   int64
	first   uint64     // number of the oldest entry
	closed  uint64     // no entry before this number waits for the end of its window; found anew where it is behind
	entries []*waiting // nil = a gap
	gaps    int
	byID    map[string]uint64
	older   map[uint64]uint64 // see siblings.go; nil = only one record bears an id
	found   []*waiting        // room to work
	byPlace map[place]uint64
	version map[uint64]uint64
	free    []*waiting
	buffers []packed // free memory for waiting.pending: an entry without one holds none
}

type place struct {
	offset int64
	row    int32
}

// waiting is one record in the pending store.
type waiting struct {
	record
	number  uint64
	id      string // "" = none, or labels of that id do not mean this record
	pending packed // the memory of its score; empty once learnt
	numbers int32  // in pending
	// learnt says that Class, Clock and Time are those it was learnt with. Of a record that is not, Class is that of the
	// label that waits for the end of its window, Unlabelled, or passedOver.
	learnt bool
	since  int64 // stream time of its arrival, 0 = it had not begun
}

func newPendingStore(limit, window int64) *pendingStore {
	return &pendingStore{limit: limit, window: window, byID: map[string]uint64{}, byPlace: map[place]uint64{},
		version: map[uint64]uint64{}}
}

func (w *waiting) size() int64 { return int64(8*(len(w.Row)+len(w.pending))+2*len(w.id)) + 200 }

func (s *pendingStore) next() uint64 { return s.first + uint64(len(s.entries)) }

// admit copies a record into the store. The id may be a part of a longer text, which must not be kept for its sake.
// now is stream time.
func (s *pendingStore) admit(rec *record, id string, pending []float64, learnt bool, now int64) {
	w := &waiting{}
	if n := len(s.free); n > 0 {
		w, s.free = s.free[n-1], s.free[:n-1]
	}
	row := append(w.Row[:0], rec.Row...)
	*w = waiting{record: *rec, id: strings.Clone(id), learnt: learnt, since: now}
	w.Row = row
	if len(pending) > 0 {
		if n := len(s.buffers); n > 0 {
			w.pending, s.buffers = s.buffers[n-1], s.buffers[:n-1]
		}
		w.pending, w.numbers = pack(w.pending, pending), int32(len(pending))
	}
	s.append(w)
	if w.Class >= 0 && !learnt {
		answered(s, w)
	}
	if s.match == MatchFirst && w.id != "" {
		comeLate(s, w)
	}
}

// memory returns the memory of the score of a record, nil where it has none, in the memory of dst where that suffices.
func (w *waiting) memory(dst []float64) []float64 {
	if len(w.pending) == 0 {
		return nil
	}
	dst = grow(dst, int(w.numbers))
	w.pending.unpack(dst)
	return dst
}

// append puts an entry at the end of the queue.
func (s *pendingStore) append(w *waiting) {
	w.number = s.next()
	if w.id != "" {
		meet(s, w)
	}
	s.entries = append(s.entries, w)
	s.bytes += w.size()
	if w.id != "" {
		bear(s, w)
	}
	s.byPlace[place{w.offset, w.row}] = w.number
	s.version[w.number/pendingChunk]++
}

// gap puts a gap at the end of the queue.
func (s *pendingStore) gap() {
	s.version[s.next()/pendingChunk]++
	s.entries = append(s.entries, nil)
	s.gaps++
}

func (s *pendingStore) find(id string, at place, byID bool) *waiting {
	n, ok := s.byPlace[at]
	if byID {
		n, ok = s.byID[id]
	}
	if !ok {
		return nil
	}
	s.version[n/pendingChunk]++
	return s.entries[n-s.first]
}

// overdue removes and returns the oldest entry if it has waited for longer than the window at stream time now; nil when
// it has not, or there is none. The entry is valid until the next admit.
func (s *pendingStore) overdue(now int64) *waiting {
	return s.pop(func(w *waiting) bool { return s.late(w, now, s.keep) })
}

// evict removes and returns the oldest entry if the store holds more bytes than its limit, nil when it does not. The
// entry is valid until the next admit.
func (s *pendingStore) evict() *waiting {
	return s.pop(func(*waiting) bool { return s.bytes > s.limit })
}

// pop removes and returns the oldest entry if it is to leave, and the gaps before it in any case.
func (s *pendingStore) pop(leaves func(w *waiting) bool) *waiting {
	for len(s.entries) > 0 {
		w := s.entries[0]
		if w != nil && !leaves(w) {
			return nil
		}
		n := s.first
		s.entries[0] = nil
		s.entries = s.entries[1:]
		s.first++
		if s.first%pendingChunk == 0 {
			delete(s.version, n/pendingChunk)
		} else {
			s.version[n/pendingChunk]++
		}
		if w == nil {
			s.gaps--
			continue
		}
		s.forget(w)
		s.recycle(w)
		return w
	}
	return nil
}

// late reports whether an entry has waited for longer than the window and more. It waits from its arrival, and not from
// its own time: a time that is far off holds back no entry behind it, and expires none.
func (s *pendingStore) late(w *waiting, now, more int64) bool {
	return s.window > 0 && w.since < now && distance(w.since, now) > uint64(s.window)+uint64(more)
}

// closing returns the oldest entry that is not learnt if it has waited for longer than the window, nil otherwise. It
// stays in the store, and the caller marks it as learnt or removes it.
func (s *pendingStore) closing(now int64) *waiting {
	for s.closed = max(s.closed, s.first); s.closed < s.next(); s.closed++ {
		w := s.entries[s.closed-s.first]
		if w == nil || w.learnt {
			continue
		}
		if !s.late(w, now, 0) {
			return nil
		}
		s.version[s.closed/pendingChunk]++
		return w
	}
	return nil
}

// passGap is told that stream time went from before over a gap to now: the entries that came since waited on its other
// side.
func (s *pendingStore) passGap(before, now int64) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		w := s.entries[i]
		if w == nil {
			continue
		}
		if w.since != before {
			return
		}
		w.since = now
		s.version[w.number/pendingChunk]++
	}
}

// stamp says of all entries that they have waited from their own times, or from now where these are not known or ahead.
func (s *pendingStore) stamp(now int64) {
	for _, w := range s.entries {
		if w == nil {
			continue
		}
		if w.since = now; w.Time != 0 && now != 0 {
			w.since = min(w.Time, now)
		}
	}
}

// recycle keeps the memory of an entry for others; its values stay as they are until the next admit.
func (s *pendingStore) recycle(w *waiting) {
	s.spare(w.pending)
	if len(s.free) < pendingChunk {
		s.free = append(s.free, w)
	}
}

func (s *pendingStore) spare(pending packed) {
	if cap(pending) > 0 && len(s.buffers) < pendingChunk {
		s.buffers = append(s.buffers, pending)
	}
}

// markLearnt keeps an entry that was learnt, without the memory of its score.
func (s *pendingStore) markLearnt(w *waiting) {
	s.bytes -= w.size()
	s.spare(w.pending)
	w.pending, w.numbers, w.learnt = nil, 0, true
	s.bytes += w.size()
}

func (s *pendingStore) forget(w *waiting) {
	s.bytes -= w.size()
	part(s, w)
	if at := (place{w.offset, w.row}); s.byPlace[at] == w.number {
		delete(s.byPlace, at)
	}
}

// remove takes an entry out of the middle of the queue; it must not be used afterwards.
func (s *pendingStore) remove(w *waiting) {
	s.forget(w)
	s.version[w.number/pendingChunk]++
	s.entries[w.number-s.first] = nil
	s.gaps++
	s.recycle(w)
	if s.gaps >= pendingChunk && s.gaps > len(s.entries)/2 {
		s.compact()
	}
}

// compact closes the gaps.
func (s *pendingStore) compact() {
	old := *s
	s.first, s.entries, s.gaps = old.next(), make([]*waiting, 0, len(old.entries)-old.gaps), 0
	s.version = map[uint64]uint64{s.first / pendingChunk: old.version[s.first/pendingChunk]} // other parts are new
	separate(s)
	for _, w := range old.entries {
		if w == nil {
			continue
		}
		at, was := place{w.offset, w.row}, w.number
		w.number = s.next()
		s.entries = append(s.entries, w)
		s.version[w.number/pendingChunk]++
		if w.id != "" {
			bear(s, w)
		}
		if s.byPlace[at] == was {
			s.byPlace[at] = w.number
		}
	}
}

func (s *pendingStore) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	for _, w := range s.entries {
		if w == nil {
			continue
		}
		for f := range w.Row {
			w.Row[f] = rc.Value(f, w.Row[f])
		}
	}
	for c := range s.version {
		s.version[c]++
	}
}

// pendingName is the name of a stored part: "room/" was the word of the first states, and names are stable for ever.
func pendingName(chunk uint64) string { return "room/" + strconv.FormatUint(chunk, 10) }

// chunks returns the numbers of the stored parts that hold entries.
func (s *pendingStore) chunks() (lo, hi uint64) {
	if len(s.entries) == 0 {
		return 0, 0
	}
	return s.first / pendingChunk, (s.next()-1)/pendingChunk + 1
}

func (s *pendingStore) appendChunk(b []byte, chunk uint64) []byte {
	lo, hi := max(s.first, chunk*pendingChunk), min(s.next(), (chunk+1)*pendingChunk)
	var memory []float64
	for n := lo; n < hi; n++ {
		w := s.entries[n-s.first]
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
		held := w.memory(memory)
		if b = wire.AppendFloats(b, held); held != nil {
			memory = held
		}
		b = wire.AppendBool(b, w.learnt)
		b = wire.AppendVarint(b, w.since)
	}
	return b
}

// noPending is the length of pending that load refuses to no record and keeps of none: the state was made by other
// components, whose inputs these are.
const noPending = -1

func (s *pendingStore) load(
	format, first, next uint64, features, classes, pending int, read reader,
) error {
	if next < first || next-first > 1<<32 || next > math.MaxInt64 {
		return fmt.Errorf("pending store from %d to %d", first, next)
	}
	s.first = first
	for n := first; n < next; {
		chunk := n / pendingChunk
		hi := min(next, (chunk+1)*pendingChunk)
		err := read(pendingName(chunk), func(b []byte) error {
			return s.loadChunk(b, format, n, hi, features, classes, pending)
		})
		if err != nil {
			return fmt.Errorf("decoding %s: %w", pendingName(chunk), err)
		}
		n = hi
	}
	for chunk := range s.version {
		s.version[chunk] = 1
	}
	return nil
}

// loadChunk reads the records from n to hi.
func (s *pendingStore) loadChunk(b []byte, format, n, hi uint64, features, classes, pending int) error {
	w := wire.NewReader(b)
	for ; n < hi && w.Err() == nil; n++ {
		if w.Bool() {
			s.gap()
			continue
		}
		e := &waiting{}
		e.Row, e.Class, e.Weight, e.Clock = w.Floats(), int32(w.Varint()), w.Float(), w.Float()
		e.Time, e.offset, e.row, e.id = w.Varint(), w.Varint(), int32(w.Varint()), w.String()
		memory := w.Floats()
		e.learnt = w.Bool()
		if format > beforeStreamTime {
			e.since = w.Varint()
		}
		if pending == noPending {
			memory = nil
		}
		for 0 < len(memory) && len(memory) < pending { // of a former build: memories grow at their end
			memory = append(memory, math.NaN())
		}
		if len(e.Row) != features || e.Class < UnknownClass || int(e.Class) >= classes ||
			e.learnt && e.Class < 0 || len(memory) != 0 && len(memory) != pending {
			w.Fail(fmt.Errorf("record %d does not fit the schema", n))
		}
		e.pending, e.numbers = pack(nil, memory), int32(len(memory))
		s.append(e)
	}
	return w.Done()
}

// carry takes over the waiting records of another schema, without the memory of their scores.
func (s *pendingStore) carry(old *pendingStore, c *Change) {
	s.first = old.first
	for _, w := range old.entries {
		if w == nil {
			s.gap()
			continue
		}
		e := &waiting{record: w.record, id: w.id, learnt: w.learnt, since: w.since}
		e.Row = c.Row(w.Row, nil)
		s.append(e)
	}
}
