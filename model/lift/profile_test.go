package lift

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
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
						x.rank *= wilsonLower(nxy[y]/nx, float64(cover)) / (nxy[y] / nx)
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
			if !slices.Equal(x.position, w.position) || !slices.Equal(x.item, w.item) || math.Abs(x.lift-w.lift) > 1e-12 || math.Abs(x.rank-w.rank) > 1e-12 || x.cover != w.cover {
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

// TestValidation: the newer fifth is never looked at by the search; a profile that holds only before it is in no score.
func TestValidation(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, n := range []string{"old", "steady", "new"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	var rows [][]string
	const n = 2000
	for i := 0; i < n; i++ {
		bit := func(k uint64) bool { return mix(uint64(i)*8+k)%4 == 0 }
		old, steady, fresh := bit(1), bit(2), bit(3)
		p := uint64(10)
		if old && i < n*8/10 {
			p = 80
		}
		if steady {
			p = max(p, 60)
		}
		if fresh && i >= n*8/10 {
			p = 90
		}
		y := "no"
		if mix(uint64(i)*8+4)%100 < p {
			y = "yes"
		}
		rows = append(rows, []string{fmt.Sprint(old), fmt.Sprint(steady), fmt.Sprint(fresh), y})
	}
	ev := evidenceOf(s, rows)
	o := testOptions()
	o.Profiles.Of, o.Profiles.MaxFeatures, o.Profiles.Top = []int32{1}, 1, 2
	p, b := fitPart(t, o, ev, nil)
	// The order is that of the searched records, and does not look at the held-back ones.
	if len(p.Profiles) != 2 || p.Profiles[0].Text != "old=true" || p.Profiles[1].Text != "steady=true" {
		t.Fatalf("profiles %q and %q", p.Profiles[0].Text, p.Profiles[1].Text)
	}
	old, steady := p.Profiles[0], p.Profiles[1]
	if steady.Tally.Lift() >= old.Tally.Lift() {
		t.Error("the test needs a profile that shines on all the evidence")
	}
	if steady.Validation.N != n/5 || old.Q < .2 || steady.Q > .01 || old.Confirmed() || !steady.Confirmed() || old.Among != 2 {
		t.Errorf("validated on %v, q %v and %v, among %d", steady.Validation.N, steady.Q, old.Q, old.Among)
	}
	c := serve(t, o, ev, b, 0, nil)
	yes := func(v ...string) (row model.Row) {
		for f, x := range v {
			row = append(row, float64(ev.Levels.Code(f, x)))
		}
		return row
	}
	if text, lift := c.Profile(yes("true", "true", "false"), 1); text != "steady=true" || lift != steady.Validation.Lift() {
		t.Errorf("met %q of lift %v", text, lift)
	}
	for _, row := range []model.Row{yes("true", "false", "false"), yes("false", "false", "true")} {
		if text, lift := c.Profile(row, 1); text != "" || !math.IsNaN(lift) {
			t.Errorf("met %q of lift %v, which no later record bore out", text, lift)
		}
	}
	for _, class := range []int32{-1, 0, 2} {
		if text, _ := c.Profile(yes("true", "true", "true"), class); text != "" {
			t.Errorf("class %d: met %q", class, text)
		}
	}
}

// TestNoValidation: a search of all records finds what Mine does, validates nothing, and no score carries a profile.
func TestNoValidation(t *testing.T) {
	ev := generated(2000, 3)
	o := testOptions()
	o.Profiles.Validate, o.Profiles.KeepRedundant = 0, true
	p, b := fitPart(t, o, ev, nil)
	mined, err := Mine(context.Background(), ev, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Profiles) == 0 || len(p.Profiles) != len(mined) {
		t.Fatalf("%d profiles, want %d", len(p.Profiles), len(mined))
	}
	c := serve(t, o, ev, b, 0, nil)
	row := make(model.Row, len(ev.Columns))
	for i, f := range p.Profiles {
		if low, high := f.ValidatedInterval(); f.Text != mined[i].Text || f.Tally != mined[i].Tally || f.Q == f.Q || f.Among != 0 || low == low || high == high {
			t.Errorf("profile %d: %+v, want %+v", i, f, mined[i])
		}
	}
	for i := range ev.Class {
		ev.Row(i, row)
		for y := range ev.Schema.Classes {
			if text, _ := c.Profile(row, int32(y)); text != "" {
				t.Fatalf("record %d carries %q", i, text)
			}
		}
	}
}

func TestFisherAndFalseDiscovery(t *testing.T) {
	// scipy.stats.fisher_exact([[8, 2], [1, 5]], alternative="greater"): 0.024475524475524
	near(t, "fisher", (&Tally{N: 16, NX: 10, NXY: 8, NY: 9, Effective: 10}).fisher(), 0.02447552447552447, 1e-12)
	near(t, "all covered", (&Tally{N: 16, NX: 16, NXY: 9, NY: 9, Effective: 16}).fisher(), 1, 1e-9)
	near(t, "no data", (&Tally{}).fisher(), 1, 0)
	// p.adjust(c(.01, .04, .03, .5), "BH")
	for i, want := range []float64{.04, .16 / 3, .16 / 3, .5} {
		near(t, "q", benjaminiHochberg([]float64{.01, .04, .03, .5})[i], want, 1e-12)
	}
}

func TestTexts(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "age"}, {Name: "job", Kind: model.Nominal, Levels: []string{"admin"}}}}
	l := model.NewLevels(s)
	for want, it := range map[string]Item{
		"age in (30, 35]":           {Feature: 0, Level: -1, Low: 30, High: 35},
		"age in (-inf, 0.25]":       {Feature: 0, Level: -1, Low: math.Inf(-1), High: .25},
		"age in (1000000, inf)":     {Feature: 0, Level: -1, Low: 1e6, High: math.Inf(1)},
		"age in (0.3333333, 1e+20]": {Feature: 0, Level: -1, Low: 1.0 / 3, High: 1e20},
		"job=admin":                 {Feature: 1},
	} {
		if got := it.text(s, l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
