package local

import (
	"fmt"
	"math"
	"testing"
)

// TestVariancesAreThoseOfTheDeltaMethod compares with values by hand: of mass 3 in one class, n_eff 3 and base rates .6
// and .4 the shares with the pseudo-record are P = .9 and .1, so that 4 (sum P^3 - (sum P^2)^2) / n_eff is .0768.
func TestVariancesAreThoseOfTheDeltaMethod(t *testing.T) {
	for _, c := range []struct {
		mass, counts []float64
		squares      float64
		want         float64
	}{
		{[]float64{3, 0}, []float64{60, 40}, 3, .0768},       // records that agree are not certain
		{[]float64{3, 3}, []float64{50, 50}, 6, minVariance}, // at equal shares the slope is 0
		{[]float64{7, 2}, []float64{70, 20}, 9, 4 * (.4814814814814815 - .42813595488492606) / 9},
		{[]float64{30, 0}, []float64{60, 40}, 300, .0768}, // ten times the weight is no more evidence
		{[]float64{0, 0}, []float64{60, 40}, 0, 1},        // nothing near
	} {
		if got := locationVariance(c.mass, c.counts, c.squares); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("mass %v of %v, squares %v: variance %v, want %v", c.mass, c.counts, c.squares, got, c.want)
		}
	}
	for _, c := range []struct{ score, neutral, gamma, squares, want float64 }{
		{1, .5, 3, 3, .109375 / 3}, // (3 + .5) / 4 = .875
		{.2, .5, 8, 16, .0481},     // (4 x .2 + .5) / 5 = .26
		{1, .5, 0, 0, 1},
	} {
		if got := recordVariance(c.score, c.neutral, c.gamma, c.squares); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%+v: variance %v", c, got)
		}
	}
}

// TestWeightsOfNothing: the variance of a score of records that weigh next to nothing is a finite number, so that a
// curve can be fitted, and a large one, so that the curve does not follow them.
func TestWeightsOfNothing(t *testing.T) {
	for _, w := range []float64{1, 1e-9, 1e-100, 1e-200, 5e-324} {
		for name, v := range map[string]float64{
			"location": locationVariance([]float64{w, 0}, []float64{10, 30}, w),
			"record":   recordVariance(1, .5, w, w),
		} {
			t.Run(fmt.Sprintf("%s of weight %v", name, w), func(t *testing.T) {
				if !(v >= .05/w || v >= 1e11) || v > 1e13 {
					t.Errorf("variance %v", v)
				}
			})
		}
	}
}
