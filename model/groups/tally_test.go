package groups

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/drift"
)

func draw(words ...uint64) float64 { return float64(model.Hash(4, words...)>>11) / (1 << 53) }

// fed returns a tally of n records in batches of 100, whose plan, x, propensity and class come from the functions.
func fed(t *testing.T, n, least int, plan func(i int) string, x func(i int) float64,
	record func(i int) (p float64, class int32)) *Tally {
	t.Helper()
	s := schema()
	s.Features[0].Use, s.Features[1].Use = model.UseReport, model.UseReport
	in, err := NewComparison(s, "plan", Equal, false, "plus", 0)
	if err != nil {
		t.Fatal(err)
	}
	tally := NewTally(s, []Segment{{Name: "of plus", Condition: in}}, least)
	out := &model.Scores{}
	for from := 0; from < n; from += 100 {
		size := min(100, n-from)
		b := &model.Batch{N: size, Columns: make([]model.Column, 4)}
		b.Columns[0].Float = make([]float64, size)
		for k := 1; k < 4; k++ {
			b.Columns[k].Code = slices.Repeat([]uint32{model.MissingCode}, size)
		}
		out.Reset(size, 2)
		for i := range size {
			b.Columns[0].Float[i] = x(from + i)
			if text := plan(from + i); text != "" {
				b.Columns[1].Code[i] = uint32(len(b.Columns[1].Levels))
				b.Columns[1].Levels = append(b.Columns[1].Levels, text)
			}
			p, class := record(from + i)
			out.P[2*i], out.P[2*i+1] = 1-p, p
			b.Label = append(b.Label, class)
		}
		tally.Add(b, out)
	}
	return tally
}

func plain(i int) (float64, int32) {
	p := .1 + .4*draw(uint64(i), 1)
	if i%7 == 0 {
		return p, model.Unlabelled
	}
	if draw(uint64(i), 2) < p {
		return p, 1
	}
	return p, 0
}

// TestTallyMakesTheWhole: the groups of a column are all records and labels, and each has the sums of its records.
func TestTallyMakesTheWhole(t *testing.T) {
	plans := func(i int) string { return []string{"plus", "plus", "base", ""}[i%4] }
	v := fed(t, 2000, 20, plans, func(i int) float64 { return []float64{float64(i % 97), math.NaN()}[b01(i%10 == 3)] },
		plain).View()
	for _, c := range v.Columns {
		var records, labelled int64
		var mean, rate float64
		for _, g := range c.Groups {
			records += g.Records
			labelled += g.Labelled
			mean += float64(g.Mean) * float64(g.Records)
			rate += float64(g.Rate) * float64(g.Labelled)
		}
		if records != 2000 || labelled != v.All.Labelled || math.Abs(mean/2000-float64(v.All.Mean)) > 1e-12 ||
			math.Abs(rate/float64(labelled)-float64(v.All.Rate)) > 1e-12 {
			t.Errorf("%s: %d records, %d labelled, mean %v, rate %v of %+v", c.Column, records, labelled, mean, rate, v.All)
		}
	}
	var n, positives, promise float64
	for i := range 2000 {
		if p, class := plain(i); plans(i) == "plus" && class >= 0 {
			n, positives, promise = n+1, positives+float64(class), promise+p
		}
	}
	s := v.Segments[0]
	if s.Labelled != int64(n) || math.Abs(float64(s.Rate)-positives/n) > 1e-12 ||
		math.Abs(float64(s.Error)-(promise-positives)/n) > 1e-12 || s.RateLow >= s.Rate || s.RateHigh <= s.Rate ||
		s.Share != .5 {
		t.Errorf("segment %+v, of %v records with %v positives", s, n, positives)
	}
	if names := len(v.Columns[0].Groups); names != 6 { // fifths and missing
		t.Errorf("numbers have %d groups: %+v", names, v.Columns[0])
	}
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestTallyIsBounded: twenty levels and names of their own, for any input; no group is too small, nor is the rest.
func TestTallyIsBounded(t *testing.T) {
	for name, plan := range map[string]func(i int) string{
		"many":    func(i int) string { return fmt.Sprint("l", i) },
		"thirty":  func(i int) string { return fmt.Sprint("l", i%30) },
		"odd":     func(i int) string { return []string{Other, Missing, "", "a\xff", "a\xfe", "plus"}[i%6] },
		"long":    func(i int) string { return strings.Repeat("x", 1000) + fmt.Sprint(i%5) },
		"one few": func(i int) string { return []string{"plus", "few"}[b01(i < 3)] },
		"missing": func(int) string { return "" },
	} {
		for _, n := range []int{0, 10, 300, 1000} {
			v := fed(t, n, 20, plan, func(i int) float64 { return float64(i % 2) }, plain).View()
			for _, c := range v.Columns {
				names := map[string]bool{}
				var sum int64
				for _, g := range c.Groups {
					if names[g.Group] || g.Records < 20 || len(g.Group) > 3*longest {
						t.Errorf("%s, %d records: group %q of %d twice, or too few", name, n, g.Group, g.Records)
					}
					names[g.Group] = true
					sum += g.Records
				}
				if len(names) > most+2 || sum != int64(n) && n >= 20 {
					t.Errorf("%s, %d records: %d groups of %d", name, n, len(names), sum)
				}
			}
		}
	}
	if NewTally(schema(), nil, 20) != nil {
		t.Error("a tally of no groups")
	}
	var none *Tally
	if none.Add(nil, nil); none.View() != nil {
		t.Error("a nil tally tells something")
	}
}

// TestFewLabelsDoNotFollowFromTheOthers: a group of few labels tells none, nor does the difference of the others to
// all.
func TestFewLabelsDoNotFollowFromTheOthers(t *testing.T) {
	for few, want := range map[int]string{0: "plus base", 5: "base", 40: "few plus base"} {
		plan := func(i int) string { return []string{"few", "plus", "base", "base"}[i%4] }
		c := fed(t, 400, 20, plan, func(int) float64 { return 0 }, func(i int) (float64, int32) {
			if i%4 == 0 && i >= 4*few {
				return .5, model.Unlabelled
			}
			return .5, int32(i / 4 % 2)
		}).View().Columns[1]
		for _, g := range c.Groups {
			if told := strings.Contains(want, g.Group); told != (g.Labelled > 0) || told == math.IsNaN(float64(g.Rate)) {
				t.Errorf("%d labels: %+v, want those of %s", few, g, want)
			}
		}
	}
}

// TestTallyFindsChanges: one change of share and one of rate where they are, and none in 40 streams without any.
func TestTallyFindsChanges(t *testing.T) {
	stream := func(seed uint64, changed int) []Change {
		return fed(t, 3000, 20, func(i int) string {
			return []string{"base", "plus"}[b01(draw(seed, uint64(i), 3) < .2+.3*float64(b01(i >= changed)))]
		}, func(int) float64 { return 0 }, func(i int) (float64, int32) {
			return .3, int32(b01(draw(seed, uint64(i), 4) < .2+.5*float64(b01(i >= changed))))
		}).View().Changes
	}
	found := map[string]int{}
	for _, c := range stream(1, 1500) {
		found[c.What]++
		if c.Record < 1500 || c.Record > 2200 || c.After < c.Before+.1 {
			t.Errorf("%+v of a change at 1500", c)
		}
	}
	if found["share"] != 1 || found["rate"] != 1 {
		t.Errorf("found %v", found)
	}
	for seed := range uint64(40) {
		if c := stream(seed, 1<<40); len(c) > 0 {
			t.Errorf("stream %d: %+v without any change", seed, c)
		}
	}
}

// TestTallyOfCodes: a special code is a group of its own, before and behind the choice of the cells.
func TestTallyOfCodes(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "x", Use: model.UseReport, Special: []float64{-999, -888}}}}
	tally := NewTally(s, nil, 20)
	const n = 4 * firstValues
	for i := range n {
		x := draw(uint64(i))
		if i%8 == 0 {
			x = -999
		}
		b := &model.Batch{N: 1, Columns: []model.Column{{Float: []float64{x}}}, Label: []int32{int32(i % 2)}}
		out := &model.Scores{}
		out.Reset(1, 2)
		tally.Add(b, out)
	}
	groups := tally.View().Columns[0].Groups
	at := slices.IndexFunc(groups, func(g Figures) bool { return g.Group == "-999 (special)" })
	if at < 0 || groups[at].Records != n/8 || groups[at].Rate != 0 || len(groups) != cells+1 {
		t.Fatalf("%+v", groups)
	}
	for _, g := range groups[:at] {
		if share := float64(g.Records) / (7. / 8 * n); math.Abs(share-1./cells) > .1 {
			t.Errorf("a cell of %.2f of the numbers: %+v", share, g)
		}
	}
}

// TestManySegmentsAskForMoreEvidence: of many segments some would seem to change by chance. Each is watched with its
// part of the rate of false alarms, so that a change is found when ADWIN finds it at that rate, which is later.
func TestManySegmentsAskForMoreEvidence(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "plan", Kind: model.Nominal, Use: model.UseReport}},
		Classes: []string{"no", "yes"}, Positive: 1}
	in := func(i int) bool { return draw(3, uint64(i), 3) < .2+.08*float64(b01(i >= 1500)) }
	last := int64(0)
	for _, n := range []int{1, 50} {
		x := NewTally(s, make([]Segment, n), 1)
		o := drift.DefaultADWIN()
		o.Delta /= float64(2 * n)
		want, slow := int64(0), drift.NewADWIN(o)
		for i := range 6000 {
			x.all.add(one{p: .3})
			x.watch(x.segments[0], one{p: .3}, in(i))
			if slow.Add(float64(b01(in(i)))) && want == 0 {
				want = int64(i + 1)
			}
		}
		if len(x.changes) == 0 || x.changes[0].Record != want || want <= last {
			t.Errorf("of %d segments: changes %+v, the first should be at %d, and behind %d", n, x.changes, want, last)
		}
		last = want
	}
}

// TestJoinedGroupsHaveTheSumsOfAll: levels of few records, and the smallest of the others, make one group of the sums
// of their records, each figure by itself.
func TestJoinedGroupsHaveTheSumsOfAll(t *testing.T) {
	plan := func(i int) string {
		if i%10 == 0 {
			return fmt.Sprint("few ", i/10%15) // 15 levels, 13 or 14 records each
		}
		return "plus"
	}
	c := fed(t, 2000, 20, plan, func(int) float64 { return 0 }, plain).View().Columns[1]
	var want count
	for i := range 2000 {
		if i%10 == 0 {
			p, class := plain(i)
			want.add(one{p, class >= 0, class == 1})
		}
	}
	at := slices.IndexFunc(c.Groups, func(g Figures) bool { return g.Group == Other })
	if at < 0 || len(c.Groups) != 2 {
		t.Fatalf("groups %+v", c.Groups)
	}
	got, n, labelled := c.Groups[at], float64(want.records), float64(want.labelled)
	rate := float64(want.positives) / labelled
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"records", float64(got.Records), n}, {"labelled records", float64(got.Labelled), labelled},
		{"mean propensity", float64(got.Mean), want.propensity / n}, {"rate", float64(got.Rate), rate},
		{"mean error", float64(got.Error), want.promise/labelled - rate},
	} {
		if !(math.Abs(x.got-x.want) <= 1e-12) {
			t.Errorf("%s of the joined groups: %v, want %v", x.what, x.got, x.want)
		}
	}
}

// TestCutsByHand: the quantiles of numbers, none at the largest, where nothing would lie above it.
func TestCutsByHand(t *testing.T) {
	for _, c := range []struct {
		numbers []float64
		n       int
		want    []float64
	}{
		{nil, 5, nil},
		{[]float64{3}, 5, nil},
		{[]float64{2, 1}, 2, []float64{1}},
		{[]float64{5, 3, 1, 4, 2}, 2, []float64{3}},
		{[]float64{5, 3, 1, 4, 2}, 4, []float64{2, 3, 4}},
		{[]float64{1, 2, 2, 2, 2}, 4, nil},
		{[]float64{1, 1, 1, 1, 2}, 4, []float64{1}},
		{[]float64{7, 7, 7}, 3, nil},
	} {
		was := slices.Clone(c.numbers)
		if got := Cuts(c.numbers, c.n); !slices.Equal(got, c.want) || !slices.Equal(c.numbers, was) {
			t.Errorf("%d cells of %v: cuts %v, want %v; the numbers are %v then", c.n, was, got, c.want, c.numbers)
		}
	}
}

// TestAChangeTellsTheMeanAfterAllOfIt: alarms that follow while the window still holds older numbers move the mean
// after the change, also of the only one that there is.
func TestAChangeTellsTheMeanAfterAllOfIt(t *testing.T) {
	changes := fed(t, 4000, 20, func(i int) string {
		return []string{"base", "plus"}[b01(draw(5, uint64(i), 3) < .1+.8*float64(b01(i >= 2000)))]
	}, func(int) float64 { return 0 }, func(int) (float64, int32) { return .5, model.Unlabelled }).View().Changes
	if len(changes) != 1 || math.Abs(float64(changes[0].Before)-.1) > .05 || math.Abs(float64(changes[0].After)-.9) > .1 {
		t.Errorf("changes %+v, want one from .1 to .9", changes)
	}
}
