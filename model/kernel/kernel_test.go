package kernel

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/modeltest"
)

// generated returns evidence of every kind of feature.
func generated(n int) *model.Evidence {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, n, 1)
	return modeltest.Evidence(s, l, ex)
}

func fitted(t testing.TB, ctx context.Context, o Options, ev *model.Evidence, before *Part) *Part {
	t.Helper()
	var previous []byte
	if before != nil {
		previous = before.appendBinary(nil)
	}
	b, err := New(o, ev.Schema).Fit(ctx, ev, previous)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(ev.Schema, b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCurves compares the tabulated input with the mean similarities, computed pair by pair.
func TestCurves(t *testing.T) {
	ev := generated(1500)
	o := Default()
	o.Gamma1, o.Gamma2 = .3, .1
	p := fitted(t, t.Context(), o, ev, nil)
	rows := make([]int32, ev.Len())
	total := make([]float64, len(ev.Schema.Classes))
	all := 0.0
	for i := range rows {
		rows[i] = int32(i)
		total[ev.Class[i]] += ev.Weight[i]
		all += ev.Weight[i]
	}
	axes := make([]axis, len(ev.Schema.Features))
	for f := range axes {
		axes[f] = newAxis(&ev.Schema.Features[f], ev.Columns[f], ev.Weight, rows)
	}
	pts := standardise(ev, axes)
	size, kinds := 0.0, map[model.Kind]bool{}
	for _, w := range p.Weights {
		size += w.Alpha
		kinds[ev.Schema.Features[w.Base.A].Kind] = true
	}
	if len(kinds) < 3 {
		t.Fatalf("the weights are on features of kinds %v only: %+v", kinds, p.Weights)
	}
	c := &Component{schema: ev.Schema}
	c.set(nil, p)
	row := make(model.Row, len(ev.Columns))
	got := make([]float64, len(total))
	worst, without := 0.0, 0.0
	for i := 0; i < ev.Len(); i += 50 {
		ev.Row(i, row)
		c.Inputs(row, got)
		mean := make([]float64, len(total))
		for j := range rows {
			s := 0.0
			for _, w := range p.Weights {
				s += w.Alpha * w.Base.value(pts, i, j)
			}
			mean[ev.Class[j]] += s * ev.Weight[j] / total[ev.Class[j]]
		}
		centre := 0.0
		for y, m := range mean {
			centre += m * total[y] / all
		}
		for y, m := range mean {
			worst = max(worst, math.Abs(got[y]-p.Beta*(m-centre)))
		}
		// The record's own similarity, that of a value to itself in every kernel, is taken off its class.
		own := ev.Class[i]
		mean[own] -= size * ev.Weight[i] / total[own]
		centre -= size * ev.Weight[i] / all
		c.InputsWithout(&model.Example{Row: row, Class: own, Weight: ev.Weight[i]}, got)
		for y, m := range mean {
			without = max(without, math.Abs(got[y]-p.Beta*(m-centre)))
		}
	}
	// Interpolation is off by at most curveError at the record, and by as much from spreading the others over nodes.
	if worst > 2*curveError*size*p.Beta {
		t.Errorf("the curves are off by %v of weights %v at beta %v", worst, size, p.Beta)
	}
	if without > 2*curveError*size*p.Beta {
		t.Errorf("without the record the curves are off by %v", without)
	}
	t.Logf("off by %.2g, weights %.3g, beta %.3g", worst, size, p.Beta)
}

// TestTextBesideTheLevels: text that is not among the levels of an ordinal feature is a missing value, in what is
// fitted and in what is scored, and not a level above the highest.
func TestTextBesideTheLevels(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "size", Kind: model.Ordinal, Levels: []string{"s", "m", "l"}}}, Classes: []string{"no", "yes"}, Positive: 1}
	of := func(beside float64) *model.Evidence {
		const n = 600
		ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: [][]float64{make([]float64, n)}, Class: make([]int32, n), Weight: make([]float64, n)}
		for i := range n {
			v := float64(i % 4)
			// The levels rise with the class; the fourth kind of text goes with the lower one.
			if ev.Weight[i] = 1; i%7 < int(v)*2 && v < 3 || v == 3 && i%7 == 0 {
				ev.Class[i] = 1
			}
			if v == 3 {
				v = beside
			}
			ev.Columns[0][i] = v
		}
		return ev
	}
	o := Default()
	o.Gamma1, o.Gamma2 = .3, .1
	missing := fitted(t, t.Context(), o, of(math.NaN()), nil)
	beside := fitted(t, t.Context(), o, of(3), nil)
	if len(missing.curves) != 1 || !slices.Equal(missing.appendBinary(nil), beside.appendBinary(nil)) {
		t.Errorf("%d curves; text beside the levels gives another kernel than missing values", len(missing.curves))
	}
	want, got := make([]float64, 2), make([]float64, 2)
	c := &Component{schema: s, curves: missing.curves}
	c.Inputs(model.Row{math.NaN()}, want)
	c.Inputs(model.Row{3}, got)
	if !slices.Equal(got, want) || want[0] == 0 {
		t.Errorf("inputs of text beside the levels %v, of a missing value %v", got, want)
	}
}

func TestDraw(t *testing.T) {
	const n = 4000
	class, weight, rows := make([]int32, n), make([]float64, n), make([]int32, n)
	for i := range rows {
		rows[i], weight[i] = int32(i), 1
		if model.Hash(5, uint64(i))%10 == 0 {
			class[i] = 1
		}
		if i%1000 == 0 {
			class[i] = 2
		}
	}
	weight[17], class[17] = 0, 1
	got := draw(class, weight, rows, 4, 3000, 9, recency)
	if !reflect.DeepEqual(got, draw(class, weight, rows, 4, 3000, 9, recency)) || reflect.DeepEqual(got, draw(class, weight, rows, 4, 3000, 10, recency)) {
		t.Error("the draw is not a function of the seed")
	}
	if len(got) < 2900 {
		t.Errorf("%d triples of 3000", len(got))
	}
	anchors := map[int32]int{}
	var quarter [4]int
	for _, c := range got {
		i, j, k := c[0], c[1], c[2]
		if i == j || class[i] != class[j] || class[i] == class[k] || i == 17 || j == 17 || k == 17 {
			t.Fatalf("triple %v of classes %d %d %d", c, class[i], class[j], class[k])
		}
		anchors[class[i]]++
		if class[i] == 0 {
			quarter[i*4/n]++
		}
	}
	for y := range int32(3) {
		if anchors[y] < 900 {
			t.Errorf("class %d has %d of %d anchors", y, anchors[y], len(got))
		}
	}
	// The weight of recency^x over the quarters of [0, 1].
	for q := range quarter {
		want := 1000 * (math.Pow(recency, float64(q+1)/4) - math.Pow(recency, float64(q)/4)) / (recency - 1)
		if math.Abs(float64(quarter[q])-want) > 25 {
			t.Errorf("quarter %d has %d anchors, want %.0f", q, quarter[q], want)
		}
	}
	for name, c := range map[string][]int32{"one class": make([]int32, n), "unknown": slices.Repeat([]int32{-1}, n)} {
		if got := draw(c, weight, rows, 4, 100, 1, recency); got != nil {
			t.Errorf("%s: %d triples", name, len(got))
		}
	}
}

// signal has a class that feature "b" tells, "a" tells a little, and the others do not.
func signal(n int) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.Features = append(s.Features, model.Feature{Name: name})
	}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 5), Seed: 3}
	for i := range n {
		y := int32(model.Hash(1, uint64(i)) & 1)
		for f := range ev.Columns {
			v := 2*unit(uint64(f), i, 1) - 1
			if f == 1 {
				v += 2 * float64(y)
			}
			ev.Columns[f] = append(ev.Columns[f], 1000+50*v)
		}
		ev.Class = append(ev.Class, y)
		ev.Weight = append(ev.Weight, 1)
	}
	return ev
}

func TestFindsFeature(t *testing.T) {
	ev := signal(2000)
	for _, o := range []Options{Default(), {Mode: lp.Ridge, Widths: []float64{1}, Gamma1: 10, Gamma2: 1, Triples: 80}} {
		p := fitted(t, t.Context(), o, ev, nil)
		if s := p.ShortList(); len(s) == 0 || s[0] != 1 || o.Mode == lp.Nonneg && len(s) > 1 {
			t.Errorf("%v: the short list is %v, weights %+v", o.Mode, s, p.Weights)
		}
		if p.Status != Optimal || p.Bound < p.Objective*(1-1e-8) || p.Train.Both < .75 {
			t.Errorf("%v: %v, objective %v, bound %v, accuracy %+v", o.Mode, p.Status, p.Objective, p.Bound, p.Train)
		}
		c := &Component{schema: ev.Schema, curves: p.curves}
		row, dst := make(model.Row, 5), make([]float64, 2)
		right := 0
		for i := range ev.Len() {
			ev.Row(i, row)
			c.Inputs(row, dst)
			if (dst[1] > dst[0]) == (ev.Class[i] == 1) {
				right++
			}
		}
		if right < ev.Len()*97/100 {
			t.Errorf("%v: %d of %d records are more like their class", o.Mode, right, ev.Len())
		}
		k := p.Report(ev.Schema)
		if k.Mode != o.Mode.String() || k.Status != "optimal" || k.Features[0] != "b" || len(k.Weights) == 0 {
			t.Errorf("report %+v", k)
		}
	}
}

// TestLiteral: the formulation as printed has the optimum alpha = 0, and the part says so and proves it.
func TestLiteral(t *testing.T) {
	o := Options{Mode: lp.Literal, Widths: []float64{.1, 1}, Gamma1: .1, Gamma2: .1, Triples: 100}
	ev := generated(60)
	p := fitted(t, t.Context(), o, ev, nil)
	if p.Status != Forced || p.Objective != float64(p.Triples) || p.Bound < p.Objective*(1-1e-6) {
		t.Errorf("%v: objective %v, bound %v, %d triples", p.Status, p.Objective, p.Bound, p.Triples)
	}
}

// TestWarm: a fit from its own part comes to the same weights.
func TestWarm(t *testing.T) {
	ev := generated(1500)
	p := fitted(t, t.Context(), Default(), ev, nil)
	q := fitted(t, t.Context(), Default(), ev, p)
	if math.Abs(p.Objective-q.Objective) > 1e-8*p.Objective || q.Gamma1 != p.Gamma1 || q.Gamma2 != p.Gamma2 {
		t.Errorf("objective %v at %v/%v, warm %v at %v/%v", p.Objective, p.Gamma1, p.Gamma2, q.Objective, q.Gamma1, q.Gamma2)
	}
}

// TestUnverified: weights that do not verify never serve. Those of the part before stay, or there are none, and the
// remark says so.
func TestUnverified(t *testing.T) {
	ev := generated(900)
	f := New(Default(), ev.Schema)
	raw, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := DecodePart(ev.Schema, raw)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Remark(raw); err != nil || r.Trouble || r.Outcome != "optimal" || !strings.Contains(r.Text, " features: ") {
		t.Errorf("remark %+v, %v", r, err)
	}
	f.verify = func(*lp.Problem, *lp.Result) error { return lp.ErrCertificate }
	for _, before := range [][]byte{raw, nil} {
		b, err := f.Fit(t.Context(), ev, before)
		if err != nil {
			t.Fatal(err)
		}
		p, err := DecodePart(ev.Schema, b)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Remark(b)
		if err != nil || !r.Trouble || r.Outcome != "kept" || p.Status != Kept {
			t.Errorf("%v, remark %+v, %v", p.Status, r, err)
		}
		if before == nil {
			if len(p.Weights) > 0 || len(p.curves) > 0 || !strings.Contains(r.Text, "no kernel") {
				t.Errorf("%d weights, %d curves from nothing; %s", len(p.Weights), len(p.curves), r.Text)
			}
			continue
		}
		if !slices.Equal(p.Weights, good.Weights) || len(p.curves) != len(good.curves) || !strings.Contains(r.Text, "are kept") {
			t.Errorf("weights %v, were %v; %s", p.Weights, good.Weights, r.Text)
		}
	}
	// A pair of gammas that fails alone is passed over.
	calls := 0
	f.verify = func(p *lp.Problem, r *lp.Result) error {
		if calls++; calls%5 == 0 && calls < 30 {
			return lp.ErrCertificate
		}
		return p.Verify(r)
	}
	b, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := DecodePart(ev.Schema, b); err != nil || p.Status != Optimal || len(p.Weights) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// expiring is a context whose deadline passes after a number of looks at it.
type expiring struct {
	context.Context
	left *int
	err  error
}

func (c expiring) Err() error {
	if *c.left--; *c.left >= 0 {
		return nil
	}
	return c.err
}

// TestBudget: whenever the deadline passes there is a part, and never one that is worse than the previous weights; a
// cancelled fit returns its error.
func TestBudget(t *testing.T) {
	ev := generated(600)
	o := Default()
	o.Triples, o.Gamma1, o.Gamma2 = 600, 1, 1
	best := fitted(t, t.Context(), o, ev, nil)
	stopped := 0
	for left := 1; left < 60; left++ {
		looks := left
		p := fitted(t, expiring{t.Context(), &looks, context.DeadlineExceeded}, o, ev, nil)
		if p.Status == Stopped {
			stopped++
		}
		if p.Objective < best.Objective*(1-1e-9) || p.Bound > best.Objective*(1+1e-9) || p.Objective > float64(p.Triples)*(1+1e-12) {
			t.Errorf("after %d looks: %v, objective %v, bound %v, the optimum is %v", left, p.Status, p.Objective, p.Bound, best.Objective)
		}
		looks = left
		if q := fitted(t, expiring{t.Context(), &looks, context.DeadlineExceeded}, o, ev, best); q.Objective > best.Objective*(1+1e-8) {
			t.Errorf("after %d looks: a warm fit has %v, was %v", left, q.Objective, best.Objective)
		}
		looks = left
		if _, err := New(o, ev.Schema).Fit(expiring{t.Context(), &looks, context.Canceled}, ev, nil); err == nil && left < 5 {
			t.Errorf("after %d looks: a cancelled fit gives a part", left)
		}
	}
	if stopped == 0 {
		t.Error("no fit was stopped")
	}
}

func TestMissingAndLevels(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		b    Base
		x, y float64
		want float64
	}{
		{Base{Shape: Gaussian, Width: 2}, 1, 2, math.Exp(-2)},
		{Base{Shape: Gaussian, Width: 2}, nan, 2, 0},
		{Base{Shape: Gaussian, Width: 2}, nan, nan, 1},
		{Base{Shape: Delta}, 3, 3, 1},
		{Base{Shape: Delta}, 3, 4, 0},
		{Base{Shape: Delta}, nan, 4, 0},
		{Base{Shape: Delta}, nan, nan, 1},
		{Base{Shape: Triangular, Width: .5}, 1, 2, .5},
		{Base{Shape: Triangular, Width: .5}, 1, 4, 0},
		{Base{Shape: Linear}, 3, -2, -6},
		{Base{Shape: Linear}, nan, nan, 0},
		{Base{Shape: Polynomial}, 3, -2, 25},
	} {
		if got := c.b.between(c.x, c.y); got != c.want {
			t.Errorf("%v of %v and %v is %v, want %v", c.b, c.x, c.y, got, c.want)
		}
	}
}

// Weights times a number are the same evidence: the kernel and its slope stay.
func TestScaleOfWeights(t *testing.T) {
	ev := signal(600)
	want := fitted(t, t.Context(), Default(), ev, nil)
	if !(want.Beta > 0) {
		t.Fatal("a kernel without a slope says nothing")
	}
	for i := range ev.Weight {
		ev.Weight[i] *= 100
	}
	got := fitted(t, t.Context(), Default(), ev, nil)
	if math.Abs(got.Beta-want.Beta) > 1e-9*want.Beta || len(got.Weights) != len(want.Weights) {
		t.Errorf("slope %v of %d weights, want %v of %d", got.Beta, len(got.Weights), want.Beta, len(want.Weights))
	}
}
