package modeltest

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func testRebaseKeeps(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	before := state(c)
	rebase(t, c, x.part, 0, nil, x.examples)
	if !bytes.Equal(before, state(c)) {
		t.Error("a Rebase to the same structure changes the state")
	}
}

// testMover: a state that was read for a rebase alone comes out of it as one that was read whole.
func testMover(t *testing.T, x *fixture) {
	if _, ok := x.factory.New(x.levels).(model.Mover); !ok {
		return
	}
	half := len(x.examples) / 2
	c := x.live(t, x.part, 0, x.examples[:half])
	another := x.fit(t, x.factory, x.evidence(x.examples[:half]), nil)
	for name, part := range map[string][]byte{"the same structure": x.part, "another one": another} {
		whole, moved := x.factory.New(x.levels), x.factory.New(x.levels)
		if err := whole.LoadState(state(c)); err != nil {
			t.Fatalf("%s: loading: %v", name, err)
		}
		if err := moved.(model.Mover).LoadToRebase(state(c)); err != nil {
			t.Fatalf("%s: loading for a rebase: %v", name, err)
		}
		if !bytes.Equal(state(moved), state(c)) {
			t.Errorf("%s: a state that was read for a rebase is another", name)
		}
		rebase(t, whole, part, 0, nil, x.examples[:half])
		rebase(t, moved, part, 0, nil, x.examples[:half])
		x.same(t, name, moved, whole, 0)
		learn(whole, x.examples[half:])
		learn(moved, x.examples[half:])
		if !bytes.Equal(state(moved), state(whole)) {
			t.Errorf("%s: after a rebase, the state that was read for it learns otherwise", name)
		}
	}
}

// testRebaseSince: the model's share and the records learnt since make the same as having been there all the time.
func testRebaseSince(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	mark := x.fitted
	c := x.live(t, x.part, 0, nil)
	ev := x.evidence(x.examples[:mark])
	ev.States = model.HeldStates(map[int32][]byte{0: state(c)})
	ev.Recodes, ev.Models = map[int32]model.Recode{0: nil}, map[int32]int64{0: 1}
	part := x.fit(t, x.factory, ev, x.part)
	learn(c, x.examples[mark:])
	late := x.live(t, part, 0, x.examples[mark:])
	rebase(t, c, part, 0, nil, x.examples[mark:])
	x.same(t, "fresh", late, c, 1e-9)
	// Both must also be the same to the next Fit.
	next := func(c model.Component) model.Component {
		ev := x.evidence(x.examples)
		ev.States, ev.Models = model.HeldStates(map[int32][]byte{0: state(c)}), map[int32]int64{0: 2}
		ev.Recodes = map[int32]model.Recode{0: nil}
		return x.live(t, x.fit(t, x.factory, ev, part), 0, nil)
	}
	x.same(t, "the next generation", next(late), next(c), 1e-9)
}

// testMerge: the model of two partitions that saw parts of a stream is that of one that saw all of it.
func testMerge(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	ex := x.examples
	all, a, b := x.live(t, x.part, 5, nil), x.live(t, x.part, 5, nil), x.live(t, x.part, 5, nil)
	split := slices.Clone(ex)
	partition := make([]int32, len(ex))
	for i := range ex {
		all.Learn(&ex[i])
		if i%3 == 0 {
			a.Learn(&ex[i])
			continue
		}
		partition[i] = 1
		b.Learn(&ex[i])
	}
	one := x.evidence(ex)
	one.States = model.HeldStates(map[int32][]byte{0: state(all)})
	one.Recodes, one.Models = map[int32]model.Recode{}, map[int32]int64{0: 1}
	two := x.evidence(split)
	two.Partition = partition
	two.States = model.HeldStates(map[int32][]byte{0: state(a), 1: state(b)})
	two.Recodes, two.Models = map[int32]model.Recode{}, map[int32]int64{0: 1, 1: 1}
	p1, p2 := x.fit(t, x.factory, one, x.part), x.fit(t, x.factory, two, x.part)
	x.same(t, "merged", x.live(t, p2, 9, nil), x.live(t, p1, 9, nil), 1e-12)
}

// testRecode: a state whose level codes are renamed at a Rebase is that of the renamed records.
func testRecode(t *testing.T, x *fixture) {
	r := make(model.Recode, len(x.Schema.Features))
	any := false
	for f := range x.Schema.Features {
		n := x.levels.Count(f)
		if x.Schema.Features[f].Kind != model.Nominal || len(x.Schema.Features[f].Levels) > 0 || n < 2 {
			continue
		}
		any = true
		r[f] = make([]uint32, n)
		for c := range r[f] {
			r[f][c] = uint32(n - 1 - c)
		}
	}
	if !any || x.PathDependent {
		return
	}
	renamed := slices.Clone(x.examples)
	for i := range renamed {
		renamed[i].Row = slices.Clone(renamed[i].Row)
		for f := range renamed[i].Row {
			renamed[i].Row[f] = r.Value(f, renamed[i].Row[f])
		}
	}
	// The model has no share for partition 77, so the states hold the records learnt here and nothing else.
	c, d := x.live(t, x.part, 77, nil), x.live(t, x.part, 77, nil)
	learn(c, renamed) // the reversal is its own inverse: under the old codes these are the records
	rebase(t, c, x.part, 77, r, nil)
	learn(d, x.examples)
	x.same(t, "recoded", c, d, 1e-9)
	if !bytes.Equal(state(c), state(d)) {
		t.Error("a recoded state is not that of the renamed records")
	}
	// A Fit recodes the states that it reads in the same way.
	e := x.live(t, x.part, 77, nil)
	learn(e, renamed)
	fit := func(c model.Component, r model.Recode) model.Component {
		ev := x.evidence(x.examples)
		for i := range ev.Partition {
			ev.Partition[i] = 77
		}
		ev.States, ev.Models = model.HeldStates(map[int32][]byte{77: state(c)}), map[int32]int64{77: 1}
		ev.Recodes = map[int32]model.Recode{77: r}
		return x.live(t, x.fit(t, x.factory, ev, x.part), 77, nil)
	}
	x.same(t, "recoded by Fit", fit(e, r), fit(d, nil), 1e-9)
}

func testFeatureOrder(t *testing.T, x *fixture) {
	n := len(x.Schema.Features)
	s := *x.Schema
	s.Features = make([]model.Feature, n)
	for f := range s.Features {
		s.Features[f] = x.Schema.Features[n-1-f]
	}
	turned := slices.Clone(x.examples)
	for i := range turned {
		turned[i].Row = slices.Clone(turned[i].Row)
		slices.Reverse(turned[i].Row)
	}
	levels := model.NewLevels(&s)
	for f := range s.Features {
		if s.Features[f].Kind == model.Continuous {
			continue
		}
		for _, text := range x.levels.Names(n - 1 - f) {
			levels.Code(f, text)
		}
	}
	factory := x.New(&s)
	part, err := factory.Fit(context.Background(), Evidence(&s, levels, turned[:x.fitted]), nil)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	c, d := factory.New(levels), x.live(t, x.part, 0, x.examples[x.fitted:])
	rebase(t, c, part, 0, nil, turned[x.fitted:])
	if c.InputCount() != d.InputCount() {
		t.Fatalf("%d inputs, with the features in reverse %d", d.InputCount(), c.InputCount())
	}
	p, q := make([]float64, len(s.Classes)), make([]float64, len(s.Classes))
	for i := range turned {
		if sc, ok := c.(model.Scorecard); ok {
			sd := d.(model.Scorecard)
			sc.Score(turned[i].Row, nil, make([]float64, sc.PendingLen()), p)
			sd.Score(x.examples[i].Row, nil, make([]float64, sd.PendingLen()), q)
			for y := range p {
				if math.Abs(p[y]-q[y]) > 1e-9 {
					t.Fatalf("record %d: propensities %v, with the features in reverse %v", i, q, p)
				}
			}
		}
		a, b := x.inputs(c, turned[i].Row), x.inputs(d, x.examples[i].Row)
		slices.Sort(a)
		slices.Sort(b)
		for j := range a {
			if math.Abs(a[j]-b[j]) > 1e-9*max(1, math.Abs(b[j])) {
				t.Fatalf("record %d: inputs %v, with the features in reverse %v", i, b, a)
			}
		}
	}
}
