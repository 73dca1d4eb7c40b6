package stream

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
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

// withSchema makes a stage of another specification.
func withSchema(o Options, spec *model.Spec) Options {
	o.Spec, o.Codec.Schema = spec, spec.Schema
	return o
}
