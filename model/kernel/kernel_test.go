package kernel

import (
	"context"
	"math"
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
	for i := len(ev.Clock); i < ev.Len(); i++ {
		ev.Clock = append(ev.Clock, float64(i))
	}
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

// curvesOnly are the options of the default configuration without a search for a product, which most tests do not need.
func curvesOnly() Options {
	o := Default()
	o.Input = Sum
	return o
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
		ev.Weight, ev.Clock = append(ev.Weight, 1), append(ev.Clock, float64(i))
	}
	return ev
}

func TestFindsFeature(t *testing.T) {
	ev := signal(2000)
	for _, o := range []Options{curvesOnly(), {Mode: lp.Ridge, Widths: []float64{1}, Gamma1: 10, Gamma2: 1, Triples: 80,
		Input: Sum}} {
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
	p := fitted(t, t.Context(), curvesOnly(), ev, nil)
	q := fitted(t, t.Context(), curvesOnly(), ev, p)
	if math.Abs(p.Objective-q.Objective) > 1e-8*p.Objective || q.Gamma1 != p.Gamma1 || q.Gamma2 != p.Gamma2 {
		t.Errorf("objective %v at %v/%v, warm %v at %v/%v", p.Objective, p.Gamma1, p.Gamma2, q.Objective, q.Gamma1, q.Gamma2)
	}
}

// TestUnverified: weights that do not verify never serve. The weights of the part before stay, or there are none, and
// the remark names it.
func TestUnverified(t *testing.T) {
	ev := generated(900)
	f := New(curvesOnly(), ev.Schema)
	raw, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := DecodePart(ev.Schema, raw)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Remark(raw); err != nil || r.Trouble || r.Outcome != "optimal" ||
		!strings.Contains(r.Text, " features: ") {
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
		if !slices.Equal(p.Weights, good.Weights) || len(p.curves) != len(good.curves) ||
			!strings.Contains(r.Text, "are kept") {
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

// TestBudget: at any deadline there is a part, and its weights are never worse than the previous ones. A cancelled fit
// returns its error.
func TestBudget(t *testing.T) {
	ev := generated(600)
	o := curvesOnly()
	o.Triples, o.Gamma1, o.Gamma2 = 600, 1, 1
	best := fitted(t, t.Context(), o, ev, nil)
	stopped := 0
	for left := 1; left < 60; left++ {
		looks := left
		p := fitted(t, expiring{t.Context(), &looks, context.DeadlineExceeded}, o, ev, nil)
		if p.Status == Stopped {
			stopped++
		}
		if p.Objective < best.Objective*(1-1e-9) || p.Bound > best.Objective*(1+1e-9) ||
			p.Objective > float64(p.Triples)*(1+1e-12) {
			t.Errorf("after %d looks: %v, objective %v, bound %v, the optimum is %v", left, p.Status, p.Objective, p.Bound,
				best.Objective)
		}
		looks = left
		q := fitted(t, expiring{t.Context(), &looks, context.DeadlineExceeded}, o, ev, best)
		if q.Objective > best.Objective*(1+1e-8) {
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

// TestScaleOfWeights: weights times a number are the same evidence. The kernel and its slope stay.
func TestScaleOfWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	ev := signal(600)
	want := fitted(t, t.Context(), curvesOnly(), ev, nil)
	if !(want.Beta > 0) {
		t.Fatal("a kernel without a slope says nothing")
	}
	for i := range ev.Weight {
		ev.Weight[i] *= 100
	}
	got := fitted(t, t.Context(), curvesOnly(), ev, nil)
	if math.Abs(got.Beta-want.Beta) > 1e-9*want.Beta || len(got.Weights) != len(want.Weights) {
		t.Errorf("slope %v of %d weights, want %v of %d", got.Beta, len(got.Weights), want.Beta, len(want.Weights))
	}
}
