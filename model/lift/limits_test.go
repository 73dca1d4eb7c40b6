package lift

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestWhatIsHeldBack: the newest share of the records, where that is 50 or more; else nothing is validated.
func TestWhatIsHeldBack(t *testing.T) {
	for n, validated := range map[int]int{249: 0, 250: 50, 251: 50, 260: 52} {
		o := testOptions()
		p, _ := fitPart(t, o, generated(n, 3), nil)
		if len(p.Profiles) == 0 {
			t.Fatalf("%d records: no profile", n)
		}
		for _, f := range p.Profiles {
			low, _ := f.ValidatedInterval()
			if validated == 0 && (f.Among != 0 || f.Q == f.Q || f.Validation != Tally{} || low == low || f.Confirmed()) ||
				validated > 0 && (f.Among != len(p.Profiles) || !(f.Q >= 0 && f.Q <= 1) || f.Validation.N > 3*float64(validated)) {
				t.Errorf("%d records: among %d of %d, q %v, %+v", n, f.Among, len(p.Profiles), f.Q, f.Validation)
			}
		}
	}
}

// TestTheDepthOfProfiles that can be afforded: a single feature always can.
func TestTheDepthOfProfiles(t *testing.T) {
	for _, c := range []struct {
		features, n, wanted int
		most                float64
		want                int
	}{
		{10, 5000, 3, 10 * 5000, 1}, {10, 5000, 3, 55 * 5000, 2}, {10, 5000, 3, 55*5000 - 1, 1}, {10, 5000, 3, 175 * 5000, 3},
		{10, 5000, 3, 1, 1}, {10, 10, 2, 55 * leastVisits, 2}, {10, 10, 2, 54 * leastVisits, 1}, {2, 5000, 5, 1e9, 5},
	} {
		if got := affordableDepth(c.features, c.n, c.wanted, c.most); got != c.want {
			t.Errorf("%+v: %d features", c, got)
		}
	}
}

// TestAFitThatLacksWorkLeavesFeaturesOut: sets, windows, profiles and entered sets are of the strongest ones alone.
func TestAFitThatLacksWorkLeavesFeaturesOut(t *testing.T) {
	ev := generated(1500, 8)
	o := testOptions()
	s := newSample(ev)
	f := New(o, ev.Schema)
	ev.Work = int64(f.steps(s, 3))
	s = newSample(ev) // whose visits follow the work
	n, err := ev.Afford(len(s.fields), func(n int) float64 { return f.steps(s, n) })
	if err != nil || n >= len(s.fields) || n < 2 {
		t.Fatalf("%d of %d features can be afforded, %v", n, len(s.fields), err)
	}
	strong, err := ev.Strongest(context.Background(), s.fields, n)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := fitPart(t, o, ev, nil)
	seen := map[int32]bool{}
	for i := range p.Sets {
		for _, x := range p.Sets[i].Set.features {
			seen[x] = true
		}
	}
	for _, w := range p.Windows {
		for _, x := range w.Set.features {
			seen[x] = true
		}
	}
	for _, x := range p.Profiles {
		for _, it := range x.Items {
			seen[it.Feature] = true
		}
	}
	for x := range seen {
		if !slices.Contains(strong, x) {
			t.Errorf("feature %d is not among the strongest %v", x, strong)
		}
	}
	if len(seen) != n {
		t.Errorf("%d features are looked at, want %d", len(seen), n)
	}
}

// TestAFeatureWithADirectionEntersNoSet: the values of a set need not move one way.
func TestAFeatureWithADirectionEntersNoSet(t *testing.T) {
	sign := func(x float64) float64 { return math.Copysign(1, x-.5) }
	ev := mixed(8000, 1, func(v []float64) float64 { return -.5 + 1.2*sign(v[0])*sign(v[1]) })
	for positive, entered := range map[int]bool{1: false, -1: true} {
		ev.Schema.Features[0].Monotone, ev.Schema.Positive = model.Up, positive
		got, err := enter(context.Background(), newSample(ev))
		if err != nil {
			t.Fatal(err)
		}
		has := slices.ContainsFunc(got, func(e *Entered) bool { return slices.Contains(e.Set.features, 0) })
		if has != entered {
			t.Errorf("positive %d: a set with the directed feature enters: %v", positive, has)
		}
	}
}

// TestWeightsAreBounded in the counts, as everywhere, and those of weight zero and of no class count nothing.
func TestWeightsAreBounded(t *testing.T) {
	ev := generated(300, 4)
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 5, nil)
	ex := exampleOf(ev, slices.IndexFunc(ev.Columns[0], func(v float64) bool { return v == v }))
	at := slices.IndexFunc(c.sets, func(s liveSet) bool { return slices.Equal(s.set.features, []int32{0}) })
	for weight, want := range map[float64]float64{2.5: 2.5, model.MaxWeight: model.MaxWeight, 1e300: model.MaxWeight, 0: 0,
		-1: 0} {
		ex.Weight = weight
		before := c.Live()[at].Table
		c.Learn(ex)
		after := c.Live()[at].Table
		x := c.sets[at].set.Cell(ex.Row)*3 + int(ex.Class)
		if got := after.n[x] - before.n[x]; got != want {
			t.Errorf("a record of weight %v counts %v, want %v", weight, got, want)
		}
		c.Retract(ex)
	}
}

// TestOneEstimateAmongTheOthers marks the counts of all, wherever its partition stands.
func TestOneEstimateAmongTheOthers(t *testing.T) {
	s, _, p := handMade()
	for _, shares := range [][]bool{{true, false, false}, {false, true, false}, {false, false, true}} {
		p.Sets = p.Sets[:1]
		p.Sets[0].Shares = nil
		for n, estimated := range shares {
			p.Sets[0].Shares = append(p.Sets[0].Shares, Share{int32(n), NewTable(2), estimated})
		}
		for self := range int32(4) {
			c := New(testOptions(), s).New(nil).(*Component)
			rb := &model.Rebase{Part: p.appendBinary(nil), Self: self, Since: func(func(*model.Example) bool) {}}
			if err := c.Rebase(rb); err != nil {
				t.Fatal(err)
			}
			if !c.Live()[0].Estimated || c.sets[0].estimated != (self < 3 && shares[self]) {
				t.Errorf("estimates %v, partition %d: live %v, own %v", shares, self, c.Live()[0].Estimated, c.sets[0].estimated)
			}
		}
	}
}

// TestFoldedProfilesAreCountedAtTheBetterOne: a profile goes to the first shown one with which it shares more than half
// of the records in either, and profiles beyond the list that overlap none are left out.
func TestFoldedProfilesAreCountedAtTheBetterOne(t *testing.T) {
	ev := generated(900, 12)
	for i := range ev.Weight {
		ev.Weight[i] = 1
	}
	for _, unequal := range []bool{false, true} { // the two searches have masks of their own
		if unequal {
			ev.Weight[7] = 2
		}
		o := testOptions()
		o.Profiles.Top = 40
		m := minerOf(ev, &o)
		if err := m.run(context.Background(), 2); err != nil {
			t.Fatal(err)
		}
		elsewhere := 0
		for y, found := range m.best {
			covers := func(x *mined) (in []bool) {
				for r := range ev.Class {
					in = append(in, m.covers(x, r, -1))
				}
				return in
			}
			const most = 6
			var want []folded
			var sets [][]bool
			for _, x := range found {
				in := covers(x)
				at := overlapping(sets, in)
				if at >= 0 {
					want[at].folded++
					if at > 0 {
						elsewhere++
					}
				} else if len(want) < most {
					want, sets = append(want, folded{x, 0}), append(sets, in)
				}
			}
			if got := m.fold(found, most); !slices.Equal(got, want) {
				t.Errorf("class %d: folded %+v, want %+v", y, got, want)
			}
			m.keep = true
			if got := m.fold(found, most); len(got) != most || got[most-1] != (folded{found[most-1], 0}) {
				t.Errorf("class %d: a miner that keeps all folds %+v", y, got)
			}
			m.keep = false
		}
		if elsewhere == 0 {
			t.Error("every profile goes to the first: the test would say nothing")
		}
	}
}

// TestEveryOtherRecordStandsForTwo where an entering set looks at half of the records: the fit says so, for a record
// that is left out is one of two of its kind.
func TestEveryOtherRecordStandsForTwo(t *testing.T) {
	sign := func(x float64) float64 { return math.Copysign(1, x-.5) }
	odds := func(v []float64) float64 { return 1.2 * sign(v[0]) * sign(v[1]) }
	for n, stride := range map[int]float64{4000: 1, enterRecords + 2: 2} {
		ev := mixed(n, 1, odds)
		ev.Schema.Features, ev.Columns = ev.Schema.Features[:2], ev.Columns[:2]
		got, err := enter(context.Background(), newSample(ev))
		if err != nil || len(got) == 0 {
			t.Fatal(err, len(got))
		}
		if got[0].Fit.Unit != 1/stride {
			t.Errorf("%d records: the unit is %v, want %v", n, got[0].Fit.Unit, 1/stride)
		}
	}
}

// TestCandidatesOfTheValidatedRank: four times as many as are shown are validated, and the figures account for all.
func TestCandidatesOfTheValidatedRank(t *testing.T) {
	ev := generated(1500, 13)
	for _, keep := range []bool{false, true} {
		o := testOptions()
		o.Profiles.Rank, o.Profiles.Top, o.Profiles.KeepRedundant, o.Profiles.Of = ByValidated, 2, keep, []int32{2}
		p, _ := fitPart(t, o, ev, nil)
		if len(p.Profiles) != 2 {
			t.Fatalf("keep %v: %d profiles", keep, len(p.Profiles))
		}
		last := math.Inf(1)
		for _, f := range p.Profiles {
			low, _ := f.ValidatedInterval()
			if f.Among != 2*candidatePool || low > last || f.Class != 2 {
				t.Errorf("keep %v: class %d, among %d, validated from %v behind %v", keep, f.Class, f.Among, low, last)
			}
			last = low
		}
	}
}

// TestAFractionOfARecordNarrowsNoInterval: the exact interval of seven and a half records reaches down as that of seven
// and up as that of eight.
func TestAFractionOfARecordNarrowsNoInterval(t *testing.T) {
	low, high := exactLiftInterval(7.5, 20, 30, 100, 1, .05)
	least, _ := exactLiftInterval(7, 20, 30, 100, 1, .05)
	_, most := exactLiftInterval(8, 20, 30, 100, 1, .05)
	near(t, "low", low, least, 1e-9)
	near(t, "high", high, most, 1e-9)
	if again, top := exactLiftInterval(15, 40, 60, 200, .5, .05); again != low || top != high {
		t.Errorf("counts of twice the records at half the effect: %v to %v, want %v to %v", again, top, low, high)
	}
}

// TestCutsGoWhereACellIsTooHeavy: the entropy of five cells falls by a hundredth where one is 29 % too heavy.
func TestCutsGoWhereACellIsTooHeavy(t *testing.T) {
	const n = 5000
	ev := &model.Evidence{Schema: &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"a", "b"}},
		Columns: make([][]float64, 1), Class: make([]int32, n)}
	for i := range n {
		ev.Columns[0], ev.Weight = append(ev.Columns[0], float64(i)), append(ev.Weight, 1)
	}
	o := testOptions()
	s := newSetSearch(newSample(ev), &o, nil)
	fresh := s.define([]int32{0})
	for heavy, want := range map[float64]bool{1: true, 1.25: true, 1.32: false, 2: false, .75: true, .6: false} {
		first := heavy * n / 5
		serving := part{features: []int32{0}}
		for k := range 4 {
			serving.cuts = append(serving.cuts, first+float64(k)*(n-first)/4-.5)
		}
		if got := s.adequate([]int32{0}, &serving, &fresh.parts[0]); got != want {
			t.Errorf("a cell of %v times its mass: the cuts stay %v", heavy, got)
		}
	}
}

// TestTheSetsOfAModelStandInItsOrder after a rebase, whether they keep their counts or are new; counts of others are
// those of all other partitions.
func TestTheSetsOfAModelStandInItsOrder(t *testing.T) {
	s, _, p := handMade()
	age, both := p.Sets[0], p.Sets[1]
	job := PartSet{Set: newSet(s, []int32{1}, Product, nil)}
	count := func(cell, class int, n float64) *Table {
		t := NewTable(2)
		t.add(cell, class, 1, n)
		return t
	}
	c := New(testOptions(), s).New(nil).(*Component)
	rebase := func(sets []PartSet, since ...*model.Example) {
		t.Helper()
		part := &Part{Rank: p.Rank, Sets: sets}
		rb := &model.Rebase{Part: part.appendBinary(nil), Self: 1, Since: func(yield func(*model.Example) bool) {
			for _, ex := range since {
				if !yield(ex) {
					return
				}
			}
		}}
		if err := c.Rebase(rb); err != nil {
			t.Fatal(err)
		}
	}
	age.Shares, job.Shares = nil, nil
	rebase([]PartSet{age, job})
	row := model.Row{35, 1, 0}
	c.Learn(&model.Example{Row: row, Class: 1, Weight: 2})
	age.Shares = []Share{{Partition: 0, Table: count(0, 0, 10)}, {Partition: 1, Table: count(1, 1, 500)},
		{Partition: 2, Table: count(0, 0, 7)}, {Partition: 3, Table: count(2, 1, 5)}}
	both.Shares = []Share{{Partition: 0, Table: count(0, 0, 3)}, {Partition: 1, Table: count(1, 0, 4)}}
	rebase([]PartSet{both, age, job}, &model.Example{Row: row, Class: 0, Weight: 1})
	want := []struct {
		set    *Set
		counts map[int]float64
	}{
		// The new set begins with the share of its partition and learns the records since; the others keep their own.
		{both.Set, map[int]float64{0: 3, 2: 4 + 1}}, {age.Set, map[int]float64{0: 17, 3: 2, 5: 5}},
		{job.Set, map[int]float64{3: 2}},
	}
	live := c.Live()
	if len(live) != len(want) {
		t.Fatalf("%d sets", len(live))
	}
	for i, w := range want {
		if !live[i].Set.equal(w.set) {
			t.Errorf("set %d is of the features %v, want %v", i, live[i].Set.features, w.set.features)
			continue
		}
		for k, v := range live[i].Table.n {
			if v != w.counts[k] {
				t.Errorf("features %v: counts %v, want %v", w.set.features, live[i].Table.n, w.counts)
				break
			}
		}
	}
	// A state takes the place of the one before it.
	other := New(testOptions(), s).New(nil).(*Component)
	state := c.AppendState(nil)
	for range 2 {
		if err := other.LoadState(state); err != nil || string(other.AppendState(nil)) != string(state) {
			t.Fatalf("a state over another one: %v", err)
		}
	}
}

// TestInputsSayNothingWhereAFeatureIsMissing, and overwrite the caller's memory.
func TestInputsSayNothingWhereAFeatureIsMissing(t *testing.T) {
	s, _, p := handMade()
	e := p.Entered[0]
	e.Value = []float64{-.1, .1, -.3, .3}
	e.Fit = EnteredFit{Unit: 1, Shrink: 1, Cells: []float64{50, .4, .2, 60, .5, .25}}
	c := New(testOptions(), s).New(nil).(*Component)
	rb := &model.Rebase{Part: p.appendBinary(nil), Since: func(func(*model.Example) bool) {}}
	if err := c.Rebase(rb); err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for _, x := range []struct {
		row  model.Row
		want []float64
		left float64 // log-odds of the second class without a record of it, of weight 2
	}{
		{model.Row{20, 0, 0}, []float64{-.1, .1}, (.2*50 + 2*(.4-1)) / (50 - 2*.2)}, {model.Row{nan, 0, 0}, []float64{0, 0},
			0},
		{model.Row{20, 0, nan}, []float64{0, 0}, 0}, {model.Row{40, 0, 2}, []float64{0, 0}, 0}, // a cell without a value
	} {
		dst := []float64{7, 8}
		if c.Inputs(x.row, dst); !slices.Equal(dst, x.want) {
			t.Errorf("row %v: inputs %v, want %v", x.row, dst, x.want)
		}
		dst = []float64{7, 8}
		c.InputsWithout(&model.Example{Row: x.row, Class: 1, Weight: 2}, dst)
		near(t, "log-odds without the record", dst[1]-dst[0], x.left, 1e-15)
		near(t, "sum over the classes", dst[1]+dst[0], 0, 1e-15)
	}
}

// overlapping returns the first of the sets of records that shares more than half of its union with another one, -1 =
// none.
func overlapping(sets [][]bool, in []bool) int {
	return slices.IndexFunc(sets, func(o []bool) bool {
		both, either := 0., 0.
		for r := range o {
			if o[r] && in[r] {
				both++
			}
			if o[r] || in[r] {
				either++
			}
		}
		return both/either > .5
	})
}
