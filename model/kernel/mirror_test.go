package kernel

import (
	"math"
	"testing"
)

// TestDirectionsLookAtBothPointsOfThePair: (i, j, k) and (j, i, k) are the same comparison.
func TestDirectionsLookAtBothPointsOfThePair(t *testing.T) {
	const n = 30
	p := &points{z: [][]float64{make([]float64, n), make([]float64, n)}, n: n}
	var triples, turned [][3]int32
	for i := range n {
		p.z[0][i], p.z[1][i] = unit(1, i, 1), unit(1, i, 2)
	}
	for i := int32(0); i < n; i += 3 {
		triples = append(triples, [3]int32{i, i + 1, i + 2})
		turned = append(turned, [3]int32{i + 1, i, i + 2})
	}
	a, b := directions(p, []int32{0, 1}, triples), directions(p, []int32{0, 1}, turned)
	if len(a) != 2 || len(b) != 2 {
		t.Fatalf("%d and %d directions", len(a), len(b))
	}
	for k := range a {
		for f := range a[k].weights {
			if v, w := a[k].weights[f], b[k].weights[f]; math.Abs(v-w) > 1e-9 {
				t.Errorf("direction %d, feature %d: weights %v and %v", k, f, v, w)
			}
		}
	}
}
