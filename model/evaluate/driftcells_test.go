package evaluate

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestDriftByCell: the cells of a column are those of its largest window by the plain formula, with names, and their
// parts sum to the index.
func TestDriftByCell(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "x", Special: []float64{-1}}, {Name: "job", Kind: model.Nominal}}}
	const n = ShortDriftRecords
	d := NewDriftMeter(s, 0, n)
	b := &model.Batch{N: 1, Columns: []model.Column{{Float: make([]float64, 1)},
		{Code: make([]uint32, 1), Levels: []string{"a", "b", "rare", "new"}}}}
	jobs := map[string][2]float64{} // records of the reference and of the second window
	for i := range 3 * n {
		x, job, window := uniform(3, i, 0), uint32(uniform(3, i, 1)*2), i/n
		if window == 1 {
			x = .9 * x
			if i%4 == 0 {
				job = 3
			}
			if i%20 == 1 {
				job = model.MissingCode
			}
		}
		if window == 0 && i%50 == 0 {
			job = 2
		}
		if uniform(3, i, 2) < .1 {
			x = -1
		}
		b.Columns[0].Float[0], b.Columns[1].Code[0] = x, job
		name := "(missing)"
		if job != model.MissingCode {
			name = map[uint32]string{0: "a", 1: "b", 2: "(other)", 3: "(other)"}[job]
		}
		if c := jobs[name]; window < 2 {
			c[window]++
			jobs[name] = c
		}
		d.Add(b, 0, s.Classes[i%2], x)
	}
	for _, r := range d.Report() {
		sum, p, q := 0., 0., 0.
		for _, c := range r.Cells {
			sum, p, q = sum+float64(c.Part), p+float64(c.Expected), q+float64(c.Actual)
			if plain := (c.Actual - c.Expected) * Number(math.Log(float64(c.Actual/c.Expected))); math.Abs(
				float64(plain-c.Part)) > 1e-15 {
				t.Errorf("%s %s: part %v, want %v", r.Feature, c.Cell, c.Part, plain)
			}
		}
		if math.Abs(sum-float64(r.PSI)) > 1e-12 || math.Abs(p-1) > 1e-12 || math.Abs(q-1) > 1e-12 {
			t.Errorf("%s: parts sum to %v, the index is %v; shares to %v and %v", r.Feature, sum, r.PSI, p, q)
		}
		names := []string{}
		for _, c := range r.Cells {
			names = append(names, c.Cell)
		}
		switch r.Feature {
		case "x":
			if names[0][:6] != "(-inf," || names[len(names)-1] != "(missing)" || len(names) != 11 {
				t.Errorf("cells %q", names)
			}
		case "job":
			if r.At != 2*n {
				t.Errorf("the largest window ends at %d", r.At)
			}
			for _, c := range r.Cells {
				k := float64(len(r.Cells))
				want := jobs[c.Cell]
				for i, got := range []Number{c.Expected, c.Actual} {
					if math.Abs(float64(got)-(want[i]+.5)/(n+k/2)) > 1e-15 {
						t.Errorf("%s: share %v in window %d, of %v records", c.Cell, got, i, want[i])
					}
				}
			}
			if len(names) != 4 || names[2] != "(other)" || names[3] != "(missing)" {
				t.Errorf("cells %q", names)
			}
		}
	}
}

// TestDriftLeavesTheClockOut: an hour of the record's time moves in every window and is no drift; an age of it is one.
func TestDriftLeavesTheClockOut(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "hour", Derived: "hour(time)"}, {Name: "age", Derived: "age(opened, d)"},
		{Name: "weekday", Kind: model.Ordinal, Levels: []string{"Monday", "Tuesday"}, Derived: "weekday(time)"}}}
	d := NewDriftMeter(s, 0, ShortDriftRecords)
	for i := range 3 * ShortDriftRecords {
		window := i / ShortDriftRecords
		v := []float64{float64(window)}
		d.Add(&model.Batch{N: 1, Columns: []model.Column{{Float: v}, {Float: v},
			{Code: []uint32{uint32(window % 2)}, Levels: s.Features[2].Levels}}}, 0, s.Classes[i%2], math.NaN())
	}
	var names []string
	for _, r := range d.Report() {
		names = append(names, r.Feature)
	}
	if !slices.Equal(names, []string{"age", "(class)", "(propensity)"}) {
		t.Error(names)
	}
}
