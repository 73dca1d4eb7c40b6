package local

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestNested: a higher threshold selects a prefix; a twin is not the next pick, and under Max never enters.
func TestNested(t *testing.T) {
	const m = 20
	for seed := range uint64(50) {
		columns := make([][]float64, m)
		d := make([]float64, m)
		for j := range columns {
			d[j] = float64(model.Hash(seed, uint64(j), 9) % 1000)
			columns[j] = make([]float64, 200)
			for i := range columns[j] {
				own, common := model.Hash(seed, uint64(i), uint64(j))%1000, model.Hash(seed, uint64(i))%1000
				columns[j][i] = float64(own) + float64(common)*float64(j%3)
			}
		}
		columns[m-1] = columns[0]
		d[m-1], d[0], d[5] = 999, 999, math.NaN()
		rho := correlations(columns)
		penalty := make([]float64, m)
		for _, how := range []Redundancy{Mean, Max} {
			var last []int32
			for _, theta := range []float64{.9, .55, .4, .25, .1, .01} {
				got, scores := greedy(d, rho, theta, how, penalty, make([]float64, len(d)), nil, nil)
				if len(got) < len(last) || !slices.Equal(got[:len(last)], last) {
					t.Fatalf("theta %v selects %v, a higher one %v", theta, got, last)
				}
				for i, s := range scores {
					if float64(s) < theta-1e-6 {
						t.Fatalf("feature %d of score %v at theta %v", got[i], s, theta)
					}
				}
				if slices.Contains(got, 5) {
					t.Fatal("a feature that is no candidate is selected")
				}
				if got[0] != 0 || len(got) > 1 && got[1] == m-1 {
					t.Fatalf("selected %v", got)
				}
				if how == Max && slices.Contains(got, m-1) {
					t.Fatal("a twin is selected")
				}
				last = got
			}
		}
	}
	penalty, rel := make([]float64, 3), make([]float64, 3)
	none := correlations(make([][]float64, 3))
	if f, _ := greedy([]float64{0, 0, math.NaN()}, none, 0, Mean, penalty, rel, nil, nil); len(f) != 0 {
		t.Errorf("nothing diverges, and %v is selected", f)
	}
}
