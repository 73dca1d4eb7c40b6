package gp

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"liftstream/model"
)

func pool(x, y, tau2 []float64) []Observation {
	out := make([]Observation, len(x))
	for i := range x {
		out[i] = Observation{X: x[i], Y: y[i]}
		if tau2 != nil {
			out[i].Tau2 = tau2[i]
		}
	}
	return out
}

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
