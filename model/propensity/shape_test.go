package propensity

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// shaped returns the fitter of one feature, its values and weights: 30 % zeros, the rest from 1 to 1,000, 5 % missing.
func shaped(f model.Feature) (p fitter, values, weights []float64) {
	s := &model.Schema{Features: []model.Feature{f}, Classes: []string{"no", "yes"}, Positive: 1}
	for i := range 4000 {
		u := float64(model.Hash(9, uint64(i))>>11) / (1 << 53)
		v := math.Ceil(1000 * u)
		switch {
		case u < .3:
			v = 0
		case u > .95:
			v = math.NaN()
		}
		values, weights = append(values, v), append(weights, 1)
	}
	return fitter{newPlan(Default(), s)}, values, weights
}

// TestOwnCuts: the cells are those between the cuts, right-closed, of any values; with a direction too.
func TestOwnCuts(t *testing.T) {
	for _, want := range []model.Direction{model.Free, model.Up} {
		p, values, weights := shaped(model.Feature{Name: "x", Cuts: []float64{18, 25, 65}, Special: []float64{-1},
			Monotone: want})
		a := p.shape(&p.features[0], values, weights)
		if a.cells != 6 || a.smooth {
			t.Errorf("%d cells, smooth %v", a.cells, a.smooth)
		}
		for v, cell := range map[float64]int{-1e9: 1, 18: 1, 18.5: 2, 25: 2, 65: 3, 65.5: 4, 1e9: 4} {
			if got := a.find(v); got != cell {
				t.Errorf("%v lies in cell %d, want %d", v, got, cell)
			}
		}
		if a.find(math.NaN()) != cellMissing || a.find(model.SpecialCell(0)) != 5 {
			t.Error("missing values or codes lie elsewhere")
		}
		if order := a.order(&p.features[0], nil); !slices.Equal(order, []int32{1, 2, 3, 4}) {
			t.Errorf("order %v", order)
		}
		if again := p.shape(&p.features[0], values[:3], weights[:3]); !p.kept(&p.features[0], &again, &a, values, weights) {
			t.Error("own cuts are not kept")
		}
		other := stepped([]float64{18, 25})
		if p.kept(&p.features[0], &a, &other, values, weights) {
			t.Error("other cuts are kept")
		}
	}
}

// TestLeastShare: no cell has less than its share of the numbers, and the cells are not fewer than half of the shares:
// joining two cells that are too light makes none of twice the share and more, atoms apart.
func TestLeastShare(t *testing.T) {
	for _, least := range []float64{.01, .05, .12, .26, .6} {
		p, values, weights := shaped(model.Feature{Name: "x", Least: least})
		f := &p.features[0]
		a := p.shape(f, values, weights)
		mass, total := make([]float64, a.cells), 0.
		for _, v := range values {
			if v == v {
				mass[a.find(v)]++
				total++
			}
		}
		for c := cellFirst; c < a.cells; c++ {
			if mass[c] < least*total*(1-1e-9) {
				t.Errorf("least %v: cell %d has %v of %v", least, c, mass[c], total)
			}
		}
		if least := int(.35 / least); a.cells-1 < min(least, 7) {
			t.Errorf("%d cells, want %d or more", a.cells-1, least)
		}
		if !p.kept(f, &a, &a, values, weights) {
			t.Errorf("least %v: the same cells are not kept", least)
		}
		thin := stepped([]float64{0, 301, 302})
		if p.kept(f, &a, &thin, values, weights) && least > .01 {
			t.Errorf("least %v: a cell of next to nothing is kept", least)
		}
	}
}
