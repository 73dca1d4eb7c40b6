package stream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/committed"
	"liftstream/stream/skip"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// skipped names a message as 'dead skip' does.
func (w *world) skipped(o Options, stage string, offset int64, processed bool) error {
	_, err := skip.Run(context.Background(), skip.Options{Client: w.Client, Name: o.Name, Topics: o.Topics,
		Limit: state.Bound(o.Spec), Stage: stage, Offset: offset, Why: "it ends the process", Processed: processed,
		Now: time.Now()})
	return err
}

// idle waits until no member is left in the group.
func (w *world) idle(t *testing.T) {
	t.Helper()
	streamtest.Eventually(t, 20*time.Second, "members are left", func() bool {
		g, err := w.Client.ConsumerGroup(w.Name).Describe(context.Background())
		return err == nil && len(g.Members) == 0
	})
}

// skips counts the letters of skipped messages.
func (o outputs) skips() (offsets []string) {
	for _, l := range o.Records(o.Topics.Dead, 0) {
		if header(&l, codec.DeadReason) == string(codec.ReasonSkipped) {
			offsets = append(offsets, header(&l, codec.DeadStage)+" "+header(&l, codec.DeadOffset))
		}
	}
	return offsets
}

// TestAnOperatorSkipsMessages: before the first start, between runs, and of labels; restarts from snapshots and without
// them pass the same messages by, each with one letter.
func TestAnOperatorSkipsMessages(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(50, 10, false) // the messages 0 to 4
		o := w.options(w.Client)
		o.Snapshot = time.Hour // only the end of a run writes one
		if err := w.skipped(o, codec.StageEvents, 2, false); err != nil {
			t.Fatal(err)
		}
		r := w.run(o)
		w.caught(r)
		var refused *skip.RefusedError
		if err := w.skipped(o, codec.StageEvents, 4, false); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "run") {
			t.Errorf("while a member runs: %v", err)
		}
		r.end(t)
		w.idle(t)
		if err := w.skipped(o, codec.StageEvents, 4, false); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "processed") {
			t.Errorf("a processed message: %v", err)
		}
		if err := w.skipped(o, codec.StageEvents, 99, false); !errors.As(err, &refused) {
			t.Errorf("an offset without a message: %v", err)
		}
		w.Produce(30, 10, false)
		w.SendLabels(0, 10)
		w.SendLabels(20, 30)
		if err := errors.Join(w.skipped(o, codec.StageEvents, 6, false),
			w.skipped(o, codec.StageLabels, 0, false)); err != nil {
			t.Fatal(err)
		}
		net := &streamtest.Mortal{}
		dying := w.options(txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: net.Dial}))
		dying.Snapshot = time.Hour
		r = w.run(dying)
		w.caught(r)
		r.await(t, "the labels are not learnt", func(s Status) bool { return s.Partitions[0].Labelled == 20 })
		net.Die() // no snapshot: the next start replays
		r.stop()
		<-r.ended
		w.idle(t)
		w.Produce(10, 10, false)
		r = w.run(o)
		w.caught(r)
		r.await(t, "a replay learns other labels", func(s Status) bool { return s.Partitions[0].Labelled == 20 })
		r.end(t)
		want := "events 2, events 6, labels 0"
		if got := strings.Join(w.skips(), ", "); got != want && got != "events 2, labels 0, events 6" {
			t.Errorf("letters of %s, want %s", got, want)
		}
		if n := len(w.IDs(0)); n != 70 {
			t.Errorf("%d scores, want 70", n)
		}
		agrees(t, o)
	})
}

// TestASkippedMessageIsNotReplayed: another program has set the group's offset beyond it, so it is learnt and not
// scored.
func TestASkippedMessageIsNotReplayed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(50, 10, true)
		w.setOffset(w.Topics.Events, 4, "")
		o := w.options(w.Client)
		o.Policies = committed.Policies{SchemaChanged: committed.Rebuild}
		if err := w.skipped(o, codec.StageEvents, 1, false); err != nil {
			t.Fatal(err)
		}
		r := w.run(o)
		w.caught(r)
		r.await(t, "it is learnt", func(s Status) bool { return s.Partitions[0].Labelled == 40 })
		r.end(t)
	})
}

// TestASkipNamesItsMessageByContent: a topic that was made anew has another message at the offset.
func TestASkipNamesItsMessageByContent(t *testing.T) {
	at := time.UnixMilli(1000)
	s := state.Skip{Stage: codec.StageEvents, Offset: 7, Why: "why"}
	s.Name([]byte("value"), at, true)
	got, err := state.DecodeSkip(s.Key(), s.Encode(1), 1)
	if err != nil || got != s {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		value    string
		at       time.Time
		readable bool
		want     bool
	}{{"value", at, true, true}, {"other", at, true, false}, {"value", at.Add(time.Second), true, false},
		{"", at, false, true}} {
		if got := s.Names([]byte(c.value), c.at, c.readable); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
