package state

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/stream/internal/sample"
)

// drive takes snapshots of a growing partition, applying only the first cut changes of the last one, as if the writer
// had died there.
func drive(t testing.TB, rounds, cut int) (*Log, *Snapshotter, []map[string][]byte) {
	t.Helper()
	p := model.NewPartition(sample.Spec(), 0)
	log, snap := NewLog(), NewSnapshotter()
	var s model.Scores
	var states []map[string][]byte
	for r := range rounds {
		p.Events(sample.Records(r*5000, 5000), &s)
		states = append(states, p.Snapshot())
		snap.Start(p, 9, Position{Events: int64(r + 1)}, uint64(10*r), 1)
		applied := 0
		for snap.Busy() {
			changes, done := snap.Take(1)
			for _, c := range changes {
				if r == rounds-1 && applied == cut {
					return log, snap, states
				}
				log.Apply([]byte(c.Key), c.Value)
				applied++
			}
			if done {
				snap.Complete()
			}
		}
	}
	return log, snap, states
}

func TestSnapshotIsWholeWhereverTheWriterDies(t *testing.T) {
	modeltest.Computes(t)
	const rounds = 5
	_, full, _ := drive(t, rounds, -1)
	last := 0
	for _, s := range full.Last.Sections {
		last += s.Chunks
	}
	for cut := 0; cut <= last+3; cut++ {
		log, _, states := drive(t, rounds, cut)
		found, problems := log.Manifests()
		if len(problems) > 0 || len(found) != 2 {
			t.Fatalf("cut after %d changes: %d manifests, %v", cut, len(found), problems)
		}
		for _, m := range found {
			got, err := log.Sections(m)
			if err != nil {
				t.Fatalf("cut after %d changes, snapshot %d: %v", cut, m.Number, err)
			}
			// A manifest that is about to be overwritten may already share slots with nothing newer: both must be whole.
			if want := states[m.Number-1]; !maps.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("cut after %d changes: snapshot %d is not the state it was taken of", cut, m.Number)
			}
			if _, err := model.RestorePartition(sample.Spec(), got); err != nil {
				t.Errorf("cut after %d changes, snapshot %d: %v", cut, m.Number, err)
			}
		}
	}
}

func TestSnapshotRewritesOnlyWhatChanged(t *testing.T) {
	p := model.NewPartition(sample.Spec(), 0)
	snap := NewSnapshotter()
	var s model.Scores
	p.Events(sample.Records(0, 9000), &s)
	write := func() (keys []string) {
		snap.Start(p, 9, Position{Events: p.NextOffset()}, 0, 1)
		for snap.Busy() {
			changes, done := snap.Take(1 << 20)
			for _, c := range changes {
				keys = append(keys, c.Key)
			}
			if done {
				snap.Complete()
			}
		}
		return keys
	}
	write()
	p.Events(sample.Records(9000, 10), &s)
	for _, k := range write() {
		for _, unchanged := range []string{"part/tail/0/", "part/tail/1/", "part/reservoir/"} {
			if strings.HasPrefix(k, unchanged) {
				t.Errorf("%s was written again though nothing in it changed", k)
			}
		}
	}
}

func TestStateTopicStaysBounded(t *testing.T) {
	modeltest.Computes(t)
	log, snap, _ := drive(t, 12, -1)
	for _, c := range func() []Change { c, _ := snap.Take(1); return c }() {
		log.Apply([]byte(c.Key), c.Value)
	}
	named := 2 // manifests
	for _, m := range []*Manifest{snap.Last, snap.Before} {
		for _, s := range m.Sections {
			named += s.Chunks
		}
	}
	if len(log.values) > named {
		t.Errorf("%d keys live, two manifests name %d", len(log.values), named)
	}
}

func TestJournalEndsAtTheNewestAndReportsGaps(t *testing.T) {
	log := NewLog()
	put := func(n uint64) {
		e := JournalEntry{Number: n, Position: Position{Events: int64(n) * 2, Labels: 5, Model: 3}}
		log.Apply([]byte(JournalKey(n)), e.Encode())
	}
	for n := uint64(JournalRing - 3); n < JournalRing+4; n++ {
		put(n)
	}
	got, err := log.Journal(JournalRing - 2)
	if err != nil || len(got) != 6 || got[5].Number != JournalRing+3 || got[0].Events != 2*(JournalRing-2) {
		t.Errorf("%v %v", got, err)
	}
	put(JournalRing + 6)
	if got, err = log.Journal(JournalRing + 2); !errors.Is(err, errJournalLost) {
		t.Errorf("a replay would pass over a gap: %v %v", got, err)
	}
	if got, err = log.Journal(5); !errors.Is(err, errJournalLost) {
		t.Errorf("a replay would begin after what was overwritten: %v %v", got, err)
	}
	if got, err = log.Journal(JournalRing + 7); err != nil || len(got) != 0 {
		t.Errorf("after the newest: %v %v", got, err)
	}
	log.values[JournalKey(JournalRing)][3] ^= 1
	if _, err := log.Journal(JournalRing); err == nil {
		t.Error("a damaged record was read")
	}
}

func FuzzDecodeManifest(f *testing.F) {
	log, _, _ := drive(f, 1, -1)
	f.Add(log.values["manifest/1"])
	f.Fuzz(func(t *testing.T, b []byte) {
		l := NewLog()
		l.Apply([]byte("manifest/0"), b)
		l.Apply([]byte("manifest/1"), Seal(b, 1))
		found, _ := l.Manifests()
		for _, m := range found {
			_, _ = l.Sections(m)
		}
		_, _ = DecodeJournal(Seal(b, 1), 1)
	})
}

// TestFormatsAreReadForEver holds the frames of format 1 as they were first written.
func TestFormatsAreReadForEver(t *testing.T) {
	e := JournalEntry{Number: 300, Position: Position{Events: 1000, Labels: 20, Model: 3}, Format: 1}
	m := &Manifest{Format: 1, Number: 5, Fingerprint: 9, Position: Position{Events: 1000, Labels: 20, Model: 3},
		Journal: 301, Labelled: 512.5,
		Sections: []Stored{{Name: "core", Slot: 2, Blob: Blob{Chunks: 1, Packed: 40, Length: 61, CRC: 0xdeadbeef}}}}
	for _, c := range []struct {
		name, golden string
		value        []byte
	}{
		{"journal", goldenJournal, e.Encode()},
		{"manifest", goldenManifest, m.Encode()},
	} {
		if got := hex.EncodeToString(c.value); got != c.golden {
			t.Errorf("%s is written as %s, was %s", c.name, got, c.golden)
		}
	}
	raw, _ := hex.DecodeString(goldenJournal)
	if got, err := DecodeJournal(raw, 1); err != nil || got != e {
		t.Errorf("%+v %v", got, err)
	}
	raw, _ = hex.DecodeString(goldenManifest)
	if got, err := DecodeManifest(raw, 1); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v %v", got, err)
	}
}

const (
	goldenJournal  = "01ac02d00f2806d5aded70"
	goldenManifest = "010509d00f2806ad0200000000000480400104636f72650201283deffdb6f50db61d8e1f"
)

// Who reads on from time to time, as the trainer does, misses the tombstones that compaction has taken in between.
func TestFollowerForgetsWhatItsWriterHasDeleted(t *testing.T) {
	log := NewLog()
	log.Forgets = true
	part := func(chunk uint64) Stored {
		return Stored{Name: fmt.Sprint("pending/", chunk), Blob: Blob{Chunks: 1, Packed: 1000, Length: 1000}}
	}
	for n := range uint64(100) { // each snapshot has two sections, of which the one before has the first
		p := part(n)
		log.Apply([]byte(p.key(0)), Seal(make([]byte, 1000), 1))
		if n%10 == 0 { // a writer that died in the middle
			log.Apply([]byte(part(1000+n).key(0)), Seal(make([]byte, 1000), 1))
		}
		m := Manifest{Format: 1, Number: n + 1, Sections: []Stored{p}}
		if n > 0 {
			m.Sections = append(m.Sections, part(n-1))
		}
		log.Apply([]byte(m.Key()), m.Encode())
		found, _ := log.Manifests()
		for _, m := range found {
			for _, s := range m.Sections {
				if log.values[s.key(0)] == nil {
					t.Fatalf("snapshot %d lacks %s", m.Number, s.Name)
				}
			}
		}
		if len(log.values) > 2+3 || log.bytes > 5*1100 {
			t.Fatalf("after snapshot %d: %d keys, %d bytes", n+1, len(log.values), log.bytes)
		}
	}
}

func TestSnapshotsKeepToTheirRate(t *testing.T) {
	modeltest.Computes(t)
	const rate, every = 64 << 10, 20 * time.Millisecond
	p := model.NewPartition(sample.Spec(), 0)
	var s model.Scores
	snap, pace := NewSnapshotter(), Pace{Rate: rate}
	now := time.Unix(1_700_000_000, 0)
	began, written, whole := now, 0, 0
	for i := 0; now.Sub(began) < 2*time.Minute; i++ {
		if p.Events(sample.Records(i*20, 20), &s); !snap.Busy() {
			snap.Start(p, 9, Position{Events: int64(i)}, 0, 1)
			pace.Start(now)
		}
		pieces, done := snap.Take(pace.Allows(now))
		for _, c := range pieces {
			written += len(c.Value)
			pace.Spend(len(c.Value))
		}
		if done {
			snap.Complete()
			whole++
		}
		// A second's bytes may have been saved up, and the last piece may pass the limit.
		if most := rate*(now.Sub(began).Seconds()+1) + chunkBytes; float64(written) > most {
			t.Fatalf("%d bytes after %v, at most %.0f are due", written, now.Sub(began), most)
		}
		now = now.Add(every)
	}
	if least := rate * now.Sub(began).Seconds() / 2; whole < 3 || float64(written) < least {
		t.Errorf("%d snapshots and %d bytes in %v", whole, written, now.Sub(began))
	}
}
