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
// before it. Elsewhere one record bears the id, and the others lose it as they meet: labels of the id do not mean them,
// an order to forget does.

// meet decides which records bear the id of w, which is about to come; the others lose it.
func meet(s *entryQueue, w *waiting) {
	last, ok := s.number(w.id, place{}, true)
	if !ok {
		return
	}
	if s.older == nil {
		x, o := w.brief(), s.brief(last)
		if s.match == MatchFirst && o.came() <= x.came() || s.match == MatchNewest && o.came() > x.came() {
			w.lost = true
			return
		}
		unname(s, last, w.id)
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
		w.lost = true
		return
	}
	passOverAt(s, oldest)
	unname(s, oldest, w.id)
}

// came is the time by which a record is first or newest among those of its id: a time that is ahead, of a wild clock,
// must not draw all labels of the id.
func (x *brief) came() int64 {
	if x.since != 0 && (x.time == 0 || x.time > x.since) {
		return x.since
	}
	return x.time
}

// unname has the entry of number n lose its id.
func unname(s *entryQueue, n uint64, id string) {
	unlink(s, n, id)
	s.unname(n)
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
	if meet(s, w); w.bears() {
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

// unlink takes the entry of number gone out of the records of its id.
func unlink(s *entryQueue, gone uint64, id string) {
	last, ok := s.number(id, place{}, true)
	if !ok {
		return
	}
	before, more := s.older[gone]
	delete(s.older, gone)
	if last == gone {
		if more {
			s.ids.move(id, before, s.first, s.is(id))
		} else {
			s.ids.remove(id, s.first, s.is(id))
		}
		return
	}
	for n, ok := s.older[last]; ok; n, ok = s.older[last] {
		if n != gone {
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

// meant returns the numbers of the records that a label by an id means, that of the record that came last first. The
// slice is valid until the next call.
func meant(s *pendingStore, id string) []uint64 {
	s.found = s.found[:0]
	n, ok := s.number(id, place{}, true)
	if !ok {
		return s.found
	}
	best, of := n, brief{}
	for first := true; ok; n, ok = s.older[n] {
		if s.match == MatchAll {
			s.found = append(s.found, n)
			continue
		}
		x := s.brief(n)
		if came, was := x.came(), of.came(); first || s.match == MatchNewest && came > was ||
			s.match == MatchFirst && came <= was {
			best, of = n, x
		}
		first = false
	}
	if s.match != MatchAll && (of.learnt || of.class != passedOver) {
		s.found = append(s.found, best)
	}
	return s.found
}
