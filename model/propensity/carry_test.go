package propensity

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestTheRestIsCalibratedAsTheClass: from two classes to three, the one margin becomes two opposite ones. Each card
// calibrates the log-odds of class 0 at -z to the opposite of those of class 1 at z.
func TestTheRestIsCalibratedAsTheClass(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	wide := *s
	wide.Classes = []string{"no", "yes", "maybe"}
	from, to := newPlanOf(Default(), s, standard), newPlanOf(Default(), &wide, standard)
	m := &move{from: from, to: to}
	old := make([]float64, cards*2*from.knots)
	for i := range old {
		old[i] = float64(model.Hash(3, uint64(i))%1000) / 10
	}
	moved := make([]float64, cards*to.margins*2*to.knots)
	m.calibration(moved, old)
	c := calibration{weight: 1}
	c.derive(&from.opt.Calibration, false)
	for card := range cards {
		for _, z := range []float64{-5.9, -2.2, -.3, 0, .7, 3.1, 5.5} {
			want := c.calibrated(c.table(old, card), z, 1)
			one := c.calibrated(c.table(moved, card*to.margins+1), z, 1)
			rest := c.calibrated(c.table(moved, card*to.margins), -z, 1)
			if one != want || math.Abs(rest+want) > 1e-3*max(1, math.Abs(want)) {
				t.Errorf("card %d at %v: %v, class 1 %v, class 0 at %v %v", card, z, want, one, -z, rest)
			}
		}
	}
}
