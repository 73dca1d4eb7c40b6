package state

import (
	"fmt"
	"hash/crc32"
	"strings"

	"liftstream/model"
)

// Snapshotter writes a partition's snapshots piece by piece: Start copies the state, Take or TakeReady compress it and
// hand out the records of the next transactions, and the caller calls Complete once the manifest is in the topic.
type Snapshotter struct {
	packer *Packer
	limit  int // bytes of a record that the topic takes; 0 = there is no limit
	// Problem says why the snapshot that was begun last could not be written; nil = it could.
	Problem error
	Last    *Manifest // the newest complete snapshot; nil = none
	Before  *Manifest // the one before; nil = none
	// versions holds the versions of the sections of Last, as far as this process wrote or read them.
	versions map[string]uint64

	writing *Manifest
	next    map[string]uint64
	raw     []rawSection // of writing, not yet compressed
	current *packing     // of writing, being compressed
	sealed  bool         // the manifest is in the queue
	queue   []Change
	garbage []Change // tombstones of parts that no manifest names any more; they go before a slot is written again

	// packing is closed when the goroutine of TakeReady ends; nil = there is none. Until then raw, current, queue and the
	// sections of writing are its own.
	packing chan struct{}
}

// rawSection is a changed section as Start found it.
type rawSection struct {
	name  string
	bytes []byte
}

// NewSnapshotter returns a snapshotter without a snapshot before.
func NewSnapshotter() *Snapshotter { return &Snapshotter{packer: NewPacker()} }

// Within keeps the records of the next snapshots to so many bytes.
func (s *Snapshotter) Within(limit int) { s.limit = limit }

// give gives up a snapshot that no reader could take. Its parts are deleted.
func (s *Snapshotter) give(problem error) {
	for _, sec := range s.writing.Sections {
		if old, ok := s.Last.Find(sec.Name); ok && old.Slot == sec.Slot {
			continue
		}
		if old, ok := s.Before.Find(sec.Name); ok && old.Slot == sec.Slot {
			continue
		}
		for c := range sec.Chunks {
			s.garbage = append(s.garbage, Change{Key: sec.key(c)})
		}
	}
	s.Problem, s.writing, s.raw, s.queue = problem, nil, nil, nil
}

// Pending reports whether Take may have something to hand out: pieces of a snapshot, or tombstones.
func (s *Snapshotter) Pending() bool { return s.Busy() || len(s.garbage) > 0 }

// Discard has the next transactions delete the keys, which no manifest names.
func (s *Snapshotter) Discard(keys []string) {
	for _, key := range keys {
		s.garbage = append(s.garbage, Change{Key: key})
	}
}

// Busy reports whether a snapshot is being written.
func (s *Snapshotter) Busy() bool { return s.writing != nil }

// Start begins a snapshot of the state as it is now. It only copies: compressing it at once would hold up the records.
// Where the last snapshot is of another format, all sections are written again.
func (s *Snapshotter) Start(p *model.Partition, fingerprint uint64, at Position, journal uint64, format int) {
	m := &Manifest{Format: format, Number: 1, Fingerprint: fingerprint, Position: at, Journal: journal,
		Labelled: p.Labelled()}
	if s.Last != nil {
		m.Number = s.Last.Number + 1
	}
	s.next = map[string]uint64{}
	s.queue, s.raw, s.current, s.sealed = s.queue[:0], s.raw[:0], nil, false
	sizes := map[string]int{} // of the last section of each kind
	for _, sec := range p.Sections() {
		s.next[sec.Name] = sec.Version
		old, known := s.Last.Find(sec.Name)
		known = known && s.Last.Format == format
		if v, ok := s.versions[sec.Name]; known && ok && v == sec.Version {
			m.Sections = append(m.Sections, old)
			continue
		}
		// Sections are of similar sizes from one snapshot to the next, and so are the chunks of one list: growing would copy
		// them several times, and keep up to a quarter more.
		kind, _, _ := strings.Cut(sec.Name, "/")
		raw := sec.Append(make([]byte, 0, max(old.Length+old.Length/8, sizes[kind])))
		if known && old.Length == len(raw) && old.CRC == crc32.Checksum(raw, castagnoli) {
			m.Sections = append(m.Sections, old)
			continue
		}
		if sizes[kind] = 0; kind != sec.Name && kind != componentKind {
			sizes[kind] = len(raw)
		}
		s.raw = append(s.raw, rawSection{sec.Name, raw})
	}
	s.writing, s.Problem = m, nil
}

// componentKind begins the names of the sections of components, which have nothing to do with each other.
const componentKind = "model"

// packing is a section that is being compressed, piece by piece, each piece a Zstandard frame of its own.
type packing struct {
	Stored
	rest   []byte // not yet compressed
	packed []byte // compressed and not yet in the queue
}

// pieceBytes is the number of bytes that are compressed at a time.
const pieceBytes = 1 << 20

// leastCost is the least number of bytes that a piece counts, however well it is compressed: its time counts too.
const leastCost = pieceBytes / 16

// pack compresses the next piece into the queue, at last the manifest; it reports false when there is no more.
func (s *Snapshotter) pack() bool { return s.packPiece() || s.seal() }

// seal puts the manifest into the queue.
func (s *Snapshotter) seal() bool {
	if s.sealed {
		return false
	}
	manifest := s.writing.Encode()
	if n := len(manifest); n > maxManifest || s.limit > 0 && n > s.limit {
		s.give(fmt.Errorf("a snapshot of %d parts needs a manifest of %d bytes: a reader takes %d, the topic %d",
			len(s.writing.Sections), n, maxManifest, s.limit))
		return false
	}
	s.sealed = true
	s.queue = append(s.queue, Change{s.writing.Key(), manifest})
	return true
}

// packPiece compresses the next piece of a section into the queue; it reports false when there is no more.
func (s *Snapshotter) packPiece() bool {
	if s.current == nil {
		if len(s.raw) == 0 {
			return false
		}
		sec := s.raw[0]
		s.raw[0].bytes, s.raw = nil, s.raw[1:]
		s.current = &packing{rest: sec.bytes, Stored: Stored{Name: sec.name, Slot: s.freeSlot(sec.name),
			Blob: Blob{Length: len(sec.bytes), CRC: crc32.Checksum(sec.bytes, castagnoli)}}}
	}
	c := s.current
	n := min(len(c.rest), pieceBytes)
	c.packed = s.packer.enc.EncodeAll(c.rest[:n], c.packed)
	c.rest = c.rest[n:]
	chunk := chunkFor(s.limit)
	for len(c.packed) >= chunk || len(c.rest) == 0 && (len(c.packed) > 0 || c.Chunks == 0) {
		n := min(len(c.packed), chunk)
		s.queue = append(s.queue, Change{c.key(c.Chunks), Seal(c.packed[:n], s.writing.Format)})
		c.packed = c.packed[n:]
		c.Chunks++
		c.Stored.Packed += n
	}
	if len(c.rest) == 0 {
		s.writing.Sections = append(s.writing.Sections, c.Stored)
		s.current = nil
	}
	return true
}

func (s *Snapshotter) freeSlot(name string) int {
	a, okA := s.Last.Find(name)
	b, okB := s.Before.Find(name)
	for slot := range slots {
		if !(okA && a.Slot == slot) && !(okB && b.Slot == slot) {
			return slot
		}
	}
	panic("three slots and two manifests leave one free")
}

// Take returns the next pieces until they are limit bytes or just more, none where limit is not above 0; whole reports
// that the manifest is among them.
func (s *Snapshotter) Take(limit int64) (out []Change, whole bool) {
	if s.packing != nil {
		<-s.packing
		s.packing = nil
	}
	out, s.garbage = s.garbage, nil
	if s.writing == nil {
		return out, false
	}
	for limit > 0 && (len(s.queue) > 0 || s.pack()) {
		if len(s.queue) == 0 {
			limit -= leastCost // compressed to less than a record
			continue
		}
		out, limit = s.hand(out, limit)
	}
	return out, s.writing != nil && s.sealed && len(s.queue) == 0
}

// hand moves the first piece of the queue to out.
func (s *Snapshotter) hand(out []Change, limit int64) ([]Change, int64) {
	c := s.queue[0]
	s.queue = s.queue[1:]
	return append(out, c), limit - int64(len(c.Value))
}

// TakeReady is Take, but it does not wait while more than a piece is compressed: it returns the compressed pieces,
// and has a goroutine compress the next limit bytes.
func (s *Snapshotter) TakeReady(limit int64) (out []Change, whole bool) {
	if s.packing != nil {
		select {
		case <-s.packing:
			s.packing = nil
		default:
			out, s.garbage = s.garbage, nil
			return out, false
		}
	}
	if limit <= 0 || s.writing == nil || s.unpacked() <= pieceBytes {
		return s.Take(limit)
	}
	out, s.garbage = s.garbage, nil
	for left := limit; left > 0 && len(s.queue) > 0; {
		out, left = s.hand(out, left)
	}
	ended := make(chan struct{})
	s.packing = ended
	go func() {
		defer close(ended)
		s.packAhead(limit)
	}()
	return out, false
}

// unpacked is the number of bytes that are not compressed yet.
func (s *Snapshotter) unpacked() (n int) {
	for _, r := range s.raw {
		n += len(r.bytes)
	}
	if s.current != nil {
		n += len(s.current.rest)
	}
	return n
}

// packAhead compresses until limit bytes are in the queue.
func (s *Snapshotter) packAhead(limit int64) {
	for _, c := range s.queue {
		limit -= int64(len(c.Value))
	}
	for limit > 0 {
		before := len(s.queue)
		if !s.packPiece() {
			return
		}
		var bytes int64
		for _, c := range s.queue[before:] {
			bytes += int64(len(c.Value))
		}
		limit -= max(bytes, leastCost)
	}
}

// Complete takes note that the transaction with the manifest is in the topic.
func (s *Snapshotter) Complete() {
	dropped := s.Before
	s.Before, s.Last, s.writing = s.Last, s.writing, nil
	s.versions = s.next
	if dropped == nil {
		return
	}
	for _, old := range dropped.Sections {
		keep := 0
		for _, m := range []*Manifest{s.Last, s.Before} {
			if now, ok := m.Find(old.Name); ok && now.Slot == old.Slot {
				keep = max(keep, now.Chunks)
			}
		}
		for c := keep; c < old.Chunks; c++ {
			s.garbage = append(s.garbage, Change{Key: old.key(c)})
		}
	}
}

// change is one record to write to the state topic; a nil value is a tombstone.
type Change struct {
	Key   string
	Value []byte
}
