package local

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// weighingOf is a weighing of three features: one with a small cap, one without a cap, and one that no record has.
func weighingOf(queries, window int) *weighing {
	const gap = 3
	z := &weighing{s: &structure{plain: limits{cap: []int64{50, noCap, 9}, expected: []int64{20, 700, 5}}},
		places: make([][]int32, 3), base: []float64{.7, .3}, gap: gap, window: window, near: make([]neighbour, 7),
		lifts: make([]float64, 2), losses: make([]float64, queries)}
	n := queries + window + gap
	for i := range n {
		h := model.Hash(5, uint64(i))
		z.class = append(z.class, int32(h>>3&7/5))
		for j := range z.places {
			v := int32(model.Hash(uint64(j), uint64(i)) % 60)
			if j == 2 || v == 7 {
				v = absent
			}
			z.places[j] = append(z.places[j], v)
		}
	}
	for k := range queries {
		z.queries = append(z.queries, window+gap+k)
		sum := make([]int64, window)
		for o := range sum {
			sum[o] = 16*3600 + int64(model.Hash(9, uint64(k), uint64(o))%3000)
		}
		z.sum = append(z.sum, sum)
	}
	return z
}

// TestTryIsTheSearchOfAllRecords: the losses of a trial are those of the nearest of all records, sorted, the newest
// first among equals, whether the weight rises or falls.
func TestTryIsTheSearchOfAllRecords(t *testing.T) {
	z := weighingOf(40, 300)
	lifts := make([]float64, 2)
	for j := range z.places {
		for _, by := range []int64{-16, -12, -1, 0, 1, 48, 240} {
			z.try(j, by)
			for k, i := range z.queries {
				first, end := z.known(i)
				var all []neighbour
				for o := z.window - 1; o >= 0; o-- {
					d := z.sum[k][o] + by*z.term(j, z.places[j][i], z.places[j][first+o])
					all = append(all, neighbour{d, int32(o)})
				}
				slices.SortStableFunc(all, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
				opinion(all[:len(z.near)], z.class[first:end], z.base, lifts)
				y := z.class[i]
				if want := -lifts[y] - math.Log(z.base[y]); z.losses[k] != want {
					t.Fatalf("feature %d by %d, query %d: loss %v, want %v", j, by, k, z.losses[k], want)
				}
			}
		}
	}
}

// BenchmarkTry is a trial of a lower and of a higher weight, of 512 queries.
func BenchmarkTry(b *testing.B) {
	z := weighingOf(weighQueries, weighWindow)
	for b.Loop() {
		z.try(0, -12)
		z.try(0, 16)
	}
}
