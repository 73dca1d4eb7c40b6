package stream

import (
	"context"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
)

// fromFiles is a model of records that no partition has seen.
func fromFiles(t *testing.T, spec *model.Spec) *model.Model {
	t.Helper()
	b := model.NewBuilder(spec)
	b.Add(sample.Records(5_000_000, 2000))
	m, err := b.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTheInitialModelScoresTheFirstRecord: with events that lie there before the stage starts, in several partitions
// and processes, no score is without the model of Options.Initial; a replay from the beginning and verify give the
// same.
func TestTheInitialModelScoresTheFirstRecord(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 3)
		w.Produce(200, 50, true)
		options := func() Options {
			o := w.options(w.Client)
			o.Initial, o.FitEvery, o.Snapshot = fromFiles(t, o.Spec), time.Hour, time.Hour
			return o
		}
		a, b := w.run(options()), w.run(options())
		w.caught(a, b)
		b.await(t, "the second process has joined no generation after a minute",
			func(s Status) bool { return s.Generation > 0 })
		b.end(t)
		w.Produce(200, 50, true)
		w.caught(a)
		a.end(t)
		w.ExactlyOnce()
		for p := range w.N {
			for i, r := range w.Records(w.Topics.Scores, p) {
				model := ""
				for _, h := range r.Headers {
					if h.Key == scores.HeaderModel {
						model = string(h.Value)
					}
				}
				for tab, err := range codec.Tables(r.Value, 0) {
					if err != nil {
						t.Fatal(err)
					}
					c := tab.Column("status")
					for k := range tab.Rows() {
						if s, _ := tab.Text(c, k); s == "untrained" || model != "1" {
							t.Fatalf("partition %d message %d row %d: status %s, model %s", p, i, k, s, model)
						}
					}
				}
			}
		}
		found, err := verified(context.Background(), w.options(w.Client))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			if len(v.Problems) > 0 || v.Swaps != 1 || v.Start != "the beginning" {
				t.Errorf("verify: %+v", v)
			}
		}
	})
}

// TestAnInitialModelThatNobodyPublishesIsNotWaitedForForEver: the owner of partition 0 does not have it.
func TestAnInitialModelThatNobodyPublishesIsNotWaitedForForEver(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		w.Produce(100, 50, true)
		o := w.options(w.Client)
		o.FitEvery, o.Patience = time.Hour, 500*time.Millisecond
		r := w.prepared(o)
		r.stage.o.Initial = nil
		tk := newTask(r.stage, nil, 0)
		var err error
		if tk.m, err = replay.New(replay.Options{Spec: o.Spec, Codec: o.Codec}); err != nil {
			t.Fatal(err)
		}
		r.stage.o.Initial = fromFiles(t, o.Spec)
		tk.m.Begin(state.Position{})
		tk.snap = state.NewSnapshotter()
		began := time.Now()
		if first := newPipeline(tk).awaitModel(context.Background()); first || time.Since(began) < o.Patience {
			t.Errorf("%v after %v", first, time.Since(began))
		}
		if tk.board.status.Phase != Running {
			t.Errorf("phase %s", tk.board.status.Phase)
		}
	})
}
