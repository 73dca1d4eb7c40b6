package live

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/lift"
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
		p, err := Strongest(stage.Spec.Schema, m)
		if err != nil {
			return last
		}
		last = page.Profiles{Model: m.Version, Best: p, Features: stage.ShortList(m)}
		return last
	}
}

// Strongest returns the profiles to show, those of the positive class where there is one: the confirmed ones first,
// each kind in the order of the model, which does not look at the records that validate.
func Strongest(s *model.Schema, m *model.Model) ([]page.Profile, error) {
	raw, ok := m.Parts[lift.Name]
	if !ok {
		return nil, errors.New("the model has no lift part")
	}
	part, err := lift.DecodePart(s, raw)
	if err != nil {
		return nil, fmt.Errorf("reading the lift part of model %d: %w", m.Version, err)
	}
	var out []page.Profile
	for _, p := range part.Profiles {
		if s.Positive >= 0 && int(p.Class) != s.Positive {
			continue
		}
		low, high := p.ValidatedInterval()
		x := page.Profile{Class: s.Classes[p.Class], Text: p.Text, Confirmed: p.Confirmed(),
			Lift:      evaluate.Number(p.Tally.Lift()),
			Validated: evaluate.Number(math.NaN()), ValidatedLow: evaluate.Number(low), ValidatedHigh: evaluate.Number(high),
			Records: p.Tally.NX, Positives: p.Tally.NXY}
		if p.Validation.NX > 0 {
			x.Validated = evaluate.Number(p.Validation.Lift())
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b page.Profile) int { return cmp.Compare(rank(a), rank(b)) })
	return out[:min(len(out), shownProfiles)], nil
}

// rank puts confirmed profiles first.
func rank(p page.Profile) int {
	if p.Confirmed {
		return 0
	}
	return 1
}
