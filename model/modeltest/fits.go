package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func testFitSameBytes(t *testing.T, x *fixture) {
	ev := x.evidence(x.examples)
	again := x.evidence(x.examples)
	for name, previous := range map[string][]byte{"cold": nil, "warm": x.part} {
		a := x.fit(t, x.factory, ev, previous)
		b := x.fit(t, x.New(x.Schema), again, previous)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the same evidence gives different parts", name)
		}
	}
}

func testFitKeepsEvidence(t *testing.T, x *fixture) {
	ev := x.evidence(x.examples)
	c := x.live(t, x.part, 0, x.examples)
	states := map[int32][]byte{0: state(c)}
	ev.States = model.HeldStates(states)
	ev.Recodes = map[int32]model.Recode{0: nil}
	ev.Models = map[int32]int64{0: 1}
	previous := slices.Clone(x.part)
	before := fmt.Sprint(ev.Columns, ev.Class, ev.Weight, ev.Clock, ev.Time, ev.Partition, states)
	x.fit(t, x.factory, ev, previous)
	if fmt.Sprint(ev.Columns, ev.Class, ev.Weight, ev.Clock, ev.Time, ev.Partition, states) != before {
		t.Error("Fit changed the evidence")
	}
	if !bytes.Equal(previous, x.part) {
		t.Error("Fit changed the previous part")
	}
}

func testFitContext(t *testing.T, x *fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.factory.Fit(ctx, x.evidence(x.examples), nil); err == nil {
		t.Error("Fit ignores a cancelled context")
	}
}

// testFitPoor: evidence that says nothing gives a part that can serve, or an error; never a panic.
func testFitPoor(t *testing.T, x *fixture) {
	change := func(f func(i int, ex *model.Example)) []model.Example {
		out := slices.Clone(x.examples[:200])
		for i := range out {
			out[i].Row = slices.Clone(out[i].Row)
			f(i, &out[i])
		}
		return out
	}
	for _, c := range []struct {
		name string
		ex   []model.Example
	}{
		{"no record", nil},
		{"one record", x.examples[:1]},
		{"one class", change(func(i int, ex *model.Example) { ex.Class = 0 })},
		{"all missing", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				ex.Row[f] = math.NaN()
			}
		})},
		{"all equal", change(func(i int, ex *model.Example) { copy(ex.Row, x.examples[0].Row) })},
		{"one feature left", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				if f > 0 {
					ex.Row[f] = math.NaN()
				}
			}
		})},
		{"huge numbers", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				if x.Schema.Features[f].Kind == model.Continuous {
					ex.Row[f] *= 1e300
				}
			}
		})},
	} {
		part, err := x.factory.Fit(context.Background(), x.evidence(c.ex), nil)
		if err != nil {
			continue
		}
		live := x.live(t, part, 0, nil)
		learn(live, x.examples)
		for _, v := range x.inputs(live, x.examples[0].Row) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: input %v", c.name, v)
			}
		}
		d := x.factory.New(x.levels)
		if err := d.LoadState(state(live)); err != nil {
			t.Errorf("%s: loading its own state: %v", c.name, err)
		}
	}
}
