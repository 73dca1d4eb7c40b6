package evaluate

import (
	"math"
	"reflect"
	"testing"

	"liftstream/model"
)

func TestDrift(t *testing.T) {
	s := &model.Schema{
		Features: []model.Feature{
			{Name: "steady"},
			{Name: "moves"},
			{Name: "job", Kind: model.Nominal},
			{Name: "gone"},
			{Name: "rare", Kind: model.Nominal},
		},
		Classes:  []string{"no", "yes"},
		Positive: 1,
	}
	d := NewDriftMeter(s, 0, DriftRecords)
	b := &model.Batch{
		N: 1,
		Columns: []model.Column{
			{Float: make([]float64, 1)},
			{Float: make([]float64, 1)},
			{Code: make([]uint32, 1), Levels: []string{"a", "b", "c"}},
			{Float: make([]float64, 1)},
			{Code: make([]uint32, 1), Levels: make([]string, 1)},
		},
	}
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
	if r := got["steady"]; r.PSI > r.Threshold {
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
	if r := NewDriftMeter(s, 0, DriftRecords).Report(); len(r) != 0 {
		t.Errorf("drift of nothing: %v", r)
	}
	// The records that are skipped at the beginning count in the place.
	d = NewDriftMeter(s, 700, DriftRecords)
	for i := range 2 * DriftRecords {
		b.Columns[1].Float[0] = float64(i / DriftRecords)
		d.Add(b, 0, s.Classes[i%2], .5)
	}
	if r := d.Report()[0]; r.Feature != "moves" || r.At != 700+2*DriftRecords {
		t.Errorf("behind 700 skipped records: %+v", r)
	}
}

// TestDriftOfNothing: in streams whose records are drawn alike, of numbers, levels, rare levels and missing values, the
// largest PSI of the windows is about Expected, and exceeds Threshold in some column in about one stream of twenty, at
// most; where one column moves, that one alone does.
func TestDriftOfNothing(t *testing.T) {
	s := &model.Schema{
		Features: []model.Feature{
			{Name: "x"},
			{Name: "gaps"},
			{Name: "job", Kind: model.Nominal},
			{Name: "rare", Kind: model.Nominal},
			{Name: "moves"},
		},
		Classes:  []string{"no", "yes"},
		Positive: 1,
	}
	levels := make([]string, 300)
	for i := range levels {
		levels[i] = string(rune('A' + i))
	}
	b := &model.Batch{
		N: 1,
		Columns: []model.Column{
			{Float: make([]float64, 1)},
			{Float: make([]float64, 1)},
			{Code: make([]uint32, 1), Levels: levels},
			{Code: make([]uint32, 1), Levels: levels},
			{Float: make([]float64, 1)},
		},
	}
	for _, c := range []struct{ windows, records int }{{2, DriftRecords}, {20, DriftRecords}, {2, ShortDriftRecords},
		{19, ShortDriftRecords}} {
		const streams = 40
		windows := c.windows
		shift := .15 * math.Sqrt(DriftRecords/float64(c.records))
		exceeded := 0
		ratio := map[string]float64{}
		for seed := range uint64(streams) {
			d := NewDriftMeter(s, 0, c.records)
			for i := range (windows + 1) * c.records {
				u := func(k int) float64 { return uniform(seed, i, k) }
				b.Columns[0].Float[0] = u(0)
				if b.Columns[1].Float[0] = u(1); u(2) < .2 {
					b.Columns[1].Float[0] = math.NaN()
				}
				b.Columns[2].Code[0] = uint32(12 * u(3) * u(4))
				b.Columns[3].Code[0] = uint32(300 * u(5) * u(5) * u(5))
				b.Columns[4].Float[0] = u(6) + shift*float64(i)/float64(windows*c.records)
				class := s.Classes[0]
				if u(7) < .12 {
					class = s.Classes[1]
				}
				d.Add(b, 0, class, u(8))
			}
			some := false
			for _, r := range d.Report() {
				if r.Feature == "moves" {
					if !(r.PSI > r.Threshold) {
						t.Errorf("%+v, seed %d: what moves has %v, threshold %v", c, seed, r.PSI, r.Threshold)
					}
					continue
				}
				some = some || r.PSI > r.Threshold
				ratio[r.Feature] += float64(r.PSI/r.Expected) / streams
			}
			if some {
				exceeded++
			}
		}
		if exceeded > 6 { // 2 on average; 7 or more in 1 of 300 runs
			t.Errorf("%+v: some column exceeds its threshold in %d of %d streams", c, exceeded, streams)
		}
		for f, r := range ratio {
			if r < .75 || r > 1.15 {
				t.Errorf("%+v: %s: the largest PSI is %.2f times what is expected", c, f, r)
			}
		}
		t.Logf("%+v: %d of %d streams exceed; %v", c, exceeded, streams, ratio)
	}
}

// TestDriftTakesCodesAsMissing: a special code is no number; its share is that of missing values.
func TestDriftTakesCodesAsMissing(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "a", Special: []float64{-999}}}, Classes: []string{"no", "yes"}}
	psi := func(code float64) []Drift {
		d := NewDriftMeter(s, 0, DriftRecords)
		b := &model.Batch{N: 1, Columns: []model.Column{{Float: make([]float64, 1)}}}
		for i := range 2 * DriftRecords {
			if b.Columns[0].Float[0] = uniform(1, i, 0); i%9 < 1+i/DriftRecords {
				b.Columns[0].Float[0] = code
			}
			d.Add(b, 0, s.Classes[i%2], .5)
		}
		return d.Report()
	}
	if got, want := psi(-999), psi(math.NaN()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, with missing values %+v", got, want)
	}
}
