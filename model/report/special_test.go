package report

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestSpecialCodesHaveCells: each code that occurs is a cell, in the order of the codes, beside that of missing values;
// the cuts are those of the numbers alone.
func TestSpecialCodesHaveCells(t *testing.T) {
	ev := evidence(1)
	plain := Features(ev)[0]
	ev.Schema.Features[0].Special = []float64{-999, -888, -1}
	for _, code := range []int{2, 0, 2} {
		ev.Columns[0] = append(ev.Columns[0], model.SpecialCell(code))
		ev.Columns[1], ev.Columns[2] = append(ev.Columns[1], 0), append(ev.Columns[2], 0)
		ev.Columns[3] = append(ev.Columns[3], math.NaN())
		ev.Class, ev.Weight = append(ev.Class, 1), append(ev.Weight, 1)
	}
	f := Features(ev)[0]
	if len(f.WOE) != 13 || f.WOE[9].Cell != plain.WOE[9].Cell || f.WOE[10].Cell != "-999 (special)" || f.WOE[10].N != 1 ||
		f.WOE[11].Cell != "-1 (special)" || f.WOE[11].N != 2 || f.WOE[12].Cell != "(missing)" || f.WOE[12].N != 20 {
		t.Errorf("cells %+v", f.WOE)
	}
}
