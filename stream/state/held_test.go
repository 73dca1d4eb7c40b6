package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestTheBytesOfAReaderAreCounted: in any order of values and tombstones, the counted bytes are those of the held
// values. Else a reader would refuse values after a while, or hold more than its limit.
func TestTheBytesOfAReaderAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	part := func(i int) Stored {
		return Stored{Name: fmt.Sprint("tail/", i), Slot: i % slots, Blob: Blob{Chunks: 1}}
	}
	for _, forgets := range []bool{false, true} {
		log, models := NewLog(), NewModels(nil, "", sample.Schema)
		log.Forgets, log.Limit = forgets, 30_000
		for i := range 3000 {
			key, value := "", make([]byte, r.IntN(JournalBytes-20)+10)
			switch r.IntN(20) {
			case 0:
				m := &Manifest{Format: 1, Number: uint64(i)}
				for k := range 3 {
					m.Sections = append(m.Sections, part((i+k)%9))
				}
				key, value = m.Key(), m.Encode()
			case 1:
				if r.IntN(10) == 0 {
					key = BeginKey
				}
			case 2, 3, 4, 5:
				key = JournalKey(uint64(r.IntN(50)))
			case 6:
				key = JudgedKey(uint64(r.IntN(50)))
			default:
				key, value = part(r.IntN(9)).key(r.IntN(3)), make([]byte, r.IntN(2000))
			}
			if r.IntN(5) == 0 {
				value = nil
			}
			log.Apply([]byte(key), value)
			var held int64
			for _, v := range log.values {
				held += int64(len(v))
			}
			if log.bytes != held || held > log.Limit {
				t.Fatalf("forgets %v: %d bytes are counted after %q, %d are held", forgets, log.bytes, key, held)
			}
			models.apply(modelChunkKey(int64(r.IntN(5)), r.IntN(3)), value)
			held = 0
			for _, v := range models.values {
				held += int64(len(v))
			}
			if models.bytes != held {
				t.Fatalf("%d bytes of models are counted, %d are held", models.bytes, held)
			}
		}
		if log.Foreign == 0 {
			t.Error("no value was beyond the limit: the test says nothing about it")
		}
	}
}

// TestPartsStayWhileAManifestCannotBeRead: they may be its own.
func TestPartsStayWhileAManifestCannotBeRead(t *testing.T) {
	for name, damaged := range map[string]bool{"readable": false, "damaged": true} {
		log := NewLog()
		log.Forgets = true
		log.Apply([]byte("part/core/0/0"), []byte("value"))
		if damaged {
			log.Apply([]byte("manifest/0"), []byte("damage"))
		}
		m := &Manifest{Format: 1, Number: 1}
		log.Apply([]byte(m.Key()), m.Encode())
		if held := log.values["part/core/0/0"] != nil; held != damaged {
			t.Errorf("%s: the part is held %v", name, held)
		}
	}
}

// TestAHeldSnapshotIsReadAsItsLogReadIt: in the same formats, within the same limit, and though the log goes on.
func TestAHeldSnapshotIsReadAsItsLogReadIt(t *testing.T) {
	raw := bytes.Repeat([]byte("section "), 100)
	blob, frames := NewPacker().pack(raw, 2)
	s := Stored{Name: "core", Blob: blob}
	log := NewLog()
	log.Newest, log.Limit = 2, int64(len(raw))
	log.Apply([]byte(s.key(0)), frames[0])
	m := &Manifest{Number: 1, Sections: []Stored{s}}
	held := log.Hold(m)
	log.Apply([]byte(s.key(0)), nil)
	got, err := held.Log.Sections(m)
	if err != nil || !bytes.Equal(got["core"], raw) || held.Log.Check(m) != nil {
		t.Errorf("%v, %d bytes", err, len(got["core"]))
	}
	if _, err := log.Sections(m); err == nil {
		t.Error("the log goes on, and nothing has changed")
	}
	log.Limit--
	if err := log.Hold(m).Log.Check(m); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("above the limit of its log: %v", err)
	}
}

// TestSkipsAreNoState: an operator may write them before the first start.
func TestSkipsAreNoState(t *testing.T) {
	for _, c := range []struct {
		keys  []string
		empty bool
	}{{nil, true}, {[]string{"skip/events/3", "skip/labels/0"}, true}, {[]string{"skip/events/3", "done"}, false},
		{[]string{"journal/0"}, false}, {[]string{"seen"}, false}} {
		log := NewLog()
		for _, key := range c.keys {
			log.Apply([]byte(key), []byte("value"))
		}
		if log.Empty() != c.empty {
			t.Errorf("%q: empty %v", c.keys, log.Empty())
		}
	}
}

// TestASkipThatCannotBeReadIsNamedByItsTime, whether it could be read then or can be now.
func TestASkipThatCannotBeReadIsNamedByItsTime(t *testing.T) {
	at := time.UnixMilli(1000)
	for _, c := range []struct {
		readable, now bool
		value         string
		at            time.Time
		want          bool
	}{
		{true, true, "value", at, true}, {true, true, "other", at, false}, {true, true, "value", at.Add(time.Second), false},
		{true, false, "", at, true}, {true, false, "", time.Time{}, false}, {false, true, "value", at, true},
		{false, true, "value", at.Add(time.Second), false}, {false, false, "", at, true},
	} {
		s := Skip{Stage: "events", Offset: 7}
		s.Name([]byte("value"), at, c.readable)
		if before := s; s.Names([]byte(c.value), c.at, c.now) != c.want || s != before {
			t.Errorf("%+v: want %v", c, c.want)
		}
	}
	// In the order of the topics, each under its own key.
	log := NewLog()
	var want []Skip
	for _, n := range []int64{3, 5} {
		s := Skip{Stage: "events", Offset: n, Time: -1, Why: "why"}
		log.Apply([]byte(s.Key()), s.Encode(1))
		want = append(want, s)
	}
	wrong := Skip{Stage: "events", Offset: 9}
	log.Apply([]byte("skip/labels/9"), wrong.Encode(1))
	log.Apply([]byte("skip/events/8"), wrong.Encode(1))
	log.Apply([]byte("skip/events/7"), []byte("damage"))
	wrong.Stage = "labels"
	want = append(want, wrong)
	if got := log.Skips(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// written takes a whole snapshot of a partition, and applies it to a log.
func written(t *testing.T, s *Snapshotter, log *Log, p *model.Partition, format int) (keys []string) {
	t.Helper()
	s.Start(p, 9, Position{Events: p.NextOffset()}, 0, format)
	for s.Busy() {
		pieces, whole := s.Take(1 << 20)
		for _, c := range pieces {
			log.Apply([]byte(c.Key), c.Value)
			keys = append(keys, c.Key)
		}
		if whole {
			s.Complete()
		}
	}
	return keys
}

// TestASnapshotThatNoReaderTakesIsGivenUp: its parts are deleted, once, those of the two before stay, and the next
// snapshot is written whole.
func TestASnapshotThatNoReaderTakesIsGivenUp(t *testing.T) {
	p := model.NewPartition(sample.Spec(), 0)
	var scores model.Scores
	log, snap := NewLog(), NewSnapshotter()
	for i := range 2 {
		p.Events(sample.Records(3000*i, 3000), &scores)
		written(t, snap, log, p, 1)
	}
	before := slices.Sorted(maps.Keys(log.values))
	p.Events(sample.Records(6000, 3000), &scores)
	snap.Within(60) // the manifest takes more
	keys := written(t, snap, log, p, 1)
	if snap.Problem == nil || !strings.Contains(snap.Problem.Error(), "the topic 60") || len(keys) < 2 {
		t.Fatalf("%v, %d pieces", snap.Problem, len(keys))
	}
	if !snap.Pending() {
		t.Error("its parts are to be deleted, and nothing is pending")
	}
	garbage, _ := snap.Take(1)
	for _, c := range garbage {
		if c.Value != nil {
			t.Errorf("%s is written", c.Key)
		}
		log.Apply([]byte(c.Key), nil)
	}
	if again, _ := snap.Take(1); len(again) > 0 || snap.Pending() {
		t.Errorf("%d are deleted once more", len(again))
	}
	found, _ := log.Manifests()
	if len(found) != 2 || len(log.Orphans(found...)) > 0 {
		t.Errorf("%d snapshots, orphans %q", len(found), log.Orphans(found...))
	}
	for _, m := range found {
		if err := log.Check(m); err != nil {
			t.Errorf("snapshot %d: %v", m.Number, err)
		}
	}
	if after := slices.Sorted(maps.Keys(log.values)); !slices.Equal(after, before) {
		t.Errorf("%d keys are left, %d were there", len(after), len(before))
	}
	snap.Within(0)
	written(t, snap, log, p, 1)
	got, err := log.Sections(snap.Last)
	if err != nil || snap.Problem != nil || !maps.EqualFunc(got, p.Snapshot(), bytes.Equal) || snap.Last.Number != 3 {
		t.Errorf("the next snapshot: %v, %v", err, snap.Problem)
	}
}

// TestASnapshotIsOfOneFormat: where it is another than that of the last, everything is written again.
func TestASnapshotIsOfOneFormat(t *testing.T) {
	p := model.NewPartition(sample.Spec(), 0)
	var scores model.Scores
	p.Events(sample.Records(0, 3000), &scores)
	log, snap := NewLog(), NewSnapshotter()
	log.Newest = 2
	for _, c := range []struct {
		format int
		whole  bool
	}{{1, true}, {1, false}, {2, true}, {2, false}, {1, true}} {
		keys := written(t, snap, log, p, c.format)
		for _, s := range snap.Last.Sections {
			if format := int(log.values[s.key(0)][0]); format != c.format {
				t.Errorf("section %s of a snapshot of format %d is of format %d", s.Name, c.format, format)
			}
		}
		if whole := len(keys) > len(snap.Last.Sections); whole != c.whole || snap.Last.Format != c.format {
			t.Errorf("format %d: %d records for %d sections", c.format, len(keys), len(snap.Last.Sections))
		}
	}
}

// TestReadersOfSectionsGiveTheirBytesBack, also where a section is damaged or its user fails.
func TestReadersOfSectionsGiveTheirBytesBack(t *testing.T) {
	raw := bytes.Repeat([]byte("section "), 1000)
	blob, frames := NewPacker().pack(raw, 1)
	good, bad := Stored{Name: "core", Blob: blob}, Stored{Name: "tail", Blob: blob}
	log := NewLog()
	log.Apply([]byte(good.key(0)), frames[0])
	m := &Manifest{Sections: []Stored{good, bad}}
	s := snapshotsWithin(map[int32]*Snapshot{3: {m, log}, 1: {&Manifest{}, log}}, int64(len(raw)))
	failed := errors.New("by the test")
	for range 3 {
		read := 0
		if err := s.Read(3, "core", func(b []byte) error { read = len(b); return failed }); !errors.Is(err, failed) ||
			read != len(raw) {
			t.Errorf("%v, %d bytes", err, read)
		}
		if err := s.Read(3, "tail", func([]byte) error { return nil }); err == nil {
			t.Error("a section that is not there is read")
		}
		if !s.budget.TryAcquire(s.limit) {
			t.Fatal("a reader has ended and still holds bytes")
		}
		s.budget.Release(s.limit)
	}
	for _, c := range []struct {
		partition int32
		section   string
	}{{3, "other"}, {2, "core"}, {1, "core"}} {
		read := []byte("x")
		if err := s.Read(c.partition, c.section, func(b []byte) error { read = b; return nil }); err != nil || read != nil {
			t.Errorf("%+v: %d bytes, %v", c, len(read), err)
		}
	}
	if got := s.Partitions(); !slices.Equal(got, []int32{1, 3}) ||
		!slices.Equal(s.Sections(3), []string{"core", "tail"}) || s.Sections(2) != nil {
		t.Errorf("partitions %v, sections %v", got, s.Sections(3))
	}
}

// TestTheBoundOfAStateIsBeyondItsSample: twice the configured bytes, and half a GiB for the rest.
func TestTheBoundOfAStateIsBeyondItsSample(t *testing.T) {
	for _, o := range []model.Options{{}, {TailBytes: 1 << 30}, {ReservoirBytes: 1 << 30}, {WaitBytes: 1 << 30},
		{DedupBytes: 1 << 30}} {
		want := int64(512<<20) + 2*(o.TailBytes+o.ReservoirBytes+o.WaitBytes+o.DedupBytes)
		if got := Bound(&model.Spec{Options: o}); got != want {
			t.Errorf("%+v: %d, want %d", o, got, want)
		}
	}
}

// topic is a topic with the records of a stage, and a model log that reads it.
func topic(t *testing.T, name string, records ...txn.Record) *txn.Client {
	t.Helper()
	c := streamtest.NewTopic(t, name)
	for i := range records {
		records[i].Topic = name
	}
	if len(records) > 0 {
		if err := c.Produce(t.Context(), records, txn.None); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestTheModelTopicIsReadInTurn: the newest version that can be read serves, the newest verdict counts, and the headers
// are those of the newest record that names a version.
func TestTheModelTopicIsReadInTurn(t *testing.T) {
	l := NewModels(nil, "m", sample.Schema)
	header := func(text string) []txn.Header { return []txn.Header{{Key: "stage", Value: []byte(text)}} }
	var records []txn.Record
	for v := range int64(4) {
		m := &model.Model{Version: v + 1, Fingerprint: 9, Levels: model.NewLevels(sample.Schema)}
		for _, r := range published(t)(l.Publication(NewPacker(), m, nil, time.Unix(1, 0), 1)) {
			if r.Headers = header(fmt.Sprint("stage ", v+1)); v == 3 && strings.HasPrefix(string(r.Key), "model/") {
				r.Value = []byte("damage")
			}
			records = append(records, r)
		}
	}
	for _, n := range []uint64{33, 34, 2, 30, 31} { // 34 takes the slot of 2, and 2 comes late
		v := &GateVerdict{Number: n, Version: int64(n), Clocks: map[int32]float64{0: float64(n)}}
		r := l.Pronounce(v, time.Unix(1, 0), 1)
		r.Headers = header("verdict")
		records = append(records, r)
	}
	records = append(records, txn.Record{Key: []byte("version/1"), Headers: header("tombstone")})
	c := topic(t, "m", records...)
	l = NewModels(c, "m", sample.Schema)
	for end := false; !end; {
		var err error
		if end, err = l.Advance(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if m := l.Readable(); m == nil || m.Version != 3 {
		t.Errorf("model %+v serves, want 3", m)
	}
	if v, _ := l.Head(); v != 4 || len(l.Versions()) != 3 {
		t.Errorf("the newest version is %d of %v", v, l.Versions())
	}
	if v := l.Verdict(); v == nil || v.Number != 33 {
		t.Errorf("verdict %+v, want 33", v)
	}
	if h := l.Headers(); len(h) != 1 || string(h[0].Value) != "stage 4" {
		t.Errorf("headers %q", h)
	}
	p, err := ReadPublished(t.Context(), c, "m")
	if err != nil {
		t.Fatal(err)
	}
	found := p.Versions
	if len(found) != 3 || found[0].Version != 2 || found[0].Err != nil || found[0].Model.Version != 2 ||
		found[0].Bytes == 0 || found[0].Packed == 0 || found[2].Version != 4 || found[2].Err == nil || found[2].Model != nil {
		t.Errorf("%v, %+v", err, found)
	}
	var numbers []uint64
	for _, v := range p.Verdicts {
		numbers = append(numbers, v.Number)
	}
	if err != nil || !slices.Equal(numbers, []uint64{2, 30, 31, 33}) {
		t.Errorf("%v, verdicts %v", err, numbers)
	}
}

// TestAReaderThatFailsKeepsNobodyWaiting for the models behind its error.
func TestAReaderThatFailsKeepsNobodyWaiting(t *testing.T) {
	c := topic(t, "m", txn.Record{Key: []byte("version/1"), Value: []byte("value")})
	l := NewModels(c, "other", sample.Schema)
	if _, err := l.Advance(t.Context(), 0); err == nil {
		t.Fatal("a topic that is not there is read")
	}
	l.topic = "m"
	if err := l.Reach(t.Context()); txn.KindOf(err) != txn.NoTopic {
		t.Errorf("%v", err)
	}
	for end := false; !end; {
		var err error
		if end, err = l.Advance(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Reach(t.Context()); err != nil || l.next != 1 {
		t.Errorf("%v, at %d", err, l.next)
	}
}

// TestInspectTellsEachSnapshot, the newest first, with the journal that a restart replays from it.
func TestInspectTellsEachSnapshot(t *testing.T) {
	p := model.NewPartition(sample.Spec(), 0)
	var scores model.Scores
	var records []txn.Record
	put := func(c Change) { records = append(records, txn.Record{Key: []byte(c.Key), Value: c.Value}) }
	snap := NewSnapshotter()
	for n := range uint64(2) {
		p.Events(sample.Records(int(1000*n), 1000), &scores)
		snap.Start(p, 9, Position{Events: int64(n + 5), Labels: 3, Model: 2}, 2*n, 1)
		for snap.Busy() {
			pieces, whole := snap.Take(1 << 20)
			for _, c := range pieces {
				put(c)
			}
			if whole {
				snap.Complete()
			}
		}
	}
	for n := range uint64(5) {
		put(Change{JournalKey(n), JournalEntry{Number: n}.Encode()})
	}
	c := topic(t, "s", records...)
	got, err := ReadStates(t.Context(), c, "s")
	if err != nil || len(got) != 1 || len(got[0].Snapshots) != 2 || len(got[0].Problems) > 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	for i, want := range []SnapshotInfo{
		{Number: 2, Fingerprint: 9, Events: 6, Labels: 3, Model: 2, Labelled: 2000, Replayed: 3},
		{Number: 1, Fingerprint: 9, Events: 5, Labels: 3, Model: 2, Labelled: 1000, Replayed: 5},
	} {
		x := got[0].Snapshots[i]
		m := []*Manifest{snap.Last, snap.Before}[i]
		for k, s := range x.Sections {
			if o := m.Sections[k]; s != (SectionSize{o.Name, o.Length, o.Packed}) {
				t.Errorf("section %+v, want %+v", s, o)
			}
		}
		if x.Sections = nil; fmt.Sprint(x) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", x, want)
		}
	}
	bytes, keys := int64(0), map[string]int{}
	for _, r := range records {
		bytes += int64(len(r.Value) - keys[string(r.Key)])
		keys[string(r.Key)] = len(r.Value)
	}
	if got[0].Bytes != bytes || got[0].Keys != len(keys) {
		t.Errorf("%d bytes of %d keys, want %d of %d", got[0].Bytes, got[0].Keys, bytes, len(keys))
	}
	// A reader that goes on reads from where it was.
	l := NewLog()
	for range 2 {
		if err := l.Follow(t.Context(), c, "s", 0); err != nil || l.Next != int64(len(records)) {
			t.Fatalf("%v, at %d", err, l.Next)
		}
	}
	if len(l.values) != len(keys) {
		t.Errorf("%d keys, want %d", len(l.values), len(keys))
	}
	forgotten := JournalKey(1)
	delete(l.values, forgotten)
	if err := l.Follow(t.Context(), c, "s", 0); err != nil || l.values[forgotten] != nil {
		t.Errorf("%v: the topic was read from its start again", err)
	}
}
