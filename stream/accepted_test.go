package stream

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/committed"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// TestAcceptedMessagesCountNoMore: an owner counts the messages behind the accepted offset alone, each once, be they
// brought by the journal or by a look back. An offset beyond the end of the topic was meant for another one.
func TestAcceptedMessagesCountNoMore(t *testing.T) {
	w := alone(t, 1)
	w.garbage(10)
	w.Produce(200, 10, true)
	x := newOwner(t, w, nil)
	x.mustTake()
	if err := x.works(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		accept      bool
		from        int64 // accepted by hand, where it is not 0
		saved       bool  // a snapshot holds the state
		n, lost     int
		begin       int64
		trips, bare float64 // shares that the messages exceed, and do not
	}{
		{"none is accepted", false, 0, false, 30, 10, 0, .0999, .1},
		{"none, after a snapshot", false, 0, true, 30, 10, 0, .0999, .1},
		{"all are", true, 0, true, 0, 0, 30, -1, 1e-9},
		{"some more come", true, 0, true, 4, 4, 30, .0399, .04},
	} {
		if c.accept {
			if at, err := Resume(t.Context(), w.Client, w.Name, w.Topics, 0, false); err != nil || at.Labels != 0 ||
				at.Events < 30 {
				t.Fatalf("%s: accepted up to %+v, %v", c.name, at, err)
			}
		}
		if c.saved {
			x.saves()
		}
		if c.name == "some more come" {
			w.garbage(4)
			if err := x.works(); err != nil {
				t.Fatal(err)
			}
			x.saves()
			c.begin = 30
		}
		x = newOwner(t, w, func(o *Options) { o.DeadShare = .5 })
		x.mustTake()
		if e := &x.windows.events; e.n != c.n || e.lost != c.lost || e.from != c.begin {
			t.Errorf("%s: %d messages, %d bad, from %d on; want %d, %d, %d", c.name, e.n, e.lost, e.from, c.n, c.lost, c.begin)
		}
		if x.s.o.DeadShare = c.bare; x.windows.tripped(x.task) != "" {
			t.Errorf("%s: the share of %v is exceeded", c.name, c.bare)
		}
		if c.trips < 0 {
			continue
		}
		x.s.o.DeadShare = c.trips
		text := x.windows.tripped(x.task)
		for _, word := range []string{"of " + w.Topics.Events + ", up to offset", "--partition 0", w.Topics.Dead} {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q lacks %q", c.name, text, word)
			}
		}
		if last := x.m.At.Events - 1; !strings.Contains(text, fmt.Sprintf("up to offset %d,", last)) {
			t.Errorf("%s: %q, the last message is %d", c.name, text, last)
		}
	}
	// At the end of the topic, and beyond it.
	high := x.m.At.Events
	for _, c := range []struct {
		at, want int64
	}{{high, high}, {high + 1, 0}} {
		p, err := w.Client.NewProducer(t.Context(), ResumeGroup(w.Name), time.Minute)
		if err == nil {
			err = p.Commit(t.Context(), acceptance(w, c.at, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.acceptedAtStart(t.Context())
		if err != nil || got.events.from != c.want || got.labels.from != 0 {
			t.Errorf("accepted up to %d of %d: from %d on, %v", c.at, high, got.events.from, err)
		}
	}
}

// acceptance is the transaction of an operator who accepts the messages below two offsets.
func acceptance(w *world, events, labels int64) txn.Transaction {
	return txn.Transaction{Group: ResumeGroup(w.Name), Generation: -1, Offsets: map[string]map[int]int64{
		w.Topics.Events: {0: events}, w.Topics.Labels: {0: labels}}}
}

// TestAPausedPartitionGoesOnWhereEitherTopicIsAccepted, behind all messages that it has taken.
func TestAPausedPartitionGoesOnWhereEitherTopicIsAccepted(t *testing.T) {
	for _, c := range []struct{ events, labels int64 }{{2, 0}, {0, 1}} {
		w := alone(t, 1)
		w.Produce(20, 10, false)
		w.SendLabels(0, 10)
		w.SendLabels(10, 10)
		x := newOwner(t, w, func(o *Options) { o.DeadShare = .1 })
		x.mustTake()
		if err := x.works(); err != nil {
			t.Fatal(err)
		}
		p, err := w.Client.NewProducer(t.Context(), ResumeGroup(w.Name), time.Minute)
		if err == nil {
			err = p.Commit(t.Context(), acceptance(w, c.events, c.labels))
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // else it would be paused for ever
		err = newPipeline(x.task).pause(ctx, "by the test")
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		e, l := x.windows.events.from, x.windows.labels.from
		if e != 2 || l != 2 || x.board.read().Phase != Running {
			t.Errorf("accepted %+v: the windows begin at %d and %d, %v", c, e, l, x.board.read().Phase)
		}
		m := x.s.o.Metrics
		if got := labels(m.Policies); got["pause/dead_share"] != 1 || got["resumed/dead_share"] != 1 ||
			labels(m.Paused)["0"] != 0 {
			t.Errorf("counted %v, paused %v", got, labels(m.Paused))
		}
	}
}

// TestEachTopicHasItsOwnAcceptance: messages of one topic are counted from its own accepted offset on, and all of them
// where only the other topic has one.
func TestEachTopicHasItsOwnAcceptance(t *testing.T) {
	for _, c := range []struct {
		accepted       state.Position
		events, labels int // messages that count after a restart
	}{{state.Position{}, 4, 3}, {state.Position{Events: 2}, 2, 3}, {state.Position{Labels: 3}, 4, 0},
		{state.Position{Events: 4, Labels: 1}, 0, 2}} {
		w := alone(t, 1)
		w.Produce(40, 10, true)
		for range 3 {
			err := w.Client.Produce(t.Context(), []txn.Record{{Topic: w.Topics.Labels, Value: []byte("no table"),
				Time: time.Now()}}, txn.None)
			if err != nil {
				t.Fatal(err)
			}
		}
		x := newOwner(t, w, nil)
		x.mustTake()
		if err := x.works(); err != nil {
			t.Fatal(err)
		}
		x.saves()
		p, err := w.Client.NewProducer(t.Context(), ResumeGroup(w.Name), time.Minute)
		if err == nil {
			err = p.Commit(t.Context(), acceptance(w, c.accepted.Events, c.accepted.Labels))
		}
		if err != nil {
			t.Fatal(err)
		}
		x = newOwner(t, w, func(o *Options) { o.DeadShare = .5 })
		x.mustTake()
		if e, l := &x.windows.events, &x.windows.labels; e.n != c.events || l.n != c.labels || l.lost != c.labels {
			t.Errorf("accepted %+v: %d events and %d labels count, %d of these bad; want %d and %d", c.accepted, e.n, l.n,
				l.lost, c.events, c.labels)
		}
	}
}

// TestAnAcceptanceReachesAsFarAsTheStage: up to the state's offset, or the group's where that is further; on demand up
// to the ends of the topics.
func TestAnAcceptanceReachesAsFarAsTheStage(t *testing.T) {
	w := alone(t, 1)
	w.Produce(50, 10, false)
	w.SendLabels(0, 10)
	w.SendLabels(10, 10)
	at := func(events, labels int64) state.Position { return state.Position{Events: events, Labels: labels} }
	accepts := func(name string, end bool, want state.Position) {
		t.Helper()
		if got, err := Resume(t.Context(), w.Client, w.Name, w.Topics, 0, end); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	accepts("nothing is committed", false, at(0, 0))
	x := newOwner(t, w, nil)
	x.mustTake()
	x.m.At = at(3, 1)
	if err := x.commitsAll(&transaction{}); err != nil {
		t.Fatal(err)
	}
	accepts("a transaction", false, at(3, 1))
	w.setOffset(w.Topics.Events, 4, "")
	accepts("the group is further", false, at(4, 1))
	w.setOffset(w.Topics.Labels, 0, "")
	accepts("the state is further", false, at(4, 1))
	accepts("to the end", true, at(5, 2))
	x = newOwner(t, w, nil)
	if got, err := x.accepted(t.Context()); err != nil || got != at(5, 2) {
		t.Errorf("an owner reads %+v, %v", got, err)
	}
	w.Topics.Labels = ""
	accepts("without labels", false, at(4, 0))
}

// TestWhichEventLacksItsScoresFirst: a message that is none has no scores to lack.
func TestWhichEventLacksItsScoresFirst(t *testing.T) {
	w := alone(t, 1)
	w.Produce(10, 10, true)
	w.garbage(1)
	w.Produce(20, 10, true)
	w.garbage(1)
	x := newOwner(t, w, nil)
	x.mustTake()
	for _, c := range []struct{ from, to, first, want int64 }{
		{0, 5, 0, 0}, {1, 5, 0, 2}, {2, 5, 0, 2}, {3, 5, 0, 3}, {4, 5, 0, 5}, {1, 2, 0, 2}, {0, 5, 1, 2}, {3, 3, 0, 3},
	} {
		o := &takeover{findings: findings{t: x.task, plan: committed.Plan{First: state.Position{Events: c.first}}}}
		if got, err := o.firstEvent(t.Context(), c.from, c.to); err != nil || got != c.want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

// TestAStateThatBeginsAnewIsJudgedAnew: the times by which the former one judged leave the topic with it.
func TestAStateThatBeginsAnewIsJudgedAnew(t *testing.T) {
	for origin, kept := range map[committed.Origin]bool{committed.Journal: true, committed.Nothing: false} {
		x := idleTask(t, nil)
		var err error
		if x.m, err = replay.New(replay.Options{Spec: x.s.o.Spec, Codec: codec.Options{Schema: x.s.o.Spec.Schema, ID: "id",
			Label: "y"}}); err != nil {
			t.Fatal(err)
		}
		log := state.NewLog()
		log.Apply([]byte(state.JudgedKey(3)), state.Judgement{Number: 3, EventsTo: 5, Now: 7}.Encode(1))
		x.m.Judged = log.Judgements()
		first := state.Position{Events: 4, Labels: 2}
		o := &takeover{findings: findings{t: x, facts: &committed.Facts{}, log: log, plan: committed.Plan{Origin: origin,
			First: first, Target: first}}, x: &transaction{}}
		o.rerun = rerun{t: x, plan: &o.plan, x: o.x}
		if begun, err := o.begin(t.Context()); err != nil || !begun || x.m.At != first {
			t.Errorf("%v: %v, %v, at %+v", origin, begun, err, x.m.At)
		}
		if (len(x.m.Judged) > 0) != kept || (len(o.x.records) > 0) == kept {
			t.Errorf("%v: judged by %v, %d records", origin, x.m.Judged, len(o.x.records))
		}
	}
}
