package stream

import (
	"fmt"
	"hash/crc32"
	"strconv"

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
}

func journalKey(number uint64) string { return "journal/" + strconv.FormatUint(number%journalRing, 10) }

func (e journalEntry) encode() []byte {
	b := wire.AppendUvarint(nil, e.number)
	b = wire.AppendVarint(b, e.events)
	b = wire.AppendVarint(b, e.labels)
	return seal(wire.AppendVarint(b, e.model))
}

func decodeJournal(value []byte) (e journalEntry, err error) {
	payload, err := open(value)
	if err != nil {
		return e, err
	}
	r := wire.NewReader(payload)
	e = journalEntry{number: r.Uvarint(), position: position{events: r.Varint(), labels: r.Varint(), model: r.Varint()}}
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
	return seal(b)
}

func decodeManifest(value []byte) (*manifest, error) {
	payload, err := open(value)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	m := &manifest{number: r.Uvarint(), fingerprint: r.Uvarint(), position: position{events: r.Varint(), labels: r.Varint(), model: r.Varint()},
		journal: r.Uvarint(), labelled: r.Float()}
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		s := stored{name: r.String(), slot: r.Int(slots - 1)}
		s.blob = readBlob(r)
		m.sections = append(m.sections, s)
	}
	return m, r.Done()
}

// stateLog is the live content of one partition of the state topic: the last value of each key.
type stateLog struct {
	values map[string][]byte
	next   int64 // offset to read from
}

func newStateLog() *stateLog { return &stateLog{values: map[string][]byte{}} }

func (l *stateLog) apply(key, value []byte) {
	if value == nil {
		delete(l.values, string(key))
		return
	}
	l.values[string(key)] = value
}

// manifests returns the readable manifests, newest first, and why others are not readable.
func (l *stateLog) manifests() (found []*manifest, problems []error) {
	for _, key := range []string{"manifest/0", "manifest/1"} {
		v, ok := l.values[key]
		if !ok {
			continue
		}
		m, err := decodeManifest(v)
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
	for _, s := range m.sections {
		raw, err := unpack(s.blob, func(i int) []byte { return l.values[s.key(i)] })
		if err != nil {
			return nil, fmt.Errorf("reading snapshot %d: section %s: %w", m.number, s.name, err)
		}
		out[s.name] = raw
	}
	return out, nil
}

// journal returns the entries from number on, in turn; the first gap ends it.
func (l *stateLog) journal(from uint64) ([]journalEntry, error) {
	var out []journalEntry
	for n := from; ; n++ {
		v, ok := l.values[journalKey(n)]
		if !ok {
			return out, nil
		}
		e, err := decodeJournal(v)
		if err != nil {
			return nil, fmt.Errorf("decoding %s: %w", journalKey(n), err)
		}
		if e.number != n {
			return out, nil // a round of the ring ago
		}
		out = append(out, e)
	}
}

// change is one record to write to the state topic; a nil value is a tombstone.
type change struct {
	key   string
	value []byte
}

// snapshotter writes a partition's snapshots piece by piece: begin takes the state, take hands out what fits into the
// next transactions, and committed is told when all of it is in the topic.
type snapshotter struct {
	packer *packer
	last   *manifest // newest complete one; nil = none
	before *manifest
	// versions are those of the sections of last, as far as this process wrote or read them.
	versions map[string]uint64

	writing *manifest
	next    map[string]uint64
	queue   []change
	garbage []change // tombstones of what no manifest names any more; they go before a slot is written again
}

func newSnapshotter() *snapshotter { return &snapshotter{packer: newPacker()} }

// busy reports whether a snapshot is being written.
func (s *snapshotter) busy() bool { return s.writing != nil }

// begin takes the state as it is now.
func (s *snapshotter) begin(p *model.Partition, fingerprint uint64, at position, journal uint64) {
	m := &manifest{number: 1, fingerprint: fingerprint, position: at, journal: journal, labelled: p.Labelled()}
	if s.last != nil {
		m.number = s.last.number + 1
	}
	s.next = map[string]uint64{}
	s.queue = s.queue[:0]
	var raw []byte
	for _, sec := range p.Sections() {
		s.next[sec.Name] = sec.Version
		old, known := find(s.last, sec.Name)
		if v, ok := s.versions[sec.Name]; known && ok && v == sec.Version {
			m.sections = append(m.sections, old)
			continue
		}
		raw = sec.Append(raw[:0])
		if known && old.length == len(raw) && old.crc == crc32.Checksum(raw, castagnoli) {
			m.sections = append(m.sections, old)
			continue
		}
		b, frames := s.packer.pack(raw)
		put := stored{name: sec.Name, slot: s.freeSlot(sec.Name), blob: b}
		m.sections = append(m.sections, put)
		for i, f := range frames {
			s.queue = append(s.queue, change{put.key(i), f})
		}
	}
	s.queue = append(s.queue, change{m.key(), m.encode()})
	s.writing = m
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

// take returns the next pieces, about limit bytes of them but at least one; done reports that the manifest is among them.
func (s *snapshotter) take(limit int64) (out []change, done bool) {
	out, s.garbage = s.garbage, nil
	if s.writing == nil {
		return out, false
	}
	for len(s.queue) > 0 && (limit > 0 || len(out) == 0) {
		limit -= int64(len(s.queue[0].value))
		out = append(out, s.queue[0])
		s.queue = s.queue[1:]
	}
	return out, len(s.queue) == 0
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
