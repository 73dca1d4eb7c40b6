package model

import (
	"math"
	"testing"
)

// sureCard is a scorecard of three classes whose propensities have a variance of their own.
type sureCard struct {
	Scorecard
	rates    []float64
	variance float64
}

func (c *sureCard) BaseRate(class int32) float64               { return c.rates[class] }
func (c *sureCard) Variance(int32, float64, []float64) float64 { return c.variance }

// TestAnIntervalIsOfItsTarget: by the formula of intervalOf, with the base rate of the target, of each of three
// classes; the larger of variance and misfit counts, the factor of extreme propensities is bounded, and a slope widens
// what is off the center, and the variance where it is positive.
func TestAnIntervalIsOfItsTarget(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "x", Kind: Continuous}}, Classes: []string{"a", "b", "c"}, Positive: -1}
	rates := []float64{.5, .3, .2}
	for _, c := range []struct {
		p                       [3]float64
		variance, misfit, slope float64
	}{
		{[3]float64{.6, .3, .1}, 0, .04, 0}, {[3]float64{.04, .06, .9}, 0, .04, 0},
		{[3]float64{.995, .004, .001}, 0, .01, 0}, {[3]float64{.6, .3, .1}, .5, .04, 0},
		{[3]float64{.6, .3, .1}, .5, .04, .5}, {[3]float64{.6, .3, .1}, .5, .04, -.5},
	} {
		for target := range int32(3) {
			p := &Partition{trained: true, misfit: newMisfit(s), row: Row{1},
				spec: &Spec{Schema: s, Options: Options{Interval: .8}}}
			p.scorer.scorecard = &sureCard{rates: rates, variance: c.variance}
			p.misfit.square, p.misfit.slope, p.misfit.center = c.misfit, c.slope, -1
			out := &Scores{Classes: 3, P: append([]float64{0, 0, 0}, c.p[:]...), Target: []int32{0, target}}
			got := intervalOf(p, out, 1)
			q, h := c.p[target], rates[target]
			rise := math.Min((1+h*(1-h)/(q*(1-q)))/2, 4)
			z := math.Log(q / (1 - q))
			variance := math.Max(c.variance*math.Pow(1+math.Max(c.slope, 0), 2), 3.5*rise*c.misfit) +
				c.slope*c.slope*(z+1)*(z+1)
			by := 1.2815515655446004 * math.Sqrt(variance) // the normal quantile of .9
			low, high := 1/(1+math.Exp(by-z)), 1/(1+math.Exp(-by-z))
			if math.Abs(got.Low-low) > 1e-12 || math.Abs(got.High-high) > 1e-12 {
				t.Errorf("propensity %v of class %d, %+v: %v, want %v to %v", q, target, c, got, low, high)
			}
		}
	}
}
