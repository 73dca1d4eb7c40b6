package lift

import (
	"slices"
	"testing"
)

func TestQuantileCuts(t *testing.T) {
	values := func(v ...float64) (w []weighted) {
		for _, x := range v {
			w = append(w, weighted{x, 1})
		}
		return w
	}
	for _, c := range []struct {
		name string
		v    []weighted
		k    int
		want []float64
	}{
		{"type 7", values(5, 1, 4, 2, 3, 6), 4, []float64{2.25, 3.5, 4.75}}, // numpy.quantile([1..6], [.25, .5, .75])
		{"ties", values(1, 1, 1, 1, 1, 2, 3), 5, []float64{1, 1.8}},
		{"constant", values(2, 2, 2), 5, nil},
		{"one", values(7), 5, nil},
		{"none", nil, 5, nil},
		{"no cell", values(1, 2, 3), 1, nil},
	} {
		got := quantileCuts(c.v, c.k)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			near(t, c.name, got[i], c.want[i], 1e-14)
		}
	}
	// Weights barely off equal give nearly the unweighted cuts, so the two formulas agree where they meet.
	var a, b []weighted
	for i := 0; i < 101; i++ {
		x := float64(mix(uint64(i)) % 1000)
		a = append(a, weighted{x, 2})
		b = append(b, weighted{x, 2 + 1e-9*float64(i%2)})
	}
	x, y := quantileCuts(a, 5), quantileCuts(b, 5)
	if len(x) != 4 || len(y) != 4 {
		t.Fatalf("cuts %v and %v", x, y)
	}
	for i := range x {
		near(t, "weighted", y[i], x[i], 1e-5)
	}
}

func TestSelectRanksIsSorting(t *testing.T) {
	for n := 1; n < 3000; n = n*3/2 + 1 {
		for _, distinct := range []uint64{1, 3, 1 << 40} {
			for _, depth := range []int{0, 2, 40} {
				v, ranks := make([]float64, n), []int{}
				for i := range v {
					v[i] = float64(mix(uint64(n*7+i)) % distinct)
				}
				for i := 0; i < 9; i++ {
					ranks = append(ranks, int(mix(uint64(i*n))%uint64(n)))
				}
				want := slices.Clone(v)
				slices.Sort(want)
				slices.Sort(ranks)
				ranks = slices.Compact(ranks)
				selectRanks(v, 0, ranks, depth)
				for _, r := range ranks {
					if v[r] != want[r] {
						t.Fatalf("n %d distinct %d depth %d: rank %d is %v, want %v", n, distinct, depth, r, v[r], want[r])
					}
				}
				slices.Sort(v)
				if !slices.Equal(v, want) {
					t.Fatalf("n %d: elements were lost", n)
				}
			}
		}
	}
}

func TestCellsAreRightClosed(t *testing.T) {
	cuts := []float64{1, 2, 3}
	for v, want := range map[float64]int32{0: 0, 1: 0, 1.5: 1, 2: 1, 3: 2, 3.1: 3} {
		if got := cellOf(cuts, v); got != want {
			t.Errorf("cell of %v is %d, want %d", v, got, want)
		}
	}
	long := make([]float64, 40)
	for i := range long {
		long[i] = float64(i)
	}
	for v, want := range map[float64]int32{-1: 0, 0: 0, .5: 1, 17: 17, 17.5: 18, 39: 39, 50: 40} {
		if got := cellOf(long, v); got != want {
			t.Errorf("cell of %v among 40 cuts is %d, want %d", v, got, want)
		}
	}
}
