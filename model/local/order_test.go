package local

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// crossed returns leveled records whose class depends on the parity of their first two values together.
func crossed(n, features int) (*model.Schema, []model.Example) {
	s, ex := leveled(n, features, false)
	for i := range ex {
		p := uint64(15)
		if (int(ex[i].Row[0])+int(ex[i].Row[1]))%2 == 1 {
			p = 60
		}
		ex[i].Class = 0
		if model.Hash(2, uint64(i))%100 < p {
			ex[i].Class = 1
		}
	}
	return s, ex
}

// TestSubspacesDoNotFollowTheOrderOfPrototypes: where records are equal or equally far, the published subspace and its
// relevance are those of all of them, in any order.
func TestSubspacesDoNotFollowTheOrderOfPrototypes(t *testing.T) {
	for _, features := range []int{2, 3, 4} {
		s, ex := crossed(1000, features)
		o := Options{Theta: 0, Prototypes: 1000}
		c := fit(t, o, s, evidence(s, ex))
		for _, x := range []struct {
			name  string
			order func(a, b model.Example) int
		}{
			{"by class", func(a, b model.Example) int { return cmp.Compare(a.Class, b.Class) }},
			{"backwards", func(a, b model.Example) int { return cmp.Compare(b.Clock, a.Clock) }},
			{"by value", func(a, b model.Example) int { return slices.Compare(a.Row, b.Row) }},
		} {
			sorted := slices.Clone(ex)
			slices.SortStableFunc(sorted, x.order)
			for i := range sorted {
				sorted[i].Clock = float64(i)
			}
			by := fit(t, o, s, evidence(s, sorted))
			beside := 0
			for i := range ex {
				got, want := by.Explain(ex[i].Row, nil), c.Explain(ex[i].Row, nil)
				for j := range want {
					if want[j].Beside > 0 {
						beside++
					}
					if g, w := got[j], want[j]; g.Rank != w.Rank || math.Abs(g.Beside-w.Beside) > 1e-9 ||
						math.Abs(g.Relevance-w.Relevance) > 1e-9 {
						t.Fatalf("%d features, %s: record %v: %+v, want %+v", features, x.name, ex[i].Row, g, w)
					}
				}
			}
			if beside < 100 {
				t.Errorf("%d features: %d times one tells beside the others", features, beside)
			}
		}
	}
}
