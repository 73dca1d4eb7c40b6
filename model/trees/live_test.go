package trees

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// live returns a component under a fit of generated records, the levels and the records.
func live(t testing.TB, o Options) (*Component, *Part, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 900, 2)
	p, b := fitted(t, o, modeltest.Evidence(s, l, ex[:600]))
	c := &Component{schema: s}
	if err := c.Rebase(&model.Rebase{Part: b}); err != nil {
		t.Fatal(err)
	}
	return c, p, ex
}

var some = Options{Rounds: 6, Leaves: 6, Rate: .3, Gate: -1e9}

// TestFadingCountsAreTakenBack: with a half-life, Learn and Retract leave 1e-12 of the weight, over moves of the base.
func TestFadingCountsAreTakenBack(t *testing.T) {
	o := some
	o.HalfLife = 2
	c, _, ex := live(t, o)
	for i := range ex[:300] {
		c.Learn(&ex[i])
	}
	if c.counts.base == 0 {
		t.Fatal("the base did not move")
	}
	was := c.counts.clone()
	late := slices.Clone(ex[300:340])
	for i := range late {
		c.Learn(&late[i])
	}
	for i := range late {
		c.Retract(&late[i])
	}
	by := math.Exp2(was.base - c.counts.base)
	for i, v := range c.counts.slot {
		if !(math.Abs(v-was.slot[i]*by) <= 1e-12*math.Exp2(40/o.HalfLife)*was.total*by) {
			t.Fatalf("count %d is %v, was %v", i, v, was.slot[i]*by)
		}
	}
	near := func(what string, got, want float64) {
		if !(math.Abs(got-want) <= 1e-12*math.Exp2(80/o.HalfLife)*want) || want == 0 {
			t.Errorf("the %s is %v, was %v", what, got, want)
		}
	}
	near("weight", c.counts.total, was.total*by)
	near("sum of the squared weights", c.counts.square, was.square*by*by) // else fewer records would be surer
}

// TestSharesOfAModelAreAsOldAsTheyAre: records of which the Model does not know, and that are not to come, have made
// its counts older. The inputs are those of counts and records that lie as far apart.
func TestSharesOfAModelAreAsOldAsTheyAre(t *testing.T) {
	o := some
	o.HalfLife = 25
	c, p, ex := live(t, o)
	for i := range ex[:300] {
		c.Learn(&ex[i])
	}
	p.shares = []share{{partition: 3, counts: c.counts.clone()}}
	part := p.appendBinary(nil)
	inputs := func(ahead, later float64) (out []float64) {
		x := &Component{schema: c.schema}
		err := x.Rebase(&model.Rebase{Part: part, Self: 3, Ahead: ahead, Since: func(yield func(ex *model.Example) bool) {
			for i := range ex[300:400] {
				one := ex[300+i]
				if one.Clock += later; !yield(&one) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range ex[400:500] {
			dst := make([]float64, len(c.schema.Classes))
			x.Inputs(ex[400+i].Row, dst)
			out = append(out, dst...)
		}
		return out
	}
	const age = 8 * 25
	same, ahead, later := inputs(0, 0), inputs(age, age), inputs(0, age)
	if largest(same, ahead) > 1e-9 {
		t.Errorf("counts that are ahead by %d records, and records later by as many: inputs %v apart", age,
			largest(same, ahead))
	}
	if largest(same, later) < 1e-3 {
		t.Fatal("inputs do not depend on the age of the counts: the test says nothing")
	}
}

// TestInputsDoNotDependOnTheBase: the same records with clocks that lie later by whole half-lives, so that the counts
// are rescaled on the way, give the same inputs: sums of weights, of their squares and the counts of leaves move
// together.
func TestInputsDoNotDependOnTheBase(t *testing.T) {
	o := some
	o.HalfLife = 4
	inputs := func(shift float64) (base float64, out []float64) {
		c, _, ex := live(t, o)
		for i := range ex[:300] {
			one := ex[i]
			one.Clock += shift * o.HalfLife
			c.Learn(&one)
		}
		for i := range ex[400:500] {
			dst := make([]float64, len(c.schema.Classes))
			c.Inputs(ex[400+i].Row, dst)
			out = append(out, dst...)
		}
		return c.counts.base, out
	}
	none, want := inputs(0)
	if none != 0 {
		t.Fatalf("a base of %v without a shift", none)
	}
	for _, shift := range []float64{60, 100, 1000} {
		base, got := inputs(shift)
		if base == 0 {
			t.Fatalf("the counts were not rescaled by %v half-lives", shift)
		}
		if d := largest(got, want); d > 1e-9 {
			t.Errorf("records later by %v half-lives: inputs %v apart", shift, d)
		}
	}
}

// TestCarriedTreesKeepTheCountsOfTheirLeaves: where trees before, between and behind them are dropped with a removed
// feature, the others have the counts of their own leaves.
func TestCarriedTreesKeepTheCountsOfTheirLeaves(t *testing.T) {
	c, _, ex := live(t, some)
	for i := range ex[:300] {
		c.Learn(&ex[i])
	}
	mentions := func(x *tree, feature int) bool {
		return slices.ContainsFunc(x.nodes, func(n node) bool { return int(n.feature) == feature })
	}
	tested := 0
	for gone := range c.schema.Features {
		to := *c.schema
		to.Features = slices.Delete(slices.Clone(c.schema.Features), gone, gone+1)
		change, err := model.Relate(c.schema, &to)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := New(some, &to).CarryState(change, c.AppendState(nil))
		if err != nil {
			t.Fatal(err)
		}
		n := &Component{schema: &to}
		if err := n.LoadState(b); err != nil {
			t.Fatal(err)
		}
		var want []float64
		at, dropped, behind := 0, false, false
		for i := range c.structure.trees {
			x := &c.structure.trees[i]
			end := at + 2*len(x.share)
			if mentions(x, gone) {
				dropped = true
			} else {
				want, behind = append(want, c.counts.slot[at:end]...), behind || dropped
			}
			at = end
		}
		if behind {
			tested++
		}
		if len(want) > 0 && !slices.Equal(n.counts.slot, want) {
			t.Errorf("without %s: counts %v, want %v", c.schema.Features[gone].Name, n.counts.slot, want)
		}
	}
	if tested == 0 {
		t.Fatal("no tree stands behind a dropped one: the test says nothing")
	}
}

// largest is the largest difference of two lists.
func largest(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// TestALeafLearns: where one leaf of a tree gets more of a class than at the fit, its input rises, and that of the
// others falls as all records together rose; where the rate of all records alone changes, nothing does.
func TestALeafLearns(t *testing.T) {
	rows, class := table(3000, 3, 5, func(x []float64) float64 { return .1 + .8*math.Abs(above(x[0])-above(x[1])) })
	ev := numbered(rows, class)
	_, b := fitted(t, Default(), ev)
	input := func(change func(x []float64, y int32) int32) (here, there float64) {
		c := &Component{schema: ev.Schema}
		if err := c.Rebase(&model.Rebase{Part: b}); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			c.Learn(&model.Example{Row: rows[i], Class: change(rows[i], class[i]), Weight: 1, Clock: float64(i)})
		}
		var a, o [2]float64
		c.Inputs(model.Row{.9, .9, .5}, a[:])
		c.Inputs(model.Row{.1, .1, .5}, o[:])
		return a[1] - a[0], o[1] - o[0]
	}
	a0, o0 := input(func(_ []float64, y int32) int32 { return y })
	a1, o1 := input(func(x []float64, y int32) int32 {
		if x[0] > .5 && x[1] > .5 {
			return 1
		}
		return y
	})
	if !(a1 > a0+.5) || !(o1 < o0) {
		t.Errorf("where all records are of the class: %v, was %v; elsewhere %v, was %v", a1, a0, o1, o0)
	}
}

// TestContributions: the shares of the features, the mean values of the trees and the shifts of leaves sum to the
// input, to 1e-9, for every class.
func TestContributions(t *testing.T) {
	c, _, ex := live(t, some)
	classes := len(c.schema.Classes)
	in, of := make([]float64, classes), make([]float64, len(c.schema.Features)*classes)
	for i := range ex {
		clear(of)
		c.Inputs(ex[i].Row, in)
		c.Attribute(ex[i].Row, of)
		roots := make([]float64, classes)
		for _, tr := range c.structure.trees {
			roots[tr.margin] += tr.nodes[0].value
		}
		spread(roots, roots)
		for y := range in {
			sum := roots[y]
			for f := range c.schema.Features {
				sum += of[f*classes+y]
			}
			if !(math.Abs(sum-in[y]) <= 1e-9) {
				t.Fatalf("record %d class %d: shares sum to %v, the input is %v", i, y, sum, in[y])
			}
		}
	}
	if z := of[8*classes : 9*classes]; z[0] != 0 || z[1] != 0 || z[2] != 0 {
		t.Errorf("a feature that no tree may split on has the share %v", z)
	}
}

// TestWithout: the input of a record of the fit is that of the trees that did not see its fold.
func TestWithout(t *testing.T) {
	c, p, ex := live(t, some)
	other := 0
	for i := range ex[:600] {
		got, want, with := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		c.InputsWithout(&ex[i], got)
		for _, tr := range p.folds[foldOf(p.run, ex[i].Clock)] {
			want[tr.margin] += tr.leaf(ex[i].Row).value
		}
		spread(want, want)
		c.Inputs(ex[i].Row, with)
		if !slices.Equal(got, want) {
			t.Fatalf("record %d: %v, want %v", i, got, want)
		}
		if !slices.Equal(got, with) {
			other++
		}
	}
	if other < 500 {
		t.Errorf("%d of 600 inputs differ from those of all trees", other)
	}
	var d Component
	d.schema = c.schema
	if err := d.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	got := []float64{1, 1, 1}
	if d.InputsWithout(&ex[0], got); got[0] != 0 || got[1] != 0 || got[2] != 0 {
		t.Errorf("%v where the trees of the folds are not at hand", got)
	}
}

func FuzzLoadState(f *testing.F) {
	c, _, ex := live(f, some)
	c.Learn(&ex[0])
	f.Add(c.AppendState(nil))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: c.schema}
		if d.LoadState(b) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3))
		d.Attribute(ex[0].Row, make([]float64, 3*len(c.schema.Features)))
		d.Learn(&ex[0])
		d.Retract(&ex[0])
		d.AppendState(nil)
	})
}

func FuzzDecodePart(f *testing.F) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 300, 7)
	_, part := fitted(f, some, modeltest.Evidence(s, l, ex))
	f.Add(part)
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: s}
		if d.Rebase(&model.Rebase{Part: b}) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3))
		d.InputsWithout(&ex[0], make([]float64, 3))
	})
}
