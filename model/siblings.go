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

// Where each record that waits leaves the store with a class, or where a label means several records, the store knows
// all records of an id, its siblings: byID has the one that came last, older of each the one that came before it.
// Elsewhere one record bears the id, and the others lose it as they meet.

// meet decides which records bear the id of w, which is about to come.
func meet(s *pendingStore, w *waiting) {
	last, ok := s.byID[w.id]
	if !ok {
		return
	}
	if s.older == nil {
		o := s.entries[last-s.first]
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
	o := s.entries[oldest-s.first]
	passOver(s, o)
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
func unname(s *pendingStore, w *waiting) {
	part(s, w)
	s.bytes -= w.size()
	w.id = ""
	s.bytes += w.size()
	s.version[w.number/pendingChunk]++
}

// bear notes that w, the last of the queue, has its id.
func bear(s *pendingStore, w *waiting) {
	if last, ok := s.byID[w.id]; ok && s.older != nil {
		s.older[w.number] = last
	}
	s.byID[w.id] = w.number
}

// part takes w out of the records of its id.
func part(s *pendingStore, w *waiting) {
	last, ok := s.byID[w.id]
	if !ok {
		return
	}
	before, more := s.older[w.number]
	delete(s.older, w.number)
	if last == w.number {
		if delete(s.byID, w.id); more {
			s.byID[w.id] = before
		}
		return
	}
	for s.older != nil {
		n := s.older[last]
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
func separate(s *pendingStore) {
	clear(s.byID)
	clear(s.older)
}

// siblings appends the records of an id to dst, the one that came last first. The caller changes them.
func siblings(s *pendingStore, dst []*waiting, id string) []*waiting {
	n, ok := s.byID[id]
	for ; ok; n, ok = s.older[n] {
		dst = append(dst, s.entries[n-s.first])
		s.version[n/pendingChunk]++
	}
	return dst
}

// meant returns the records that a label by an id means. The slice is valid until the next call.
func meant(s *pendingStore, id string) []*waiting {
	s.found = siblings(s, s.found[:0], id)
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
