package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// owner owns partition 0 by hand, attempt by attempt and transaction by transaction: no stage runs, and nothing comes
// at a time of its own.
type owner struct {
	*task
	w     *world
	parts int // of the next transaction that are committed; the outcome of one that is not whole is unknown
}

const whole = inState | inScores | inDead | inGroup

func newOwner(t *testing.T, w *world, change func(o *Options)) *owner {
	t.Helper()
	o := w.options(w.Client)
	o.Log, o.Metrics = zap.NewNop(), NewMetrics(prometheus.NewRegistry())
	if change != nil {
		change(&o)
	}
	x := &owner{w: w, parts: whole}
	s := New(o)
	s.partitions, s.deadPartitions = 1, 1
	s.commit = func(ctx context.Context, p *txn.Producer, tx txn.Transaction) error {
		parts := x.parts
		if x.parts = whole; parts == whole {
			return p.Commit(ctx, tx)
		}
		return tear(ctx, p, tx, &o.Topics, parts)
	}
	if err := s.loadModels(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.task = newTask(s, &txn.Generation{ID: -1}, 0)
	return x
}

// takes takes the partition over, as an attempt of a task begins.
func (x *owner) takes() (err error) {
	x.w.T.Helper()
	if x.producer, err = x.newProducer(x.w.T.Context(), fmt.Sprint(x.s.o.Name, "-0")); err != nil {
		x.w.T.Fatal(err)
	}
	return takeOver(x.w.T.Context(), x.task)
}

// mustTake takes the partition over.
func (x *owner) mustTake() {
	x.w.T.Helper()
	if err := x.takes(); err != nil {
		x.w.T.Fatal(err)
	}
}

// works takes all messages that are there in one transaction, and returns the error of its commit.
func (x *owner) works() error {
	x.w.T.Helper()
	tx, ctx, names := &transaction{}, x.w.T.Context(), &x.s.o.Topics
	for _, r := range x.w.Records(names.Events, 0) {
		if r.Offset < x.m.At.Events {
			continue
		}
		tx.judging.begin(x.s.o.Now(), x.m)
		if err := x.process(ctx, tx, &r, 0); err != nil {
			x.w.T.Fatal(err)
		}
	}
	if names.Labels != "" {
		for _, r := range x.w.Records(names.Labels, 0) {
			if r.Offset >= x.m.At.Labels {
				x.learnLabels(ctx, tx, &r)
				x.m.At.Labels = r.Next()
			}
		}
	}
	x.writeJournal(tx, state.Obeyed{}, nil)
	return x.commitsAll(tx)
}

// commitsAll numbers a transaction and commits it.
func (x *owner) commitsAll(tx *transaction) error {
	x.number(tx, x.committed)
	outcome := make(chan error, 1)
	x.send(tx, outcome)
	err := <-outcome
	if err == nil {
		x.sent(tx)
	}
	return err
}

// saves writes a snapshot of the state in a transaction.
func (x *owner) saves() {
	x.w.T.Helper()
	tx := &transaction{}
	x.snap.Start(x.m.Part, x.s.o.Spec.Options.Fingerprint, x.m.At, x.m.Journal, state.Format)
	for whole := false; !whole; {
		var pieces []state.Change
		pieces, whole = x.snap.Take(1 << 20)
		for _, c := range pieces {
			x.writeState(tx, c)
		}
	}
	if err := x.commitsAll(tx); err != nil {
		x.w.T.Fatal(err)
	}
	x.snap.Complete()
}

// tornWorld has two good messages of events and one that is none, and labels of the first records.
func tornWorld(t *testing.T, w *world) {
	t.Helper()
	w.Produce(20, 10, false)
	w.Send(w.Topics.Events, "no event")
	w.SendLabels(0, 10)
	w.Send(w.Topics.Labels, "no label")
}

// TestARepairThatIsTornIsMadeWhole: a transaction is committed in part, in each of the ways, and so is the one that
// repairs it; then everything is there once, and the state is that of an owner whose transactions were whole.
func TestARepairThatIsTornIsMadeWhole(t *testing.T) {
	first := alone(t, 1)
	for parts := range whole + 1 {
		repair := (5*parts + 3) % 16
		w := newWorld(t, first.Brokers[0], 1)
		tornWorld(t, w)
		x := newOwner(t, w, nil)
		x.mustTake()
		x.parts = parts
		if err := x.works(); (err == nil) != (parts == whole) {
			t.Fatalf("parts %04b: %v", parts, err)
		}
		for _, p := range []int{repair, whole} {
			x.parts = p
			if err := x.takes(); err != nil && (p == whole || txn.KindOf(err) != txn.Unknown) {
				t.Fatalf("parts %04b, then %04b: %v", parts, repair, err)
			}
		}
		x.parts = whole
		w.Produce(10, 10, true)
		if err := x.works(); err != nil {
			t.Fatalf("parts %04b, then %04b: %v", parts, repair, err)
		}
		w.ExactlyOnce()
		want := map[string]int{w.Topics.Events + " 2": 1, w.Topics.Labels + " 1": 1}
		if got := w.DeadLetters(); !maps.Equal(got, want) {
			t.Errorf("parts %04b, then %04b: dead letters %v, want %v", parts, repair, got, want)
		}
		if n := x.m.Part.Labelled(); n != 20 || x.torn {
			t.Errorf("parts %04b, then %04b: %v records are learnt, torn %v", parts, repair, n, x.torn)
		}
		streamtest.Eventually(t, 10*time.Second, fmt.Sprintf("parts %04b, then %04b: the group's offset", parts, repair),
			func() bool { return w.Committed(0) == 4 }) // which may be the former one right after a transaction
	}
}

// TestFindingsOfAnAttemptAreKnownToTheNext: a broker had left a transaction open, so its dead letters are written
// again although retention may have taken them. A state that was left is used at most once, also where the attempt
// fails.
func TestFindingsOfAnAttemptAreKnownToTheNext(t *testing.T) {
	for _, torn := range []bool{false, true} {
		w := alone(t, 1)
		tornWorld(t, w)
		x := newOwner(t, w, nil)
		x.mustTake()
		x.parts = inState | inScores | inGroup
		if x.works() == nil {
			t.Fatal("the transaction is not torn")
		}
		w.Send(w.Topics.Dead, "of another program")
		_, end := w.Bounds(w.Topics.Dead, 0)
		w.deleteRecords(w.Topics.Dead, 0, end)

		x = newOwner(t, w, nil)
		x.torn = torn // as the attempt before has found
		x.kept = &kept{owned: owned{last: state.Done{Number: 1}}}
		w.setOffset(w.Topics.Events, 1, "")
		for range 2 {
			var p *PolicyError
			if err := x.takes(); !errors.As(err, &p) || p.Policy != "offset_moved" {
				t.Fatalf("torn %v: %v", torn, err)
			}
			if x.torn != torn || x.kept != nil {
				t.Errorf("after an attempt that failed: torn %v, want %v; a left state %v", x.torn, torn, x.kept)
			}
		}
		w.setOffset(w.Topics.Events, 3, state.Done{Number: 1}.Note())
		x.mustTake()
		want := 0
		if torn {
			want = 2
		}
		if n := len(w.DeadLetters()); n != want || x.torn {
			t.Errorf("torn %v: %d dead letters, want %d; torn afterwards %v", torn, n, want, x.torn)
		}
		x.mustTake() // it is repaired now
		if n := len(w.DeadLetters()); n != want {
			t.Errorf("torn %v: %d dead letters after another attempt, want %d", torn, n, want)
		}
	}
}

// TestLabelsOfATopicThatIsNewWaitForASnapshot: no replay can begin before the first of them that is left.
func TestLabelsOfATopicThatIsNewWaitForASnapshot(t *testing.T) {
	for _, c := range []struct {
		deleted int64
		first   bool
	}{{0, false}, {1, true}, {2, true}} {
		w := alone(t, 1)
		w.Produce(20, 10, false)
		x := newOwner(t, w, func(o *Options) { o.Topics.Labels = "" })
		x.mustTake()
		if err := x.works(); err != nil {
			t.Fatal(err)
		}
		x.saves()
		w.SendLabels(0, 5)
		w.SendLabels(5, 5)
		if c.deleted > 0 {
			w.deleteRecords(w.Topics.Labels, 0, c.deleted)
		}
		x = newOwner(t, w, nil)
		x.mustTake()
		if x.snapshotFirst != c.first || x.m.At.Labels != c.deleted {
			t.Errorf("%d deleted: a snapshot comes first %v, labels at %d", c.deleted, x.snapshotFirst, x.m.At.Labels)
		}
		if x.snapshotFirst {
			x.s.models = state.NewModels(w.Client, w.Topics.Model, x.s.o.Spec.Schema)
			if swapped, _ := x.takeModel(); swapped {
				t.Error("a model is taken before there is a snapshot")
			}
		}
		x.saves()
		x.mustTake()
		if err := x.works(); err != nil || x.m.Part.Labelled() != float64(10-5*c.deleted) {
			t.Errorf("%d deleted: %v, %v records are learnt", c.deleted, err, x.m.Part.Labelled())
		}
	}
}

// TestATakeoverTidiesUp: it writes whose state the partition holds, once, and deletes the parts of a writer that died
// and the skips whose messages are gone.
func TestATakeoverTidiesUp(t *testing.T) {
	w := alone(t, 1)
	w.Produce(40, 10, true)
	x := newOwner(t, w, nil)
	x.mustTake()
	if err := x.works(); err != nil {
		t.Fatal(err)
	}
	x.saves()
	owners := func() (n int) {
		for _, r := range w.Records(w.Topics.State, 0) {
			if string(r.Key) == state.OwnerKey {
				n++
			}
		}
		return n
	}
	if owner, err := w.log().Owner(); err != nil || owner.Stage != w.Name || owner.Scores != w.Topics.Scores ||
		owner.Labels != w.Topics.Labels || owners() != 1 {
		t.Errorf("%+v, %v, written %d times", owner, err, owners())
	}
	for _, s := range []state.Skip{{Stage: codec.StageEvents, Offset: 1}, {Stage: codec.StageEvents, Offset: 2},
		{Stage: codec.StageLabels, Offset: 0}} {
		w.write(txn.Record{Topic: w.Topics.State, Key: []byte(s.Key()), Value: s.Encode(1)})
	}
	w.write(txn.Record{Topic: w.Topics.State, Key: []byte("part/core/2/7"), Value: []byte("of a writer that died")})
	w.deleteEvents(0, 2)
	x = newOwner(t, w, nil)
	x.mustTake()
	x.saves()
	log := w.log()
	found, _ := log.Manifests()
	var skips []string
	for _, s := range log.Skips() {
		skips = append(skips, s.Key())
	}
	if orphans := log.Orphans(found...); len(orphans) > 0 || !slices.Equal(skips, []string{"skip/events/2",
		"skip/labels/0"}) || owners() != 1 {
		t.Errorf("orphans %q, skips %q, %d owner records", orphans, skips, owners())
	}
	if x.s.format() != state.Format || x.committed != x.m.At || x.last.Number == 0 {
		t.Errorf("format %d, committed %+v, transaction %d", x.s.format(), x.committed, x.last.Number)
	}
}

// TestADamagedSnapshotIsNotTriedAgain: where both are damaged, the journal tells the state, and where that is damaged,
// the state begins anew; each with its count.
func TestADamagedSnapshotIsNotTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		damaged int // snapshots, the newest first
		journal bool
		how     string
		learnt  float64
	}{
		{"nothing", 0, false, "snapshot", 40}, {"the newest snapshot", 1, false, "snapshot", 40},
		{"both", 2, false, "damaged", 40}, {"both, and the journal", 2, true, "damaged", 40},
	} {
		w := alone(t, 1)
		x := newOwner(t, w, nil)
		x.mustTake()
		for range 2 {
			w.Produce(20, 10, true)
			if err := x.works(); err != nil {
				t.Fatal(err)
			}
			x.saves()
		}
		found, _ := w.log().Manifests()
		for i := range c.damaged {
			m := *found[i]
			m.Sections = append(slices.Clone(m.Sections), state.Stored{Name: "gone", Blob: state.Blob{Chunks: 1, Length: 1}})
			w.write(txn.Record{Topic: w.Topics.State, Key: []byte(m.Key()), Value: m.Encode()})
		}
		if c.journal {
			w.write(txn.Record{Topic: w.Topics.State, Key: []byte(state.JournalKey(0)), Value: []byte("damage")})
		}
		x = newOwner(t, w, func(o *Options) { o.InputLost = committed.Rebuild })
		taken := make(chan error, 1)
		go func() { taken <- x.takes() }()
		select {
		case err := <-taken:
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		case <-time.After(streamtest.Patience):
			t.Fatalf("%s: it tries the snapshots for ever", c.name)
		}
		if got := labels(x.s.o.Metrics.Restores); !maps.Equal(got, map[string]float64{c.how: 1}) ||
			x.m.Part.Labelled() != c.learnt || x.m.At.Events != 4 {
			t.Errorf("%s: restored by %v, %v learnt, at %+v", c.name, got, x.m.Part.Labelled(), x.m.At)
		}
		w.ExactlyOnce()
	}
}
