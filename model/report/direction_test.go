package report

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
)

// directed returns 4,000 records of a number and an ordinal feature whose class has the rate p at a place from 0 to 1.
func directed(seed uint64, d model.Direction, p func(x float64) float64) *model.Evidence {
	s := &model.Schema{Features: []model.Feature{{Name: "x", Monotone: d, Special: []float64{-999}},
		{Name: "o", Kind: model.Ordinal, Levels: []string{"a", "b", "c", "d"}, Monotone: d}},
		Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 2)}
	for i := range 4000 {
		u := func(k uint64) float64 { return float64(model.Hash(seed, uint64(i), k)>>11) / (1 << 53) }
		x := u(0)
		y := int32(0)
		if u(1) < p(x) {
			y = 1
		}
		o := math.Floor(4 * x)
		if u(2) < .1 { // codes and missing values say the opposite
			x, o, y = model.SpecialCell(0), math.NaN(), 1
		}
		ev.Columns[0], ev.Columns[1] = append(ev.Columns[0], x), append(ev.Columns[1], o)
		ev.Class, ev.Weight = append(ev.Class, y), append(ev.Weight, 1)
	}
	return ev
}

// TestDirectionsAgainstTheData, whatever a record weighs.
func TestDirectionsAgainstTheData(t *testing.T) {
	falls := func(x float64) float64 { return .5 - .4*x }
	valley := func(x float64) float64 { // falls, then rises a little
		if x < .75 {
			return .8 - .9*x
		}
		return .6
	}
	for _, c := range []struct {
		name string
		d    model.Direction
		p    func(x float64) float64
		want string // of both features
	}{
		{"falls, up", model.Up, falls, "falls with it, against monotone: up: it has no effect left"},
		{"falls, down", model.Down, falls, ""},
		{"falls, auto", model.Auto, falls, ""},
		{"rises, down", model.Down, func(x float64) float64 { return .1 + .4*x },
			"rises with it, against monotone: down: it has no effect left"},
		{"valley, up", model.Up, valley, "% of its effect is left"},
	} {
		for _, scale := range []float64{1, 1e-4, 1e4} {
			ev := directed(1, c.d, c.p)
			for i := range ev.Weight {
				ev.Weight[i] = scale
			}
			for _, f := range Features(ev) {
				got := strings.Join(f.Warnings, "; ")
				if strings.Contains(got, "monotone") != (c.want != "") || !strings.Contains(got, c.want) {
					t.Errorf("%s, weights of %v: feature %s: %q, want %q", c.name, scale, f.Name, got, c.want)
				}
			}
		}
	}
}

// TestDirectionsOfNoise: no direction goes against features that tell nothing, but for chance.
func TestDirectionsOfNoise(t *testing.T) {
	for _, scale := range []float64{1, 100} {
		said := 0
		for seed := range uint64(100) {
			ev := directed(seed, model.Up, func(float64) float64 { return .3 })
			for i := range ev.Weight {
				ev.Weight[i] = scale
			}
			for _, f := range Features(ev) {
				said += strings.Count(strings.Join(f.Warnings, ";"), "monotone")
			}
		}
		if said > 3 {
			t.Errorf("weights of %v: %d of 200 features are said to go against the data", scale, said)
		}
	}
}
