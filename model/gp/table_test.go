package gp

import (
	"math"
	"testing"
)

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

func BenchmarkCurve(b *testing.B) {
	r, _ := New(Params{.1, .3, .05}, .5, sample(8, 64, false))
	c, _ := r.Tabulate(0, 1, 1e-3, 1024)
	x := 0.0
	for b.Loop() {
		m, _ := c.At(x)
		x = math.Mod(x+m*1e-3, 1)
	}
}

// TestNormIsThatOfTheKernel: the norm, which the bound of a table needs and is had without the kernel, is
// (alpha' K_f alpha)^(1/2), with and without variances of the observations.
func TestNormIsThatOfTheKernel(t *testing.T) {
	for seed := range uint64(4) {
		p := Params{.05 + .1*float64(seed), .3, .04}
		r, _ := New(p, .5, sample(seed, 25, seed%2 == 0))
		square, alpha := 0.0, r.Alpha()
		for i, a := range alpha {
			for j, b := range alpha {
				square += a * b * p.covariance(r.pool[i].X, r.pool[j].X)
			}
		}
		if got, want := r.Norm(), math.Sqrt(square); math.Abs(got-want) > 1e-9*want {
			t.Errorf("seed %d: norm %v, want %v", seed, got, want)
		}
	}
}
