package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"liftstream/model"
	"liftstream/stream/txn"
)

// Log is the content of one partition of the state topic: the last value of each key. It leaves out keys that no stage
// writes, values too large for their key, and values beyond Limit, and counts them in Foreign: so another writer of the
// topic cannot fill the memory of its readers.
type Log struct {
	values  map[string][]byte
	Next    int64 // offset from which to read on
	Newest  int   // format that is read
	Limit   int64 // bytes of values, and of the sections of one snapshot
	Forgets bool  // deleted parts leave without their tombstones, see forget
	bytes   int64
	Foreign int // values left out
}

// NewLog returns an empty log that reads formats up to Format.
func NewLog() *Log {
	return &Log{values: map[string][]byte{}, Limit: maxModel, Newest: Format}
}

// Apply takes one record of the topic; a nil value is a tombstone.
func (l *Log) Apply(key, value []byte) {
	bound := stateKeyBound(string(key))
	if bound == 0 || len(value) > bound {
		l.Foreign++
		return
	}
	old := int64(len(l.values[string(key)]))
	if value == nil {
		l.bytes -= old
		delete(l.values, string(key))
		return
	}
	if l.bytes+int64(len(value))-old > l.Limit {
		l.Foreign++
		return
	}
	if string(key) == BeginKey {
		l.begin()
	}
	l.bytes += int64(len(value)) - old
	l.values[string(key)] = lasting(value)
	if l.Forgets && strings.HasPrefix(string(key), "manifest/") {
		l.forget()
	}
}

// begin drops the manifests and journal records so far: they tell of a former state. Their tombstones follow, but a
// reader that is slower than the topic's delete.retention.ms may not see them any more.
func (l *Log) begin() {
	for _, key := range l.History() {
		l.bytes -= int64(len(l.values[key]))
		delete(l.values, key)
	}
}

// forget drops the parts that neither manifest names. It runs when a manifest has come: the parts of the next snapshot
// follow it, so these belong to former ones. Compaction may take their tombstones before a reader that reads on from
// time to time sees them.
func (l *Log) forget() {
	found, problems := l.Manifests()
	if len(problems) > 0 {
		return
	}
	for _, key := range l.Orphans(found...) {
		l.bytes -= int64(len(l.values[key]))
		delete(l.values, key)
	}
}

// lasting returns a value that may be kept. A small value is copied: it lies in a block of its answer (txn.Fetched),
// and a single journal record would keep the whole block alive.
func lasting(value []byte) []byte {
	if len(value) < 16<<10 {
		return bytes.Clone(value)
	}
	return value
}

// stateKeyBound returns the largest size of the value of a key, 0 where no stage writes such a key.
func stateKeyBound(key string) int {
	kind, rest, _ := strings.Cut(key, "/")
	number := func(text string, below int) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= 0 && n < below && strconv.Itoa(n) == text
	}
	switch kind {
	case DoneKey, BeginKey, SeenKey, BootstrapKey:
		if rest == "" && key == kind {
			return JournalBytes
		}
	case OwnerKey:
		if key == OwnerKey {
			return ownerBytes
		}
	case erasedKind:
		if number(rest, JournalRing) {
			return erasedBytes
		}
	case "journal", "judged", "obeyed":
		if number(rest, JournalRing) {
			return JournalBytes
		}
	case skipKind:
		stage, offset, _ := strings.Cut(rest, "/")
		if n, err := strconv.ParseInt(offset, 10, 64); err == nil && n >= 0 && strconv.FormatInt(n, 10) == offset &&
			(stage == "events" || stage == "labels") {
			return skipBytes
		}
	case "manifest":
		if number(rest, 2) {
			return maxManifest
		}
	case "part":
		p := strings.Split(rest, "/")
		if n := len(p); n >= 3 && len(rest) < 256 && number(p[n-1], maxSection/leastChunk) && number(p[n-2], slots) {
			return chunkBytes + 5
		}
	}
	return 0
}

// Empty reports whether the partition holds nothing that a stage writes; skips are an operator's.
func (l *Log) Empty() bool {
	for key := range l.values {
		if !strings.HasPrefix(key, skipKind+"/") {
			return false
		}
	}
	return true
}

// History returns the keys that tell of the state so far, see OfHistory.
func (l *Log) History() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.values)), func(key string) bool { return !OfHistory(key) })
}

// OfHistory reports whether the record of a key tells of the state so far: it is a manifest, a journal record, a
// judgement, an obeyed order (one to forget too), or the bootstrap.
func OfHistory(key string) bool {
	return key == BootstrapKey || strings.HasPrefix(key, "manifest/") || strings.HasPrefix(key, "journal/") ||
		strings.HasPrefix(key, judgedKeys) || strings.HasPrefix(key, obeyedKeys) || strings.HasPrefix(key, ErasedKeys)
}

// Orphans returns the keys of parts that none of the manifests names: a writer that died in the middle of a snapshot
// leaves them. A nil manifest names nothing.
func (l *Log) Orphans(found ...*Manifest) (out []string) {
	chunks := map[string]int{} // of the sections that are named, by their slot; a manifest may announce any number
	for _, m := range found {
		if m == nil {
			continue
		}
		for _, s := range m.Sections {
			slot := s.slot()
			chunks[slot] = max(chunks[slot], s.Chunks)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		if !strings.HasPrefix(key, "part/") {
			continue
		}
		end := strings.LastIndexByte(key, '/') + 1
		if c, err := strconv.Atoi(key[end:]); err != nil || c >= chunks[key[:end]] {
			out = append(out, key)
		}
	}
	return out
}

// Manifests returns the readable manifests, newest first, and an error for each one that cannot be read.
func (l *Log) Manifests() (found []*Manifest, problems []error) {
	for _, key := range []string{"manifest/0", "manifest/1"} {
		v, ok := l.values[key]
		if !ok {
			continue
		}
		m, err := DecodeManifest(v, l.Newest)
		if err != nil {
			problems = append(problems, fmt.Errorf("decoding %s: %w", key, err))
			continue
		}
		found = append(found, m)
	}
	if len(found) == 2 && found[0].Number < found[1].Number {
		found[0], found[1] = found[1], found[0]
	}
	return found, problems
}

// Sections reads all sections of a snapshot.
func (l *Log) Sections(m *Manifest) (map[string][]byte, error) {
	out := make(map[string][]byte, len(m.Sections))
	err := l.each(m, func(name string, raw []byte) { out[name] = raw })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Check reads all sections of a snapshot, one at a time, and keeps none.
func (l *Log) Check(m *Manifest) error { return l.each(m, func(string, []byte) {}) }

// each calls yield with each section of a snapshot.
func (l *Log) each(m *Manifest, yield func(name string, raw []byte)) error {
	seen := make(map[string]bool, len(m.Sections))
	var total int64
	for _, s := range m.Sections {
		if total += int64(s.Length); total > l.Limit {
			return fmt.Errorf("reading snapshot %d: more than %d bytes, which this configuration cannot have written",
				m.Number, l.Limit)
		}
		if seen[s.Name] {
			return fmt.Errorf("reading snapshot %d: section %s is named twice", m.Number, s.Name)
		}
		raw, err := l.Section(m, s)
		if err != nil {
			return err
		}
		seen[s.Name] = true
		yield(s.Name, raw)
	}
	return nil
}

// Section reads one section of a snapshot.
func (l *Log) Section(m *Manifest, s Stored) ([]byte, error) {
	if int64(s.Length) > l.Limit {
		return nil, fmt.Errorf(
			"reading snapshot %d: section %s: more than %d bytes, which this configuration cannot have written",
			m.Number, s.Name, l.Limit)
	}
	raw, err := unpack(s.Blob, l.Newest, func(i int) []byte { return l.values[s.key(i)] })
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %d: section %s: %w", m.Number, s.Name, err)
	}
	return raw, nil
}

// Done returns the done record, the zero value where there is none.
func (l *Log) Done() (Done, error) {
	v, ok := l.values[DoneKey]
	if !ok {
		return Done{}, nil
	}
	d, err := DecodeDone(v, l.Newest)
	if err != nil {
		return Done{}, fmt.Errorf("decoding %s: %w", DoneKey, err)
	}
	return d, nil
}

// Owner returns the owner record, the zero value where there is none.
func (l *Log) Owner() (Owner, error) {
	v, ok := l.values[OwnerKey]
	if !ok {
		return Owner{}, nil
	}
	o, err := DecodeOwner(v, l.Newest)
	if err != nil {
		err = fmt.Errorf("decoding %s: %w", OwnerKey, err)
	}
	return o, err
}

// Seen returns the messages that the stage says it has read, the zero value where it says none.
func (l *Log) Seen() (Seen, error) {
	v, ok := l.values[SeenKey]
	if !ok {
		return Seen{}, nil
	}
	s, err := DecodeSeen(v, l.Newest)
	if err != nil {
		err = fmt.Errorf("decoding %s: %w", SeenKey, err)
	}
	return s, err
}

// errJournalLost is returned where journal records that a replay needs were overwritten.
var errJournalLost = errors.New("later journal records are there, but not this one")

// Journal returns the entries from number on, in turn, up to the newest.
func (l *Log) Journal(from uint64) ([]JournalEntry, error) {
	var out []JournalEntry
	for n := from; ; n++ {
		v, ok := l.values[JournalKey(n)]
		if ok {
			e, err := DecodeJournal(v, l.Newest)
			if err != nil {
				return nil, fmt.Errorf("decoding %s: %w", JournalKey(n), err)
			}
			if e.Number == n {
				if e.Obeyed, err = l.obeyed(n); err == nil {
					e.Erased, err = l.erased(n)
				}
				if err != nil {
					return nil, err
				}
				out = append(out, e)
				continue
			}
			// An older number stands where the journal ends, a later one has overwritten the record.
		}
		if l.JournalEnd() > n {
			return nil, fmt.Errorf("reading journal record %d: %w", n, errJournalLost)
		}
		return out, nil
	}
}

// obeyed returns the orders that the transaction of a journal record has obeyed.
func (l *Log) obeyed(n uint64) (Obeyed, error) {
	v, ok := l.values[ObeyedKey(n)]
	if !ok {
		return Obeyed{}, nil
	}
	number, o, err := DecodeObeyed(v, l.Newest)
	if err != nil {
		return o, fmt.Errorf("decoding %s: %w", ObeyedKey(n), err)
	}
	if number != n {
		return Obeyed{}, nil
	}
	return o, nil
}

// JournalEnd returns the number after the newest readable journal record.
func (l *Log) JournalEnd() (end uint64) {
	for i := range uint64(JournalRing) {
		if v, ok := l.values[JournalKey(i)]; ok {
			if e, err := DecodeJournal(v, l.Newest); err == nil && e.Number%JournalRing == i && e.Number < MaxNumber {
				end = max(end, e.Number+1)
			}
		}
	}
	return end
}

// Bound returns more bytes than the state of a partition of this specification can hold.
func Bound(s *model.Spec) int64 {
	o := &s.Options
	sample := o.TailBytes + o.ReservoirBytes + o.WaitBytes + o.DedupBytes
	return 2*max(sample, 0) + 512<<20
}

// Follow reads on to the end of a partition of the state topic.
func (l *Log) Follow(ctx context.Context, c *txn.Client, topic string, partition int) error {
	start, end, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return fmt.Errorf("reading the state topic: %w", err)
	}
	l.Next, err = c.Read(ctx, topic, partition, max(l.Next, start), end, func(r *txn.Record) { l.Apply(r.Key, r.Value) })
	if err != nil {
		return fmt.Errorf("reading the state topic: %w", err)
	}
	return nil
}

// Snapshot is a complete snapshot with its parts.
type Snapshot struct {
	*Manifest
	Log *Log
}

// Hold returns a log of that snapshot alone, which later snapshots do not overwrite.
func (l *Log) Hold(m *Manifest) *Snapshot {
	held := NewLog()
	held.Newest, held.Limit = l.Newest, l.Limit
	for _, s := range m.Sections {
		for c := range s.Chunks {
			if v, ok := l.values[s.key(c)]; ok {
				held.values[s.key(c)] = v
			}
		}
	}
	return &Snapshot{m, held}
}
