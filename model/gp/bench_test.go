package gp

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model/modeltest"
)

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

func BenchmarkCurve(b *testing.B) {
	r, _ := New(Params{.1, .3, .05}, .5, sample(8, 64, false))
	c, _ := r.Tabulate(0, 1, 1e-3, 1024)
	x := 0.0
	for b.Loop() {
		m, _ := c.At(x)
		x = math.Mod(x+m*1e-3, 1)
	}
}
