package portable

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// turnable is a card of each kind of effect. Its levels without a cell, so many, have the effect of unlisted ones.
func turnable(shared int) *Card {
	other := []float64{.25}
	levels := []Level{{"a", 7, []float64{-.5}}}
	for range shared {
		levels = append(levels, Level{"b", 0, other})
	}
	end := 3.
	return &Card{Target: "yes", Other: "no", Base: .3,
		Margins: []Margin{{Intercept: 1, Share: 1, Z: []float64{-2, .5, 3}, Value: []float64{-1, 0, 2}}},
		Features: []Feature{
			{Name: "plan", Kind: "nominal", Missing: []float64{.125}, Unknown: other,
				Levels: levels},
			{Name: "visits", Kind: "continuous", Missing: []float64{1}, Special: []Code{{99, 4, []float64{2}}},
				Pieces: []Piece{{End: &end, Constant: []float64{1.5}, Slope: []float64{.5},
					Logs: []Log{{A: 1, B: 2, C: 3, Weight: []float64{.75}}}}}}},
		Sets: []Set{{Weight: []float64{4}, Cells: []Cell{{1, 8}}}}}
}

// TestATurnedCardSaysTheOpposite of each effect, once: also of levels that share theirs. Turned again it is as before.
func TestATurnedCardSaysTheOpposite(t *testing.T) {
	for shared := range 3 {
		turned(t, turnable(shared), turnable(shared))
	}
}

func turned(t *testing.T, c, was *Card) {
	t.Helper()
	c.turn()
	if c.Target != "no" || c.Other != "yes" || math.Abs(c.Base-.7) > 1e-12 {
		t.Errorf("%s against %s at %v", c.Target, c.Other, c.Base)
	}
	effects := func(c *Card) (out []float64) {
		out = append(out, c.Margins[0].Intercept, c.Sets[0].Weight[0]*c.Sets[0].Cells[0].Value)
		for _, f := range c.Features {
			out = append(append(out, f.Missing...), f.Unknown...)
			for _, l := range f.Levels {
				out = append(out, l.Effect...)
			}
			for _, x := range f.Special {
				out = append(out, x.Effect...)
			}
			for _, p := range f.Pieces {
				out = append(append(append(out, p.Constant...), p.Slope...), p.Logs[0].Weight...)
			}
		}
		return out
	}
	got, before := effects(c), effects(was)
	for i, v := range got {
		if v != -before[i] {
			t.Errorf("effect %d is %v, and was %v", i, v, before[i])
		}
	}
	if m := c.Margins[0]; !slices.Equal(m.Z, []float64{-3, -.5, 2}) || !slices.Equal(m.Value, []float64{-2, 0, 1}) {
		t.Errorf("the curve has %v at %v", m.Value, m.Z)
	}
	c.turn()
	c.Base = was.Base // but for rounding
	again, _ := json.Marshal(c)
	if want, _ := json.Marshal(was); string(again) != string(want) {
		t.Errorf("turned twice:\n%s\nwant\n%s", again, want)
	}
}
