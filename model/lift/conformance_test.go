package lift_test

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
)

func options() lift.Options {
	return lift.Options{
		Quantiles: 5,
		Enter:     true,
		Sets:      lift.SetOptions{Min: 1, Max: 2, Top: 30},
		Windows:   lift.WindowOptions{Top: 10},
		Profiles:  lift.ProfileOptions{Top: 10, MinSupport: .02, MaxFeatures: 2},
	}
}

// sameCounts compares every live count and the profiles.
func sameCounts(t *testing.T, what string, got, want model.Component, tolerance float64) {
	t.Helper()
	a, b := got.(*lift.Component).Live(), want.(*lift.Component).Live()
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%s: %d sets, want %d", what, len(a), len(b))
	}
	for i := range a {
		x, y := a[i].Table.Counts(), b[i].Table.Counts()
		for j := range max(len(x), len(y)) {
			var v, w float64
			if j < len(x) {
				v = x[j]
			}
			if j < len(y) {
				w = y[j]
			}
			if math.Abs(v-w) > tolerance*max(1, w) {
				t.Fatalf("%s: set %v count %d is %v, want %v", what, a[i].Set.Features(), j, v, w)
			}
		}
		v, w := a[i].Table.Effective(), b[i].Table.Effective()
		if math.Abs(v-w) > max(tolerance, 1e-12)*w {
			t.Fatalf("%s: set %v has effective n %v, want %v", what, a[i].Set.Features(), v, w)
		}
	}
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*lift.Options){
		"mahalanobis": func(*lift.Options) {},
		"product":     func(o *lift.Options) { o.Joint = lift.Product },
		"mass":        func(o *lift.Options) { o.Windows.MinMass = .15 },
		"triples":     func(o *lift.Options) { o.Sets.Max, o.Profiles.MaxFeatures, o.Sets.Search = 3, 3, lift.Exhaustive },
		"beam":        func(o *lift.Options) { o.Sets.Max, o.Sets.Search = 3, lift.Beam },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			change(&o)
			golden := ""
			if name == "mahalanobis" {
				golden = "testdata/format-1.gz"
			}
			modeltest.Suite{
				Golden: golden,
				Schema: modeltest.Schema(),
				New:    func(s *model.Schema) model.Factory { return lift.New(o, s) },
				Same:   sameCounts,
			}.Run(t)
		})
	}
}
