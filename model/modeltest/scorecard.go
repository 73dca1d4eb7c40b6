package modeltest

import (
	"context"

	"liftstream/model"
)

// Scorecard returns the factory of a scorecard as one of components, so that the suite runs over it: its Fit has no
// components beside it.
func Scorecard(f model.ScorecardFactory) model.Factory {
	alone := scorecard{f}
	if c, ok := f.(model.Carrier); ok {
		return struct {
			scorecard
			model.Carrier
		}{alone, c}
	}
	return alone
}

type scorecard struct{ model.ScorecardFactory }

func (s scorecard) New(levels *model.Levels) model.Component { return s.ScorecardFactory.New(levels) }

func (s scorecard) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	return s.ScorecardFactory.Fit(ctx, ev, nil, previous)
}
