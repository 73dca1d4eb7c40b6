package propensity

import (
	"math"
	"testing"

	"liftstream/model/modeltest"
)

// TestVarianceDoesNotFollowTheScaleOfWeights: an interval is as wide where each record weighs a hundred times as much,
// and as wide of a rare value as the records of the value say.
func TestVarianceDoesNotFollowTheScaleOfWeights(t *testing.T) {
	const n = 600
	schema := schemas()["two"]
	spread := make([]float64, len(schema.Features))
	for i := range spread {
		spread[i] = .1 + .05*float64(i%3)
	}
	var want []float64
	for _, by := range []float64{1, 100, .01} {
		l, ex := modeltest.Generate(schema, n, 11)
		c := newCluster(t, schema, l, 1)
		prob := make([]float64, len(schema.Classes))
		pending := make([]float64, c.live[0].PendingLen())
		for i := range ex {
			ex[i].Weight = by
			if c.learn(0, ex[i]); i == n/2 {
				c.fit()
			}
		}
		var got []float64
		for i := range 100 {
			s := c.live[0]
			s.Score(ex[i].Row, nil, pending, prob)
			got = append(got, s.Variance(1, prob[1], spread))
		}
		if want == nil {
			want = got
		}
		for i, v := range got {
			if !(v > 0) || math.Abs(v-want[i]) > 1e-9*want[i] {
				t.Fatalf("record %d, weights of %v: variance %v, of weights of 1 it is %v", i, by, v, want[i])
			}
		}
	}
}
