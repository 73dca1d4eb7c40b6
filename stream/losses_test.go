package stream

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestLossesAreCounted: labels outside of the configured classes, records whose label does not come, and the bytes of
// waiting records are metrics, and a restart counts none of them again.
func TestLossesAreCounted(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		spec := *sample.Spec()
		o := w.options(w.Client)
		schema := *spec.Schema
		known := schema.Classes[0]
		schema.Classes = []string{known, "another"} // the other class of the records is unknown
		spec.Schema, spec.Scorecard = &schema, propensity.New(propensity.Default(), &schema)
		spec.Options.WaitBytes = 10_000
		o = withSchema(o, &spec)
		core, logs := observer.New(zap.WarnLevel)
		o.Log = zap.New(core)
		w.Produce(500, 50, true)
		unlabelled := 500
		w.Produce(unlabelled, 50, false)
		r := w.run(o)
		w.caught(r)
		shown := r.stage.Status().Partitions[0]
		r.end(t)
		said := logs.FilterMessageSnippet("is no class of the configuration").All()
		if len(said) != 1 || said[0].ContextMap()["label"] != sample.Schema.Classes[1] {
			t.Errorf("the log says %v of a label that is no class", said)
		}
		unknown := 0
		for _, y := range sample.Records(0, 500).Label {
			if sample.Schema.Classes[y] != known {
				unknown++
			}
		}
		if n := counted(o.Metrics.Losses.WithLabelValues("unknown_class")); unknown == 0 || n != float64(unknown) {
			t.Errorf("%v of an unknown class counted, want %d", n, unknown)
		}
		if shown.UnknownClass != uint64(unknown) || shown.Expired != 0 {
			t.Errorf("the status shows %d of an unknown class and %d expired", shown.UnknownClass, shown.Expired)
		}
		evicted, bytes := counted(
			o.Metrics.Losses.WithLabelValues("evicted"),
		), written(
			t,
			o.Metrics.Waiting.WithLabelValues("0"),
		).GetGauge().GetValue()
		if !(evicted > 0 && evicted < float64(unlabelled)) || !(bytes > 0 && bytes <= 10_000) {
			t.Errorf("%v evicted, %v bytes wait", evicted, bytes)
		}
		again := withSchema(w.options(w.Client), &spec)
		r = w.run(again)
		w.caught(r)
		r.end(t)
		losses := again.Metrics.Losses
		if n := counted(losses.WithLabelValues("unknown_class")) + counted(losses.WithLabelValues("evicted")); n != 0 {
			t.Errorf("%v counted again", n)
		}
	})
}

// TestLossesBeforeAMessageThatIsGivenUpAreTold: the transaction has the messages before it, whose losses the next owner
// takes for told. The losses of the message itself are not told, since it is read again.
func TestLossesBeforeAMessageThatIsGivenUpAreTold(t *testing.T) {
	w := alone(t, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	learnt := 0
	x := newOwner(t, w, func(o *Options) {
		spec := *o.Spec
		spec.Options.DedupWindow, spec.Options.DedupBytes = int64(time.Hour), 1<<20
		spec.Components = append(slices.Clone(spec.Components), &tripwire{func() {
			if learnt++; learnt == 3000 {
				end()
			}
		}})
		o.Spec, o.Codec.Dedup, o.Commit, o.Snapshot = &spec, true, time.Hour, time.Hour
	})
	x.mustTake()
	x.s.hurry.Store(true)
	p := newPipeline(x.task)
	p.lastSnap = x.s.o.Now()
	for at, n := range []int{500, 500, 15000} { // each message begins with the same records
		p.current.Records = append(p.current.Records, txn.Record{Topic: w.Topics.Events, Offset: int64(at),
			Value: w.Message(0, 0, n, true), Time: x.s.o.Now()})
	}
	p.current.Next = 3
	for range 3 {
		if err := p.next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := x.m.Part.Sieve.Sifted().Duplicates; !p.torn || x.committed.Events != 2 || n != 1000 {
		t.Fatalf("torn %v, committed up to %d, %d records left out", p.torn, x.committed.Events, n)
	}
	if n := labels(x.s.o.Metrics.Duplicates)["left_out"]; n != 500 {
		t.Errorf("%v records left out are told, want 500", n)
	}
	if s := x.board.read(); s.Labelled != 500 || s.Offset != 2 {
		t.Errorf("%v records are shown as learnt up to offset %d", s.Labelled, s.Offset)
	}
}

// TestARerunThatBeginsAnewCountsOnce: where a model of the journal is lost after some events were scored again, the
// next plan scores them once more.
func TestARerunThatBeginsAnewCountsOnce(t *testing.T) {
	w := alone(t, 1)
	x := newOwner(t, w, nil)
	x.mustTake()
	w.Produce(60, 20, true)
	w.Send(w.Topics.Events, "no event")
	tx := &transaction{repairs: true}
	again := rerun{t: x.task, x: tx}
	for range 2 {
		again.forget()
		for _, r := range w.Records(w.Topics.Events, 0) {
			if err := x.process(t.Context(), tx, &r, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := x.commitsAll(tx); err != nil {
		t.Fatal(err)
	}
	m := x.s.o.Metrics
	n := 0.0
	for _, by := range labels(m.Records) {
		n += by
	}
	if n != 60 || x.board.read().Scored != 60 || len(tx.answers) != 3 || len(tx.dead) != 1 {
		t.Errorf("%v scores are counted and %d shown, %d have a latency, %d dead letters", n, x.board.read().Scored,
			len(tx.answers), len(tx.dead))
	}
	if dead := labels(m.Dead); len(dead) != 1 || x.board.read().Dead != 1 {
		t.Errorf("dead letters: %v", dead)
	}
}

// withSchema makes a stage of another specification.
func withSchema(o Options, spec *model.Spec) Options {
	o.Spec, o.Codec.Schema = spec, spec.Schema
	return o
}
