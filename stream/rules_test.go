package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// labelled returns a partition that has learnt n records.
func labelled(spec *model.Spec, n int) *model.Partition {
	p := model.NewPartition(spec, 0)
	var s model.Scores
	p.Events(sample.Records(0, n), &s)
	return p
}

// TestTheColdStartAsksForSnapshots when a partition has its share of the warm-up, and whenever its records have grown
// enough for the next model, counted on from the newest snapshot.
func TestTheColdStartAsksForSnapshots(t *testing.T) {
	for _, c := range []struct {
		name       string
		partitions int
		last       float64 // labelled records of the newest snapshot; below 0 = none
		learnt     int
		never      bool // no model is ever fitted
		want       bool
	}{
		{"before the warm-up", 1, -1, 49, false, false}, {"the warm-up", 1, -1, 50, false, true},
		{"a share of it", 4, -1, 12, false, false}, {"rounded up", 4, -1, 13, false, true},
		{"no model is ever fitted", 1, -1, 50, true, false},
		{"a snapshot before the warm-up", 1, 49, 50, false, true},
		{"a snapshot at the warm-up", 1, 50, 70, false, false}, {"enough for a model", 1, 50, 71, false, true},
		{"a later snapshot", 1, 230, 325, false, false}, {"enough after it", 1, 230, 326, false, true},
		{"a snapshot beyond the mark", 1, 53, 74, false, false}, {"enough after that", 1, 53, 75, false, true},
		{"one before there are enough for a compared model", 1, 230, 999, false, true},
		{"enough for it", 1, 230, 1000, false, false},
	} {
		x := idleTask(t, func(o *Options) {
			if c.never {
				o.FitEvery = 0
			}
		})
		x.s.partitions = c.partitions
		if c.last >= 0 {
			x.snap.Last = &state.Manifest{Labelled: c.last}
		}
		x.m.Part = labelled(x.s.o.Spec, c.learnt)
		if got := (&pipeline{t: x}).coldSnapshotDue(); got != c.want {
			t.Errorf("%s: due %v", c.name, got)
		}
	}
}

// TestWhenASnapshotIsDue: by its time, by its share of the bytes read, and for a state that no snapshot has.
func TestWhenASnapshotIsDue(t *testing.T) {
	at := state.Position{Events: 7, Labels: 3, Model: 2}
	snapshot := func(number uint64, format int, at state.Position) *state.Manifest {
		return &state.Manifest{Number: number, Format: format, Position: at}
	}
	for _, c := range []struct {
		name         string
		last, before *state.Manifest
		since        time.Duration
		read, wrote  int64
		share        float64
		first        bool // no replay leads to the state
		stopping     bool
		want         bool
	}{
		{name: "no snapshot", since: time.Minute, want: true},
		{name: "none, but its time has not come", since: time.Minute - 1},
		{name: "the state has gone on", last: snapshot(1, 1, state.Position{}), since: time.Minute, want: true},
		{name: "it is the newest one's", last: snapshot(1, 1, at), since: time.Hour},
		{name: "a newer model", last: snapshot(1, 1, state.Position{Events: 7, Labels: 3, Model: 1}), since: time.Minute,
			want: true},
		{name: "in a later format", last: snapshot(1, 2, at), since: time.Minute, want: true},
		{name: "the one before is in a later format", last: snapshot(2, 1, at), before: snapshot(1, 2, at),
			since: time.Minute, want: true},
		{name: "no replay leads to it", last: snapshot(1, 1, at), since: time.Minute, first: true, want: true},
		{name: "more was written than its share", since: time.Hour, read: 399, wrote: 100, share: .25},
		{name: "its share was read", since: time.Hour, read: 400, wrote: 100, share: .25, want: true},
		{name: "no bound", since: time.Hour, read: 0, wrote: 100, share: 0, want: true},
		{name: "a share of all", since: time.Hour, read: 0, wrote: 100, share: 1, want: true},
		{name: "more than its share, but the stage stops", since: time.Hour, wrote: 100, share: .25, stopping: true,
			want: true},
		{name: "more than its share, but no replay leads to it", since: time.Hour, wrote: 100, share: .25, first: true,
			want: true},
	} {
		x := idleTask(t, func(o *Options) { o.Snapshot, o.SnapshotShare = time.Minute, c.share })
		x.s.stop.Store(c.stopping)
		x.m.At, x.snapshotFirst, x.read, x.wrote = at, c.first, c.read, c.wrote
		x.snap.Last, x.snap.Before = c.last, c.before
		p := &pipeline{t: x, lastSnap: x.s.o.Now().Add(-c.since)}
		if got := p.snapshotDue(); got != c.want {
			t.Errorf("%s: due %v", c.name, got)
		}
	}
}

// TestTheMedianOfNeighboursIsTheirTime: of the newest ones alone, in any order, and of none without a time.
func TestTheMedianOfNeighboursIsTheirTime(t *testing.T) {
	at := func(seconds ...int) (out []time.Time) {
		for _, s := range seconds {
			out = append(out, time.Unix(int64(s), 0))
		}
		return out
	}
	for _, c := range []struct {
		times []time.Time
		want  time.Time
	}{
		{nil, time.Time{}}, {at(5), at(5)[0]}, {at(9, 1, 5), at(5)[0]}, {at(1, 2, 3, 4, 1000), at(3)[0]},
		{at(1000, 2, 3, 4, 1), at(3)[0]},
	} {
		if got := median(slices.Clone(c.times)); !got.Equal(c.want) {
			t.Errorf("the median of %v is %v", c.times, got)
		}
	}
	var s timestamps
	for i := range 12 {
		s.add(time.Time{})
		s.add(time.Unix(int64(i), 0))
		for n := range 7 {
			from := max(i+1-min(n, neighbours), 0)
			var want []time.Time
			for k := from; k <= i; k++ {
				want = append(want, time.Unix(int64(k), 0))
			}
			if got := s.newest(nil, n); !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("the newest %d of %d: %v, want %v", n, i+1, got, want)
			}
		}
	}
	// Of labels: two that were learnt, the next one, and two after it.
	var before timestamps
	for _, x := range at(1, 2, 3) {
		before.add(x)
	}
	late := lateLabels{{Fetched: txn.Fetched{Records: []txn.Record{{Time: at(90)[0]}, {}}}},
		{Fetched: txn.Fetched{Records: []txn.Record{{Time: at(5)[0]}, {Time: at(6)[0]}, {Time: at(7)[0]}}}}}
	if got := median(late.around(&before)); !got.Equal(at(5)[0]) { // of 2, 3, 90, 5, 6
		t.Errorf("the time of the next label is %v", got)
	}
	if got := median((lateLabels{}).around(&timestamps{})); !got.IsZero() {
		t.Errorf("the time of no label is %v", got)
	}
}

// TestMessagesAfterARefusedOneAreJudgedByItsTime: those before keep theirs, and a transaction ends where another time
// is needed.
func TestMessagesAfterARefusedOneAreJudgedByItsTime(t *testing.T) {
	now := time.Unix(1000, 0)
	m := &replay.Machine{}
	var j judging
	read := func(at time.Time, events, labels int64, untimely bool) {
		j.begin(at, m)
		m.Untimely = untimely
		j.note(m, events, labels)
	}
	read(now, 5, 2, false)
	if j.kept {
		t.Error("a time is kept, and none was refused")
	}
	read(now.Add(time.Second), 6, 2, true)
	read(now.Add(2*time.Second), 7, 3, true)
	if want := (judging{now.Add(time.Second), true, state.Position{Events: 6, Labels: 2}}); j != want ||
		m.Now != want.now.UnixNano() {
		t.Errorf("%+v, judged by %d, want %+v", j, m.Now, want)
	}
	unjudged := judging{}
	m.Now, m.Untimely = 0, true
	if unjudged.note(m, 1, 1); unjudged.kept {
		t.Error("a message that was not judged keeps a time")
	}
	for _, c := range []struct {
		future, later time.Duration
		want          bool
	}{{time.Hour, time.Minute, false}, {time.Hour, time.Minute + 1, true}, {time.Minute, 30 * time.Second, false},
		{time.Minute, 30*time.Second + 1, true}} {
		x := idleTask(t, func(o *Options) {
			o.Codec.Future, o.Now = c.future, func() time.Time { return j.now.Add(c.later) }
		})
		if got := j.stale(x, "e", 9); got != c.want {
			t.Errorf("%v later, of a future of %v: stale %v", c.later, c.future, got)
		}
		if (&judging{now: j.now}).stale(x, "e", 9) {
			t.Error("stale, though no time is kept")
		}
		// A message whose dead letter is known is judged by the letter's time.
		letter := deadletter.ID{Topic: "e", Offset: 9, Row: -1}
		x.dead.Judged = map[deadletter.ID]time.Time{letter: j.now}
		if j.stale(x, "e", 9) {
			t.Error("stale for a letter of the kept time")
		}
		x.dead.Judged[letter] = j.now.Add(time.Nanosecond)
		if !j.stale(x, "e", 9) {
			t.Error("not stale for a letter of another time")
		}
	}
}

// TestAnAttemptThatLackedOnlyMessagesIsNoFailure.
func TestAnAttemptThatLackedOnlyMessagesIsNoFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(x *task)
		idle   bool
	}{
		{"both topics have answered", func(*task) {}, true},
		{"no topic of labels", func(x *task) { x.s.o.Topics.Labels = ""; x.heard.labels.Store(false) }, true},
		{"no answer about labels", func(x *task) { x.heard.labels.Store(false) }, false},
		{"no answer about events", func(x *task) { x.heard.events.Store(false) }, false},
		{"something is not committed", func(x *task) { x.m.At.Labels++ }, false},
		{"a transaction has failed", func(x *task) { x.course = broken }, false},
		{"not taken over", func(x *task) { x.m = nil }, false},
	} {
		x := idleTask(t, nil)
		x.course = working
		x.heard.events.Store(true)
		x.heard.labels.Store(true)
		if c.change(x); x.idle() != c.idle {
			t.Errorf("%s: idle %v", c.name, x.idle())
		}
	}
}

// TestTransactionsGetMoreTime where one has needed nearly all of its own, up to eight minutes.
func TestTransactionsGetMoreTime(t *testing.T) {
	x := idleTask(t, nil)
	want := 30 * time.Second
	for range 6 {
		if x.outlived(want*9/10 - 1); x.timeout != want {
			t.Errorf("after less than nine tenths of %v: %v", want, x.timeout)
		}
		x.outlived(want * 9 / 10)
		if want = min(2*want, 8*time.Minute); x.timeout != want {
			t.Errorf("%v, want %v", x.timeout, want)
		}
	}
}

// TestAStateIsLeftToTheNextGenerationWhereNothingIsInDoubt.
func TestAStateIsLeftToTheNextGenerationWhereNothingIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name      string
		course    course
		err       error
		stopping  bool
		left      string
		kept      bool
		unflushed []string
	}{
		{"drained", drained, nil, false, "", true, nil},
		{"drained at the end of the stage", drained, nil, true, "", false, nil},
		{"restoring", restoring, nil, false, "", false, nil}, {"working", working, nil, false, "", false, nil},
		{"broken", broken, nil, false, "", false, nil}, {"an error", drained, errors.New("x"), false, "", false, nil},
		{"uncommitted work", broken, errors.New("x"), true, "it lacks", false, []string{"it lacks"}},
		{"uncommitted work of a generation", broken, errors.New("x"), false, "it lacks", false, nil},
	} {
		x := idleTask(t, nil)
		x.s.stop.Store(c.stopping)
		x.course, x.left, x.last = c.course, c.left, state.Done{Number: 8}
		x.leave(c.err)
		k := x.s.kept[0]
		if (k != nil) != c.kept || k != nil && (k.generation != 4 || k.last.Number != 8) ||
			!slices.Equal(x.s.unflushed, c.unflushed) {
			t.Errorf("%s: kept %v, unflushed %q", c.name, k, x.s.unflushed)
		}
	}
}

// TestDefaultsOfAStage.
func TestDefaultsOfAStage(t *testing.T) {
	none := New(Options{Spec: sample.Spec()})
	if o := &none.o; o.Patience != 5*time.Minute || o.Held != 15*time.Minute || none.hesitation != o.Patience ||
		o.transactionTimeout() != 30*time.Second {
		t.Errorf("patience %v, held %v, hesitation %v", o.Patience, o.Held, none.hesitation)
	}
	if b := none.budget; b.events.limit != 1<<20 || b.labels.limit != 0 {
		t.Errorf("budgets of %d and %d", b.events.limit, b.labels.limit)
	}
	o := Options{Spec: sample.Spec(), Patience: time.Second, Held: time.Minute, InFlight: 8 << 20}
	o.Topics.Labels = "l"
	some := New(o)
	if o := &some.o; o.Patience != time.Second || o.Held != time.Minute || some.hesitation != time.Second {
		t.Errorf("patience %v, held %v, hesitation %v", o.Patience, o.Held, some.hesitation)
	}
	if b := some.budget; b.events.limit != 4<<20 || b.labels.limit != 4<<20 {
		t.Errorf("budgets of %d and %d: together they exceed memory.in_flight", b.events.limit, b.labels.limit)
	}
	some.share.Store(5 << 20)
	for topic, want := range map[string]*budget{"l": some.budget.labels, "e": some.budget.events} {
		if b, share := some.budgetOf(topic); b != want || share != 5<<20 {
			t.Errorf("topic %s has another budget, or a share of %d", topic, share)
		}
	}
}

// TestAReaderThatWaitsIsServedFirst: a reader that only tries does not go before one that waits.
func TestAReaderThatWaitsIsServedFirst(t *testing.T) {
	b := newBudget(10)
	if !b.Try(6) || b.Try(5) || !b.Try(4) || b.inUse() != 10 {
		t.Fatalf("%d bytes are in use", b.inUse())
	}
	b.Charge(-4)
	b.waiting = append(b.waiting, &request{n: 8, ready: make(chan struct{})})
	if b.Try(1) {
		t.Error("it goes before one that waits")
	}
	b.Charge(-6)
	if b.inUse() != 8 || !b.Try(2) {
		t.Errorf("%d bytes are in use", b.inUse())
	}
}

// TestAStageIsPatientForAsLongAsItIsTold, counted from the first failure on; other errors end it at once.
func TestAStageIsPatientForAsLongAsItIsTold(t *testing.T) {
	sick := &txn.Error{Kind: txn.Environment, Err: errors.New("away")}
	for _, c := range []struct {
		name  string
		err   error
		after int           // this many failures it succeeds
		step  time.Duration // between two attempts
		calls int
		want  string
	}{
		{"well", nil, 0, 0, 1, ""}, {"sick twice", sick, 2, time.Second, 3, ""},
		{"sick for long", sick, 99, 20 * time.Second, 4, "giving up after 1m0s"},
		{"denied", &txn.Error{Kind: txn.Denied, Err: errors.New("denied")}, 99, 0, 1, "denied"},
	} {
		now := time.Unix(0, 0)
		x := idleTask(t, func(o *Options) { o.Patience, o.Now = time.Minute, func() time.Time { return now } })
		calls := 0
		ctx, cancel := context.WithCancel(t.Context())
		err := x.s.patiently(ctx, func() error {
			now = now.Add(c.step)
			if calls++; calls <= c.after {
				return c.err
			}
			return nil
		})
		cancel()
		if calls != c.calls || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d calls, %v; want %d, %q", c.name, calls, err, c.calls, c.want)
		}
	}
	now := time.Unix(50, 0)
	x := idleTask(t, func(o *Options) { o.Now = func() time.Time { return now } })
	first := x.s.join("one")
	now = now.Add(time.Second)
	if got := x.s.join("two"); !got.Equal(first) || x.s.waiting != "two" {
		t.Errorf("it waits since %v for %s, want since %v", got, x.s.waiting, first)
	}
}

// TestReadinessNamesEachPartitionThatWaits, and an open transaction of somebody else once it has held events back for
// as long as labels wait for them.
func TestReadinessNamesEachPartitionThatWaits(t *testing.T) {
	now := time.Unix(5000, 0)
	x := idleTask(t, func(o *Options) { o.Held, o.Now = 10*time.Minute, func() time.Time { return now } })
	s := x.s
	s.tasks, s.waiting = []*task{x}, ""
	ready := func(what string, want bool, words ...string) {
		t.Helper()
		st := s.Status()
		all := strings.Join(slices.Concat(st.Waiting, st.Held), "\n")
		for _, w := range words {
			if !strings.Contains(all, w) {
				t.Errorf("%s: %q lacks %q", what, all, w)
			}
		}
		if st.Ready != want || want != (len(st.Waiting) == 0) || !st.Live {
			t.Errorf("%s: ready %v, waiting %q", what, st.Ready, st.Waiting)
		}
	}
	ready("taking over", false, "partition 0: taking over")
	x.board.phase(Running, "")
	ready("running", true)
	x.horizon.forget(20)
	x.horizon.see(30, 20, now)
	x.board.reaches(30, 10, x.horizon.held(now))
	now = now.Add(10*time.Minute - 1)
	ready("held back for a while", true, "events from offset 20 to 29 for 10m0s")
	now = now.Add(1)
	ready("held back for long", false, "events from offset 20 to 29 for 10m0s")
	x.horizon.forget(30)
	x.board.reaches(30, 0, x.horizon.held(now))
	ready("no longer", true)
	s.untrained = "the trainer fails"
	ready("the trainer fails", false, "the trainer fails")
	s.untrained = ""
	s.stop.Store(true)
	ready("stopping", false, "stopping")
	s.failed = &PolicyError{Policy: committed.InputLost.String(), Problem: "gone"}
	ready("failed", false, "stopping: partition 0: gone")
}
