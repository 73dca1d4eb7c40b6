package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRankingIsTheStableOrder: each place is that of a stable sort by the size of effects, however many are asked for.
func TestRankingIsTheStableOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	var got ranking
	for round := range 500 {
		reasons := make([]Reason, 1+r.IntN(40))
		for i := range reasons {
			reasons[i] = Reason{Feature: int32(i), Effect: float64(r.IntN(9) - 4)} // many are equal
		}
		want := slices.Clone(reasons)
		slices.SortStableFunc(want, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect)) })
		got.start(reasons)
		for _, k := range []int{0, r.IntN(len(want)), 0, len(want) - 1} {
			if x := got.place(k); x.at != want[k].Feature || x.size != math.Abs(want[k].Effect) {
				t.Fatalf("round %d: reason %d at place %d of %d, want %d", round, x.at, k, len(want), want[k].Feature)
			}
		}
	}
}
