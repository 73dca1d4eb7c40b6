// Package recency remembers when the ids of a stream came: for each id the times of its records, as spans that grow
// with age, within a bound of bytes. It tells how long ago an id came last, and how often within a window. METHOD.md
// has the rules, the error and the order in which ids are evicted.
//
// Begin at Store. It reads no clock and knows no records: package model gives it ids, times and stream time.
package recency

import (
	"bytes"
	"cmp"
	"slices"
)

// ID names an id without the id: half of its SHA-256.
type ID [16]byte

// Options are the settings of a Store. A state holds them.
type Options struct {
	Bytes int64 // bound of the memory of a Store, see KeyBytes and SpanBytes
	// Window is the longest window of Count in nanoseconds; 0 = nobody counts, and the last times of an id are enough.
	Window int64
	// Groups are the names of the groups of records that are told apart, such as the visits of an id: at most MaxGroups.
	Groups []string
}

// MaxGroups bounds the groups of a Store. A configuration has no more derived features.
const MaxGroups = 256

// KeyBytes is the memory that an id of a group is reckoned to take, SpanBytes that of a span of it.
const (
	KeyBytes  = 160
	SpanBytes = 32
)

const (
	// share is 1/error: two spans may become one of n records if share * (n-2) is at most twice the newer records.
	share = 32
	// newest is the number of spans before stream time to stay, of any age.
	newest = 4
	// chunks is the number of sections that the ids are stored in, by the first bits of their hash.
	chunks = 16
)

// span is a run of records of an id, in the order of their times.
type span struct {
	oldest, newest int64 // times of the first and the last of them; equal where n is 1
	n              int64
}

// key is an id in a group.
type key struct {
	id    ID
	group uint8
}

func compareKeys(a, b key) int {
	return cmp.Or(bytes.Compare(a.id[:], b.id[:]), cmp.Compare(a.group, b.group))
}

// chunk is the section in which the key is stored.
func (k key) chunk() int { return int(k.id[0]) * chunks / 256 }

// history is the knowledge of a Store about a key.
type history struct {
	stamp int64  // stream time when it came last
	spans []span // by their newest time, ascending
}

// Store remembers the times of ids. It is not safe for concurrent use. Two of the same settings that were given the
// same records hold the same, also where one was written and read in between.
type Store struct {
	o       Options
	keys    [chunks]map[key]*history
	version [chunks]uint64 // grows with each change of a chunk
	n       int            // of keys
	bytes   int64
	evicted uint64
}

// New returns an empty store.
func New(o Options) *Store {
	s := &Store{o: o}
	for c := range s.keys {
		s.keys[c] = map[key]*history{}
	}
	return s
}

// Len is the number of ids, those of each group counted by themselves.
func (s *Store) Len() int { return s.n }

// Bytes is the memory that the ids are reckoned to take, at most Options.Bytes.
func (s *Store) Bytes() int64 { return s.bytes }

// Evicted is the number of ids, of each group by themselves, that were evicted because the store was full.
func (s *Store) Evicted() uint64 { return s.evicted }

// Group is the number of the group of that name, -1 where there is none.
func (s *Store) Group(name string) int { return slices.Index(s.o.Groups, name) }

func (s *Store) find(id ID, group int) *history {
	k := key{id, uint8(group)}
	return s.keys[k.chunk()][k]
}

// Since returns the nanoseconds from the last record of the id at or before the time at, and false where there is none.
// A record within a span of several is taken to have come after the first of them.
func (s *Store) Since(id ID, group int, at int64) (nanos uint64, ok bool) {
	h := s.find(id, group)
	if h == nil {
		return 0, false
	}
	for i := len(h.spans) - 1; i >= 0; i-- {
		switch x := &h.spans[i]; {
		case x.newest <= at:
			return distance(x.newest, at), true
		case x.oldest <= at:
			return distance(x.oldest, at), true
		}
	}
	return 0, false
}

// Count returns the number of records of the id whose times lie in (at-window, at]. A span that an end of the window
// cuts counts by half: see METHOD.md 2 for the error.
func (s *Store) Count(id ID, group int, at, window int64) float64 {
	h := s.find(id, group)
	if h == nil {
		return 0
	}
	within := func(t int64) bool { return t <= at && distance(t, at) < uint64(window) }
	n := 0.0
	for i := len(h.spans) - 1; i >= 0; i-- {
		x := &h.spans[i]
		if x.newest <= at && !within(x.newest) {
			break
		}
		switch first, last := within(x.oldest), within(x.newest); {
		case first && last:
			n += float64(x.n)
		case first || last, x.oldest < at && x.newest > at: // more than the window, or an end of it
			n += float64(x.n) / 2
		}
	}
	return n
}

// distance is to - from, which must not be negative, without an overflow.
func distance(from, to int64) uint64 { return uint64(to) - uint64(from) }

// Add takes note of a record of the id at a time. now is stream time, which never runs back; 0 = it has not begun.
func (s *Store) Add(id ID, group int, at, now int64) {
	k := key{id, uint8(group)}
	c := k.chunk()
	h := s.keys[c][k]
	if h == nil {
		h = &history{}
		s.keys[c][k] = h
		s.n++
		s.bytes += KeyBytes
	}
	s.bytes -= SpanBytes * int64(len(h.spans))
	h.stamp = now
	h.add(at)
	h.merge()
	h.drop(now, s.o.Window)
	s.bytes += SpanBytes * int64(len(h.spans))
	s.version[c]++
	if s.bytes > s.o.Bytes {
		s.evict()
	}
}

// add puts a record into its place by time: behind those of the same time, or into the span that it falls into.
func (h *history) add(at int64) {
	i := len(h.spans)
	for i > 0 && h.spans[i-1].newest > at {
		i--
	}
	if i < len(h.spans) && h.spans[i].oldest < at {
		h.spans[i].n++
		return
	}
	h.spans = slices.Insert(h.spans, i, span{at, at, 1})
}

// merge makes one of two neighbours, the newest first, while the error of the result stays below 1/share of the records
// that are newer.
func (h *history) merge() {
	newer := int64(0)
	for i := len(h.spans) - 1; i > 0; i-- {
		a, b := &h.spans[i-1], &h.spans[i]
		if n := a.n + b.n; n-2 <= 2*newer/share && newer >= share/2 {
			*a = span{a.oldest, b.newest, n}
			h.spans = slices.Delete(h.spans, i, i+1)
			continue
		}
		newer += b.n
	}
}

// drop lets the spans go that no window reaches any more, with an end more than a window and a quarter before stream
// time, but the last ones before it.
func (h *history) drop(now, window int64) {
	if now == 0 {
		return
	}
	age := uint64(window) + uint64(window)/4
	settled := len(h.spans)
	for settled > 0 && h.spans[settled-1].newest > now {
		settled--
	}
	n := 0
	for n < settled-newest && distance(h.spans[n].newest, now) > age {
		n++
	}
	h.spans = slices.Delete(h.spans, 0, n)
}

// evict lets ids go until a sixteenth of the bytes is free, the oldest last records by stream time first, of equal ones
// the smallest hashes first.
func (s *Store) evict() {
	type leaver struct {
		key
		stamp int64
	}
	all := make([]leaver, 0, s.n)
	for _, m := range s.keys {
		for k, h := range m {
			all = append(all, leaver{k, h.stamp})
		}
	}
	slices.SortFunc(all, func(a, b leaver) int {
		return cmp.Or(cmp.Compare(a.stamp, b.stamp), compareKeys(a.key, b.key))
	})
	room := s.o.Bytes - s.o.Bytes/16
	for _, x := range all {
		if s.bytes <= room {
			return
		}
		s.remove(x.key)
		s.evicted++
	}
}

func (s *Store) remove(k key) {
	c := k.chunk()
	h := s.keys[c][k]
	s.bytes -= KeyBytes + SpanBytes*int64(len(h.spans))
	s.n--
	delete(s.keys[c], k)
	s.version[c]++
}

// Forget takes ids out, and returns how many were there.
func (s *Store) Forget(ids []ID) (found int) {
	for _, id := range ids {
		there := false
		for g := range s.o.Groups {
			if k := (key{id, uint8(g)}); s.find(id, g) != nil {
				s.remove(k)
				there = true
			}
		}
		if there {
			found++
		}
	}
	return found
}

// Carry takes over the ids of another store, of other settings: the times of the groups that have a name here, as far
// as there is room. The older store was counted under a window of its own: a longer one here begins with those times.
func (s *Store) Carry(old *Store) {
	s.evicted = old.evicted
	for g, name := range old.o.Groups {
		to := s.Group(name)
		if to < 0 {
			continue
		}
		for _, m := range old.keys {
			for k, h := range m {
				if k.group != uint8(g) {
					continue
				}
				n := key{k.id, uint8(to)}
				s.keys[n.chunk()][n] = &history{h.stamp, slices.Clone(h.spans)}
				s.version[n.chunk()]++
				s.n++
				s.bytes += KeyBytes + SpanBytes*int64(len(h.spans))
			}
		}
	}
	if s.bytes > s.o.Bytes {
		s.evict()
	}
}
