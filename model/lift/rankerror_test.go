package lift

import (
	"slices"
	"testing"
)

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
					t.Errorf("seed %d, round %d, set %v: off by %.4f, said to be at most %.4f",
						seed, round, s.Set.features, off, s.RankError)
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
