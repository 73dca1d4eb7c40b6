package gp

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model/modeltest"
)

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

func BenchmarkLearn(b *testing.B) {
	opt := Options{Fit: FitOptions{Bounds: Bounds{Params{.01, .01, .002}, Params{1, 1, .5}},
		Starts: []Params{{.05, .2, .1}}, Tolerance: 1e-3}, Start: Params{.1, .2, .05},
		Holdout: func(i int) bool { return i%4 == 0 }}
	obs := sample(8, 256, true)
	for b.Loop() {
		if _, err := Learn(b.Context(), obs, .5, opt); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFit searches all hyperparameters of all observations, without a pool, and logs the result:
// deploy/bench/local.py runs it beside another program and draws the same observations.
func BenchmarkFit(b *testing.B) {
	opt := FitOptions{Bounds: Bounds{Params{.01, .01, .002}, Params{10, 10, 1}}, Starts: []Params{{.2, .3, .1}}}
	for _, n := range []int{64, 1000, 2000} {
		obs := sample(8, n, false)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var p Params
			var err error
			from := modeltest.Processor()
			for b.Loop() {
				if p, _, err = Fit(obs, .5, opt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((modeltest.Processor()-from).Seconds()/float64(b.N), "cpu-s/op")
			b.Logf("length %.12g signal %.12g noise %.12g", p.Length, p.Signal, p.Noise)
		})
	}
}
