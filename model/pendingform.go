package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/wire"
)

// pendingFormat is the version of the binary form of the parts of a pending store. Stores of earlier builds lie in
// sections of other names, whose form goes by that of the state.
const pendingFormat = 1

// pendingName is the name of a stored part, and scoresName that of the memories of its scores.
func pendingName(chunk uint64) string { return "pending/" + strconv.FormatUint(chunk, 10) }
func scoresName(chunk uint64) string  { return "scores/" + strconv.FormatUint(chunk, 10) }

// roomName is the name of a stored part of an earlier build, rows and memories in one.
func roomName(chunk uint64) string { return "room/" + strconv.FormatUint(chunk, 10) }

// sections returns the stored parts. A part without entries, and memories that are none, have no section.
func (s *pendingStore) sections() (out []Section) {
	for k, p := range s.parts {
		if p == nil || p.live == 0 {
			continue
		}
		chunk := s.first/pendingChunk + uint64(k)
		out = append(out, Section{pendingName(chunk), p.version,
			func(b []byte) []byte { return p.append(b, &s.packer, s.coded) }})
		scores := len(p.scores) > 0
		if p.open != nil {
			scores = slices.ContainsFunc(p.open[:], func(w *waiting) bool { return w != nil && len(w.pending) > 0 })
		}
		if scores {
			out = append(out, Section{scoresName(chunk), p.scoresVersion, p.appendScores})
		}
	}
	return out
}

// noPending is the length of pending that load refuses to no record and keeps of none: the state was made by other
// components, whose inputs these are.
const noPending = -1

// load reads the sections of a store with the numbers from first to next into an empty one.
func (s *pendingStore) load(
	format, first, next uint64, schema *Schema, pending int, names []string, read reader,
) error {
	if next < first || next-first > 1<<32-1 || next > math.MaxInt64 {
		return fmt.Errorf("pending store from %d to %d", first, next)
	}
	has := make(map[string]bool, len(names))
	chunks := uint64(0)
	for _, name := range names {
		has[name] = true
		if strings.HasPrefix(name, "room/") || strings.HasPrefix(name, "pending/") {
			chunks++
		}
	}
	if (next-first)/pendingChunk > 4*chunks+4 { // so many gaps no store has, see remove
		return fmt.Errorf("pending store from %d to %d in %d parts", first, next, chunks)
	}
	s.first, s.next = first, first
	if s.coded == nil {
		s.coded = make([]bool, len(schema.Features))
	}
	for n := first; n < next; {
		chunk := n / pendingChunk
		hi := min(next, (chunk+1)*pendingChunk)
		var err error
		switch name := roomName(chunk); {
		case has[name]:
			if err = read(name, func(b []byte) error { return s.loadRoom(b, format, hi, schema, pending) }); err != nil {
				return fmt.Errorf("decoding %s: %w", name, err)
			}
		case has[pendingName(chunk)]:
			if err = s.loadPart(chunk, hi, schema, pending, has, read); err != nil {
				return err
			}
		default:
			skipTo(&s.entryQueue, hi)
		}
		n = hi
	}
	s.advance()
	return nil
}

// skipTo goes on to number n, over gaps.
func skipTo(s *entryQueue, n uint64) {
	for len(s.parts) < int((n-1)/pendingChunk-s.first/pendingChunk)+1 {
		s.parts, s.lows = append(s.parts, nil), append(s.lows, s.last)
	}
	s.next = n
}

// loadPart reads the sections of a part, the places of which end before hi.
func (s *pendingStore) loadPart(
	chunk, hi uint64, schema *Schema, pending int, has map[string]bool, read reader,
) error {
	var p *pendingPart
	err := read(pendingName(chunk), func(b []byte) (err error) {
		p, err = loadPart(b, schema, s.coded, s.goals)
		return err
	})
	from := chunk * pendingChunk
	if err == nil && (from+uint64(p.alive.next(0)) < s.first ||
		hi < from+pendingChunk && p.alive.next(int(hi-from)) < pendingChunk) {
		err = fmt.Errorf("records out of the store's numbers")
	}
	if err != nil {
		return fmt.Errorf("decoding %s: %w", pendingName(chunk), err)
	}
	if name := scoresName(chunk); has[name] {
		if err := read(name, func(b []byte) error { return p.loadScores(b, pending) }); err != nil {
			return fmt.Errorf("decoding %s: %w", name, err)
		}
	}
	if hi < from+pendingChunk { // the open part
		s.eachOf(p, from, func(w *waiting) bool {
			for s.next < w.number {
				s.gap()
			}
			s.append(w)
			return true
		})
		for s.next < hi {
			s.gap()
		}
		return nil
	}
	takePart(s, p, from, hi)
	return nil
}

// takePart puts a sealed part at the end of the queue.
func takePart(s *pendingStore, p *pendingPart, from, hi uint64) {
	entries := make([]*waiting, 0, p.live)
	k := int(from/pendingChunk - s.first/pendingChunk)
	skipTo(&s.entryQueue, hi)
	s.parts[k] = p
	s.eachOf(p, from, func(w *waiting) bool {
		at := place{w.offset, w.row}
		if len(entries) == 0 {
			s.lows[k] = at
		}
		s.mixed = s.live > 0 && (s.mixed || at.compare(s.last) < 0)
		s.last = at
		s.live++
		entries = append(entries, w)
		return true
	})
	s.mixed = s.mixed || !p.ascends(s.columnsOf(p, false))
	for _, m := range p.scores {
		s.scores += scoreSize(m.packed)
	}
	s.resize(p)
	for _, w := range entries { // other settings may let fewer records bear an id
		if w.bears() {
			takeID(&s.entryQueue, p, w)
		}
	}
	s.resize(p)
	s.touch(p)
	s.touchScores(p)
}

// loadRoom reads the records of an earlier build up to number hi.
func (s *pendingStore) loadRoom(b []byte, format, hi uint64, schema *Schema, pending int) error {
	w := wire.NewReader(b)
	for s.next < hi && w.Err() == nil {
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
		if w.Err() != nil {
			break
		}
		if len(e.Row) != len(schema.Features) || e.Class < UnknownClass || int(e.Class) >= len(schema.Classes) ||
			e.learnt && e.Class < 0 || len(memory) != 0 && len(memory) != pending ||
			!schema.possible(e.Row, e.Clock) {
			return w.Fail(fmt.Errorf("record %d does not fit the schema", s.next))
		}
		e.pending, e.numbers = pack(nil, memory), int32(len(memory))
		s.append(e)
	}
	return w.Done()
}

// carry takes over the waiting records of another schema, without the memory of their scores.
func (s *pendingStore) carry(old *pendingStore, c *Change) {
	s.first, s.next, s.lost, s.level = old.first, old.first, old.lost, old.level
	old.each(func(w *waiting) bool {
		for s.next < w.number {
			s.gap()
		}
		e := &waiting{record: w.record, id: w.id, lost: w.lost, learnt: w.learnt, since: w.since}
		e.Row = c.Row(w.Row, nil)
		s.append(e)
		return true
	})
	for s.next < old.next {
		s.gap()
	}
}

// recode rewrites the codes of levels of all entries.
func (s *pendingStore) recode(rc Recode) {
	if rc.Identity() {
		return
	}
	for _, p := range s.parts {
		if p == nil || p.live == 0 {
			continue
		}
		if p.open != nil {
			for _, w := range p.open {
				for f := 0; w != nil && f < len(w.Row); f++ {
					w.Row[f] = rc.Value(f, w.Row[f])
				}
			}
			s.touch(p)
			continue
		}
		changed := false
		c := s.columnsOf(p, true)
		for f := range c.row {
			changed = c.row[f].recode(rc, f) || changed
		}
		if changed {
			s.touch(p)
		}
	}
}

// editAll calls do with all entries, the newest first, and packs the parts anew in which it has changed one.
func editAll(s *pendingStore, do func(w *waiting) (changed bool)) {
	editWhile(s, func(w *waiting) (changed, more bool) { return do(w), true })
}

// editWhile is editAll until do wants no more.
func editWhile(s *pendingStore, do func(w *waiting) (changed, more bool)) {
	s.head, s.front = waiting{}, front{}
	var entries []*waiting
	for k := len(s.parts) - 1; k >= 0; k-- {
		p := s.parts[k]
		if p == nil || p.live == 0 {
			continue
		}
		entries = entries[:0]
		s.eachOf(p, (s.first/pendingChunk+uint64(k))*pendingChunk, func(w *waiting) bool {
			entries = append(entries, w)
			return true
		})
		dirty, more := false, true
		for i := len(entries) - 1; i >= 0 && more; i-- {
			var changed bool
			changed, more = do(entries[i])
			dirty = dirty || changed
		}
		if dirty && p.open == nil {
			s.pack(p, entries)
		} else if dirty {
			s.touch(p)
		}
		if !more {
			return
		}
	}
}

// passGap is told that stream time went from before over a gap to now: the entries that came since waited on its other
// side. Those of an earlier time did not, or have followed stream time to it over the gap before: in a stream in which
// each record comes after a gap they would never have waited for long.
func (s *pendingStore) passGap(before, now int64) {
	editWhile(s, func(w *waiting) (changed, more bool) {
		if w.since != before {
			return false, false
		}
		if before != 0 && w.Time != 0 && w.Time < before {
			return false, true
		}
		w.since = now
		return true, true
	})
}

// stamp says of all entries that they have waited from their own times, or from now where these are not known or ahead.
func (s *pendingStore) stamp(now int64) {
	editAll(s, func(w *waiting) bool {
		if w.since = now; w.Time != 0 && now != 0 {
			w.since = min(w.Time, now)
		}
		return true
	})
}

// newestTimes calls note with the times of the newest entries, n of them or as many as there are.
func newestTimes(s *pendingStore, n int, note func(t int64)) {
	editWhile(s, func(w *waiting) (changed, more bool) {
		note(w.Time)
		n--
		return false, n > 0
	})
}
