package codec

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestIntervalColumns: they stand at the end, and are null where nothing is known.
func TestIntervalColumns(t *testing.T) {
	o := contractOptions()
	o.Interval = true
	lastColumns(t, o, func(s *model.Scores) {
		s.Intervals = []model.Interval{{Low: .25, High: .5}, {Low: math.NaN(), High: math.NaN()}}
	}, `"propensity_low":0.25,"propensity_high":0.5}`, `"propensity_low":null,"propensity_high":null}`)
}
