package stream

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/embedded"
)

var testSchema = &model.Schema{
	Features: []model.Feature{{Name: "x", Kind: model.Continuous}, {Name: "c", Kind: model.Nominal}},
	Classes:  []string{"no", "yes"}, Positive: 1,
}

func testSpec() *model.Spec {
	return &model.Spec{Schema: testSchema, Scorecard: propensity.New(propensity.Default(), testSchema), Options: model.Options{
		Fingerprint: 9, Warmup: 50, TailBytes: 1 << 20, ReservoirRecords: 100, ReservoirBytes: 1 << 20, Correct: true, Why: 3,
		WaitBytes: 1 << 20, ExpireAs: model.Unlabelled, Gate: 0.01, Seed: 1,
	}}
}

// some gives n records from number from on.
func some(from, n int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 2), Offset: int64(from)}
	b.Columns[1].Levels = []string{"a", "b"}
	for i := from; i < from+n; i++ {
		h := model.Hash(3, uint64(i))
		x := float64(h>>40) / (1 << 24)
		y := int32(0)
		if float64(h&0xffff)/(1<<16) < x {
			y = 1
		}
		b.Columns[0].Float = append(b.Columns[0].Float, x)
		b.Columns[1].Code = append(b.Columns[1].Code, uint32(h>>20&1))
		b.Label = append(b.Label, y)
		b.Time = append(b.Time, int64(i))
	}
	return b
}

// drive takes snapshots of a growing partition, applying only the first cut changes of the last one, as if the writer
// had died there.
func drive(t testing.TB, rounds, cut int) (*stateLog, *snapshotter, []map[string][]byte) {
	t.Helper()
	p := model.NewPartition(testSpec(), 0)
	log, snap := newStateLog(), newSnapshotter()
	var s model.Scores
	var states []map[string][]byte
	for r := range rounds {
		p.Events(some(r*5000, 5000), &s)
		states = append(states, p.Snapshot())
		snap.begin(p, 9, position{events: int64(r + 1)}, uint64(10*r), 1)
		applied := 0
		for snap.busy() {
			changes, done := snap.take(1)
			for _, c := range changes {
				if r == rounds-1 && applied == cut {
					return log, snap, states
				}
				log.apply([]byte(c.key), c.value)
				applied++
			}
			if done {
				snap.committed()
			}
		}
	}
	return log, snap, states
}

func TestSnapshotIsWholeWhereverTheWriterDies(t *testing.T) {
	const rounds = 5
	_, full, _ := drive(t, rounds, -1)
	last := 0
	for _, s := range full.last.sections {
		last += s.chunks
	}
	for cut := 0; cut <= last+3; cut++ {
		log, _, states := drive(t, rounds, cut)
		found, problems := log.manifests()
		if len(problems) > 0 || len(found) != 2 {
			t.Fatalf("cut after %d changes: %d manifests, %v", cut, len(found), problems)
		}
		for _, m := range found {
			got, err := log.sections(m)
			if err != nil {
				t.Fatalf("cut after %d changes, snapshot %d: %v", cut, m.number, err)
			}
			// A manifest that is about to be overwritten may already share slots with nothing newer: both must be whole.
			if want := states[m.number-1]; !maps.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("cut after %d changes: snapshot %d is not the state it was taken of", cut, m.number)
			}
			if _, err := model.RestorePartition(testSpec(), got); err != nil {
				t.Errorf("cut after %d changes, snapshot %d: %v", cut, m.number, err)
			}
		}
	}
}

func TestSnapshotRewritesOnlyWhatChanged(t *testing.T) {
	p := model.NewPartition(testSpec(), 0)
	snap := newSnapshotter()
	var s model.Scores
	p.Events(some(0, 9000), &s)
	write := func() (keys []string) {
		snap.begin(p, 9, position{events: p.NextOffset()}, 0, 1)
		for snap.busy() {
			changes, done := snap.take(1 << 20)
			for _, c := range changes {
				keys = append(keys, c.key)
			}
			if done {
				snap.committed()
			}
		}
		return keys
	}
	write()
	p.Events(some(9000, 10), &s)
	for _, k := range write() {
		if strings.HasPrefix(k, "part/tail/0/") || strings.HasPrefix(k, "part/tail/1/") || strings.HasPrefix(k, "part/reservoir/") {
			t.Errorf("%s was written again though nothing in it changed", k)
		}
	}
}

func TestSnapshotsKeepToTheirShareOfWhatWasRead(t *testing.T) {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 1)
	o := w.options(w.client)
	o.Snapshot, o.SnapshotShare, o.FitEvery = time.Millisecond, 0.1, time.Hour
	o.Commit = time.Millisecond
	r := w.run(o)
	read := 0.0
	for range 20 {
		w.produce(2000, 10, true)
		w.caught(r)
	}
	for _, e := range w.records(w.topics.Events, 0) {
		read += float64(len(e.Key) + len(e.Value))
	}
	var log stateLog
	wrote := counted(o.Metrics.StateBytes)
	last := func() (n float64) {
		log = *newStateLog()
		if err := log.follow(context.Background(), w.client, w.topics.State, 0); err != nil {
			t.Fatal(err)
		}
		found, _ := log.manifests()
		for _, s := range found[0].sections {
			n += float64(s.packed)
		}
		return n
	}()
	if wrote > 0.1*read+last || wrote == 0 {
		t.Errorf("%v bytes of state were written, %v were read; the last snapshot has %v", wrote, read, last)
	}
	r.end(t)
}

func TestStateTopicStaysBounded(t *testing.T) {
	log, snap, _ := drive(t, 12, -1)
	for _, c := range func() []change { c, _ := snap.take(1); return c }() {
		log.apply([]byte(c.key), c.value)
	}
	named := 2 // manifests
	for _, m := range []*manifest{snap.last, snap.before} {
		for _, s := range m.sections {
			named += s.chunks
		}
	}
	if len(log.values) > named {
		t.Errorf("%d keys live, two manifests name %d", len(log.values), named)
	}
}

func TestJournalEndsAtTheNewestAndReportsGaps(t *testing.T) {
	log := newStateLog()
	put := func(n uint64) {
		e := journalEntry{number: n, position: position{events: int64(n) * 2, labels: 5, model: 3}}
		log.apply([]byte(journalKey(n)), e.encode())
	}
	for n := uint64(journalRing - 3); n < journalRing+4; n++ {
		put(n)
	}
	got, err := log.journal(journalRing - 2)
	if err != nil || len(got) != 6 || got[5].number != journalRing+3 || got[0].events != 2*(journalRing-2) {
		t.Errorf("%v %v", got, err)
	}
	put(journalRing + 6)
	if got, err = log.journal(journalRing + 2); !errors.Is(err, errJournalLost) {
		t.Errorf("a replay would pass over a gap: %v %v", got, err)
	}
	if got, err = log.journal(5); !errors.Is(err, errJournalLost) {
		t.Errorf("a replay would begin after what was overwritten: %v %v", got, err)
	}
	if got, err = log.journal(journalRing + 7); err != nil || len(got) != 0 {
		t.Errorf("after the newest: %v %v", got, err)
	}
	log.values[journalKey(journalRing)][3] ^= 1
	if _, err := log.journal(journalRing); err == nil {
		t.Error("a damaged record was read")
	}
}

func FuzzDecodeManifest(f *testing.F) {
	log, _, _ := drive(f, 1, -1)
	f.Add(log.values["manifest/1"])
	f.Fuzz(func(t *testing.T, b []byte) {
		l := newStateLog()
		l.apply([]byte("manifest/0"), b)
		l.apply([]byte("manifest/1"), seal(b, 1))
		found, _ := l.manifests()
		for _, m := range found {
			_, _ = l.sections(m)
		}
		_, _ = decodeJournal(seal(b, 1), 1)
	})
}

// TestFormatsAreReadForEver holds the frames of format 1 as they were first written.
func TestFormatsAreReadForEver(t *testing.T) {
	e := journalEntry{number: 300, position: position{events: 1000, labels: 20, model: 3}, format: 1}
	m := &manifest{format: 1, number: 5, fingerprint: 9, position: position{events: 1000, labels: 20, model: 3}, journal: 301, labelled: 512.5,
		sections: []stored{{name: "core", slot: 2, blob: blob{chunks: 1, packed: 40, length: 61, crc: 0xdeadbeef}}}}
	for _, c := range []struct {
		name, golden string
		value        []byte
	}{
		{"journal", goldenJournal, e.encode()},
		{"manifest", goldenManifest, m.encode()},
	} {
		if got := hex.EncodeToString(c.value); got != c.golden {
			t.Errorf("%s is written as %s, was %s", c.name, got, c.golden)
		}
	}
	raw, _ := hex.DecodeString(goldenJournal)
	if got, err := decodeJournal(raw, 1); err != nil || got != e {
		t.Errorf("%+v %v", got, err)
	}
	raw, _ = hex.DecodeString(goldenManifest)
	if got, err := decodeManifest(raw, 1); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v %v", got, err)
	}
}

const (
	goldenJournal  = "01ac02d00f2806d5aded70"
	goldenManifest = "010509d00f2806ad0200000000000480400104636f72650201283deffdb6f50db61d8e1f"
)

// Who reads on from time to time, as the trainer does, misses the tombstones that compaction has taken in between.
func TestFollowerForgetsWhatItsWriterHasDeleted(t *testing.T) {
	log := newStateLog()
	log.forgets = true
	part := func(chunk uint64) stored {
		return stored{name: fmt.Sprint("room/", chunk), blob: blob{chunks: 1, packed: 1000, length: 1000}}
	}
	for n := range uint64(100) { // each snapshot has two sections, of which the one before has the first
		p := part(n)
		log.apply([]byte(p.key(0)), seal(make([]byte, 1000), 1))
		if n%10 == 0 { // a writer that died in the middle
			log.apply([]byte(part(1000+n).key(0)), seal(make([]byte, 1000), 1))
		}
		m := manifest{format: 1, number: n + 1, sections: []stored{p}}
		if n > 0 {
			m.sections = append(m.sections, part(n-1))
		}
		log.apply([]byte(m.key()), m.encode())
		found, _ := log.manifests()
		for _, m := range found {
			for _, s := range m.sections {
				if log.values[s.key(0)] == nil {
					t.Fatalf("snapshot %d lacks %s", m.number, s.name)
				}
			}
		}
		if len(log.values) > 2+3 || log.bytes > 5*1100 {
			t.Fatalf("after snapshot %d: %d keys, %d bytes", n+1, len(log.values), log.bytes)
		}
	}
}

func TestSnapshotsKeepToTheirRate(t *testing.T) {
	const rate, every = 64 << 10, 20 * time.Millisecond
	p := model.NewPartition(testSpec(), 0)
	var s model.Scores
	snap, pace := newSnapshotter(), pace{rate: rate}
	now := time.Unix(1_700_000_000, 0)
	began, written, whole := now, 0, 0
	for i := 0; now.Sub(began) < 2*time.Minute; i++ {
		if p.Events(some(i*20, 20), &s); !snap.busy() {
			snap.begin(p, 9, position{events: int64(i)}, 0, 1)
			pace.begin(now)
		}
		pieces, done := snap.take(pace.allows(now))
		for _, c := range pieces {
			written += len(c.value)
			pace.spend(len(c.value))
		}
		if done {
			snap.committed()
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
