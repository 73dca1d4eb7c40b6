package evaluate

import (
	"math"
	"testing"

	"liftstream/model"
)

func TestDrift(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "steady"}, {Name: "moves"}, {Name: "job", Kind: model.Nominal}, {Name: "gone"}, {Name: "rare", Kind: model.Nominal}}, Classes: []string{"no", "yes"}, Positive: 1}
	d := NewDriftMeter(s, 0)
	b := &model.Batch{N: 1, Columns: []model.Column{{Float: make([]float64, 1)}, {Float: make([]float64, 1)}, {Code: make([]uint32, 1), Levels: []string{"a", "b", "c"}},
		{Float: make([]float64, 1)}, {Code: make([]uint32, 1), Levels: make([]string, 1)}}}
	const n = 5*DriftRecords + 100
	for i := range n {
		window := i / DriftRecords
		b.Columns[0].Float[0] = uniform(1, i, 0)
		b.Columns[1].Float[0] = uniform(1, i, 1) + float64(window)*.2
		b.Columns[2].Code[0] = uint32(uniform(1, i, 2) * 2)
		if window == 2 {
			b.Columns[2].Code[0] = 2 // a level that the reference does not know
		}
		b.Columns[3].Float[0] = 0
		if window == 4 {
			b.Columns[3].Float[0] = math.NaN()
		}
		b.Columns[4].Levels[0] = string(rune('A' + i%500)) // each far below 1 %
		d.Add(b, 0, s.Classes[i%2], .5)
	}
	got := map[string]Drift{}
	for _, r := range d.Report() {
		got[r.Feature] = r
		if math.IsNaN(float64(r.PSI)) || r.At%DriftRecords != 0 {
			t.Errorf("%+v", r)
		}
	}
	if len(got) != 7 {
		t.Fatalf("%d columns reported: %v", len(got), got)
	}
	if r := got["steady"]; r.PSI > 4*r.Expected {
		t.Errorf("steady: %+v", r)
	}
	if r := got["moves"]; r.PSI < 1 || r.At != 5*DriftRecords || r.Last != r.PSI {
		t.Errorf("moves: %+v", r)
	}
	if r := got["job"]; r.PSI < 2 || r.At != 3*DriftRecords || r.Last > .05 {
		t.Errorf("job: %+v", r)
	}
	if r := got["gone"]; r.PSI < 2 || r.At != 5*DriftRecords {
		t.Errorf("gone: %+v", r)
	}
	for _, f := range []string{"rare", "(class)", "(propensity)"} {
		if got[f].PSI > 1e-9 {
			t.Errorf("%s: %+v", f, got[f])
		}
	}
	if r := NewDriftMeter(s, 0).Report(); len(r) != 0 {
		t.Errorf("drift of nothing: %v", r)
	}
	// Two bins, 3 and 1 against 1 and 3, by hand: p = (3.5/5, 1.5/5), q reversed.
	want := 2 * .4 * math.Log(.7/.3)
	near(t, "psi", Number(psi([]float64{3, 1}, []float64{1, 3})), Number(want), 1e-15)
}
