package evaluate

import (
	"math"
	"testing"
)

// TestTheErrorOfTheAccuracyKnowsWeights: sqrt(a (1 - a) sum w^2) / sum w by hand.
func TestTheErrorOfTheAccuracyKnowsWeights(t *testing.T) {
	hit, miss := []float64{.2, .8}, []float64{.9, .1}
	for _, c := range []struct {
		name               string
		hits, misses       []float64
		accuracy, variance float64
	}{
		{"equal weights", []float64{1, 1, 1}, []float64{1}, .75, .75 * .25 / 4},
		{"equal weights of another scale", []float64{5, 5, 5}, []float64{5}, .75, .75 * .25 / 4},
		{"one record outweighs the others", []float64{7, 1, 1}, []float64{1}, .9, .9 * .1 * 52 / 100},
		{"a weight of zero", []float64{1, 1, 0}, []float64{2}, .5, .5 * .5 * 6 / 16},
	} {
		s := NewSet(2)
		for k, weights := range [][]float64{c.hits, c.misses} {
			for _, w := range weights {
				if err := s.Add(int64(s.Len()), [][]float64{hit, miss}[k], 1, w); err != nil {
					t.Fatal(err)
				}
			}
		}
		m := s.Metrics(1, 1)
		near(t, c.name+": accuracy", m.Accuracy, Number(c.accuracy), 1e-15)
		near(t, c.name+": its error", m.AccuracyError, Number(math.Sqrt(c.variance)), 1e-15)
	}
}
