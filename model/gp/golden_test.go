package gp

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

type golden struct {
	Cases []struct {
		Name      string
		X, Y      []float64
		M         float64
		L, Sf, Sn float64
		Tau2      []float64
		Q         []float64
		Golden    struct {
			LML   float64   `json:"lml"`
			Grad  []float64 `json:"grad_log_l_sf_sn"`
			GradM float64   `json:"grad_mean"`
			Mean  []float64 `json:"post_mean"`
			Var   []float64 `json:"latent_var"`
			Alpha []float64 `json:"alpha"`
			Cond  float64   `json:"cond_Sigma"`
		}
	}
	ML []struct {
		Case   string
		M      float64      `json:"M_fixed"`
		Bounds [][2]float64 `json:"bounds_l_sf_sn"`
		Theta  []float64
		LML    float64 `json:"lml"`
	}
	Greedy []struct {
		Name         string
		X, Y         []float64
		M, L, Sf, Sn float64
		B            int
		Pivots       []int
		Max          []float64 `json:"max_var_before_each"`
		Var          []float64 `json:"final_var"`
		Mean         []float64 `json:"final_mean"`
	}
}

func read(t testing.TB) (g golden) {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 15 || len(g.ML) < 8 || len(g.Greedy) < 4 {
		t.Fatal("golden.json is short")
	}
	return g
}

func TestGoldenPosterior(t *testing.T) {
	for _, c := range read(t).Cases {
		r, err := New(Params{c.L, c.Sf, c.Sn}, c.M, pool(c.X, c.Y, c.Tau2))
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-9
		if c.Golden.Cond > 1e6 { // the limit of double precision there
			tolerance = 1e-8
		}
		check := func(what string, got, want float64) {
			t.Helper()
			if !close(got, want, tolerance) {
				t.Errorf("%s: %s is %.17g, want %.17g", c.Name, what, got, want)
			}
		}
		check("likelihood", r.LogLikelihood(), c.Golden.LML)
		g, m := r.gradient()
		for i, w := range c.Golden.Grad {
			check(fmt.Sprint("gradient ", i), g[i], w)
		}
		check("gradient by the mean", m, c.Golden.GradM)
		for i, q := range c.Q {
			mu, v := r.At(q)
			check(fmt.Sprint("mean at ", q), mu, c.Golden.Mean[i])
			check(fmt.Sprint("variance at ", q), v, c.Golden.Var[i])
		}
		for i, a := range r.Alpha() {
			check(fmt.Sprint("alpha ", i), a, c.Golden.Alpha[i])
		}
	}
}

func TestGoldenMaximum(t *testing.T) {
	g := read(t)
	for _, m := range g.ML {
		for _, c := range g.Cases {
			if c.Name != m.Case {
				continue
			}
			opt := FitOptions{Bounds: Bounds{Params{m.Bounds[0][0], m.Bounds[1][0], m.Bounds[2][0]},
				Params{m.Bounds[0][1], m.Bounds[1][1], m.Bounds[2][1]}}}
			for _, l := range []float64{.05, .2, .8} {
				opt.Starts = append(opt.Starts, Params{l, .3, .02}, Params{l, .3, .2})
			}
			p, lml, err := Fit(pool(c.X, c.Y, c.Tau2), m.M, opt)
			if err != nil {
				t.Fatal(err)
			}
			if lml < m.LML-1e-6*max(1, math.Abs(m.LML)) || lml > m.LML+1e-3 {
				t.Errorf("%s: likelihood %.9f at %v, want %.9f at %v", m.Case, lml, p, m.LML, m.Theta)
			}
		}
	}
}

func TestGoldenPivots(t *testing.T) {
	for _, c := range read(t).Greedy {
		p := Params{c.L, c.Sf, c.Sn}
		v := NewPivots(p, c.M, 1e-12/(c.Sf*c.Sf), c.X)
		for i, want := range c.Pivots {
			at, top := v.Next()
			if at != want {
				t.Fatalf("%s: choice %d is %d, want %d", c.Name, i, at, want)
			}
			if !close(top, c.Max[i], 1e-12) {
				t.Errorf("%s: largest variance %d is %v, want %v", c.Name, i, top, c.Max[i])
			}
			v.Observe(at, c.Y[at], 0)
		}
		for i := range c.X {
			mu, s := v.At(i)
			if !close(mu, c.Mean[i], 1e-10) || !close(s, c.Var[i], 1e-12) {
				t.Errorf("%s: candidate %d has %v, %v, want %v, %v", c.Name, i, mu, s, c.Mean[i], c.Var[i])
			}
		}
	}
}

// gradient returns the derivatives of LogLikelihood by ln l, ln sf and ln sn, and by M, in O(B^3):
// 1/2 sum Q o K_f o D^2 / l^2, sum Q o K_f, sn^2 tr Q, 1' alpha, with Q = alpha alpha' - Sigma^-1.
func (r *Regression) gradient() (logs [3]float64, mean float64) {
	t := r.terms()
	for i := range logs {
		logs[i] = t.slopeQuad[i] - t.slopeDet[i]
	}
	for _, a := range r.Alpha() {
		mean += a
	}
	return logs, mean
}
