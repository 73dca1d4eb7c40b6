package stream

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
)

// journalRing is the number of journal keys; a snapshot is forced before it is used up twice.
const journalRing = 4096

const slots = 3

// position is how far a partition has come.
type position struct {
	events, labels int64 // next offsets
	model          int64
}

// journalEntry says what a replay must do at one point, see FORMAT.md.
type journalEntry struct {
	number uint64
	position
	format int
}

func journalKey(number uint64) string { return "journal/" + strconv.FormatUint(number%journalRing, 10) }

func (e journalEntry) encode() []byte {
	b := wire.AppendUvarint(nil, e.number)
	b = wire.AppendVarint(b, e.events)
	b = wire.AppendVarint(b, e.labels)
	return seal(wire.AppendVarint(b, e.model), e.format)
}

func decodeJournal(value []byte, newest int) (e journalEntry, err error) {
	payload, format, err := open(value, newest)
	if err != nil {
		return e, err
	}
	r := wire.NewReader(payload)
	e = journalEntry{number: r.Uvarint(), position: position{events: r.Varint(), labels: r.Varint(), model: r.Varint()}, format: format}
	return e, r.Done()
}

// stored is a section where it lies.
type stored struct {
	name string
	slot int
	blob
}

func (s stored) key(chunk int) string {
	return "part/" + s.name + "/" + strconv.Itoa(s.slot) + "/" + strconv.Itoa(chunk)
}

// manifest describes a complete snapshot.
type manifest struct {
	format      int // of all its values
	number      uint64
	fingerprint uint64
	position
	journal  uint64 // number of the next journal record
	labelled float64
	sections []stored
}

func (m *manifest) key() string { return "manifest/" + strconv.FormatUint(m.number%2, 10) }

func (m *manifest) encode() []byte {
	b := wire.AppendUvarint(nil, m.number)
	b = wire.AppendUvarint(b, m.fingerprint)
	b = wire.AppendVarint(b, m.events)
	b = wire.AppendVarint(b, m.labels)
	b = wire.AppendVarint(b, m.model)
	b = wire.AppendUvarint(b, m.journal)
	b = wire.AppendFloat(b, m.labelled)
	b = wire.AppendUvarint(b, uint64(len(m.sections)))
	for _, s := range m.sections {
		b = wire.AppendString(b, s.name)
		b = wire.AppendUvarint(b, uint64(s.slot))
		b = s.append(b)
	}
	return seal(b, m.format)
}

func decodeManifest(value []byte, newest int) (*manifest, error) {
	payload, format, err := open(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	m := &manifest{format: format, number: r.Uvarint(), fingerprint: r.Uvarint(), position: position{events: r.Varint(), labels: r.Varint(), model: r.Varint()},
		journal: r.Uvarint(), labelled: r.Float()}
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		s := stored{name: r.String(), slot: r.Int(slots - 1)}
		s.blob = readBlob(r)
		m.sections = append(m.sections, s)
	}
	return m, r.Done()
}

// stateLog is the live content of one partition of the state topic: the last value of each key. Keys that no stage
// writes, values that are too large for their key, and what goes beyond limit are left out and counted: whoever else
// may write to the topic decides nothing about the memory of its readers.
type stateLog struct {
	values  map[string][]byte
	next    int64 // offset to read from
	newest  int   // format that is read
	limit   int64 // bytes of values, and of the sections of one snapshot
	forgets bool  // parts that were deleted leave without their tombstones, see forget
	bytes   int64
	foreign int
}

func newStateLog() *stateLog {
	return &stateLog{values: map[string][]byte{}, limit: maxSection, newest: Format}
}

func (l *stateLog) apply(key, value []byte) {
	bound := stateKeyBound(string(key))
	if bound == 0 || len(value) > bound {
		l.foreign++
		return
	}
	old := int64(len(l.values[string(key)]))
	if value == nil {
		l.bytes -= old
		delete(l.values, string(key))
		return
	}
	if l.bytes+int64(len(value))-old > l.limit {
		l.foreign++
		return
	}
	l.bytes += int64(len(value)) - old
	l.values[string(key)] = lasting(value)
	if l.forgets && strings.HasPrefix(string(key), "manifest/") {
		l.forget()
	}
}

// forget drops the parts that neither manifest names. A manifest has just come, and what follows it is of the next
// snapshot, so that these are of former ones: their tombstones may be gone before somebody comes by who reads on from
// time to time.
func (l *stateLog) forget() {
	found, problems := l.manifests()
	if len(problems) > 0 {
		return
	}
	for _, key := range l.orphans(found...) {
		l.bytes -= int64(len(l.values[key]))
		delete(l.values, key)
	}
}

// lasting returns value for keeping: small ones lie in blocks of the answer that they came in (txn.Fetched), each of
// which a single journal record would keep alive.
func lasting(value []byte) []byte {
	if len(value) < 16<<10 {
		return bytes.Clone(value)
	}
	return value
}

// stateKeyBound returns how large the value of a key may be, 0 when no stage writes such a key.
func stateKeyBound(key string) int {
	kind, rest, _ := strings.Cut(key, "/")
	number := func(text string, below int) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= 0 && n < below && strconv.Itoa(n) == text
	}
	switch kind {
	case doneKey:
		if key == doneKey {
			return journalBytes
		}
	case "journal":
		if number(rest, journalRing) {
			return journalBytes
		}
	case "manifest":
		if number(rest, 2) {
			return maxManifest
		}
	case "part":
		p := strings.Split(rest, "/")
		if n := len(p); n >= 3 && len(rest) < 256 && number(p[n-1], maxSection/chunkBytes) && number(p[n-2], slots) {
			return chunkBytes + 5
		}
	}
	return 0
}

// orphans returns the keys of parts that none of the manifests names: what a writer left that died in the middle.
func (l *stateLog) orphans(found ...*manifest) (out []string) {
	named := map[string]bool{}
	for _, m := range found {
		if m == nil {
			continue
		}
		for _, s := range m.sections {
			for c := range s.chunks {
				named[s.key(c)] = true
			}
		}
	}
	for _, key := range sortedKeys(l.values) {
		if strings.HasPrefix(key, "part/") && !named[key] {
			out = append(out, key)
		}
	}
	return out
}

// manifests returns the readable manifests, newest first, and why others are not readable.
func (l *stateLog) manifests() (found []*manifest, problems []error) {
	for _, key := range []string{"manifest/0", "manifest/1"} {
		v, ok := l.values[key]
		if !ok {
			continue
		}
		m, err := decodeManifest(v, l.newest)
		if err != nil {
			problems = append(problems, fmt.Errorf("decoding %s: %w", key, err))
			continue
		}
		found = append(found, m)
	}
	if len(found) == 2 && found[0].number < found[1].number {
		found[0], found[1] = found[1], found[0]
	}
	return found, problems
}

// sections reads all sections of a snapshot.
func (l *stateLog) sections(m *manifest) (map[string][]byte, error) {
	out := make(map[string][]byte, len(m.sections))
	var total int64
	for _, s := range m.sections {
		if total += int64(s.length); total > l.limit {
			return nil, fmt.Errorf("reading snapshot %d: more than %d bytes, which this configuration cannot have written", m.number, l.limit)
		}
		if _, twice := out[s.name]; twice {
			return nil, fmt.Errorf("reading snapshot %d: section %s is named twice", m.number, s.name)
		}
		raw, err := l.section(m, s)
		if err != nil {
			return nil, err
		}
		out[s.name] = raw
	}
	return out, nil
}

// section reads one section of a snapshot.
func (l *stateLog) section(m *manifest, s stored) ([]byte, error) {
	if int64(s.length) > l.limit {
		return nil, fmt.Errorf("reading snapshot %d: section %s: more than %d bytes, which this configuration cannot have written", m.number, s.name, l.limit)
	}
	raw, err := unpack(s.blob, l.newest, func(i int) []byte { return l.values[s.key(i)] })
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %d: section %s: %w", m.number, s.name, err)
	}
	return raw, nil
}

// done returns what the last transaction says that it committed.
func (l *stateLog) done() (doneRecord, error) {
	v, ok := l.values[doneKey]
	if !ok {
		return doneRecord{}, nil
	}
	d, err := decodeDone(v, l.newest)
	if err != nil {
		return doneRecord{}, fmt.Errorf("decoding %s: %w", doneKey, err)
	}
	return d, nil
}

// errJournalLost is returned when journal records that a replay needs were overwritten.
var errJournalLost = errors.New("later journal records are there, but not this one")

// journal returns the entries from number on, in turn, up to the newest.
func (l *stateLog) journal(from uint64) ([]journalEntry, error) {
	var out []journalEntry
	for n := from; ; n++ {
		v, ok := l.values[journalKey(n)]
		if ok {
			e, err := decodeJournal(v, l.newest)
			if err != nil {
				return nil, fmt.Errorf("decoding %s: %w", journalKey(n), err)
			}
			if e.number == n {
				out = append(out, e)
				continue
			}
			// A round of the ring ago is where the journal ends; a round later is what has overwritten it.
		}
		if l.journalEnd() > n {
			return nil, fmt.Errorf("reading journal record %d: %w", n, errJournalLost)
		}
		return out, nil
	}
}

// journalEnd returns the number after the newest readable journal record.
func (l *stateLog) journalEnd() (end uint64) {
	for i := range uint64(journalRing) {
		if v, ok := l.values[journalKey(i)]; ok {
			if e, err := decodeJournal(v, l.newest); err == nil && e.number%journalRing == i && e.number < maxNumber {
				end = max(end, e.number+1)
			}
		}
	}
	return end
}

// maxNumber bounds the numbers of snapshots, journal records and models, so that counting on never overflows.
const maxNumber = 1 << 53

// change is one record to write to the state topic; a nil value is a tombstone.
type change struct {
	key   string
	value []byte
}

// snapshotter writes a partition's snapshots piece by piece: begin copies the state, take compresses and hands out what
// fits into the next transactions, and committed is told when all of it is in the topic.
type snapshotter struct {
	packer *packer
	last   *manifest // newest complete one; nil = none
	before *manifest
	// versions are those of the sections of last, as far as this process wrote or read them.
	versions map[string]uint64

	writing *manifest
	next    map[string]uint64
	raw     []rawSection // of writing, not yet compressed
	current *packing     // of writing, being compressed
	sealed  bool         // the manifest is in the queue
	queue   []change
	garbage []change // tombstones of what no manifest names any more; they go before a slot is written again
}

// rawSection is a changed section as begin found it.
type rawSection struct {
	name  string
	bytes []byte
}

func newSnapshotter() *snapshotter { return &snapshotter{packer: newPacker()} }

// busy reports whether a snapshot is being written.
func (s *snapshotter) busy() bool { return s.writing != nil }

// begin takes the state as it is now. It only copies: compressing it at once would hold up the records.
// Where the last snapshot is of another format, all of it is written again.
func (s *snapshotter) begin(p *model.Partition, fingerprint uint64, at position, journal uint64, format int) {
	m := &manifest{format: format, number: 1, fingerprint: fingerprint, position: at, journal: journal, labelled: p.Labelled()}
	if s.last != nil {
		m.number = s.last.number + 1
	}
	s.next = map[string]uint64{}
	s.queue, s.raw, s.current, s.sealed = s.queue[:0], s.raw[:0], nil, false
	size := 0
	for _, sec := range p.Sections() {
		s.next[sec.Name] = sec.Version
		old, known := find(s.last, sec.Name)
		known = known && s.last.format == format
		if v, ok := s.versions[sec.Name]; known && ok && v == sec.Version {
			m.sections = append(m.sections, old)
			continue
		}
		// Sections are of similar sizes from one snapshot to the next: growing would copy them several times.
		raw := sec.Append(make([]byte, 0, max(old.length+old.length/8, size)))
		if known && old.length == len(raw) && old.crc == crc32.Checksum(raw, castagnoli) {
			m.sections = append(m.sections, old)
			continue
		}
		if size = 0; strings.HasPrefix(sec.Name, "tail/") {
			size = len(raw)
		}
		s.raw = append(s.raw, rawSection{sec.Name, raw})
	}
	s.writing = m
}

// packing is a section that is being compressed, piece by piece, each piece a Zstandard frame of its own.
type packing struct {
	stored
	rest   []byte // not yet compressed
	packed []byte // compressed and not yet in the queue
}

// pieceBytes is how much is compressed at a time, between records.
const pieceBytes = 1 << 20

// pack compresses the next piece into the queue, at last the manifest; it reports false when there is no more.
func (s *snapshotter) pack() bool {
	if s.current == nil {
		if len(s.raw) == 0 {
			if s.sealed {
				return false
			}
			s.sealed = true
			s.queue = append(s.queue, change{s.writing.key(), s.writing.encode()})
			return true
		}
		sec := s.raw[0]
		s.raw[0].bytes, s.raw = nil, s.raw[1:]
		s.current = &packing{rest: sec.bytes, stored: stored{name: sec.name, slot: s.freeSlot(sec.name),
			blob: blob{length: len(sec.bytes), crc: crc32.Checksum(sec.bytes, castagnoli)}}}
	}
	c := s.current
	n := min(len(c.rest), pieceBytes)
	c.packed = s.packer.enc.EncodeAll(c.rest[:n], c.packed)
	c.rest = c.rest[n:]
	for len(c.packed) >= chunkBytes || len(c.rest) == 0 && (len(c.packed) > 0 || c.chunks == 0) {
		n := min(len(c.packed), chunkBytes)
		s.queue = append(s.queue, change{c.key(c.chunks), seal(c.packed[:n], s.writing.format)})
		c.packed = c.packed[n:]
		c.chunks++
		c.stored.packed += n
	}
	if len(c.rest) == 0 {
		s.writing.sections = append(s.writing.sections, c.stored)
		s.current = nil
	}
	return true
}

func find(m *manifest, name string) (stored, bool) {
	if m != nil {
		for _, s := range m.sections {
			if s.name == name {
				return s, true
			}
		}
	}
	return stored{}, false
}

func (s *snapshotter) freeSlot(name string) int {
	a, okA := find(s.last, name)
	b, okB := find(s.before, name)
	for slot := range slots {
		if !(okA && a.slot == slot) && !(okB && b.slot == slot) {
			return slot
		}
	}
	panic("three slots and two manifests leave one free")
}

// take returns the next pieces until they are limit bytes or just more, none when limit is not above 0; done reports
// that the manifest is among them.
func (s *snapshotter) take(limit int64) (out []change, done bool) {
	out, s.garbage = s.garbage, nil
	if s.writing == nil {
		return out, false
	}
	for limit > 0 && (len(s.queue) > 0 || s.pack()) {
		limit -= int64(len(s.queue[0].value))
		out = append(out, s.queue[0])
		s.queue = s.queue[1:]
	}
	return out, s.sealed && len(s.queue) == 0
}

// pace keeps the bytes of snapshots to a rate, also where a transaction comes before the next piece is due.
type pace struct {
	rate float64   // bytes a second
	paid time.Time // when the bytes written so far would have been written at that rate
}

// begin is told that a snapshot begins: it may write what is due in the first 100 ms at once.
func (p *pace) begin(now time.Time) { p.since(now.Add(-100 * time.Millisecond)) }

func (p *pace) since(t time.Time) {
	if p.paid.Before(t) {
		p.paid = t
	}
}

// allows returns how many bytes may be written now, at most those of a second; 0 and less = none.
func (p *pace) allows(now time.Time) int64 {
	p.since(now.Add(-time.Second))
	return int64(p.rate * now.Sub(p.paid).Seconds())
}

func (p *pace) spend(bytes int) {
	p.paid = p.paid.Add(time.Duration(float64(bytes) / p.rate * float64(time.Second)))
}

// committed is told that the transaction with the manifest is in the topic.
func (s *snapshotter) committed() {
	dropped := s.before
	s.before, s.last, s.writing = s.last, s.writing, nil
	s.versions = s.next
	if dropped == nil {
		return
	}
	for _, old := range dropped.sections {
		keep := 0
		for _, m := range []*manifest{s.last, s.before} {
			if now, ok := find(m, old.name); ok && now.slot == old.slot {
				keep = max(keep, now.chunks)
			}
		}
		for c := keep; c < old.chunks; c++ {
			s.garbage = append(s.garbage, change{old.key(c), nil})
		}
	}
}
