package lift

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestRetractSequences learns and retracts in random sequences - the newest records, any, all - with whole and with odd
// weights, and rows without values. At every stop the state can be read back, everything that is measured is a number
// or undefined, and the counts of every set are those of the records that are left: to the count for whole weights, to
// 1e-12 of the greatest total weight otherwise.
func TestRetractSequences(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for kind, weights := range map[string][]float64{
		"whole": {1, 1, 2, 3, 0},
		"odd":   {1, .3, 0, 1e-300, 17, 1e9, 1e300, math.SmallestNonzeroFloat64},
	} {
		t.Run(kind, func(t *testing.T) {
			ev := generated(900, 5)
			o := testOptions()
			_, part := fitPart(t, o, generated(300, 4), nil)
			c := serve(t, o, ev, part, 1, nil)
			draw := func(i int, what uint64, n int) int { return int(model.Hash(6, uint64(i), what) % uint64(n)) }
			var kept []*model.Example
			greatest := 0.0
			for step := range 60 {
				switch draw(step, 1, 4) {
				case 0, 1:
					for i := range 1 + draw(step, 2, 80) {
						ex := exampleOf(ev, draw(step*1000+i, 3, ev.Len()))
						if draw(step*1000+i, 4, 9) == 0 {
							for f := range ex.Row {
								ex.Row[f] = math.NaN()
							}
						}
						ex.Weight = weights[draw(step*1000+i, 5, len(weights))]
						c.Learn(ex)
						kept = append(kept, ex)
					}
				case 2:
					for range min(len(kept), draw(step, 6, len(kept)+1)) {
						c.Retract(kept[len(kept)-1])
						kept = kept[:len(kept)-1]
					}
				default:
					for i := range len(kept) / 3 {
						at := draw(step*1000+i, 7, len(kept))
						c.Retract(kept[at])
						kept = slices.Delete(kept, at, at+1)
					}
				}
				if step == 59 {
					for _, ex := range kept {
						c.Retract(ex)
					}
					kept = nil
				}
				what := fmt.Sprintf("step %d, %d kept", step, len(kept))
				greatest = max(greatest, sumsLeft(t, what, c, kept, kind == "whole", greatest))
				again := New(o, ev.Schema).New(ev.Levels).(*Component)
				if err := again.LoadState(c.AppendState(nil)); err != nil {
					t.Fatalf("%s: its own state: %v", what, err)
				}
				if _, err := json.Marshal(ReportSets(ev.Schema, ev.Levels, c.Live(), ByEta)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
		})
	}
}

// sumsLeft compares the counts of every set and returns the greatest total weight.
func sumsLeft(t *testing.T, what string, c *Component, kept []*model.Example, whole bool, greatest float64) float64 {
	t.Helper()
	k := len(c.schema.Classes)
	for _, s := range c.sets {
		want := make([]float64, max(s.set.cells*k, len(s.own.n)))
		total := 0.0
		for _, ex := range kept {
			if x := s.set.Cell(ex.Row); x >= 0 {
				w := min(ex.Weight, model.MaxWeight)
				want[x*k+int(ex.Class)] += w
				total += w
			}
		}
		greatest = max(greatest, total)
		for j, v := range s.own.n {
			if whole && v != want[j] || !(math.Abs(v-want[j]) <= 1e-12*greatest) {
				t.Fatalf("%s: set %v: count %d is %v, want %v", what, s.set.features, j, v, want[j])
			}
		}
		if e := s.own.Effective(); !finite(e) || e < 0 {
			t.Fatalf("%s: set %v: effective number of records %v", what, s.set.features, e)
		}
	}
	return greatest
}
