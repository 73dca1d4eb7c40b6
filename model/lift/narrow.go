package lift

import (
	"context"

	"liftstream/model"
)

// Steps for the budget of a fit: of a visit of a record by a set that is searched for, by a profile, and by a set that
// may enter.
const (
	setSteps     = 64
	profileSteps = 128
	enterSteps   = 4
)

// steps estimates the work of a fit with that many features: the sets of all sizes, the covariance of the features, the
// profiles and the sets that enter.
func (f *Factory) steps(s *sample, features int) float64 {
	o, n, m := &f.options, float64(s.n), float64(features)
	var sum float64
	for size := 1; size <= min(o.Sets.Max, features, maxSetFeatures); size++ {
		count := binomial(features, size)
		if size > 1 && count*float64(max(s.n, leastVisits)) > s.visits {
			sum += min(count, beamWidth*m) * n * setSteps
		} else {
			sum += count * float64(max(s.n, leastVisits)) * setSteps
		}
	}
	if sum > 0 {
		sum += m * m * n
	}
	if o.Profiles.Top > 0 {
		visits := 0.
		for d := 1; d <= min(o.Profiles.MaxFeatures, features); d++ {
			visits += binomial(features, d) * float64(max(s.n, leastVisits))
		}
		sum += min(visits, max(s.visits, m*n)) * profileSteps
	}
	if o.Enter && s.n >= enterLeast {
		rows, pairs := min(n, enterRecords), binomial(min(features, enterFeatures), 2)
		sum += rows * float64(s.classes) * (enterPasses*m + 2*pairs) * enterSteps
	}
	return sum
}

// narrow leaves out the features that a fit cannot afford, all but the strongest ones (model.Evidence.Strongest): they
// are in no set, window or profile.
func (f *Factory) narrow(ctx context.Context, ev *model.Evidence, s *sample) error {
	if len(s.fields) == 0 {
		return nil
	}
	n, err := ev.Afford(len(s.fields), func(n int) float64 { return f.steps(s, n) })
	if err != nil {
		return err
	}
	s.fields, err = ev.Strongest(ctx, s.fields, n)
	return err
}
