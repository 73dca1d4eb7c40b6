package model

import (
	"math/bits"
	"strings"
)

// pendingStore holds the records that wait for their labels, and learnt ones as long as a label may still correct them.
// It is a queue in order of arrival, bounded in bytes and by the window of stream time. A record that leaves it out of
// turn leaves a gap, and when more than three quarters of the queue are gaps, the rest gets new numbers, behind all
// numbers so far: one record that never gets its label does not keep the places of all later ones.
//
// The memories of scores stand apart from the rows, in the rest of the bound, and have an eighth of it for themselves.
// When that is full, every second memory goes, chosen by a hash of the place of its record: the records with a memory
// are then as quick and as slow to get their labels as all others.
type pendingStore struct {
	entryQueue
	limit  int64
	window int64
	keep   int64   // how long a record that was learnt as its window closed stays on, for corrections
	seed   uint64  // of the choice of memories
	goals  int     // of the stage
	level  int     // one in 2^level records keeps the memory of its score
	lost   uint64  // memories of waiting records that were dropped
	head   waiting // since and number of the oldest entry, as overdue has seen it last
	closed uint64  // no entry before this number waits for the end of its window; found anew where it is behind
	front  front   // as closing has seen it last
	found  []uint64
	pinned bool // entries keep their numbers: gaps are closed later
}

// front is the oldest entry that is not learnt.
type front struct {
	known  bool
	number uint64
	since  int64 // stream time of its arrival
}

func newPendingStore(limit, window int64) *pendingStore {
	return &pendingStore{entryQueue: entryQueue{ids: newIDIndex()}, limit: limit, window: window}
}

// of tells the store the features of its rows and the seed of its choices.
func (s *pendingStore) of(schema *Schema, seed uint64, partition int32) *pendingStore {
	s.seed = Hash(seed, uint64(partition))
	for f := range schema.Features {
		s.coded = append(s.coded, schema.Features[f].Kind != Continuous)
	}
	return s
}

// held is the number of bytes that the store is reckoned to take.
func (s *pendingStore) held() int64 { return rowBytes(s) + s.scores }

// rowBytes is that without the memories of scores.
func rowBytes(s *pendingStore) int64 { return s.bytes + linkBytes*int64(len(s.older)) }

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
		if w.thinned = !s.remembers(w); w.thinned {
			s.lost++
		} else {
			if n := len(s.buffers); n > 0 {
				w.pending, s.buffers = s.buffers[n-1], s.buffers[:n-1]
			}
			w.pending, w.numbers = pack(w.pending, pending), int32(len(pending))
		}
	}
	s.append(w)
	if w.Class >= 0 && !learnt {
		answered(&s.entryQueue, w)
	}
	if s.match == MatchFirst && w.bears() {
		comeLate(&s.entryQueue, w)
	}
}

// remembers reports whether the record keeps the memory of its score.
func (s *pendingStore) remembers(w *waiting) bool {
	return bits.LeadingZeros64(Hash(s.seed, uint64(w.offset), uint64(w.row))) >= s.level
}

// find returns the newest entry of that id, or at that place; nil where there is none.
func (s *pendingStore) find(id string, at place, byID bool) *waiting {
	n, ok := s.number(id, at, byID)
	if !ok {
		return nil
	}
	return s.at(n)
}

// overdue removes and returns the oldest entry if it has waited for longer than the window at stream time now; nil when
// it has not, or there is none. The entry is valid until the next admit.
func (s *pendingStore) overdue(now int64) *waiting {
	if s.live == 0 || s.window <= 0 || !s.late(s.oldest().since, now, s.keep) {
		return nil
	}
	return s.pop()
}

// evict drops memories of scores, and then removes and returns the oldest entry, if the store holds more bytes than its
// limit; nil when it does not any more. The entry is valid until the next admit.
func (s *pendingStore) evict() *waiting {
	for s.held() > s.limit {
		if s.scores > s.limit/scoreShare {
			s.thin()
			continue
		}
		if s.live == 0 {
			break
		}
		if p := s.part(s.first); p.open == nil && p.sparse() {
			repack(&s.entryQueue, p, s.first) // its bytes are free a quarter at a time
			continue
		}
		if !squeeze(s) {
			return s.pop()
		}
	}
	if s.level > 0 && s.scores < s.limit/16 && rowBytes(s)+4*s.scores < s.limit {
		s.level-- // for records to come
	}
	return nil
}

// squeezed is the part of the packed records that may have left when the store is full, 1 in so many.
const squeezed = 16

// squeeze packs the oldest part anew of which so many records have left, where so many of all have. The part in which
// the queue begins is about to go. It returns false where there is none.
func squeeze(s *pendingStore) bool {
	if s.gone*squeezed <= s.live {
		return false
	}
	for k := 1; k < len(s.parts); k++ {
		if p := s.parts[k]; p != nil && p.open == nil && p.left*squeezed > p.live {
			repack(&s.entryQueue, p, (s.first/pendingChunk+uint64(k))*pendingChunk)
			return true
		}
	}
	return false
}

// scoreShare is the share of the bound that the memories of scores have for themselves, 1 in so many.
const scoreShare = 8

// thin drops every second memory of a score.
func (s *pendingStore) thin() {
	s.level++
	for k, p := range s.parts {
		if p == nil || p.open == nil && len(p.scores) == 0 {
			continue
		}
		from := (s.first/pendingChunk + uint64(k)) * pendingChunk
		var gone []int
		s.eachOf(p, from, func(w *waiting) bool {
			if len(w.pending) > 0 && !s.remembers(w) {
				gone = append(gone, int(w.number%pendingChunk))
			}
			return true
		})
		for _, i := range gone {
			s.lost++
			dropScore(&s.entryQueue, p, i)
			if p.open != nil {
				p.open[i].thinned = true
			} else {
				p.thinned.set(i)
			}
		}
		if len(gone) > 0 {
			s.touch(p)
		}
	}
}

// oldest returns the oldest entry, of which only number and since are sure; there must be one.
func (s *pendingStore) oldest() *waiting {
	if p := s.part(s.first); p.open != nil {
		return p.open[s.first%pendingChunk]
	}
	if s.head.number != s.first || s.head.numbers == 0 {
		s.head = waiting{number: s.first, since: s.brief(s.first).since}
		s.head.numbers = 1 // it is known
	}
	return &s.head
}

// pop removes and returns the oldest entry.
func (s *pendingStore) pop() *waiting {
	w := lend(&s.entryQueue, s.first)
	s.remove(w)
	return w
}

// late reports whether an entry that has waited since then has done so for longer than the window and more. It waits
// from its arrival, and not from its own time: a time that is far off holds back no entry behind it, and expires none.
func (s *pendingStore) late(since, now, more int64) bool {
	return s.window > 0 && since < now && distance(since, now) > uint64(s.window)+uint64(more)
}

// closing returns the oldest entry that is not learnt if it has waited for longer than the window, nil otherwise. It
// stays in the store, and the caller marks it as learnt or removes it, before the next call.
func (s *pendingStore) closing(now int64) *waiting {
	s.closed = max(s.closed, s.first)
	if f := &s.front; !f.known || f.number != s.closed {
		f.known = false
		for s.closed < s.next && !f.known {
			i := pendingChunk
			if p := s.part(s.closed); p != nil {
				i, f.since = unlearntOf(&s.entryQueue, p, int(s.closed%pendingChunk))
			}
			f.known = i < pendingChunk
			s.closed = min(s.closed-s.closed%pendingChunk+uint64(i), s.next)
			f.number = s.closed
		}
		if !f.known {
			return nil
		}
	}
	if !s.late(s.front.since, now, 0) {
		return nil
	}
	return lend(&s.entryQueue, s.closed)
}

// markLearnt keeps an entry that was learnt, without the memory of its score.
func (s *pendingStore) markLearnt(w *waiting) {
	p, i := s.part(w.number), int(w.number%pendingChunk)
	dropScore(&s.entryQueue, p, i)
	w.pending, w.numbers, w.thinned = nil, 0, false
	p.thinned.clear(i)
	s.markKnown(w)
}

// markKnown is markLearnt of an entry that keeps the memory of its score, for a label that is still to come.
func (s *pendingStore) markKnown(w *waiting) {
	w.learnt = true
	s.front.known = s.front.known && s.front.number != w.number
	s.update(w)
}

// remove takes an entry out; its values stay as they are until the next admit.
func (s *pendingStore) remove(w *waiting) {
	s.front.known = s.front.known && s.front.number != w.number
	s.forget(w)
	s.advance()
	s.settle()
}

// settle closes the gaps where they are most of the queue.
func (s *pendingStore) settle() {
	if s.pinned {
		return
	}
	if gaps := s.next - s.first - uint64(s.live); gaps >= pendingChunk && gaps > 3*uint64(s.live) {
		s.compact()
	}
}

// compact closes the gaps.
func (s *pendingStore) compact() {
	old := s.entryQueue
	s.first, s.parts, s.lows, s.live, s.gone, s.bytes, s.scores = s.next, nil, nil, 0, 0, 0, 0
	separate(&s.entryQueue)
	old.each(func(w *waiting) bool {
		moved := *w
		s.append(&moved)
		return true
	})
}
