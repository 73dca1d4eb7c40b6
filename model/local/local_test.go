package local

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// fitted returns a component fitted on n generated records, and the records.
func fitted(t testing.TB, o Options, n int) (*Component, []byte, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, n, 7)
	return fit(t, o, s, modeltest.Evidence(s, l, ex)), nil, ex
}

func fit(t testing.TB, o Options, s *model.Schema, ev *model.Evidence) *Component {
	t.Helper()
	f := New(o, s)
	part, err := f.Fit(context.Background(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(ev.Levels).(*Component)
	if err := c.Rebase(&model.Rebase{Part: part, Since: func(func(*model.Example) bool) {}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOutside: nothing is selected outside the observed range, and the curve there is the prior.
func TestOutside(t *testing.T) {
	c, _, ex := fitted(t, Options{Theta: .05}, 800)
	row := slices.Clone(ex[0].Row)
	for _, v := range []float64{-1e6, 1e6} {
		row[0], row[1], row[3], row[7] = v, v, v, v
		f, _ := c.Select(row, nil, nil)
		for _, j := range f {
			if c.schema.Features[j].Kind == model.Continuous {
				t.Errorf("feature %d is selected at %v", j, v)
			}
		}
	}
}

// TestDegenerate: uninformative pools are served without a NaN, and the reason is named.
func TestDegenerate(t *testing.T) {
	s := modeltest.Schema()
	l, base := modeltest.Generate(s, 300, 5)
	change := func(f func(i int, ex *model.Example)) []model.Example {
		out := slices.Clone(base)
		for i := range out {
			out[i].Row = slices.Clone(out[i].Row)
			f(i, &out[i])
		}
		return out
	}
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		ex     []model.Example
		reason string
	}{
		{"none", nil, ReasonNoPrototypes},
		{"one", base[:1], ReasonNoCurves},
		{"all at one value", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				ex.Row[j] = 1
			}
		}), ReasonNoCurves},
		{"classes that never overlap", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if s.Features[j].Kind == model.Continuous {
					ex.Row[j] = float64(ex.Class)*100 + float64(i%7)
				}
			}
		}), ""},
		{"1 % present", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if i%100 != 0 {
					ex.Row[j] = nan
				}
			}
		}), ""},
		{"a hole in the middle", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if i > 100 && i < 200 {
					ex.Row[j] = nan
				}
			}
		}), ""},
		{"one class", change(func(i int, ex *model.Example) { ex.Class = 1 }), ""},
	} {
		for _, o := range []Options{{Theta: Auto}, {Theta: .25}, {Theta: Auto, Observation: PerRecord, Score: Balanced}} {
			x := fit(t, o, s, modeltest.Evidence(s, l, c.ex))
			named := 0
			for i := range base {
				row := base[i].Row
				p := make([]float64, 3)
				x.Predict(row, p)
				in := make([]float64, 3*x.InputCount())
				x.Inputs(row, in)
				_, scores := x.Select(row, nil, nil)
				for _, v := range append(p, in...) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s: %v, %v", c.name, p, in)
					}
				}
				for _, v := range scores {
					if !(v > 0 && v < 40) {
						t.Fatalf("%s: relevance %v", c.name, v)
					}
				}
				if math.Abs(total(p)-1) > 1e-12 {
					t.Fatalf("%s: shares %v", c.name, p)
				}
				for _, e := range x.Explain(row, nil) {
					if math.IsNaN(e.Relevance) || math.IsNaN(e.Alone) || math.IsNaN(e.Beside) {
						t.Fatalf("%s: %+v", c.name, e)
					}
				}
				if x.Reason(row) == c.reason {
					named++
				}
			}
			if named < len(base)/2 {
				t.Errorf("%s: reason %q is given for %d of %d records", c.name, c.reason, named, len(base))
			}
		}
	}
}

// TestExplain: the place of a feature is its place in the subspace, and its relevance the larger of its relevance alone
// and beside the others.
func TestExplain(t *testing.T) {
	c, _, ex := fitted(t, Options{Theta: .1}, 800)
	ranked := 0
	for i := range ex[:50] {
		features, relevance := c.Select(ex[i].Row, nil, nil)
		if !slices.IsSortedFunc(relevance, func(a, b float32) int { return cmp.Compare(b, a) }) {
			t.Fatalf("record %d: relevance %v", i, relevance)
		}
		told := 0
		for _, e := range c.Explain(ex[i].Row, nil) {
			if want := float64(float32(max(e.Alone, e.Beside))); e.Relevance != want || (e.Rank > 0) != (want > 0) {
				t.Fatalf("record %d: %+v", i, e)
			}
			if e.Rank > 0 {
				told++
				if features[e.Rank-1] != e.Feature || float64(relevance[e.Rank-1]) != e.Relevance {
					t.Fatalf("%+v, the subspace is %v", e, features)
				}
			}
		}
		if told != len(features) {
			t.Fatalf("record %d: %d of %v explained", i, told, features)
		}
		ranked += told
	}
	if ranked == 0 {
		t.Error("no feature is ranked")
	}
}

// TestNoAllocation: scoring writes into existing memory.
func TestNoAllocation(t *testing.T) {
	for _, o := range []Options{{Theta: Auto}, {Theta: 0}, {Theta: .2}} {
		c, _, ex := fitted(t, o, 600)
		in := make([]float64, 3)
		features, scores := make([]int32, 0, 16), make([]float32, 0, 16)
		if n := testing.AllocsPerRun(100, func() {
			c.Inputs(ex[3].Row, in)
			features, scores = c.Select(ex[3].Row, features[:0], scores[:0])
			c.Learn(&ex[4])
			c.Retract(&ex[4])
		}); n != 0 {
			t.Errorf("%+v: %v allocations a record", o, n)
		}
	}
}
