package propensity

import (
	"math"
	"testing"

	"liftstream/model"
)

// Without a lag of labels inputs are the log-lifts, bit for bit; with one, those of half-life h shrink by
// 1/(1 + lag/(late h)); base log-odds stay.
func TestShortHorizonsSayLessOfLateLabels(t *testing.T) {
	for _, classes := range [][]string{{"no", "yes"}, {"a", "b", "c"}} {
		schema := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: classes, Positive: 1}
		s := newScorecard(newPlan(Default(), schema))
		K, H := s.margins, s.horizons
		fresh := make([]float64, 2*H*K)
		for i := range fresh {
			fresh[i] = 1 + float64(i)
		}
		x := append([]float64(nil), fresh...)
		s.age(x)
		for i, v := range x {
			if v != fresh[i] {
				t.Fatalf("%d classes: input %d is %v, was %v without a lag", len(classes), i, v, fresh[i])
			}
		}
		s.lag = 1000
		s.age(x)
		for h := range H {
			share := 1.
			if n := s.half[h].Records; n > 0 {
				share = 1 / (1 + 1000/(s.late*n))
			}
			for c := range K {
				if want := share * fresh[h*K+c]; math.Abs(x[h*K+c]-want) > 1e-12 {
					t.Errorf("%d classes, horizon %d: %v, want %v", len(classes), h, x[h*K+c], want)
				}
				if at := (H+h)*K + c; x[at] != fresh[at] {
					t.Errorf("%d classes, base of horizon %d: %v, was %v", len(classes), h, x[at], fresh[at])
				}
			}
		}
	}
}
