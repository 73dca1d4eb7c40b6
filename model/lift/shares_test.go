package lift

import (
	"slices"
	"testing"

	"liftstream/model"
)

func TestACloneThatIsChangedLeavesTheOriginal(t *testing.T) {
	table := NewTable(3)
	for _, x := range stream(100, 3) {
		table.add(x.cell, x.class, 1, x.weight)
	}
	was := string(appendTable(nil, table))
	c := table.Clone()
	c.add(0, 1, 1, 2)
	if string(appendTable(nil, table)) != was {
		t.Error("the original changes with its clone")
	}
}

// halves gives every other record to partition 1.
func halves(ev *model.Evidence) {
	for i := range ev.Partition {
		ev.Partition[i] = int32(i % 2)
	}
}

// TestLiveCountsAreReadWithoutChangingThem: counts of one partition beside those of another are the same each time, and
// together those of all records.
func TestLiveCountsAreReadWithoutChangingThem(t *testing.T) {
	ev := generated(600, 4)
	halves(ev)
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	was := string(c.AppendState(nil))
	first := c.Live()
	for i, again := range c.Live() {
		if !slices.Equal(again.Table.Counts(), first[i].Table.Counts()) {
			t.Errorf("features %v: counts %v, then %v", again.Set.Features(), first[i].Table.Counts(), again.Table.Counts())
		}
		whole := NewTable(len(ev.Schema.Classes))
		row := make(model.Row, len(ev.Columns))
		for k := range ev.Class {
			ev.Row(k, row)
			if x := again.Set.Cell(row); x >= 0 {
				whole.add(x, int(ev.Class[k]), 1, ev.Weight[k])
			}
		}
		if string(appendTable(nil, again.Table)) != string(appendTable(nil, whole)) {
			t.Errorf("features %v: live counts are not those of all records", again.Set.Features())
		}
	}
	if string(c.AppendState(nil)) != was {
		t.Error("reading the counts has changed the state")
	}
}

// TestKeptCountsStayEstimatesOrNot: a set that keeps its counts when a new model comes keeps their mark with them, for
// the model's share, which may have another mark, is not taken.
func TestKeptCountsStayEstimatesOrNot(t *testing.T) {
	sampled := generated(400, 6)
	sampled.Recent, sampled.Sampled = 100, map[int32]bool{0: true}
	for i := range sampled.Class {
		sampled.Partition[i] = 0
	}
	whole := *sampled
	whole.Recent = 0
	o := testOptions()
	o.Sets.Max = 1
	_, estimate := fitPart(t, o, sampled, nil)
	_, count := fitPart(t, o, &whole, estimate)
	for _, c := range []struct {
		name        string
		first, next []byte
		marked      bool
	}{
		{"estimates, then a model of counts", estimate, count, true},
		{"counts, then a model of estimates", count, estimate, false},
	} {
		x := serve(t, o, sampled, c.first, 0, nil)
		was := len(x.sets)
		again := func(func(*model.Example) bool) { t.Errorf("%s: sets learn again", c.name) }
		if err := x.Rebase(&model.Rebase{Part: c.next, Since: again}); err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Live() {
			if s.Estimated != c.marked {
				t.Errorf("%s: features %v are marked %v", c.name, s.Set.Features(), s.Estimated)
			}
		}
		if len(x.sets) != was || was == 0 {
			t.Fatalf("%s: %d sets, then %d", c.name, was, len(x.sets))
		}
	}
}

// TestProfilesOfWeightedRecordsHaveTheEffectiveNumber: (sum w)^2 / sum w^2 over the records that meet a profile; where
// each record weighs the same it is their number.
func TestProfilesOfWeightedRecordsHaveTheEffectiveNumber(t *testing.T) {
	ev := generated(2000, 3)
	for i := range ev.Weight {
		ev.Weight[i] = float64(1 + mix(uint64(i))%9)
	}
	o := testOptions()
	o.Profiles.KeepRedundant = true
	p, _ := fitPart(t, o, ev, nil)
	if len(p.Profiles) == 0 {
		t.Fatal("no profile")
	}
	row := make(model.Row, len(ev.Columns))
	unequal := 0
	for _, f := range p.Profiles {
		for name, x := range map[string]struct {
			tally *Tally
			from  int
		}{"all records": {&f.Tally, 0}, "records held back": {&f.Validation, 1600}} {
			var n, square, count float64
			for i := x.from; i < ev.Len(); i++ {
				if ev.Row(i, row); f.meets(row) {
					n, square, count = n+ev.Weight[i], square+ev.Weight[i]*ev.Weight[i], count+1
				}
			}
			near(t, f.Text+" on "+name, x.tally.NX, n, 1e-9)
			want := n * n / square
			if x.from > 0 { // records of one cluster count less
				if x.tally.Effective > want*(1+1e-12) || x.tally.Effective <= 0 {
					t.Errorf("%s on %s: effective %v, at most %v", f.Text, name, x.tally.Effective, want)
				}
				continue
			}
			near(t, f.Text+" on "+name+", effective", x.tally.Effective, want, 1e-9)
			if want < .9*count {
				unequal++
			}
		}
	}
	if unequal == 0 {
		t.Error("the weights are all but equal: the test would say nothing")
	}
}

// TestMarksOfEstimatesAreCarriedOver, of the own counts and of those of other partitions, each by itself: a set whose
// other partitions have estimates tells of estimates under another schema too.
func TestMarksOfEstimatesAreCarriedOver(t *testing.T) {
	ev := generated(400, 6)
	halves(ev)
	o := testOptions()
	o.Sets.Max = 1
	for _, sampled := range []map[int32]bool{{}, {0: true}, {1: true}, {0: true, 1: true}} {
		ev.Recent, ev.Sampled = 100, sampled
		_, part := fitPart(t, o, ev, nil)
		c := serve(t, o, ev, part, 0, nil)
		to := *ev.Schema
		to.Features = append(slices.Clone(to.Features), model.Feature{Name: "new", Kind: model.Continuous})
		change, err := model.Relate(ev.Schema, &to)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := New(o, &to).CarryState(change, c.AppendState(nil))
		if err != nil {
			t.Fatal(err)
		}
		n := New(o, &to).New(model.NewLevels(&to)).(*Component)
		if err := n.LoadState(b); err != nil {
			t.Fatal(err)
		}
		if len(n.sets) == 0 {
			t.Fatal("no set was carried over")
		}
		for i := range n.sets {
			if x := &n.sets[i]; x.estimated != sampled[0] || x.othersEstimated != sampled[1] {
				t.Errorf("sampled %v: own counts are marked %v, those of others %v", sampled, x.estimated, x.othersEstimated)
			}
		}
		for _, s := range n.Live() {
			if s.Estimated != (len(sampled) > 0) {
				t.Errorf("sampled %v: features %v are marked %v", sampled, s.Set.Features(), s.Estimated)
			}
		}
	}
}
