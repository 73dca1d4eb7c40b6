package lift

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// TestProfilesAgainstEnumeration searches profiles of up to three features beside a plain enumeration, weights,
// missing values and numeric cells included.
func TestProfilesAgainstEnumeration(t *testing.T) {
	for _, equal := range []bool{false, true} {
		ev := generated(300, 17)
		if equal {
			for i := range ev.Weight {
				ev.Weight[i] = 1.5
			}
		}
		for _, top := range []int{5, 25} {
			for _, keep := range []bool{true, false} {
				for _, by := range []ProfileRank{ByLift, ByLower} {
					compareWithEnumeration(t, ev, equal, keep, by, top)
				}
			}
		}
	}
}

func compareWithEnumeration(t *testing.T, ev *model.Evidence, equal, keep bool, by ProfileRank, top int) {
	s := newSample(ev)
	o := testOptions()
	search := newSetSearch(s, &o, nil)
	po := &ProfileOptions{Top: top, MinSupport: .04, MaxFeatures: 3, KeepRedundant: keep, Rank: by}
	m := newMiner(s, s.n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, po)
	if err := m.run(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	var all [3][]*mined
	frequent := 0
	row := make(model.Row, len(ev.Columns))
	positions := make([]int32, len(m.items))
	for i := range positions {
		positions[i] = int32(i)
	}
	for size := 1; size <= 3; size++ {
		for _, at := range combinations(positions, size) {
			var walk func(i int, items []int32)
			walk = func(i int, items []int32) {
				if i < size {
					for c := range m.items[at[i]] {
						walk(i+1, append(slices.Clone(items), int32(c)))
					}
					return
				}
				var n, nx float64
				var ny, nxy [3]float64
				cover := 0
				for r := 0; r < s.n; r++ {
					ev.Row(r, row)
					complete, met := true, true
					for j, p := range at {
						it := &m.items[p][items[j]]
						complete = complete && !math.IsNaN(row[it.Feature])
						met = met && it.meets(row)
					}
					if complete {
						n += s.weight[r]
						ny[s.class[r]] += s.weight[r]
					}
					if met {
						cover++
						nx += s.weight[r]
						nxy[s.class[r]] += s.weight[r]
					}
				}
				if !(nx > .04*n) {
					return
				}
				frequent++
				for y := range all {
					x := &mined{class: int32(y), position: at, item: items, lift: nxy[y] / nx * n / ny[y], nx: nx, cover: cover}
					if x.rank = x.lift; by == ByLower && nxy[y] > 0 {
						low, _ := report.Wilson(nxy[y]/nx, float64(cover))
						x.rank *= low / (nxy[y] / nx)
					}
					if keep || !redundant(x, m.coverWithout) {
						all[y] = append(all[y], x)
					}
				}
			}
			walk(0, nil)
		}
	}
	if (newBitMiner(m) != nil) != equal {
		t.Errorf("equal weights %v: the wrong search", equal)
	}
	count := newMiner(s, s.n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, po)
	count.counting = true
	if err := count.run(context.Background(), 3); err != nil || frequent != count.frequent {
		t.Errorf("keep %v: %d profiles above the support, want %d; %v", keep, count.frequent, frequent, err)
	}
	for y := range all {
		slices.SortFunc(all[y], compareMined)
		for i, x := range m.best[y] {
			w := all[y][i]
			if !slices.Equal(x.position, w.position) || !slices.Equal(x.item, w.item) || x.cover != w.cover ||
				math.Abs(x.lift-w.lift) > 1e-12 || math.Abs(x.rank-w.rank) > 1e-12 {
				t.Fatalf("keep %v by %d class %d rank %d: %+v, want %+v", keep, by, y, i, x, w)
			}
		}
		if len(m.best[y]) != min(top, len(all[y])) {
			t.Errorf("keep %v class %d: %d profiles", keep, y, len(m.best[y]))
		}
	}
}

// TestRedundantProfiles: of tests that cover the same records the fewest are shown, with the number of the others.
func TestRedundantProfiles(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, n := range []string{"a", "copy", "free"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	var rows [][]string
	for i := 0; i < 200; i++ {
		a := []string{"l", "r"}[i%2]
		y := "no"
		if i%2 == 0 && i%3 > 0 {
			y = "yes"
		}
		rows = append(rows, []string{a, a, fmt.Sprint(mix(uint64(i)) % 2), y})
	}
	ev := evidenceOf(s, rows)
	o := testOptions()
	o.Profiles.Of = []int32{1}
	o.Profiles.Top = 100
	shown := func(keep bool) map[string]int {
		o.Profiles.KeepRedundant = keep
		p, _ := fitPart(t, o, ev, nil)
		out := map[string]int{}
		for _, f := range p.Profiles {
			out[f.Text] = f.Refinements
		}
		return out
	}
	drop, keep := shown(false), shown(true)
	if n, ok := drop["a=l"]; !ok || n != 1 {
		t.Errorf("a=l: shown %v, %d refinements, want 1", ok, n)
	}
	if _, ok := drop["a=l & copy=l"]; ok {
		t.Error("a refinement of the same records is shown")
	}
	if _, ok := keep["a=l & copy=l"]; !ok {
		t.Error("a refinement of the same records is dropped against the option")
	}
	if _, ok := drop["a=l & free=1"]; !ok {
		t.Errorf("a refinement of fewer records is dropped: %v", drop)
	}
}

// TestBitmapsHoldTheRecordsOfTheirTests: of few tests and of more than a code of a byte tells apart, with records that
// lack the feature and records of a level that came later than the tests.
func TestBitmapsHoldTheRecordsOfTheirTests(t *testing.T) {
	for _, levels := range []int{1, 5, noTest - 1, noTest, noTest + 50} {
		s := &model.Schema{Classes: []string{"no", "yes", "none", "few"}, Positive: 1,
			Features: []model.Feature{{Name: "a", Kind: model.Nominal}}}
		var rows [][]string
		for i := range 1300 {
			class := s.Classes[i%2]
			if i%100 == 7 {
				class = "few"
			}
			rows = append(rows, []string{fmt.Sprint("level ", i*i%levels), class})
		}
		ev := evidenceOf(s, rows)
		sample := newSample(ev)
		m := newMiner(sample, sample.n, ev.Levels, nil, &ProfileOptions{Top: 5, MinSupport: .01})
		m.missing[0] = true
		for i := 0; i < len(rows); i += 9 {
			m.item[0][i] = -1
		}
		for i := 4; i < len(rows); i += 13 {
			m.item[0][i] = int32(len(m.items[0]))
		}
		b := newBitMiner(m)
		if b == nil {
			t.Fatalf("%d levels: no bitmaps", levels)
		}
		for y := range s.Classes {
			tests, complete := make([]int, len(m.items[0])), 0
			for i, c := range m.item[0] {
				if int(m.class[i]) == y && c >= 0 {
					complete++
					if int(c) < len(tests) {
						tests[c]++
					}
				}
			}
			from, to := b.from[y], b.from[y+1]
			if got := ones(b.complete[0][from:to]); got != complete {
				t.Errorf("%d levels, class %d: %d records have the feature, want %d", levels, y, got, complete)
			}
			for c, want := range tests {
				if got := ones(b.bit[c][from:to]); got != want {
					t.Errorf("%d levels, class %d: %d records of test %d, want %d", levels, y, got, c, want)
				}
			}
		}
	}
}
