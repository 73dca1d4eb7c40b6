package stream

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/stream/orders"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
)

// order gives an order from beside the stage.
func (w *world) order(t *testing.T, v orders.Verb, version int64, learning bool) *state.Order {
	t.Helper()
	o, err := orders.Give(t.Context(), orders.Options{Client: w.Client, Name: w.Name, Topic: w.Topics.Model,
		Fingerprint: w.options(w.Client).Spec.Options.Fingerprint, Verb: v, Version: version, Learning: learning,
		Who: "the test", Why: "a reason", Now: time.Now()})
	if err != nil {
		t.Fatalf("%s %d: %v", v, version, err)
	}
	return o
}

// serve waits until all partitions of the stage serve a version.
func (r *running) serve(t *testing.T, version int64) {
	t.Helper()
	r.await(t, "the partitions do not serve model "+strconv.FormatInt(version, 10), func(s Status) bool {
		for _, p := range s.Partitions {
			if p.Model != version {
				return false
			}
		}
		return len(s.Partitions) > 0 && s.Serving == version
	})
}

// allLabelled is the number of labelled records of all partitions.
func allLabelled(s Status) (n float64) {
	for _, p := range s.Partitions {
		n += p.Labelled
	}
	return n
}

// lastModel is the version that the last scores of a partition name.
func lastModel(t *testing.T, w *world, partition int) string {
	t.Helper()
	all := w.Records(w.Topics.Scores, partition)
	for _, h := range all[len(all)-1].Headers {
		if h.Key == scores.HeaderModel {
			return string(h.Value)
		}
	}
	return ""
}

// TestOrdersAreObeyed by idle partitions, by the next fits, and after a restart: a rollback gives the earlier version
// until another one is accepted, a pinned one serves until unpin, and a frozen stage learns nothing. The replay of all
// that gives the same scores and states.
func TestOrdersAreObeyed(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		var said *observer.ObservedLogs
		options := func() Options {
			o := w.options(w.Client)
			spec := *o.Spec
			spec.Options.Gate = 5
			o.Spec, o.Snapshot = &spec, 50*time.Millisecond
			var core zapcore.Core
			core, said = observer.New(zap.InfoLevel)
			o.Log = zap.New(core)
			return o
		}
		r := w.run(options())
		// more publishes a model above a version. No other one comes until learnt records are needed for the next.
		more := func(above int64) int64 {
			t.Helper()
			w.published(r, above+1)
			rests := func() int { return said.FilterMessage("no model is fitted").Len() }
			before := rests()
			w.order(t, orders.Freeze, 0, false)
			r.await(t, "fits go on", func(Status) bool {
				return gauge(r.stage.o.Metrics.Frozen.WithLabelValues("fits")) == 1 && rests() > before
			})
			if err := r.stage.models.Reach(t.Context()); err != nil { // a publication that was under way
				t.Fatal(err)
			}
			return r.stage.Status().Model
		}
		first := more(0)
		r.serve(t, first)
		w.Produce(400, 50, true)
		w.caught(r)
		if s := r.stage.Status(); s.Model != first {
			t.Errorf("model %d is published, though fits are frozen after %d", s.Model, first)
		}
		w.order(t, orders.Unfreeze, 0, false)
		second := more(first)
		r.serve(t, second)
		before, err := r.stage.models.Get(first)
		if err != nil {
			t.Fatal(err)
		}
		bytes := string(before.AppendBinary(nil))

		w.order(t, orders.Rollback, first, false)
		r.serve(t, first)
		if after, err := r.stage.models.Get(first); err != nil || string(after.AppendBinary(nil)) != bytes {
			t.Errorf("the model differs after the rollback: %v", err)
		}
		w.Produce(100, 50, true)
		w.caught(r)
		if got := lastModel(t, w, 1); got != strconv.FormatInt(first, 10) {
			t.Errorf("scores name model %s, want %d", got, first)
		}
		w.order(t, orders.Unfreeze, 0, false)
		third := more(second)
		r.serve(t, third)

		w.order(t, orders.Pin, second, false)
		r.serve(t, second)
		r.end(t)
		r = w.run(options())
		w.order(t, orders.Unfreeze, 0, false)
		fourth := more(third)
		r.serve(t, second)
		w.order(t, orders.Unpin, 0, false)
		r.serve(t, fourth)

		file := fromFiles(t, options().Spec)
		if _, err := orders.Give(t.Context(), orders.Options{Client: w.Client, Name: w.Name, Topic: w.Topics.Model,
			Fingerprint: file.Fingerprint, Verb: orders.Publish, Model: file, Who: "the test", Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		r.serve(t, fourth+1) // fits are frozen
		given, err := r.stage.models.Get(fourth + 1)
		if err != nil {
			t.Fatal(err)
		}
		same := *given
		if same.Version = file.Version; string(same.AppendBinary(nil)) != string(file.AppendBinary(nil)) {
			t.Error("the published model is not the one of the file")
		}
		if r.await(t, "the offer stays", func(Status) bool { return !r.stage.models.Offered() }); r.stage.Status().Model !=
			fourth+1 {
			t.Errorf("model %d is published, want one model of the file", r.stage.Status().Model)
		}
		fourth++

		w.order(t, orders.Freeze, 0, true)
		w.caught(r)
		r.await(t, "learning goes on", func(Status) bool {
			return gauge(r.stage.o.Metrics.Frozen.WithLabelValues("learning")) == 1
		})
		w.Produce(100, 50, true)
		w.caught(r)
		still := allLabelled(r.stage.Status())
		w.Produce(2000, 50, true)
		w.caught(r)
		r.end(t)
		r = w.run(options())
		w.Produce(200, 50, true)
		w.caught(r)
		if s := r.stage.Status(); allLabelled(s) > still+100 || s.Model != fourth {
			t.Errorf("%v labelled records and model %d, were %v and %d", allLabelled(s), s.Model, still, fourth)
		}
		w.order(t, orders.Unfreeze, 0, false)
		more(fourth)
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

// TestAStageWithoutLearningScores from its first record on, fits nothing, and learns once it is configured to.
func TestAStageWithoutLearningScores(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		o.LearningOff = true
		w.Produce(2000, 50, true)
		r := w.run(o)
		w.caught(r)
		if s := r.stage.Status(); allLabelled(s) != 0 || s.Model != 0 || s.Partitions[0].Scored != 2000 {
			t.Errorf("%+v", s)
		}
		r.end(t)
		r = w.run(w.options(w.Client))
		w.Produce(2000, 50, true)
		w.caught(r)
		r.await(t, "no model", func(s Status) bool { return s.Model > 0 })
		if n := allLabelled(r.stage.Status()); n != 2000 {
			t.Errorf("%v records are learnt, want 2,000", n)
		}
		r.end(t)
		w.ExactlyOnce()
		found, err := verified(context.Background(), o)
		if err != nil || len(found[0].Problems) > 0 || found[0].Start != "the beginning" {
			t.Errorf("verify: %v %+v", err, found)
		}
	})
}

// TestNothingIsPublishedWithoutLabels: 10,000 records whose labels are null give neither a fit nor a verdict.
func TestNothingIsPublishedWithoutLabels(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		r := w.run(o)
		w.published(r, 1)
		fits := observed(t, o.Metrics.FitTime)
		settled := time.Now() // since when nothing more is fitted to the labelled records
		r.await(t, "fits go on without labels", func(Status) bool {
			if n := observed(t, o.Metrics.FitTime); n != fits {
				fits, settled = n, time.Now()
			}
			w.Produce(200, 200, false)
			w.caught(r)
			return time.Since(settled) > 3*time.Second
		})
		was := r.stage.Status()
		w.Produce(10_000, 200, false)
		w.caught(r)
		s := r.stage.Status()
		number := func(v *state.GateVerdict) uint64 {
			if v == nil {
				return 0
			}
			return v.Number
		}
		if s.Model != was.Model || number(s.Verdict) != number(was.Verdict) || observed(t, o.Metrics.FitTime) != fits {
			t.Errorf("model %d after %d, verdict %+v, %d fits", s.Model, was.Model, s.Verdict, observed(t, o.Metrics.FitTime))
		}
		r.end(t)
	})
}

// TestWhatAPinLeavesBehind: the pinned version stays in the topic, though no snapshot and no journal names it, and is
// needed no more after unpin. Then the newest serves with the counts of the partitions, not as published.
func TestWhatAPinLeavesBehind(t *testing.T) {
	f := newFitter(t, 1, func(o *Options) { o.Initial = fromFiles(t, o.Spec) })
	f.works("the model of files")
	file := fromFiles(t, f.o.Spec)
	file.Info.Records++
	if _, err := orders.Give(t.Context(), orders.Options{Client: f.w.Client, Name: f.w.Name, Topic: f.w.Topics.Model,
		Fingerprint: file.Fingerprint, Verb: orders.Publish, Model: file, Who: "the test", Now: f.now}); err != nil {
		t.Fatal(err)
	}
	if err := f.s.models.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.works("a second one")
	pin := f.w.order(t, orders.Pin, 1, false)
	if err := f.s.models.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := f.needed(), map[int64]bool{0: true, 1: true}; !maps.Equal(got, want) || !pin.Return {
		t.Errorf("pinned: %v are needed, want %v; as published: %v", got, want, pin.Return)
	}
	unpin := f.w.order(t, orders.Unpin, 0, false)
	if err := f.s.models.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := f.needed(), map[int64]bool{0: true, 2: true}; !maps.Equal(got, want) {
		t.Errorf("unpinned: %v are needed, want %v", got, want)
	}
	if unpin.Return || unpin.Serve != 2 {
		t.Errorf("unpinned: model %d serves, as published: %v", unpin.Serve, unpin.Return)
	}
}
