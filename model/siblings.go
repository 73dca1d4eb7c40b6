package model

// Match says which records a label by an id means, of those of the id in the pending store. Their order is that of
// their times (record.time), and of their arrival where these are equal; no time is later than the arrival.
type Match uint8

const (
	MatchNewest Match = iota // the newest
	MatchFirst               // the oldest
	MatchAll                 // all of them
)

// maxSiblings is the number of records of one id that a label by the id may mean. Of more, the oldest arrivals lose
// their id, with MatchFirst the newest.
const maxSiblings = 64

// linkBytes is the number of bytes that an entry of older is reckoned to take.
const linkBytes = 40

// Where each record that waits leaves the store with a class, or where a label means several records, the store knows
// all records of an id, its siblings: the index of ids has the one that came last, older of each the one that came
// before it. Elsewhere one record bears the id, and the others lose it as they meet.

// meet decides which records bear the id of w, which is about to come, and takes it from the others.
func meet(s *entryQueue, w *waiting) {
	last, ok := s.number(w.id, place{}, true)
	if !ok {
		return
	}
	if s.older == nil {
		o := s.at(last)
		if s.match == MatchFirst && cameAt(o) <= cameAt(w) || s.match == MatchNewest && cameAt(o) > cameAt(w) {
			w.id = ""
			return
		}
		unname(s, o)
		return
	}
	n, oldest := 1, last
	for o, ok := s.older[oldest]; ok; o, ok = s.older[oldest] {
		n, oldest = n+1, o
	}
	if n < maxSiblings {
		return
	}
	if s.match == MatchFirst {
		passOver(s, w)
		w.id = ""
		return
	}
	o := s.at(oldest)
	if passOver(s, o) {
		s.update(o)
	}
	unname(s, o)
}

// cameAt is the time by which a record is first or newest among those of its id: a time that is ahead, of a wild clock,
// must not draw all labels of the id.
func cameAt(w *waiting) int64 {
	if w.since != 0 && (w.Time == 0 || w.Time > w.since) {
		return w.since
	}
	return w.Time
}

// unname takes the id from an entry of the store.
func unname(s *entryQueue, w *waiting) {
	unlink(s, w)
	s.unname(w.number)
	w.id = ""
}

// bear notes that w, the last of the queue, has its id. Another record has it already only where the store knows all of
// an id.
func bear(s *entryQueue, w *waiting) {
	last, ok := s.number(w.id, place{}, true)
	if !ok {
		s.ids.add(w.id, w.number)
		return
	}
	s.older[w.number] = last
	s.ids.move(w.id, w.number, s.first, s.is(w.id))
}

// takeID is meet and bear for a record of a sealed part p that was read and stands in the queue already.
func takeID(s *entryQueue, p *pendingPart, w *waiting) {
	class := w.Class
	if meet(s, w); w.id != "" {
		bear(s, w)
		p.named++
		return
	}
	p.nameless.set(int(w.number % pendingChunk))
	if w.Class != class {
		s.update(w)
	} else {
		s.changed(p, w.number)
	}
}

// unlink takes w out of the records of its id.
func unlink(s *entryQueue, w *waiting) {
	last, ok := s.number(w.id, place{}, true)
	if !ok {
		return
	}
	before, more := s.older[w.number]
	delete(s.older, w.number)
	if last == w.number {
		if more {
			s.ids.move(w.id, before, s.first, s.is(w.id))
		} else {
			s.ids.remove(w.id, s.first, s.is(w.id))
		}
		return
	}
	for n, ok := s.older[last]; ok; n, ok = s.older[last] {
		if n != w.number {
			last = n
			continue
		}
		if delete(s.older, last); more {
			s.older[last] = before
		}
		return
	}
}

// separate forgets all ids: bear follows for each entry.
func separate(s *entryQueue) {
	s.ids = newIDIndex()
	if s.older != nil {
		s.older = map[uint64]uint64{}
	}
}

// siblings appends the records of an id to dst, the one that came last first.
func siblings(s *entryQueue, dst []*waiting, id string) []*waiting {
	n, ok := s.number(id, place{}, true)
	for ; ok; n, ok = s.older[n] {
		dst = append(dst, s.at(n))
	}
	return dst
}

// meant returns the records that a label by an id means. The slice is valid until the next call.
func meant(s *pendingStore, id string) []*waiting {
	s.found = siblings(&s.entryQueue, s.found[:0], id)
	if s.match == MatchAll || len(s.found) == 0 {
		return s.found
	}
	best := s.found[0]
	for _, w := range s.found[1:] {
		if s.match == MatchNewest && cameAt(w) > cameAt(best) || s.match == MatchFirst && cameAt(w) <= cameAt(best) {
			best = w
		}
	}
	s.found = s.found[:0]
	if best.learnt || best.Class != passedOver {
		s.found = append(s.found, best)
	}
	return s.found
}
