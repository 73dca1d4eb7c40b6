package lift

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// TestReport: the figures of a part in the form that users read.
func TestReport(t *testing.T) {
	ev := generated(900, 4)
	p, _ := fitPart(t, testOptions(), ev, nil)
	var r report.Report
	p.Report(ev.Schema, ev.Levels, &r)
	if len(r.Sets) != len(p.Sets) || len(r.Windows) != 5 || len(r.Profiles) != 30 ||
		r.Search.Exhaustive != 2 || r.Search.Sets != 8+28 {
		t.Fatalf("%d sets, %d windows, %d profiles, %+v", len(r.Sets), len(r.Windows), len(r.Profiles), r.Search)
	}
	for i, s := range r.Sets {
		if i > 0 && s.Eta > r.Sets[i-1].Eta+1e-12 {
			t.Errorf("set %d is out of order", i)
		}
		total := 0.0
		for c := range s.Levels {
			for y := range s.Counts[c] {
				total += float64(s.Counts[c][y])
				if l := s.Lift[c][y]; s.LiftLow[c][y] > l || l > s.LiftHigh[c][y] {
					t.Errorf("set %v: lift %v outside [%v, %v]", s.Features, l, s.LiftLow[c][y], s.LiftHigh[c][y])
				}
			}
		}
		if total != float64(s.N) || len(s.CellEta) != len(s.Levels) || float64(s.EtaCorrected) > float64(s.Eta) {
			t.Errorf("set %v: %v records in cells of %v, %+v", s.Features, total, s.N, s)
		}
	}
	w := r.Windows[0]
	if len(w.Levels) == 0 || math.Abs(float64(w.N)-float64(w.Mass)*float64(p.Windows[0].N/p.Windows[0].Mass)) > 1e-9 {
		t.Errorf("window %+v", w)
	}
	f := r.Profiles[0]
	if math.Abs(float64(f.NXY/f.NX*f.N/f.NY-f.Lift)) > 1e-12 || f.LiftLow > f.Lift || len(f.Profile) == 0 {
		t.Errorf("profile %+v", f)
	}
}

func TestTexts(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{
		{Name: "age"}, {Name: "job", Kind: model.Nominal, Levels: []string{"admin"}}}}
	l := model.NewLevels(s)
	for want, it := range map[string]Item{
		"age in (30, 35]":           {Feature: 0, Level: -1, Low: 30, High: 35},
		"age in (-inf, 0.25]":       {Feature: 0, Level: -1, Low: math.Inf(-1), High: .25},
		"age in (1000000, inf)":     {Feature: 0, Level: -1, Low: 1e6, High: math.Inf(1)},
		"age in (0.3333333, 1e+20]": {Feature: 0, Level: -1, Low: 1.0 / 3, High: 1e20},
		"job=admin":                 {Feature: 1},
	} {
		if got := it.text(s, l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
