package lift

import (
	"math"
	"testing"

	"liftstream/model/report"
)

// TestTheReportHasTheValidatedInterval: its ends stand in their order around the lift.
func TestTheReportHasTheValidatedInterval(t *testing.T) {
	ev := generated(900, 4)
	p, _ := fitPart(t, testOptions(), ev, nil)
	var r report.Report
	p.Report(ev.Schema, ev.Levels, &r)
	for i, f := range p.Profiles {
		low, high := f.ValidatedInterval()
		x := r.Profiles[i]
		if f.Validation.N == 0 || math.IsNaN(low) {
			continue
		}
		near(t, "low", float64(x.ValidatedLow), low, 0)
		near(t, "high", float64(x.ValidatedHigh), high, 0)
		if !(x.ValidatedLow <= x.ValidatedLift && x.ValidatedLift <= x.ValidatedHigh) || x.ValidatedLow == x.ValidatedHigh {
			t.Errorf("profile %d: lift %v in [%v, %v]", i, x.ValidatedLift, x.ValidatedLow, x.ValidatedHigh)
		}
	}
}

// TestGainIsThatOfItsDefinition: each quarter of the records is measured with the steps of the three others; the terms
// of the classes of a record go together, so that with more than one margin the variance counts twice.
func TestGainIsThatOfItsDefinition(t *testing.T) {
	const n, cells = 400, 3
	for _, k := range []int{1, 3} {
		a := &additive{classes: max(k, 2), k: k, n: n, shrink: 1, g: make([]float64, n*k), h: make([]float64, n*k)}
		if k > 1 {
			a.shrink = float64(k-1) / float64(k)
		}
		cell := make([]int32, n)
		for i := range n {
			cell[i] = int32(mix(uint64(i))%(cells+1)) - 1
			for y := range k {
				u := float64(mix(uint64(i*k+y+n))%1000) / 1000
				a.g[i*k+y], a.h[i*k+y] = u-.5+.2*float64(cell[i]), .05+u*(1-u)
			}
		}
		best, gain, se, ridge := math.Inf(-1), 0., 0., 0.
		for _, r := range enterRidges {
			var v, variance float64
			for f := range enterFolds {
				held := func(i int) bool { return i >= f*n/enterFolds && i < (f+1)*n/enterFolds }
				for c := range cells {
					for y := range k {
						var g, h float64
						for i := range n {
							if int(cell[i]) == c && !held(i) {
								g, h = g+a.g[i*k+y], h+a.h[i*k+y]
							}
						}
						d := -a.shrink * g / (h + r/4)
						for i := range n {
							if int(cell[i]) == c && held(i) {
								v -= a.g[i*k+y]*d + a.h[i*k+y]*d*d/(2*a.shrink)
								variance += a.g[i*k+y] * a.g[i*k+y] * d * d
							}
						}
					}
				}
			}
			if k > 1 {
				variance *= 2
			}
			if u := math.Sqrt(variance); v-enterCertain*u > best {
				best, gain, se, ridge = v-enterCertain*u, v, u, r
			}
		}
		gotGain, gotSE, gotRidge := a.gain(cell, cells, &enterWork{})
		near(t, "gain", gotGain, gain, 1e-9)
		near(t, "standard error", gotSE, se, 1e-9)
		near(t, "ridge", gotRidge, ridge, 0)
	}
}
