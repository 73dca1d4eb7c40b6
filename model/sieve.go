package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"liftstream/model/wire"
)

// sieveFormat is the version of the binary form of a Sieve.
const sieveFormat = 1

// sectionSieve is the name of the section of a sieve; its entries lie in sections of sieveChunk of them.
const sectionSieve = "sieve"

const (
	sieveChunk = 4096
	// sieveEntry is the size that an entry is reckoned to have in memory, with its share of the index.
	sieveEntry = 96
	// sieveTimes is the number of newest records of which the earliest is the clock: a few wild times do not move it on.
	sieveTimes = 64
)

// Sifted counts the findings of a sieve.
type Sifted struct {
	Duplicates uint64 // records that were left out
	Forgotten  uint64 // ids that were forgotten within the window, because there were too many
}

// Sieve knows the ids of the records of the last Options.DedupWindow, of at most Options.DedupBytes: the oldest are
// forgotten first. A record is a duplicate if its id came with another record whose time is at most a window away, of
// which only records that were not duplicates themselves count. A labelled record is none if the other one had no
// label: an event may be sent again with its label.
type Sieve struct {
	window int64
	bytes  int64
	most   int    // entries
	first  uint64 // number of the oldest entry

	entries []sieved
	index   map[IDSum]uint64 // the newest entry of an id

	times [sieveTimes]int64
	rows  uint64 // records looked at

	sifted  Sifted
	version map[uint64]uint64 // of the chunks
	edits   uint64

	text []byte  // the id in hand
	drop []int32 // result of sift
}

// sieved is one record. Its id is hashed, so that an entry has a fixed size: 128 bits of SHA-256, of which nobody can
// make two equal ones on purpose.
type sieved struct {
	id       IDSum
	time     int64
	labelled bool
}

// newSieve returns an empty sieve, nil where the options ask for none.
func newSieve(o *Options) *Sieve {
	if o.DedupWindow <= 0 {
		return nil
	}
	return emptySieve(o.DedupWindow, o.DedupBytes)
}

func emptySieve(window, bytes int64) *Sieve {
	return &Sieve{window: window, bytes: bytes, most: int(max(bytes/sieveEntry, 1)), index: map[IDSum]uint64{},
		version: map[uint64]uint64{}}
}

// Sift takes the duplicates out of a batch, which Events must be given next, and returns their rows, ascending; the
// slice is valid until the next call. A nil Sieve, and one that is given no ids, leaves the batch alone.
func (s *Sieve) Sift(b *Batch) []int32 {
	if s == nil || b.ID == nil {
		return nil
	}
	s.drop = s.drop[:0]
	b.Keep(func(i int) bool {
		if !s.duplicate(b.ID[i], b.Time[i], b.Label[i] != Unlabelled) {
			return true
		}
		s.sifted.Duplicates++
		s.drop = append(s.drop, b.Row[i])
		return false
	})
	s.expire()
	return s.drop
}

// Sifted counts the findings so far.
func (s *Sieve) Sifted() Sifted {
	if s == nil {
		return Sifted{}
	}
	return s.sifted
}

// duplicate reports whether a record is one, and else takes note of it.
func (s *Sieve) duplicate(id string, at int64, labelled bool) bool {
	s.times[s.rows%sieveTimes] = at
	s.rows++
	s.text = append(s.text[:0], id...)
	e := sieved{id: sumOf(s.text), time: at, labelled: labelled}
	if n, ok := s.index[e.id]; ok {
		was := &s.entries[n-s.first]
		if apart(at, was.time) <= uint64(s.window) && (was.labelled || !labelled) {
			return true
		}
	}
	s.add(e)
	for len(s.entries) > s.most {
		if n, ok := s.index[s.entries[0].id]; ok && n == s.first && !s.expired(s.entries[0].time) {
			s.sifted.Forgotten++
		}
		s.pop()
	}
	return false
}

// apart is the distance of two times.
func apart(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}

func (s *Sieve) add(e sieved) {
	n := s.first + uint64(len(s.entries))
	s.entries = append(s.entries, e)
	if e.id != (IDSum{}) { // else it was forgotten
		s.index[e.id] = n
	}
	s.touch(n)
}

func (s *Sieve) pop() {
	if id := s.entries[0].id; s.index[id] == s.first {
		delete(s.index, id)
	}
	s.entries = s.entries[1:]
	s.touch(s.first)
	if s.first++; s.first%sieveChunk == 0 {
		delete(s.version, s.first/sieveChunk-1)
	}
}

func (s *Sieve) touch(n uint64) {
	s.edits++
	s.version[n/sieveChunk] = s.edits
}

// clock is the time that all of the newest records have reached.
func (s *Sieve) clock() int64 {
	if s.rows < sieveTimes {
		return math.MinInt64
	}
	clock := s.times[0]
	for _, t := range s.times[1:] {
		clock = min(clock, t)
	}
	return clock
}

// expired reports whether a record of that time can have no duplicate any more, by the clock.
func (s *Sieve) expired(at int64) bool {
	clock := s.clock()
	return at < clock && apart(at, clock) > uint64(s.window)
}

// expire drops the oldest entries while they are expired.
func (s *Sieve) expire() {
	clock := s.clock()
	for len(s.entries) > 0 && s.entries[0].time < clock && apart(s.entries[0].time, clock) > uint64(s.window) {
		s.pop()
	}
}

func sieveName(chunk uint64) string { return sectionSieve + "/" + strconv.FormatUint(chunk, 10) }

// sections returns the stored parts.
func (s *Sieve) sections(edits uint64) []Section {
	out := []Section{{sectionSieve, edits, s.appendHead}}
	if len(s.entries) == 0 {
		return out
	}
	for c := s.first / sieveChunk; c <= (s.first+uint64(len(s.entries))-1)/sieveChunk; c++ {
		out = append(out, Section{sieveName(c), s.version[c], func(b []byte) []byte { return s.appendChunk(b, c) }})
	}
	return out
}

func (s *Sieve) appendHead(b []byte) []byte {
	b = wire.AppendUvarint(b, sieveFormat)
	b = wire.AppendUvarint(b, uint64(s.window))
	b = wire.AppendUvarint(b, uint64(s.bytes))
	b = wire.AppendUvarint(b, s.first)
	b = wire.AppendUvarint(b, uint64(len(s.entries)))
	b = wire.AppendUvarint(b, s.rows)
	for _, t := range s.times {
		b = wire.AppendVarint(b, t)
	}
	b = wire.AppendUvarint(b, s.sifted.Duplicates)
	return wire.AppendUvarint(b, s.sifted.Forgotten)
}

func (s *Sieve) appendChunk(b []byte, chunk uint64) []byte {
	lo := max(s.first, chunk*sieveChunk)
	hi := min(s.first+uint64(len(s.entries)), (chunk+1)*sieveChunk)
	for n := lo; n < hi; n++ {
		e := &s.entries[n-s.first]
		b = wire.AppendBytes(b, e.id[:])
		b = wire.AppendVarint(b, e.time)
		b = wire.AppendBool(b, e.labelled)
	}
	return b
}

// loadSieve reads the sieve of a state, with the settings under which the state was made; nil where it has none.
func loadSieve(names []string, read reader) (s *Sieve, err error) {
	if !slices.Contains(names, sectionSieve) {
		return nil, nil
	}
	var end uint64
	err = read(sectionSieve, func(b []byte) (err error) {
		s, end, err = readSieve(b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", sectionSieve, err)
	}
	for n := s.first; n < end; {
		name := sieveName(n / sieveChunk)
		hi := min(end, (n/sieveChunk+1)*sieveChunk)
		if err := read(name, func(b []byte) error { return s.loadChunk(b, hi-n) }); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		n = hi
	}
	return s, nil
}

// readSieve reads a sieve without its entries, and the number after the last one.
func readSieve(head []byte) (s *Sieve, end uint64, err error) {
	r := wire.NewReader(head)
	if f := r.Uvarint(); r.Err() == nil && f != sieveFormat {
		return nil, 0, fmt.Errorf("format %d, this build reads %d", f, sieveFormat)
	}
	window, bytes, first, entries := r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Uvarint()
	rows := r.Uvarint()
	var times [sieveTimes]int64
	for i := range times {
		times[i] = r.Varint()
	}
	sifted := Sifted{r.Uvarint(), r.Uvarint()}
	if err := r.Done(); err != nil {
		return nil, 0, err
	}
	if window == 0 || window > math.MaxInt64 || bytes > math.MaxInt64 || first > math.MaxInt64 ||
		entries > max(bytes/sieveEntry, 1) {
		return nil, 0, fmt.Errorf("%d entries from %d, window %d, bytes %d", entries, first, window, bytes)
	}
	s = emptySieve(int64(window), int64(bytes))
	s.first, s.rows, s.times, s.sifted = first, rows, times, sifted
	return s, first + entries, nil
}

// loadChunk reads the next n entries.
func (s *Sieve) loadChunk(b []byte, n uint64) error {
	r := wire.NewReader(b)
	for i := uint64(0); i < n && r.Err() == nil; i++ {
		var e sieved
		if copy(e.id[:], r.Bytes()) != len(e.id) && r.Err() == nil {
			_ = r.Fail(fmt.Errorf("entry %d has no whole id", s.first+uint64(len(s.entries))))
		}
		e.time, e.labelled = r.Varint(), r.Bool()
		s.add(e)
	}
	return r.Done()
}

// carry takes over the entries of another sieve, as many as there is room for.
func (s *Sieve) carry(old *Sieve) {
	if s == nil || old == nil {
		return
	}
	s.first, s.rows, s.times, s.sifted = old.first, old.rows, old.times, old.sifted
	for _, e := range old.entries {
		s.add(e)
	}
	for len(s.entries) > s.most {
		s.pop()
	}
	s.expire()
}
