package lift

import (
	"math"
	"testing"
)

// TestTheScaleOfWeightsChangesNoPublishedFigure: sets, windows and profiles, their lifts, intervals and q-values are
// the same with weights times 100 or a hundredth.
func TestTheScaleOfWeightsChangesNoPublishedFigure(t *testing.T) {
	for _, unequal := range []bool{false, true} {
		var first *Part
		for _, scale := range []float64{1, 100, .01} {
			ev := generated(2000, 3)
			for i := range ev.Weight {
				ev.Weight[i] = scale
				if unequal {
					ev.Weight[i] = scale * float64(1+mix(uint64(i))%9)
				}
			}
			p, _ := fitPart(t, testOptions(), ev, nil)
			if first == nil {
				first = p
			}
			if len(p.Sets) != len(first.Sets) || len(p.Windows) != len(first.Windows) ||
				len(p.Profiles) != len(first.Profiles) || len(p.Profiles) == 0 {
				t.Fatalf("weights times %v: %d sets, %d windows, %d profiles, want %d, %d, %d", scale, len(p.Sets),
					len(p.Windows), len(p.Profiles), len(first.Sets), len(first.Windows), len(first.Profiles))
			}
			for i, w := range p.Windows {
				v := first.Windows[i]
				near(t, "eta of a window", w.Eta, v.Eta, 1e-9)
				near(t, "lower end", w.Low, v.Low, 1e-9)
				near(t, "higher end", w.High, v.High, 1e-9)
			}
			finite := 0
			for i, f := range p.Profiles {
				g := first.Profiles[i]
				if f.Text != g.Text || f.Confirmed() != g.Confirmed() {
					t.Fatalf("weights times %v: profile %d is %q, confirmed %v, want %q, %v", scale, i, f.Text, f.Confirmed(),
						g.Text, g.Confirmed())
				}
				if math.IsNaN(g.Q) {
					continue
				}
				finite++
				low, high := f.Validation.Interval()
				wantLow, wantHigh := g.Validation.Interval()
				near(t, f.Text+": q-value", f.Q, g.Q, 1e-9)
				near(t, f.Text+": lift", f.Validation.Lift(), g.Validation.Lift(), 1e-9)
				near(t, f.Text+": lower end", low, wantLow, 1e-9)
				near(t, f.Text+": higher end", high, wantHigh, 1e-9)
			}
			if finite == 0 {
				t.Error("no profile has a q-value")
			}
		}
	}
}
