package stream

import (
	"maps"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/stream/internal/sample"
	"liftstream/stream/state"
)

// TestWhichStatesAreCarriedOver: where the features, levels and classes alone have changed, and the configuration can
// say how the former one was. Others begin anew, which the policy has said.
func TestWhichStatesAreCarriedOver(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *Options)
		how    string
		policy string
	}{
		{"another schema", func(*Options) {}, "carried", "carried/schema_changed"},
		{"other options, too", func(o *Options) { o.Spec.Options.Frame++ }, "schema_changed", "rebuild/schema_changed"},
		{"a build that carries nothing over", func(o *Options) { o.Under = nil }, "schema_changed",
			"rebuild/schema_changed"},
	} {
		w := alone(t, 1)
		w.Produce(60, 10, true)
		w.SendLabels(0, 10)
		x := newOwner(t, w, func(o *Options) { *o = under(*o, sample.Schema, 9) })
		x.mustTake()
		if err := x.works(); err != nil {
			t.Fatal(err)
		}
		x.saves()
		x = newOwner(t, w, func(o *Options) {
			*o = under(*o, changedSchema, 10)
			c.change(o)
		})
		for range 2 { // the first one dies before there is a snapshot
			x.mustTake()
		}
		m, carried := x.s.o.Metrics, c.how == "carried"
		if got := labels(m.Restores); !maps.Equal(got, map[string]float64{c.how: 2}) && carried || got[c.how] == 0 {
			t.Errorf("%s: restored by %v", c.name, got)
		}
		if got := labels(m.Policies); got[c.policy] == 0 || len(got) != 1 {
			t.Errorf("%s: policies %v", c.name, got)
		}
		if x.m.At.Events != 6 || x.snapshotFirst != carried || x.m.Part.Labelled() != 60 {
			t.Errorf("%s: at %+v, %v learnt, a snapshot comes first %v", c.name, x.m.At, x.m.Part.Labelled(), x.snapshotFirst)
		}
		x.saves()
		y := newOwner(t, w, func(o *Options) {
			*o = under(*o, changedSchema, 10)
			c.change(o)
		})
		y.mustTake()
		if got := labels(y.s.o.Metrics.Restores); !maps.Equal(got, map[string]float64{"snapshot": 1}) || y.snapshotFirst {
			t.Errorf("%s: after its snapshot it is restored by %v", c.name, got)
		}
	}
}

// TestAGroupThatIsBehindIsTold, with both offsets; the transaction's is taken.
func TestAGroupThatIsBehindIsTold(t *testing.T) {
	w := alone(t, 1)
	w.Produce(40, 10, true)
	x := newOwner(t, w, nil)
	x.mustTake()
	if err := x.works(); err != nil {
		t.Fatal(err)
	}
	w.setOffset(w.Topics.Events, 3, state.Done{Number: 1}.Note())
	core, logs := observer.New(zap.WarnLevel)
	x = newOwner(t, w, func(o *Options) { o.Log = zap.New(core) })
	x.mustTake()
	said := logs.FilterMessageSnippet("the transaction's are taken").All()
	if len(said) != 1 || said[0].ContextMap()["committed"] != int64(4) || said[0].ContextMap()["group"] != int64(3) ||
		x.m.At.Events != 4 {
		t.Errorf("said %v, at %+v", said, x.m.At)
	}
}
