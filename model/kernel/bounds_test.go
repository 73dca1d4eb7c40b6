package kernel

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/report"
)

// TestAComponentKeepsItsOwnBytes: the bytes of a part or a state belong to the caller.
func TestAComponentKeepsItsOwnBytes(t *testing.T) {
	ev := generated(600)
	part := fitted(t, t.Context(), curvesOnly(), ev, nil).appendBinary(nil)
	want := slices.Clone(part)
	for name, take := range map[string]func(c *Component, b []byte) error{
		"rebased": func(c *Component, b []byte) error { return c.Rebase(&model.Rebase{Part: b}) },
		"loaded":  func(c *Component, b []byte) error { return c.LoadState(b) },
	} {
		c, b := &Component{schema: ev.Schema}, slices.Clone(part)
		if err := take(c, b); err != nil {
			t.Fatal(err)
		}
		clear(b)
		if !bytes.Equal(c.AppendState(nil), want) {
			t.Errorf("%s: the state follows the caller's bytes", name)
		}
		b = c.AppendState(nil)
		clear(b)
		if !bytes.Equal(c.AppendState(nil), want) {
			t.Errorf("%s: the state follows the bytes that it gave away", name)
		}
	}
}

// TestARecordThatIsAllOfItsClass has no mean of the others to compare with.
func TestARecordThatIsAllOfItsClass(t *testing.T) {
	ev := generated(600)
	p := fitted(t, t.Context(), curvesOnly(), ev, nil)
	c := &Component{schema: ev.Schema}
	c.set(nil, p)
	row, got := make(model.Row, len(ev.Columns)), make([]float64, len(p.Total))
	ev.Row(0, row)
	for _, x := range []struct {
		class  int32
		weight float64
		zero   bool
	}{{1, p.Total[1], true}, {1, p.Total[1] + 1, true}, {1, p.Total[1] / 2, false}, {-1, 1, true},
		{int32(len(p.Total)), 1, true}} {
		for y := range got {
			got[y] = 7
		}
		c.InputsWithout(&model.Example{Row: row, Class: x.class, Weight: x.weight}, got)
		if zero := slices.Equal(got, make([]float64, len(got))); zero != x.zero {
			t.Errorf("class %d, weight %v of %v: %v", x.class, x.weight, p.Total, got)
		}
	}
}

// TestCurvesOfOutliers: values far out do not coarsen a curve where the records are, on either side.
func TestCurvesOfOutliers(t *testing.T) {
	for name, far := range map[string][]float64{"below": {-500}, "above": {500}, "both": {-500, 500}} {
		ev := signal(1500)
		x := ev.Columns[0]
		for i := range x {
			x[i] = (x[i] - 1000) / 50
		}
		copy(x, far)
		rows := make([]int32, len(x))
		total := make([]float64, 2)
		for i, y := range ev.Class {
			rows[i] = int32(i)
			total[y]++
		}
		a := newAxis(&ev.Schema.Features[0], x, ev.Weight, rows)
		for _, width := range []float64{.1, 1, 10} {
			b := Base{Shape: Gaussian, Width: width}
			c := tabulate(ev, 0, &a, []Base{b}, []float64{2}, total)
			worst := 0.
			for i := 10; i < len(x); i += 40 {
				got, want := make([]float64, 2), make([]float64, 2)
				c.add(x[i], got)
				for j, v := range x {
					want[ev.Class[j]] += 2 * b.between(a.at(x[i]), a.at(v)) / total[ev.Class[j]]
				}
				for y := range want {
					worst = max(worst, math.Abs(got[y]-want[y]))
				}
			}
			// The outlier itself is moved to the end of the curve: one record of its class.
			if worst > 2*2*curveError+2*float64(len(far))/slices.Min(total) {
				t.Errorf("%s, width %v: the curve of %d nodes is off by %v", name, width, len(c.nodes)/2, worst)
			}
		}
	}
}

// TestThePriceOfAKernelIsItsTrace: by hand, of the points of the triples alone, scaled to the number of triples.
func TestThePriceOfAKernelIsItsTrace(t *testing.T) {
	p := &points{z: [][]float64{{1, 2, 3, 100, math.NaN()}}, n: 5}
	dictionary := []Base{{Shape: Linear}, {Shape: Gaussian, Width: 1}, {Shape: Polynomial}, {Shape: Delta}}
	for _, mode := range []lp.Mode{lp.Nonneg, lp.Ridge} {
		d := newDesign(mode, dictionary, p, [][3]int32{{0, 1, 4}, {1, 0, 4}, {4, 1, 0}})
		q := d.programme(30, 500)
		// 1, 4 and 0; 1 each; 4, 25 and 1, a missing value being the mean; 1 each.
		for k, trace := range []float64{5. / 3, 1, (4 + 25 + 1) / 3., 1} {
			if want := 500 * trace * 3 / 1500; math.Abs(q.Cost[k]-want) > 1e-12 {
				t.Errorf("%v: %v costs %v, want %v", mode, dictionary[k].Shape, q.Cost[k], want)
			}
		}
		if q.Gamma != 30.*3/1500 || q.RidgeCost != 500.*3/1500 {
			t.Errorf("%v: gamma %v, cost of rho %v", mode, q.Gamma, q.RidgeCost)
		}
		if mode == lp.Ridge && (q.Points != 3 || q.Diagonal[1][0] != 4) {
			t.Errorf("%v: %d points, diagonal %v", mode, q.Points, q.Diagonal)
		}
	}
}

// TestOfEqualGammasTheLastWins, which regularises least; a number that was given stays.
func TestOfEqualGammasTheLastWins(t *testing.T) {
	ev := signal(400)
	for i, y := range ev.Class { // one feature tells the classes apart, at any price
		ev.Columns[1][i] = 1000*float64(y) + unit(4, i, 1)
	}
	for _, c := range []struct{ given1, given2, want1, want2 float64 }{
		{math.NaN(), math.NaN(), .1, .1}, {math.NaN(), 3, .1, 3}, {10, math.NaN(), 10, .1}, {3, 30, 3, 30}} {
		o := curvesOnly()
		o.Gamma1, o.Gamma2 = c.given1, c.given2
		p := fitted(t, t.Context(), o, ev, nil)
		if p.Train.Both != 1 || p.Gamma1 != c.want1 || p.Gamma2 != c.want2 {
			t.Errorf("given %v and %v: gammas %v and %v of accuracy %v, want %v and %v", c.given1, c.given2,
				p.Gamma1, p.Gamma2, p.Train.Both, c.want1, c.want2)
		}
	}
}

// TestWhichFeaturesHaveKernels: no reported one and none with a direction has one, in fits and in the protocol; of
// very many features the strongest.
func TestWhichFeaturesHaveKernels(t *testing.T) {
	ev := signal(600)
	s := ev.Schema
	s.Features[0].Monotone = model.Up
	s.Features[2].Use = model.UseReport
	for _, f := range []int{0, 2} { // both tell the class best
		for i, y := range ev.Class {
			ev.Columns[f][i] = float64(y)*10 + unit(5, i, f)
		}
	}
	p := fitted(t, t.Context(), curvesOnly(), ev, nil)
	if list := p.ShortList(); !slices.Equal(list, []int32{1}) {
		t.Errorf("the short list is %v", list)
	}
	rows := make([]int32, ev.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	split := Draw(ev, rows[:300], rows[300:], 200, 200, 1)
	trial, err := EvaluateTriples(t.Context(), ev, split, ProtocolOptions{Widths: []float64{1}, Gamma1: .1, Gamma2: .1})
	if err != nil || slices.Contains(trial.Used, 0) || slices.Contains(trial.Used, 2) {
		t.Errorf("the protocol uses %v, %v", trial.Used, err)
	}
	plain, err := EvaluateEuclidean(ev, split)
	if err != nil || !slices.Equal(plain.Used, []int32{0, 1, 3, 4}) || plain.Features != 4 {
		t.Errorf("the Euclidean distance uses %v, %v", plain.Used, err)
	}
	wide := &model.Schema{Classes: s.Classes, Positive: 1}
	many := &model.Evidence{Schema: wide, Levels: model.NewLevels(wide), Class: ev.Class, Weight: ev.Weight, Seed: 1}
	for f := range Widest + 9 {
		wide.Features = append(wide.Features, model.Feature{Name: fmt.Sprint("f", f)})
		column := make([]float64, ev.Len())
		for i := range column {
			if column[i] = unit(6, i, f); f%4 == 0 {
				column[i] += float64(ev.Class[i])
			}
		}
		many.Columns = append(many.Columns, column)
	}
	axes := axesOf(many, rows)
	if err := New(curvesOnly(), wide).narrow(t.Context(), many, axes, 100); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for f := range axes {
		if axes[f].ok {
			kept++
		} else if f%4 == 0 {
			t.Errorf("feature %d, which tells the class, is left out", f)
		}
	}
	if kept != Widest {
		t.Errorf("%d features are kept, want %d", kept, Widest)
	}
}

// TestAKeptPartHasItsGammas: where the new weights do not verify, prices, objective, bound and rho are those of the
// part before, as the weights are.
func TestAKeptPartHasItsGammas(t *testing.T) {
	ev := generated(900)
	o := curvesOnly()
	o.Gamma1, o.Gamma2 = .3, .1
	before := fitted(t, t.Context(), o, ev, nil)
	o.Gamma1, o.Gamma2 = 10, 3
	f := New(o, ev.Schema)
	f.verify = func(*lp.Problem, *lp.Result) error { return lp.ErrCertificate }
	b, err := f.Fit(t.Context(), ev, before.appendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(ev.Schema, b)
	if err != nil {
		t.Fatal(err)
	}
	if p.Status != Kept || p.Gamma1 != .3 || p.Gamma2 != .1 ||
		p.Objective != before.Objective || p.Bound != before.Bound || p.Rho != before.Rho || p.Train != before.Train {
		t.Errorf("%v, gammas %v and %v, objective %v, bound %v, accuracy %v; before %v, %v, %v, %v, %v", p.Status, p.Gamma1,
			p.Gamma2, p.Objective, p.Bound, p.Train, before.Gamma1, before.Gamma2, before.Objective, before.Bound, before.Train)
	}
}

// TestRemarksByStatus: the outcome, whether it is trouble, and the words, which name the short list heaviest first.
func TestRemarksByStatus(t *testing.T) {
	ev := generated(50)
	f := New(curvesOnly(), ev.Schema)
	weights := []Weight{{Base{Gaussian, 0, 1}, .5}, {Base{Gaussian, 0, 10}, -2}, {Base{Gaussian, 1, 1}, 8},
		{Base{Shape: Delta, A: 2}, .008}, {Base{Gaussian, 3, 1}, .00801}, {Base{Shape: Delta, A: 5}, 2}}
	names := "; 4 of 9 features: b, a, f, d"
	for status, want := range map[Status]struct {
		outcome string
		trouble bool
		text    string
	}{
		Optimal: {"optimal", false, "optimal" + names},
		Stopped: {"stopped", true, "the time of the fit ended first; the weights are the best so far, " +
			"between 3.5 and the bound 2.25" + names},
		Inexact: {"inexact", false, "inexact" + names},
		Forced:  {"forced_to_zero", false, "no similarity is worth its price"},
		Kept:    {"kept", true, "the new weights do not verify and those of the model before are kept" + names},
		Empty:   {"empty", false, "there are no two classes, or no features, to compare"},
	} {
		p := &Part{Status: status, Objective: 3.5, Bound: 2.25, Weights: weights}
		if status == Forced || status == Empty {
			p.Weights = nil
		}
		b := p.appendBinary(nil)
		r, err := f.Remark(b)
		if err != nil || r.Outcome != want.outcome || r.Trouble != want.trouble || r.Text != want.text {
			t.Errorf("%v: %+v, %v, want %+v", status, r, err, want)
		}
		again, err := DecodePart(ev.Schema, b)
		if err != nil || !reflect.DeepEqual(again.Weights, p.Weights) || again.Status != status || again.Bound != 2.25 {
			t.Errorf("%v: read back %+v, %v", status, again, err)
		}
		var to report.Report
		if err := f.Report(b, nil, &to); err != nil {
			t.Fatal(err)
		}
		k := to.Kernel
		if k.Status != status.String() || k.Objective != 3.5 || k.Bound != 2.25 || len(k.Weights) != len(p.Weights) {
			t.Errorf("%v: report %+v", status, k)
		}
		line := f.Summary(&to)[0]
		second := report.KernelWeight{Feature: "a", Width: 10, Alpha: -2}
		if len(p.Weights) > 0 && (!strings.HasSuffix(line, "most alike in b, a, f, d") ||
			!slices.Equal(k.Features, []string{"b", "a", "f", "d"}) || k.Weights[1] != second) {
			t.Errorf("%v: %q of features %v, weights %v", status, line, k.Features, k.Weights)
		}
		if len(p.Weights) == 0 && !strings.HasSuffix(line, "most alike in none") {
			t.Errorf("%v: %q", status, line)
		}
	}
	// Of many features eight are named.
	p := &Part{}
	s := &model.Schema{Classes: []string{"no", "yes"}}
	for i := range 12 {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("f", i)})
		p.Weights = append(p.Weights, Weight{Base{Gaussian, int32(i), 1}, float64(100 - i)})
	}
	r, err := New(curvesOnly(), s).Remark(p.appendBinary(nil))
	if err != nil || r.Text != "optimal; 12 of 12 features: f0, f1, f2, f3, f4, f5, f6, f7" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// TestTiesAreWrong: a triple is respected where the similarity of the pair is larger, by more than rounding, from one
// view or from both.
func TestTiesAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		z            []float64
		both, single float64
	}{
		"nearer":                    {[]float64{0, .1, 3}, 1, 1},
		"farther":                   {[]float64{0, 3, .1}, 0, 0},
		"nearer from one view":      {[]float64{0, 1, 1.5}, 0, 1},
		"equal":                     {[]float64{0, 1, -1}, 0, 0},
		"equal from the other view": {[]float64{0, 1, 2}, 0, 1},
		"equal but for rounding":    {[]float64{0, 1, 1 + 1e-14}, 0, 0},
		"more than rounding":        {[]float64{0, 1, -1 - 1e-9}, 1, 1},
	} {
		p := &points{z: [][]float64{c.z}, n: 3}
		for _, weight := range []float64{1e-6, 1, 1e6} {
			got := accuracy([]Base{{Shape: Gaussian, Width: 1}}, []float64{weight}, p, [][3]int32{{0, 1, 2}})
			if got.Both != c.both || got.Single != c.single {
				t.Errorf("%s, weight %v: %+v, want %v and %v", name, weight, got, c.both, c.single)
			}
		}
	}
	if a := respected(nil, 0, nil); !math.IsNaN(a.Both) || !math.IsNaN(a.Single) {
		t.Errorf("no triples have an accuracy of %v", a)
	}
}

// TestUsedByTheLargestWeight: a feature is used where the size of a weight is above the limit, of its own kernels, of
// a direction that it is part of, and of a kernel of all numbers.
func TestUsedByTheLargestWeight(t *testing.T) {
	parts := [][]int32{{0}, {1}, {2}, {0, 2}}
	dictionary := []Base{{A: 0}, {A: 0, Width: 1}, {A: 1}, {A: 2}, {A: 3}}
	for _, c := range []struct {
		alpha []float64
		want  []bool
	}{
		{[]float64{.5, 0, 0, 0, 0}, []bool{false, false, false, false}},
		{[]float64{.5, .51, 0, 0, 0}, []bool{true, false, false, false}},
		{[]float64{0, 0, -.6, .5, 0}, []bool{false, true, false, false}},
		{[]float64{0, 0, 0, 0, 1}, []bool{true, false, true, false}},
	} {
		if got := used(dictionary, c.alpha, .5, parts); !slices.Equal(got, c.want) {
			t.Errorf("weights %v: %v, want %v", c.alpha, got, c.want)
		}
	}
	if got := used([]Base{{A: -1}}, []float64{1}, .5, parts); slices.Contains(got, false) {
		t.Errorf("a kernel of all numbers uses %v", got)
	}
}

// TestDirectionsNeedPoints: with fewer than ten points for each feature and class the rich family adds none, and is
// the weak one with linear kernels.
func TestDirectionsNeedPoints(t *testing.T) {
	ev := signal(300)
	rows := make([]int32, ev.Len())
	for i := range rows {
		rows[i] = int32(i)
		ev.Columns[1][i] -= 40 * float64(ev.Class[i]) // two features are better than one
		ev.Columns[3][i] += 40 * float64(ev.Class[i])
	}
	for _, c := range []struct {
		points int
		same   bool
	}{{25, true}, {200, false}} {
		split := Draw(ev, rows[:c.points], rows[200:], 150, 150, 3)
		o := ProtocolOptions{Widths: []float64{.1, 1}, Gamma1: .01, Gamma2: .01}
		o.Family = Rich
		rich, err := EvaluateTriples(context.Background(), ev, split, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Family, o.Further = Weak, []Shape{Linear}
		weak, err := EvaluateTriples(context.Background(), ev, split, o)
		if err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(rich, weak); same != c.same {
			t.Errorf("%d points: the rich family %+v, with linear kernels alone %+v", c.points, rich, weak)
		}
	}
}

// TestDirectionsOfTwins: two features that are the same have a direction, by the ridge on their scatter.
func TestDirectionsOfTwins(t *testing.T) {
	const n = 60
	p := &points{z: [][]float64{make([]float64, n), nil}, n: n}
	var triples [][3]int32
	for i := range n {
		p.z[0][i] = unit(1, i, 1) + 3*float64(i%2)
		if i >= 4 {
			triples = append(triples, [3]int32{int32(i), int32(i - 2), int32(i - 1)})
		}
	}
	p.z[1] = p.z[0]
	d := directions(p, []int32{0, 1}, triples)
	if len(d) != 2 || math.Abs(d[0].weights[0]-d[0].weights[1]) > 1e-9 || !(d[0].weights[0] > 0) {
		t.Errorf("%+v", d)
	}
}
