package modeltest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// changed is the other side of a schema change: the factory there, the levels, and the relation of the two.
type changed struct {
	change  *model.Change
	factory model.Factory
	levels  *model.Levels
}

func (x *fixture) changed(t *testing.T, from *changed, s *model.Schema) *changed {
	t.Helper()
	schema, levels := x.Schema, x.levels
	if from != nil {
		schema, levels = from.change.To, from.levels
	}
	c, err := model.Relate(schema, s)
	if err != nil {
		t.Fatal(err)
	}
	n := &changed{change: c, factory: x.New(s), levels: model.NewLevels(s)}
	for f, o := range c.Feature {
		if o < 0 || s.Features[f].Kind == model.Continuous {
			continue
		}
		for _, text := range levels.Names(o) {
			n.levels.Code(f, text)
		}
	}
	return n
}

// carry returns the component as one of the other schema, and which number its inputs had.
func (n *changed) carry(t *testing.T, c model.Component) (model.Component, []int) {
	t.Helper()
	n.change.Inputs = nil
	before := state(c)
	b, inputs, err := n.factory.(model.Carrier).CarryState(n.change, before)
	if err != nil {
		t.Fatalf("carrying over: %v", err)
	}
	again, _, err := n.factory.(model.Carrier).CarryState(n.change, state(c))
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("the same state gives different bytes: %v", err)
	}
	if !bytes.Equal(before, state(c)) {
		t.Fatal("carrying over changes what is carried")
	}
	d := n.factory.New(n.levels)
	if err := d.LoadState(b); err != nil {
		t.Fatalf("loading what was carried over: %v", err)
	}
	if !bytes.Equal(state(d), b) {
		t.Fatal("what was carried over is not what is loaded")
	}
	if inputs == nil {
		for i := range d.InputCount() {
			inputs = append(inputs, i)
		}
	}
	if len(inputs) != d.InputCount() {
		t.Fatalf("%d of %d inputs have a number of before", len(inputs), d.InputCount())
	}
	return d, inputs
}

// examples returns records as those of the other schema.
func (n *changed) examples(ex []model.Example) []model.Example {
	out := slices.Clone(ex)
	for i := range out {
		out[i].Row = n.change.Row(ex[i].Row, nil)
	}
	return out
}

// says holds the answers of a component to a row, feature names in place of indices.
type says struct {
	inputs   []float64 // in the order of names, classes of the old schema only
	p        []float64
	subspace string
	reason   string
}

func ask(c model.Component, s *model.Schema, classes int, order []int, row model.Row) (a says) {
	all := make([]float64, c.InputCount()*len(s.Classes))
	c.Inputs(row, all)
	for _, i := range order {
		a.inputs = append(a.inputs, all[i*len(s.Classes):][:classes]...)
	}
	if sc, ok := c.(model.Scorecard); ok {
		a.p = make([]float64, len(s.Classes))
		sc.Score(row, nil, make([]float64, sc.PendingLen()), a.p)
	}
	if sel, ok := c.(model.Selector); ok {
		features, relevance := sel.Select(row, nil, nil)
		for k, f := range features {
			a.subspace += fmt.Sprintf("%s %.5f ", s.Features[f].Name, relevance[k])
		}
	}
	if r, ok := c.(model.Reasoner); ok {
		a.reason = r.Reason(row)
	}
	return a
}

// near compares the answers before and after.
func (a *says) near(b *says, tolerance float64) error {
	for i := range a.inputs {
		if !(math.Abs(a.inputs[i]-b.inputs[i]) <= tolerance*max(1, math.Abs(a.inputs[i]))) {
			return fmt.Errorf("inputs %v, were %v", b.inputs, a.inputs)
		}
	}
	for y := range a.p {
		if !(math.Abs(a.p[y]-b.p[y]) <= tolerance) {
			return fmt.Errorf("propensities %v, were %v", b.p, a.p)
		}
	}
	if a.subspace != b.subspace || a.reason != b.reason {
		return fmt.Errorf("subspace %q (%s), was %q (%s)", b.subspace, b.reason, a.subspace, a.reason)
	}
	return nil
}

// testCarry: after a change of the schema a component gives every record its answers of before by the features that
// stay, and counts on as if nothing had happened.
func testCarry(t *testing.T, x *fixture) {
	if _, able := x.factory.(model.Carrier); !able {
		return
	}
	features := func(f ...model.Feature) *model.Schema {
		s := *x.Schema
		s.Features = f
		return &s
	}
	was := x.Schema.Features
	turned := slices.Clone(was)
	slices.Reverse(turned)
	wide := append([]model.Feature{{Name: "new", Kind: model.Continuous},
		{Name: "rank", Kind: model.Ordinal, Levels: []string{"a", "b", "c"}}}, turned...)
	wide = append(wide, model.Feature{Name: "town", Kind: model.Nominal},
		model.Feature{Name: "shown", Kind: model.Nominal, Use: model.UseReport})
	half := x.fitted + (len(x.examples)-x.fitted)/2
	for _, c := range []struct {
		name  string
		to    *model.Schema
		exact bool
	}{
		{"nothing", x.Schema, true},
		{"features behind", features(append(slices.Clone(was), wide[0], wide[1], wide[len(wide)-2])...), true},
		{"features between, in reverse", features(wide...), false},
	} {
		tolerance := 1e-9
		if c.exact {
			tolerance = 1e-12
		}
		n := x.changed(t, nil, c.to)
		old := x.live(t, x.part, 0, x.examples[x.fitted:half])
		now, numbers := n.carry(t, old)
		if len(numbers) != old.InputCount() {
			t.Fatalf("%s: %d inputs, were %d", c.name, len(numbers), old.InputCount())
		}
		order := make([]int, len(numbers)) // of the inputs now, as they were
		for i, o := range numbers {
			order[o] = i
		}
		same := make([]int, len(numbers))
		for i := range same {
			same[i] = i
		}
		moved := n.examples(x.examples)
		compare := func(what string) {
			t.Helper()
			for i := range moved {
				k := len(x.Schema.Classes)
				a, b := ask(old, x.Schema, k, same, x.examples[i].Row), ask(now, c.to, k, order, moved[i].Row)
				if err := a.near(&b, tolerance); err != nil {
					t.Fatalf("%s: %s: record %d: %v", c.name, what, i, err)
				}
			}
		}
		compare("carried over")
		if c.to == x.Schema && !bytes.Equal(state(now), state(old)) {
			t.Errorf("%s: another state", c.name)
		}
		// Learning before the change is learning after it, but for steps that are shorter among more features.
		if !x.PathDependent {
			learn(old, x.examples[half:])
			learn(now, moved[half:])
			compare("learning on")
		}
		// And back: nothing was lost.
		back, _ := x.changed(t, n, x.Schema).carry(t, now)
		now, c.to, moved = back, x.Schema, x.examples
		for i, o := range numbers {
			order[o] = i
		}
		compare("back again")
	}
	// One feature less, each in turn: the rest is sound, and says nothing of the gone one.
	for f := range was {
		rest := slices.Delete(slices.Clone(was), f, f+1)
		n := x.changed(t, nil, features(rest...))
		now, _ := n.carry(t, x.live(t, x.part, 0, x.examples[x.fitted:]))
		x.sound(t, "without "+was[f].Name, n, now)
	}
	// Levels and classes at the end.
	more := slices.Clone(was)
	for f := range more {
		if len(more[f].Levels) > 0 {
			more[f].Levels = append(slices.Clone(more[f].Levels), "more", "most")
		}
	}
	grown := features(more...)
	grown.Classes = append(slices.Clone(grown.Classes), "never seen")
	n := x.changed(t, nil, grown)
	now, _ := n.carry(t, x.live(t, x.part, 0, x.examples[x.fitted:]))
	x.sound(t, "levels and a class added", n, now)
	for i := range x.examples {
		for f := range more {
			if len(more[f].Levels) > 0 {
				row := n.change.Row(x.examples[i].Row, nil)
				row[f] = float64(len(more[f].Levels) - 2 + i%3) // a level that is new, or "(other)"
				class := int32(len(grown.Classes) - 1 - i%2)
				now.Learn(&model.Example{Row: row, Class: class, Weight: 1, Clock: float64(len(x.examples) + i)})
			}
		}
	}
	x.sound(t, "learning levels and a class that were added", n, now)
	testCarryHostile(t, x, n)
}

// sound asks for every record and reads the state back.
func (x *fixture) sound(t *testing.T, what string, n *changed, c model.Component) {
	t.Helper()
	s := n.change.To
	order := make([]int, c.InputCount())
	for i := range order {
		order[i] = i
	}
	for i, ex := range n.examples(x.examples) {
		a := ask(c, s, len(s.Classes), order, ex.Row)
		for _, v := range append(a.inputs, a.p...) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s: record %d: inputs %v, propensities %v", what, i, a.inputs, a.p)
			}
		}
	}
	d := n.factory.New(n.levels)
	if err := d.LoadState(state(c)); err != nil || !bytes.Equal(state(d), state(c)) {
		t.Fatalf("%s: the state does not survive: %v", what, err)
	}
}

// testCarryHostile: damaged states are refused, or carried over to a readable state.
func testCarryHostile(t *testing.T, x *fixture, n *changed) {
	good := state(x.live(t, x.part, 0, x.examples[x.fitted:]))
	moved := n.examples(x.examples[:2])
	for i := 0; i < 400; i++ {
		h := model.Hash(5, uint64(i))
		bad := slices.Clone(good)
		if i%8 == 0 {
			bad = bad[:h%uint64(len(bad))]
		} else {
			bad[h%uint64(len(bad))] ^= byte(h>>32) | 1
		}
		b, _, err := n.factory.(model.Carrier).CarryState(n.change, bad)
		if err != nil {
			continue
		}
		d := n.factory.New(n.levels)
		if err := d.LoadState(b); err != nil {
			t.Fatalf("damage %d: what was carried over is not read: %v", i, err)
		}
		d.Inputs(moved[0].Row, make([]float64, d.InputCount()*len(n.change.To.Classes)))
		learn(d, moved)
		d.Retract(&moved[0])
		state(d)
	}
}
