package live

import (
	"cmp"
	"slices"
	"sync"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// shownProfiles bounds the profiles on the page.
const shownProfiles = 8

// profiles returns a function that tells the strongest profiles of the serving model, those of the positive class where
// there is one. It decodes each version once.
func profiles(stage *assemble.Stage, serving func() *model.Model) func() page.Profiles {
	var mu sync.Mutex
	var last page.Profiles
	return func() page.Profiles {
		m := serving()
		mu.Lock()
		defer mu.Unlock()
		if m == nil || m.Version == last.Model {
			return last
		}
		p, err := Strongest(stage, m)
		if err != nil {
			return last
		}
		last = page.Profiles{Model: m.Version, Best: p, Features: stage.ShortList(m)}
		return last
	}
}

// Strongest returns the profiles to show, those of the positive class where there is one: the confirmed ones first,
// each kind in the order of the model, which does not look at the records that validate.
func Strongest(stage *assemble.Stage, m *model.Model) ([]page.Profile, error) {
	r := &report.Report{}
	if err := stage.Sections(m, r); err != nil {
		return nil, err
	}
	return strongest(stage.Spec.Schema, r.Profiles), nil
}

func strongest(s *model.Schema, all []report.Profile) (out []page.Profile) {
	for _, p := range all {
		if s.Positive >= 0 && p.Class != s.Classes[s.Positive] {
			continue
		}
		out = append(out, page.Profile{Class: p.Class, Text: p.Text, Confirmed: p.Confirmed,
			Lift: evaluate.Number(p.Lift), Validated: evaluate.Number(p.ValidatedLift),
			ValidatedLow: evaluate.Number(p.ValidatedLow), ValidatedHigh: evaluate.Number(p.ValidatedHigh),
			Records: float64(p.NX), Positives: float64(p.NXY)})
	}
	slices.SortStableFunc(out, func(a, b page.Profile) int { return cmp.Compare(rank(a), rank(b)) })
	return out[:min(len(out), shownProfiles)]
}

// rank puts confirmed profiles first.
func rank(p page.Profile) int {
	if p.Confirmed {
		return 0
	}
	return 1
}
