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

// TestCutsKeepTheirRankError: cut points of a sample, single and joint, and cut points that an earlier model left, are
// by rank among all records as near to their quantiles as the part says.
func TestCutsKeepTheirRankError(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	o := testOptions()
	o.Profiles.Top, o.Windows.Top = 0, 0
	worst := 0.0
	for seed := range seeds {
		all := generated(6000, 50+seed)
		sampled := picked(all, slices.DeleteFunc(shuffled(6000, seed), func(i int) bool { return i >= 5000 })[:800])
		for i := 5000; i < 6000; i++ { // and all of the newest
			for f := range sampled.Columns {
				sampled.Columns[f] = append(sampled.Columns[f], all.Columns[f][i])
			}
			sampled.Class, sampled.Weight = append(sampled.Class, all.Class[i]), append(sampled.Weight, 1)
			sampled.Partition = append(sampled.Partition, 0)
		}
		for i := range sampled.Weight {
			sampled.Weight[i] = 1
			if i < 800 {
				sampled.Weight[i] = 5000. / 800
			}
		}
		for i := range all.Weight {
			all.Weight[i] = 1
		}
		sampled.Recent, sampled.Sampled = 800, map[int32]bool{0: true}
		var previous []byte
		for round := range 2 { // the second keeps the cuts of other records
			p, _ := fitPart(t, o, sampled, previous)
			truth := newSetSearch(newSample(all), &o, nil)
			for _, s := range p.Sets {
				off := 0.0
				for i := range s.Set.parts {
					off = max(off, truth.offset(s.Set.features, &s.Set.parts[i]))
				}
				if (len(s.Set.parts) > 0) != (s.RankError > 0) {
					t.Fatalf("set %v: rank error %v", s.Set.features, s.RankError)
				}
				if off > s.RankError {
					t.Errorf("seed %d, round %d, set %v: off by %.4f, said to be at most %.4f", seed, round, s.Set.features, off, s.RankError)
				}
				if s.RankError > 0 {
					worst = max(worst, off/s.RankError)
				}
			}
			earlier := generated(500, 90+seed)
			_, previous = fitPart(t, o, earlier, nil)
		}
	}
	t.Logf("at most %.2f of the bound", worst)
	exact, _ := fitPart(t, o, generated(1000, 3), nil)
	for _, s := range exact.Sets {
		if s.RankError != 0 {
			t.Errorf("set %v of all records: rank error %v", s.Set.features, s.RankError)
		}
	}
}
