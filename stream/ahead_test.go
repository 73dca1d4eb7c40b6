package stream

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
)

// heldFit is a scorecard whose fits wait.
type heldFit struct {
	model.ScorecardFactory
	begun, goOn chan struct{}
}

func (f *heldFit) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	select {
	case f.begun <- struct{}{}:
	default:
	}
	select {
	case <-f.goOn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

// longFirstFit runs a stage whose first model comes when so many records have been learnt since its mark that a swap is
// worth preparing. No model 0 is made.
func longFirstFit(t *testing.T, w *world) (r *running, log *observer.ObservedLogs, o Options) {
	t.Helper()
	o = w.options(w.Client)
	spec := *o.Spec
	f := &heldFit{spec.Scorecard, make(chan struct{}, 1), make(chan struct{})}
	spec.Scorecard, spec.Options.Warmup, spec.Options.TailBytes = f, 1<<30, 8<<20
	o.Spec, o.FitEvery, o.FitBudget = &spec, time.Hour, 10*time.Minute
	core, log := observer.New(zap.InfoLevel)
	o.Log = zap.New(core)
	r = w.run(o)
	w.Produce(1000, 500, true)
	w.caught(r)
	select {
	case <-f.begun:
	case <-time.After(2 * time.Minute):
		t.Fatal("no fit began")
	}
	w.Produce(36_000, 1000, true)
	w.caught(r)
	close(f.goOn)
	return r, log, o
}

// TestALongFirstSwapIsPrepared beside the records, and a replay that swaps in one step comes to the same scores and
// state.
func TestALongFirstSwapIsPrepared(t *testing.T) {
	w := alone(t, 1)
	r, log, o := longFirstFit(t, w)
	r.await(t, "the partition serves no model", func(s Status) bool {
		w.Produce(10, 10, true)
		return len(s.Partitions) == 1 && s.Partitions[0].Model > 0
	})
	w.Produce(200, 50, true)
	w.caught(r)
	r.end(t)
	w.ExactlyOnce()
	if n := log.FilterMessageSnippet("prepared beside the records").Len(); n != 1 {
		t.Errorf("the swap was prepared %d times", n)
	}
	if n := log.FilterMessageSnippet("in one step").Len(); n != 0 {
		t.Error("the swap was made in one step")
	}
	o.Spec = func() *model.Spec { s := *o.Spec; s.Scorecard = sample.Spec().Scorecard; return &s }()
	found, err := verified(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || len(found[0].Problems) > 0 || found[0].Swaps != 1 {
		t.Errorf("verify: %+v", found)
	}
}

// TestAnEndWhileASwapIsPrepared leaves the model to the next owner.
func TestAnEndWhileASwapIsPrepared(t *testing.T) {
	w := alone(t, 1)
	r, _, o := longFirstFit(t, w)
	r.await(t, "no model is published", func(s Status) bool { return s.Model > 0 })
	r.end(t)
	o.Log = zap.NewNop()
	again := w.run(o)
	w.Produce(200, 50, true)
	again.await(t, "the partition serves no model", func(s Status) bool {
		return len(s.Partitions) == 1 && s.Partitions[0].Model > 0
	})
	w.caught(again)
	again.end(t)
	w.ExactlyOnce()
}

// TestAPreparationIsDropped: one that has learnt, or none.
func TestAPreparationIsDropped(t *testing.T) {
	var a ahead
	a.drop()
	if a.ready() != nil {
		t.Error("nothing is prepared, and is ready")
	}
	a.of = state.Serving{Version: 1}
	a.swap = &model.Prepared{}
	a.learn()
	<-a.ready()
	if a.learning() {
		t.Error("it learns on")
	}
	a.drop()
	if a.swap != nil || a.ready() != nil {
		t.Error("it is still there")
	}
}
