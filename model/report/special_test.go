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
	ev.Schema.Features[0].Special = []float64{-9999999999, -888, -1}
	for _, code := range []int{2, 0, 2} {
		ev.Columns[0] = append(ev.Columns[0], model.SpecialCell(code))
		ev.Columns[1], ev.Columns[2] = append(ev.Columns[1], 0), append(ev.Columns[2], 0)
		ev.Columns[3] = append(ev.Columns[3], math.NaN())
		ev.Class, ev.Weight = append(ev.Class, 1), append(ev.Weight, 1)
	}
	f := Features(ev)[0]
	if len(f.WOE) != 13 || f.WOE[9].Cell != plain.WOE[9].Cell ||
		f.WOE[10].Cell != "-9999999999 (special)" || f.WOE[10].N != 1 ||
		f.WOE[11].Cell != "-1 (special)" || f.WOE[11].N != 2 || f.WOE[12].Cell != "(missing)" || f.WOE[12].N != 20 {
		t.Errorf("cells %+v", f.WOE)
	}
}

// TestOwnCutsAreCells: cells between own cuts stay, though no number lies in them, and cells of less than a least share
// join.
func TestOwnCutsAreCells(t *testing.T) {
	ev := evidence(1) // numbers up to 99, one in five missing
	ev.Schema.Features[0].Cuts = []float64{18, 50, 500.0000001}
	f := Features(ev)[0]
	want := []WOE{{Cell: "(-inf, 18]", N: 15}, {Cell: "(18, 50]", N: 25}, {Cell: "(50, 500.0000001]", N: 40},
		{Cell: "(500.0000001, inf)"},
		{Cell: "(missing)", N: 20}}
	if len(f.WOE) != len(want) {
		t.Fatalf("cells %+v", f.WOE)
	}
	for i, w := range want {
		if f.WOE[i].Cell != w.Cell || f.WOE[i].N != w.N {
			t.Errorf("cell %+v, want %+v", f.WOE[i], w)
		}
	}
	ev.Schema.Features[0].Cuts, ev.Schema.Features[0].Least = nil, .2
	for _, w := range Features(ev)[0].WOE {
		if w.N < 16 {
			t.Errorf("cell %+v has less than a fifth of 80", w)
		}
	}
}

// TestCellsOfATrendAreInTheReport: the rates of a feature go one way over its cells, which the raw information value is
// of, and no cells of such rates have a larger one; of several classes without a positive one there are none.
func TestCellsOfATrendAreInTheReport(t *testing.T) {
	ev := evidence(1)
	plain := Features(ev)[0].WOE
	ev.Schema.Features[0].Least, ev.Schema.Features[0].Trend = .1, model.Auto
	positive := int32(max(ev.Schema.Positive, 0))
	positives := func(i int) bool { return ev.Class[i] == positive }
	cuts := model.OptimalCuts(ev.Columns[0], ev.Weight, positives, .1, model.Auto)
	f := Features(ev)[0]
	if len(f.WOE) != len(cuts)+2 || len(f.WOE) >= len(plain) {
		t.Errorf("cells %+v between cuts %v", f.WOE, cuts)
	}
	rises := 0
	for k := 1; k <= len(cuts); k++ {
		if f.WOE[k].Raw > f.WOE[k-1].Raw {
			rises++
		}
	}
	if rises != 0 && rises != len(cuts) {
		t.Errorf("the evidence of %+v goes both ways", f.WOE)
	}
}
