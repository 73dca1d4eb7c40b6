package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/orders"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// forgetter gives orders to forget from beside the stage.
func (w *world) forgetter() *orders.Forgetting {
	return &orders.Forgetting{State: w.Topics.State, Options: orders.Options{Client: w.Client, Name: w.Name,
		Topic: w.Topics.Model, Who: "the test", Why: "a reason", Now: time.Now()}}
}

// TestAFitThatAnOrderOvertakesIsDropped, also where the order is emptied before the fit ends: its snapshots may hold
// the records. One after it is kept.
func TestAFitThatAnOrderOvertakesIsDropped(t *testing.T) {
	c := streamtest.NewTopic(t, "models")
	s := &Stage{o: Options{Metrics: NewMetrics(prometheus.NewRegistry()), Log: zap.NewNop()},
		models: state.NewModels(c, "models", sample.Schema)}
	tr := &trainer{s: s}
	say := func(e *state.Erasure) {
		t.Helper()
		err := c.Produce(t.Context(), []txn.Record{e.Record("models")}, txn.None)
		for end := false; err == nil && !end; {
			end, err = s.models.Advance(t.Context(), time.Second)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := uint64(1); n <= 3; n++ {
		tr.waiting, tr.ready, tr.last = &candidate{}, &model.Model{}, time.Unix(5, 0)
		if erasing(tr) || tr.waiting == nil || tr.ready == nil {
			t.Fatalf("a fit is dropped before order %d", n)
		}
		o := &state.Erasure{Erasure: model.Erasure{Number: n}, Time: time.Unix(1, 0)}
		if say(o); n == 2 {
			say(o.Empty())
		}
		if n == 3 {
			if err := tr.serve(t.Context()); !errors.Is(err, errNotYet) {
				t.Errorf("a model of the cold start is published: %v", err)
			}
		} else if !erasing(tr) {
			t.Errorf("order %d is overlooked", n)
		}
		if tr.waiting != nil || tr.ready != nil {
			t.Errorf("a fit before order %d is kept", n)
		}
		if !tr.last.IsZero() {
			t.Errorf("after order %d the next fit is not due, and the serving model knows the records until then", n)
		}
	}
}

// TestKeysStayUntilTheOrderIsEmptied: once no replay needs the record of an obeyed order it loses its ids. The keys of
// prototypes, by which the other partitions are to forget them, go when the order is emptied. A restart goes on.
func TestKeysStayUntilTheOrderIsEmptied(t *testing.T) {
	c := streamtest.NewTopic(t, "models")
	models := state.NewModels(c, "models", sample.Schema)
	say := func(e *state.Erasure) {
		t.Helper()
		err := c.Produce(t.Context(), []txn.Record{e.Record("models")}, txn.None)
		for end := false; err == nil && !end; {
			end, err = models.Advance(t.Context(), time.Second)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	order := &state.Erasure{Time: time.Unix(1, 0),
		Erasure: model.Erasure{Number: 1, IDs: []model.IDSum{model.SumID("a")}}}
	say(order)
	log := state.NewLog()
	restarted := func() *task {
		s := &Stage{models: models, o: Options{Now: time.Now, Metrics: NewMetrics(prometheus.NewRegistry())}}
		x := &task{s: s}
		x.m, x.snap = &replay.Machine{Journal: 10}, state.NewSnapshotter()
		x.snap.Last, x.snap.Before = &state.Manifest{Journal: 10}, &state.Manifest{Journal: 10}
		x.purge.inherit(x, log)
		return x
	}
	tidied := func(of *task) *state.Erased {
		t.Helper()
		var x transaction
		if tidy(of, &x); len(x.records) == 0 {
			return nil
		}
		log.Apply(x.records[0].Key, x.records[0].Value)
		e, err := state.DecodeErased(x.records[0].Value, state.Format)
		if err != nil || len(x.records) != 1 || !e.Emptied || len(e.IDs) > 0 {
			t.Fatalf("%d records, %+v, %v", len(x.records), e, err)
		}
		return e
	}
	first := &state.Erased{Journal: 9, Erasure: order.Erasure, Found: model.Forgotten{Prototypes: 1}, Keys: []uint64{7}}
	log.Apply([]byte(state.ErasedKey(9)), first.Encode(state.OldestFormat))
	running := restarted()
	if e := tidied(running); e == nil || !slices.Equal(e.Keys, first.Keys) {
		t.Fatalf("the order is open: %+v", e)
	}
	for _, of := range []*task{running, restarted()} {
		if e := tidied(of); e != nil || of.purge.left > 0 {
			t.Errorf("nothing has changed: %+v, %d snapshots", e, of.purge.left)
		}
	}
	again := restarted()
	say(order.Empty())
	for _, of := range []*task{running, again} {
		if e := tidied(of); e == nil || len(e.Keys) > 0 || tidied(of) != nil {
			t.Errorf("the order is emptied: %+v", e)
		}
	}
	if len(restarted().purge.records) > 0 {
		t.Error("there is something left to do")
	}
}

// TestIDsStayAsLongAsASnapshotNeedsThem: where the newest snapshot is damaged, the one before is replayed from. The
// record of an obeyed order keeps its ids until both have been begun after it.
func TestIDsStayAsLongAsASnapshotNeedsThem(t *testing.T) {
	models := state.NewModels(streamtest.NewTopic(t, "models"), "models", sample.Schema)
	at := func(journal uint64) *state.Manifest { return &state.Manifest{Journal: journal} }
	for _, c := range []struct {
		last, before *state.Manifest
		due          bool
	}{{nil, nil, false}, {at(9), nil, false}, {at(10), nil, true}, {at(10), at(9), false}, {at(10), at(8), false},
		{at(11), at(10), true}} {
		x := &task{s: &Stage{models: models}}
		x.snap = &state.Snapshotter{Last: c.last, Before: c.before}
		x.purge.records = []*state.Erased{{Journal: 9, Erasure: model.Erasure{Number: 1, IDs: []model.IDSum{{1}}}}}
		if x.purge.due(x) != c.due {
			t.Errorf("snapshots at %+v and %+v, the order obeyed at 9: due %t, want %t", c.last, c.before, !c.due, c.due)
		}
	}
}

// lastValues returns the last values of a compacted topic, by key, and the decoded sections of the states in it.
func lastValues(t *testing.T, w *world, topic string, partition int) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	log := state.NewLog()
	for _, r := range w.Records(topic, partition) {
		log.Apply(r.Key, r.Value)
		if out[string(r.Key)] = r.Value; r.Value == nil {
			delete(out, string(r.Key))
		}
	}
	found, problems := log.Manifests()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, m := range found {
		sections, err := log.Sections(m)
		if err != nil {
			t.Fatal(err)
		}
		for name, raw := range sections {
			out[fmt.Sprintf("snapshot %d, %s", m.Number, name)] = raw
		}
	}
	return out
}

// holding lists the newest values of the topics of states and models that hold the sum of an id, or the id of a record.
func holding(t *testing.T, w *world, ids []model.IDSum) (where []string) {
	t.Helper()
	for _, of := range []struct {
		topic     string
		partition int
	}{{w.Topics.State, 0}, {w.Topics.State, 1}, {w.Topics.Model, 0}} {
		for key, b := range lastValues(t, w, of.topic, of.partition) {
			for _, id := range ids {
				if bytes.Contains(b, id[:8]) || bytes.Contains(b, []byte(streamtest.RecordID(0, 599))) {
					where = append(where, fmt.Sprint(of.topic, "/", of.partition, " ", key))
				}
			}
		}
	}
	return where
}

// TestAForgottenIDIsNowhere: a running stage of two partitions forgets ids that one of them knows. After compaction the
// sum of an id is neither in the topic of states, snapshots decoded, nor in that of models. An order to a stage that
// does not run is obeyed at its start, and the replay of all gives the same scores and states.
func TestAForgottenIDIsNowhere(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		options := func() Options {
			o := w.options(w.Client)
			spec := *o.Spec
			spec.Options.Gate = 5
			o.Spec = &spec
			return o
		}
		r := w.run(options())
		w.Produce(600, 50, true)
		w.caught(r)
		gone := []model.IDSum{model.SumID(streamtest.RecordID(0, 17)), model.SumID(streamtest.RecordID(0, 599)),
			model.SumID("nobody")}
		holds := func() []string { return holding(t, w, gone) }
		streamtest.Eventually(t, time.Minute, "no snapshot knows the ids", func() bool { return len(holds()) > 0 })
		before := r.stage.Status().Model

		f := w.forgetter()
		if all, err := f.Begin(t.Context(), 2); err != nil || len(all) > 0 {
			t.Fatalf("%d orders, %v", len(all), err)
		}
		o, err := f.Forget(t.Context(), gone, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := f.Await(t.Context(), o.Number, 4*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		// Records wait for a correction of their label, so each is in the pending store and in the tail.
		want := []model.Forgotten{{Waiting: 2, Tail: 2, Counts: 2}, {}}
		for i, a := range answers {
			if a.Found != want[i] || !a.Obeyed || !a.Clean {
				t.Errorf("partition %d: %+v, want %+v", i, a, want[i])
			}
		}
		if err := f.Finish(t.Context(), o.Number); err != nil {
			t.Fatal(err)
		}
		if where := holds(); len(where) > 0 {
			t.Errorf("the ids are left in %v", where)
		}
		later := func() (snapshots int) {
			for key := range lastValues(t, w, w.Topics.State, 1) {
				if strings.HasSuffix(key, ", "+model.SectionForgot) {
					snapshots++
				}
			}
			return snapshots
		}
		streamtest.Eventually(t, time.Minute, "a partition that found nothing keeps a snapshot of before",
			func() bool { return later() == 2 })
		w.Produce(50, 50, true)
		w.published(r, before+1)
		w.caught(r)
		r.end(t)

		late, err := w.forgetter().Forget(t.Context(), []model.IDSum{model.SumID(streamtest.RecordID(1, 5))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r = w.run(options())
		f = w.forgetter()
		if all, err := f.Begin(t.Context(), 2); err != nil || len(all) != 2 || !all[0].Emptied || all[1].Emptied {
			t.Errorf("%d orders, %v", len(all), err)
		}
		answers, err = f.Await(t.Context(), late.Number, 4*time.Minute)
		if err != nil || !answers[0].Clean || !answers[1].Clean || answers[1].Found.Tail != 1 || answers[0].Found.Any() {
			t.Errorf("%+v, %v", answers, err)
		}
		w.Produce(100, 50, true)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		found, err := verified(context.Background(), options())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			if len(v.Problems) > 0 || v.Start != "the beginning" {
				t.Errorf("verify: %+v", v)
			}
		}
	})
}
