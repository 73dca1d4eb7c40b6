package report

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestRawEvidenceLeavesOutOneSidedCells: the level "a" holds 30 of 40 positives and 50 of 60 others, "b" the rest but
// for "c", which has positives alone.
func TestRawEvidenceLeavesOutOneSidedCells(t *testing.T) {
	ev := evidence(1)
	for i := 80; i < 84; i++ { // of b
		ev.Columns[1][i] = float64(ev.Levels.Code(1, "c"))
	}
	f := Features(ev)[1]
	if len(f.WOE) != 3 || f.WOE[2].Cell != "c" || !math.IsNaN(float64(f.WOE[2].Raw)) || math.IsNaN(float64(f.WOE[2].WOE)) {
		t.Fatalf("cells %+v", f.WOE)
	}
	a, b := math.Log(30./40/(50./60)), math.Log(6./40/(10./60))
	near(t, "raw woe of a", f.WOE[0].Raw, a)
	near(t, "raw woe of b", f.WOE[1].Raw, b)
	near(t, "raw information value", f.InformationValueRaw, (30./40-50./60)*a+(6./40-10./60)*b)
	one := Features(evidence(1))[2]
	if one.InformationValueRaw != 0 {
		t.Errorf("one cell says %v", one.InformationValueRaw)
	}
}

// TestRawEvidenceByHand: own cuts, against counts of each cell by a pass of its own over the records, to 1e-12; records
// of weight 2 count twice.
func TestRawEvidenceByHand(t *testing.T) {
	cuts := []float64{18, 25, 65, 99.5}
	s := &model.Schema{Features: []model.Feature{{Name: "x", Cuts: cuts, Special: []float64{-999}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 1)}
	raw := []float64{}
	for i := range 3000 {
		h := model.Hash(3, uint64(i))
		v := float64(h % 100)
		y := int32(0)
		if h>>20%100 < 10+h%100/2 && v < 99 {
			y = 1
		}
		coded := v
		if h>>40%10 == 0 {
			v, coded = -999, model.SpecialCell(0)
		}
		raw = append(raw, v)
		ev.Columns[0] = append(ev.Columns[0], coded)
		ev.Class, ev.Weight = append(ev.Class, y), append(ev.Weight, 1+float64(h>>50&1))
	}
	f := Features(ev)[0]
	in := []func(v float64) bool{ // the last cut leaves a cell without a record
		func(v float64) bool { return v >= 0 && v <= 18 },
		func(v float64) bool { return v > 18 && v <= 25 },
		func(v float64) bool { return v > 25 && v <= 65 },
		func(v float64) bool { return v > 65 && v <= 99.5 },
		func(v float64) bool { return v > 99.5 },
		func(v float64) bool { return v == -999 },
	}
	sum := func(of func(v float64) bool, class int32) (n float64) {
		for i, v := range raw {
			if of(v) && ev.Class[i] == class {
				n += ev.Weight[i]
			}
		}
		return n
	}
	all := func(float64) bool { return true }
	if len(f.WOE) != len(in) {
		t.Fatalf("cells %+v", f.WOE)
	}
	iv := 0.
	for c, of := range in {
		p, q := sum(of, 1)/sum(all, 1), sum(of, 0)/sum(all, 0)
		if c == 4 {
			if !math.IsNaN(float64(f.WOE[c].Raw)) {
				t.Errorf("an empty cell has %v", f.WOE[c].Raw)
			}
			continue
		}
		near(t, "raw woe of "+f.WOE[c].Cell, f.WOE[c].Raw, math.Log(p/q))
		iv += (p - q) * math.Log(p/q)
	}
	near(t, "raw information value", f.InformationValueRaw, iv)
}
