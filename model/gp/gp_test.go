package gp

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"liftstream/model"
)

func close(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(1, math.Abs(want))
}

// sample is n reproducible observations of a curve on [0, 1].
func sample(seed uint64, n int, tau bool) []Observation {
	out := make([]Observation, n)
	for i := range out {
		u := func(k uint64) float64 { return float64(model.Hash(seed, uint64(i), k)>>11) / (1 << 53) }
		x := u(1)
		out[i] = Observation{X: x, Y: .5 + .3*math.Sin(9*x) + .1*(u(2)+u(3)-1)}
		if tau {
			out[i].Tau2 = .01 * u(4)
		}
	}
	return out
}

// naive is the posterior at x and the log marginal likelihood from the whole matrix Sigma, by gonum and without a row
// that was made before (eqs. 1, 2 and 4).
type naive struct {
	p     Params
	mean  float64
	obs   []Observation
	sigma mat.Cholesky
	alpha mat.VecDense
	value float64
}

func refit(t *testing.T, p Params, mean float64, obs []Observation) *naive {
	t.Helper()
	f := &naive{p: p, mean: mean, obs: obs}
	n := len(obs)
	if n == 0 {
		return f
	}
	sigma, y := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, a := range obs {
		y.SetVec(i, a.Y-mean)
		for j, b := range obs[:i+1] {
			d := a.X - b.X
			k := p.Signal * p.Signal * math.Exp(-d*d/(2*p.Length*p.Length))
			if i == j {
				k += p.Noise*p.Noise + a.Tau2
			}
			sigma.SetSym(i, j, k)
		}
	}
	if !f.sigma.Factorize(sigma) {
		t.Fatal("the matrix is not positive definite")
	}
	if err := f.sigma.SolveVecTo(&f.alpha, y); err != nil {
		t.Fatal(err)
	}
	f.value = -.5*mat.Dot(y, &f.alpha) - .5*f.sigma.LogDet() - .5*float64(n)*math.Log(2*math.Pi)
	return f
}

func (f *naive) at(t *testing.T, x float64) (mean, variance float64) {
	t.Helper()
	if len(f.obs) == 0 {
		return f.mean, f.p.Signal * f.p.Signal
	}
	k := mat.NewVecDense(len(f.obs), nil)
	for i, o := range f.obs {
		d := x - o.X
		k.SetVec(i, f.p.Signal*f.p.Signal*math.Exp(-d*d/(2*f.p.Length*f.p.Length)))
	}
	var solved mat.VecDense
	if err := f.sigma.SolveVecTo(&solved, k); err != nil {
		t.Fatal(err)
	}
	return f.mean + mat.Dot(k, &f.alpha), f.p.Signal*f.p.Signal - mat.Dot(k, &solved)
}

// TestRandomPools: a pool that grows is the naive one after each observation.
func TestRandomPools(t *testing.T) {
	for seed := range uint64(20) {
		draw := func(step, k, n int) int { return int(model.Hash(seed, 77, uint64(step), uint64(k)) % uint64(n)) }
		p := Params{.03 + .02*float64(seed%8), .2 + .05*float64(seed%5), .03 + .02*float64(seed%3)}
		obs := sample(seed, 400, seed%2 == 0)
		r, _ := New(p, .5, nil)
		var want []Observation
		for step := range 60 {
			o := obs[draw(step, 1, len(obs))]
			if err := r.Append(o); err != nil {
				t.Fatal(err)
			}
			want = append(want, o)
			f := refit(t, p, .5, want)
			if l := r.LogLikelihood(); !close(l, f.value, 1e-10) {
				t.Fatalf("seed %d, step %d: likelihood %v, naive %v", seed, step, l, f.value)
			}
			for x := -.25; x < 1.3; x += .125 {
				m, v := r.At(x)
				n, w := f.at(t, x)
				if math.Abs(m-n) > 1e-10 || math.Abs(v-w) > 1e-10 {
					t.Fatalf("seed %d, step %d, at %v: %v, %v; naive %v, %v", seed, step, x, m, v, n, w)
				}
			}
		}
	}
}

// TestPivotsAgainstRefits chooses and conditions from scratch at every step.
func TestPivotsAgainstRefits(t *testing.T) {
	for seed := range uint64(6) {
		obs := sample(seed, 60, seed%2 == 1)
		p := Params{.03 + .05*float64(seed), .4, .05}
		x := make([]float64, len(obs))
		for i := range x {
			x[i] = obs[i].X
		}
		v := NewPivots(p, .5, 1e-9, x)
		var chosen []Observation
		taken := map[int]bool{}
		for range 30 {
			r := refit(t, p, .5, chosen)
			top := 0.0
			refitted := make([]float64, len(obs))
			for i := range obs {
				mu, s := r.at(t, x[i])
				gm, gs := v.At(i)
				if math.Abs(mu-gm) > 1e-10 || math.Abs(s-gs) > 1e-10 {
					t.Fatalf("seed %d, %d observations: candidate %d has %v, %v, refitted %v, %v", seed, len(chosen), i, gm, gs, mu, s)
				}
				if refitted[i] = s; !taken[i] {
					top = max(top, s)
				}
			}
			widest := 0
			for taken[widest] || refitted[widest] < top-1e-9*p.Signal*p.Signal {
				widest++
			}
			at, s := v.Next()
			if at != widest || math.Abs(s-top) > 1e-10 {
				t.Fatalf("seed %d, %d observations: candidate %d of variance %v, refitted %d of %v", seed, len(chosen), at, s,
					widest, top)
			}
			taken[at] = true
			chosen = append(chosen, obs[at])
			v.Observe(at, obs[at].Y, obs[at].Tau2)
		}
	}
}

func TestEmptyPoolIsThePrior(t *testing.T) {
	p := Params{.1, .3, .05}
	r, _ := New(p, .5, nil)
	if m, v := r.At(.3); m != .5 || v != p.Signal*p.Signal || r.LogLikelihood() != 0 {
		t.Errorf("an empty pool has %v, %v", m, v)
	}
}

func TestPosteriorInvariants(t *testing.T) {
	p := Params{.08, .3, .05}
	obs := sample(9, 30, false)
	r, _ := New(p, .5, nil)
	grid := func() (v []float64) {
		for x := -1.0; x <= 2; x += .01 {
			_, s := r.At(x)
			if s < 0 || s > p.Signal*p.Signal {
				t.Fatalf("variance %v at %v", s, x)
			}
			v = append(v, s)
		}
		return v
	}
	before := grid()
	for _, o := range obs {
		if err := r.Append(o); err != nil {
			t.Fatal(err)
		}
		after := grid()
		for i := range after {
			if after[i] > before[i]+1e-14 {
				t.Fatalf("an observation raises a variance from %v to %v", before[i], after[i])
			}
		}
		before = after
	}
	other := slices.Clone(obs)
	for i := range other {
		other[i].Y = 1 - other[i].Y*other[i].Y
	}
	q, _ := New(p, .2, other)
	for x := -1.0; x <= 2; x += .1 {
		_, v := r.At(x)
		if _, w := q.At(x); v != w {
			t.Fatalf("the variance at %v depends on the outputs", x)
		}
	}
	if m, v := r.At(50); m != .5 || v != p.Signal*p.Signal {
		t.Errorf("far away the posterior is %v, %v", m, v)
	}
}

// TestLowRank compares the factor of low rank with the whole covariance: value within its proved bounds, slopes close.
func TestLowRank(t *testing.T) {
	for _, tau := range []bool{false, true} {
		obs := sample(4, 400, tau)
		for _, p := range []Params{{.3, .3, .05}, {.1, .4, .02}, {.03, .2, .1}, {.02, 1, .3}} {
			r, err := New(p, .5, obs)
			if err != nil {
				t.Fatal(err)
			}
			want := r.terms()
			got := lowRank(p, .5, obs, true)
			slack := 1e-8 * math.Abs(want.value())
			if d := want.value() - got.value(); d > got.above+slack || -d > got.below+slack || got.below > 1e-4 {
				t.Errorf("%v: likelihood %v, exact %v, bounds -%v +%v", p, got.value(), want.value(), got.below, got.above)
			}
			for i := range want.slopeQuad {
				g, w := got.slopeQuad[i]-got.slopeDet[i], want.slopeQuad[i]-want.slopeDet[i]
				if math.Abs(g-w) > 1e-3*max(1, math.Abs(w)) {
					t.Errorf("%v: slope %d is %v, exact %v", p, i, g, w)
				}
			}
		}
	}
}

// TestFitRises: the search ends no lower than it starts, with and without a prior, profiled and not.
func TestFitRises(t *testing.T) {
	b := Bounds{Params{.01, .01, .002}, Params{2, 2, .5}}
	for _, n := range []int{2, 20, 300} {
		for _, tau := range []bool{false, true} {
			obs := sample(5, n, tau)
			start := Params{.5, .1, .2}
			before, _, _, _ := Likelihood(start, .5, obs)
			p, after, err := Fit(obs, .5, FitOptions{Bounds: b, Starts: []Params{start}})
			if err != nil || after < before {
				t.Errorf("n %d: from %v to %v at %v, %v", n, before, after, p, err)
			}
			q, _, err := Fit(obs, .5, FitOptions{Bounds: b, Starts: []Params{start},
				Prior: &Prior{Center: Params{.2, .2, .05}, Width: Params{.02, .02, .02}}})
			if err != nil || math.Abs(math.Log(q.Length/.2)) > .2 || math.Abs(math.Log(q.Noise/.05)) > .2 {
				t.Errorf("n %d: a narrow prior is not obeyed: %v, %v", n, q, err)
			}
			if n != 20 || tau {
				continue
			}
			q, _, err = Fit(obs, .5, FitOptions{Bounds: b, Starts: []Params{start},
				Prior: &Prior{Center: Params{.03, 1, 1}, Width: Params{.02, 0, 0}}})
			if err != nil || math.Abs(math.Log(q.Length/.03)) > .1 {
				t.Errorf("a narrow prior of the length is not obeyed: %v, %v", q, err)
			}
		}
	}
}

func TestTableBound(t *testing.T) {
	for seed := range uint64(4) {
		obs := sample(seed, 25, seed%2 == 0)
		p := Params{.05 + .1*float64(seed), .3, .04}
		r, _ := New(p, .5, obs)
		for _, points := range []int{64, 256, 4096} {
			c, err := r.Tabulate(0, 1, 1e-3, points)
			if err != nil {
				t.Fatal(err)
			}
			if points == 4096 && c.MeanBound > 1e-3 {
				t.Errorf("bound %v above the requested one", c.MeanBound)
			}
			worst := [2]float64{}
			for i := range 5000 {
				x := c.Start + (float64(i)+.37)/5001*c.Step*float64(len(c.Mean)-1)
				m, v := r.At(x)
				n, w := c.At(x)
				worst[0], worst[1] = max(worst[0], math.Abs(m-n)), max(worst[1], math.Abs(v-w))
			}
			if worst[0] > c.MeanBound || worst[1] > c.VarianceBound {
				t.Errorf("seed %d, %d points: errors %v above the bounds %v, %v", seed, len(c.Mean), worst, c.MeanBound,
					c.VarianceBound)
			}
			if worst[0] < c.MeanBound/50 {
				t.Errorf("seed %d, %d points: bound %v is far above the error %v", seed, len(c.Mean), c.MeanBound, worst[0])
			}
			if m, v := c.At(c.Start - 1e-9); m != .5 || v != p.Signal*p.Signal {
				t.Errorf("outside the table: %v, %v", m, v)
			}
			if m, _ := c.At(math.NaN()); m != .5 {
				t.Errorf("at NaN: %v", m)
			}
		}
	}
}

func TestInvalidInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, p := range []Params{{0, 1, 1}, {1, -1, 1}, {1, 1, nan}, {inf, 1, 1}} {
		if _, err := New(p, 0, nil); !errors.Is(err, ErrInput) {
			t.Errorf("%v is accepted", p)
		}
	}
	r, _ := New(Params{1, 1, 1}, 0, nil)
	for _, o := range []Observation{{nan, 0, 0}, {0, inf, 0}, {0, 0, -1}, {0, 0, nan}} {
		if err := r.Append(o); !errors.Is(err, ErrInput) {
			t.Errorf("%v is accepted", o)
		}
	}
	if _, err := r.Tabulate(1, 0, 1e-3, 10); !errors.Is(err, ErrInput) {
		t.Error("an empty range is accepted")
	}
	if _, _, err := Fit(nil, 0, FitOptions{}); !errors.Is(err, ErrInput) {
		t.Error("no bounds are accepted")
	}
}

func TestLearn(t *testing.T) {
	opt := Options{
		Fit:   FitOptions{Bounds: Bounds{Params{.01, .01, .002}, Params{1, 1, .5}}, Starts: []Params{{.05, .2, .1}}},
		Start: Params{.1, .2, .05}, Observations: 40,
	}
	obs := sample(8, 300, true)
	opt.Holdout = func(i int) bool { return i%4 == 0 }
	l, err := Learn(t.Context(), obs, .5, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Chosen) > 40 || len(l.Chosen) < 3 || !(l.Error < .003) {
		t.Errorf("%d chosen, error %v", len(l.Chosen), l.Error)
	}
	for _, c := range l.Chosen {
		if c%4 == 0 {
			t.Errorf("candidate %d of the hold-out is in the pool", c)
		}
	}
	for x := .05; x < 1; x += .05 {
		if m, _ := l.At(x); math.Abs(m-(.5+.3*math.Sin(9*x))) > .06 {
			t.Errorf("curve at %v is %v", x, m)
		}
	}
	// The pool is the prefix of the choice whose error is returned.
	x := make([]float64, len(obs))
	for i := range x {
		x[i] = obs[i].X
	}
	short := opt
	short.Improve, short.Patience, short.AtLeast = .2, 5, 10
	chosen, mse := choose(opt.Start, .5, x, obs, &short)
	var first []Observation
	for _, i := range chosen {
		first = append(first, obs[i])
	}
	r, err := New(opt.Start, .5, first)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := 0.0, 0.0
	for i := 0; i < len(obs); i += 4 {
		m, _ := r.At(x[i])
		sum += (m - obs[i].Y) * (m - obs[i].Y)
		n++
	}
	if len(chosen) >= 38 || math.Abs(sum/n-mse) > 1e-12 {
		t.Errorf("%d chosen of error %v, recomputed %v", len(chosen), mse, sum/n)
	}
	for name, c := range map[string][]Observation{"none": nil, "one": obs[:1],
		"all at one value": {{.3, .2, 0}, {.3, .4, 0}, {.3, .9, 0}}} {
		l, err := Learn(t.Context(), c, .5, opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m, v := l.At(.3); math.IsNaN(m+v) || v < 0 {
			t.Errorf("%s: %v, %v", name, m, v)
		}
	}
}
