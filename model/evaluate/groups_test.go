package evaluate

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/model/groups"
	"liftstream/model/report"
)

// grouped makes a meter of n records: level and number of record i, its propensity and class and weight come from the
// functions; one segment holds the records of level "a".
type grouped struct {
	n      int
	level  func(i int) string // "" = missing
	number func(i int) float64
	record func(i int) (p float64, positive bool, weight float64)
	least  int
	order  []int // of adding; nil = that of the stream
}

func draw(words ...uint64) float64 { return float64(model.Hash(9, words...)>>11) / (1 << 53) }

func (g grouped) meter(t *testing.T) *groupMeter {
	t.Helper()
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "level", Kind: model.Nominal, Use: model.UseReport},
		{Name: "number", Kind: model.Continuous, Use: model.UseReport}, {Name: "x", Kind: model.Continuous}}}
	in, err := groups.NewComparison(s, "level", groups.Equal, false, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	m := newGroupMeter(s, 1, GroupOptions{Segments: []groups.Segment{{Name: "of a", Condition: in}}, Least: g.least})
	out := &model.Scores{}
	for k := range g.n {
		i := k
		if g.order != nil {
			i = g.order[k]
		}
		b := &model.Batch{N: 1, Columns: []model.Column{{Code: []uint32{0}, Levels: []string{g.level(i)}},
			{Float: []float64{g.number(i)}}, {Float: []float64{0}}}}
		if g.level(i) == "" {
			b.Columns[0].Code[0] = model.MissingCode
		}
		p, positive, w := g.record(i)
		out.Reset(1, 2)
		out.P[0], out.P[1] = 1-p, p
		r := &Record{Index: int64(i), Batch: b, Weight: w}
		if positive {
			r.Class = 1
		}
		m.add(r, out)
	}
	return m
}

func mixed(n int) grouped {
	return grouped{n: n, least: 20,
		level: func(i int) string {
			return []string{"a", "a", "a", "b", "b", "", fmt.Sprint("rare", i%40)}[model.Hash(1, uint64(i))%7]
		},
		number: func(i int) float64 {
			if i%11 == 0 {
				return math.NaN()
			}
			return math.Floor(draw(uint64(i), 1) * 40)
		},
		record: func(i int) (float64, bool, float64) {
			p := draw(uint64(i), 2)
			return p, draw(uint64(i), 3) < p, 1 + float64(i%3)
		}}
}

// TestGroupsMakeTheWhole: the groups of a column are all records, and their figures by share those of all.
func TestGroupsMakeTheWhole(t *testing.T) {
	r := mixed(5000).meter(t).result(1)
	if len(r.Columns) != 2 || len(r.Segments) != 1 {
		t.Fatalf("%d columns, %d segments", len(r.Columns), len(r.Segments))
	}
	for _, c := range r.Columns {
		var records, share, rate, mean, top Number
		for _, g := range c.Groups {
			records += g.Records
			share += g.Share
			rate += g.Share * g.Rate
			mean += g.Share * g.Mean
			top += g.Share * g.Top
		}
		for what, d := range map[string]Number{"records": records - 5000, "share": share - 1, "rate": rate - r.All.Rate,
			"mean": mean - r.All.Mean, "top": top - .1} {
			if math.Abs(float64(d)) > 1e-9 {
				t.Errorf("%s: %s is off by %v", c.Column, what, d)
			}
		}
	}
	if a, s := r.Columns[0].Groups[0], r.Segments[0].Group; a.Group != "a" || a.Rate != s.Rate ||
		a.AUCInterval != s.AUCInterval || a.Top != s.Top {
		t.Errorf("group a %+v, segment of a %+v", a, s)
	}
}

// TestGroupsHaveNamesOfTheirOwn: levels that are called like the groups of the program are in "(other)".
func TestGroupsHaveNamesOfTheirOwn(t *testing.T) {
	g := mixed(700)
	g.level = func(i int) string { return []string{"a", "(missing)", "(other)", "", "b", "b", "a"}[i%7] }
	var got []string
	for _, x := range g.meter(t).result(1).Columns[0].Groups {
		got = append(got, fmt.Sprint(x.Group, x.Records))
	}
	if want := []string{"a200", "b200", "(missing)100", "(other)200"}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
}

// TestGroupsHaveAnOrder: that in which the records are added has no effect, and a permuted column none on the rest.
func TestGroupsHaveAnOrder(t *testing.T) {
	g := mixed(1500)
	want := g.meter(t).result(1)
	g.order = make([]int, g.n)
	for i := range g.order {
		g.order[i] = (i*7 + 3) % g.n
	}
	if got := g.meter(t).result(1); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("another order gives other figures")
	}
	g = mixed(1500)
	number := g.number
	g.number = func(i int) float64 { return number((i*7 + 3) % g.n) }
	got := g.meter(t).result(1)
	if !reflect.DeepEqual(got.All, want.All) || fmt.Sprint(got.Columns[0]) != fmt.Sprint(want.Columns[0]) ||
		fmt.Sprint(got.Columns[1]) == fmt.Sprint(want.Columns[1]) {
		t.Errorf("a permuted column has effects on the rest, or none on itself")
	}
}

// TestGroupsAreFewAndLarge: at most twenty and "(other)", none below Least, and none that follows from the others.
func TestGroupsAreFewAndLarge(t *testing.T) {
	g := mixed(6000)
	for name, c := range map[string]struct {
		level func(i int) string
		want  []string
	}{
		"many":   {func(i int) string { return fmt.Sprint("l", i%3000) }, []string{otherGroup}},
		"thirty": {func(i int) string { return fmt.Sprintf("l%02d", i%30) }, nil},
		"two":    {func(i int) string { return []string{"x", "y"}[i%2] }, []string{"x", "y"}},
		"a few":  {func(i int) string { return []string{"x", "few"}[b01(i < 5)] }, []string{otherGroup}},
		"few, big": {func(i int) string { return []string{"x", "few", "y"}[b01(i < 5)+2*b01(i > 4000)] },
			[]string{"x", otherGroup}},
		"missing": {func(i int) string { return []string{"x", ""}[i%2] }, []string{"x", missingGroup}},
	} {
		g.level = c.level
		var names []string
		for _, x := range g.meter(t).result(1).Columns[0].Groups {
			if x.Records < 20 {
				t.Errorf("%s: %s has %v records", name, x.Group, x.Records)
			}
			names = append(names, x.Group)
		}
		if c.want != nil && !slices.Equal(names, c.want) || len(names) > mostGroups+1 {
			t.Errorf("%s: groups %q, want %q", name, names, c.want)
		}
	}
	g.level = func(i int) string { return []string{"a", "b"}[b01(i > 18)] }
	if s := g.meter(t).result(1).Segments[0]; !math.IsNaN(float64(s.Records)) || !math.IsNaN(float64(s.Rate)) {
		t.Errorf("a segment of 19 records shows %+v", s.Group)
	}
	g.n = 0
	if r := g.meter(t).result(1); r != nil {
		t.Errorf("no records give %+v", r)
	}
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestFiguresOfOneGroup: against sums over pairs and records, and a bootstrap of the AUC that ranks each resample anew;
// its interval agrees to a fifth of its length, of which the 400 resamples take a tenth.
func TestFiguresOfOneGroup(t *testing.T) {
	g := mixed(1000)
	g.record = func(i int) (float64, bool, float64) { // blocks of 20 move together
		p := .2 + .5*draw(uint64(i/20), 4) + .2*draw(uint64(i), 2)
		return p, draw(uint64(i), 3) < .5*p+.4*draw(uint64(i/20), 6), 1
	}
	m := g.meter(t)
	r := m.result(1)
	a := r.Columns[0].Groups[0]
	type one struct {
		p        float64
		positive bool
		block    int
	}
	var all []one
	var n, mean, positives float64
	for i := range g.n {
		if g.level(i) != "a" {
			continue
		}
		p, y, _ := g.record(i)
		all = append(all, one{p, y, i / 20})
		n++
		mean += p
		positives += float64(b01(y))
	}
	auc := func(times func(block int) float64) float64 {
		var sum, pairs float64
		for _, x := range all {
			if !x.positive || times(x.block) == 0 {
				continue
			}
			for _, y := range all {
				if w := times(x.block) * times(y.block); !y.positive && w > 0 {
					pairs += w
					sum += w * (float64(b01(x.p > y.p)) + .5*float64(b01(x.p == y.p)))
				}
			}
		}
		return sum / pairs
	}
	near := func(what string, got Number, want, tolerance float64) {
		if math.Abs(float64(got)-want) > tolerance {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("rate", a.Rate, positives/n, 1e-12)
	near("mean", a.Mean, mean/n, 1e-12)
	near("error", a.Error, (mean-positives)/n, 1e-12)
	near("AUC", a.AUC, auc(func(int) float64 { return 1 }), 1e-12)
	var draws []float64
	for rep := range uint64(400) {
		times := map[int]float64{}
		for k := range uint64(50) {
			times[int(draw(77, rep, k)*50)]++
		}
		draws = append(draws, auc(func(b int) float64 { return times[b] }))
	}
	slices.Sort(draws)
	low, high := quantile(draws, .025), quantile(draws, .975)
	near("low end of the AUC", a.AUCInterval[0], low, .2*(high-low))
	near("high end of the AUC", a.AUCInterval[1], high, .2*(high-low))
}

// TestIntervalsOfFewRecords: 40 records without a positive do not make sure that there is none: the intervals of rate,
// error and lift reach as far as Wilson's. Of one class alone there is no lift.
func TestIntervalsOfFewRecords(t *testing.T) {
	g := grouped{n: 1000, least: 20, number: func(int) float64 { return 0 },
		level:  func(i int) string { return []string{"b", "a"}[b01(i%25 == 0)] },
		record: func(i int) (float64, bool, float64) { return .02, i%25 == 1, 1 }}
	a := g.meter(t).result(1).Segments[0].Group
	_, high := report.Wilson(0, 40)
	for what, d := range map[string]float64{"rate": float64(a.RateInterval[1]) - high,
		"error": float64(a.ErrorInterval[0]) - (.02 - high), "lift": float64(a.LiftInterval[1]) - high/.04} {
		if math.Abs(d) > 1e-9 {
			t.Errorf("the interval of the %s ends %v off", what, d)
		}
	}
	g.record = func(int) (float64, bool, float64) { return .02, false, 1 }
	r := g.meter(t).result(1)
	if !math.IsNaN(float64(r.All.Lift)) || !math.IsNaN(float64(r.All.LiftInterval[0])) || r.All.RateInterval[0] != 0 {
		t.Errorf("without positives: %+v", r.All)
	}
}

// TestIntervalsOfGroupsHold: of a group of few records, independent or in runs, nineteen of twenty intervals of the
// rate, the error and the AUC hold the truth; 100 streams tell a share of .95 to .04. Runs of ten are half a block.
func TestIntervalsOfGroupsHold(t *testing.T) {
	const streams = 100
	for _, run := range []uint64{1, 10} {
		var rate, calibration, ranking int
		for s := range uint64(streams) {
			g := grouped{n: 1000, least: 20, number: func(int) float64 { return 0 },
				level: func(i int) string { return []string{"b", "a"}[b01(draw(s, uint64(i), 1) < .3)] },
				record: func(i int) (float64, bool, float64) {
					p := .1 + .4*draw(s, uint64(i), 2) // of mean .3, and no more tied to the class than by chance
					return p, draw(s, uint64(i)/run, 3) < .3, 1
				}}
			a := g.meter(t).result(s).Segments[0]
			holds := func(i Interval, x Number) int { return b01(i[0] <= x && x <= i[1]) }
			rate += holds(a.RateInterval, .3)
			calibration += holds(a.ErrorInterval, 0)
			ranking += holds(a.AUCInterval, .5)
		}
		for what, n := range map[string]int{"rate": rate, "error": calibration, "AUC": ranking} {
			if share := float64(n) / streams; share < .87 {
				t.Errorf("runs of %d: %.3f of the intervals of the %s hold the truth", run, share, what)
			}
		}
	}
}

// TestChangesOfSegments: a planted change of share and one of rate are found near their places, and of 40 streams
// without any none shows one.
func TestChangesOfSegments(t *testing.T) {
	stream := func(seed uint64, changed bool) *Groups {
		return grouped{n: 4000, least: 20, number: func(int) float64 { return 0 },
			level: func(i int) string {
				return []string{"b", "a"}[b01(draw(seed, uint64(i), 1) < .2+.2*float64(b01(changed && i >= 2000)))]
			},
			record: func(i int) (float64, bool, float64) {
				return .3, draw(seed, uint64(i), 2) < .3+.4*float64(b01(changed && i >= 3000)), 1
			}}.meter(t).result(1)
	}
	found := map[string]GroupChange{}
	for _, c := range stream(1, true).Changes {
		found[c.What] = c
	}
	for what, at := range map[string]int64{"share": 2000, "rate": 3000} {
		if c := found[what]; c.Segment != "of a" || c.Since < at-300 || c.Since > at+300 || c.At < at || c.At > at+600 ||
			c.After < c.Before+.1 {
			t.Errorf("the change of %s at %d is found as %+v", what, at, c)
		}
	}
	for seed := range uint64(40) {
		if c := stream(seed, false).Changes; len(c) > 0 {
			t.Errorf("stream %d: %+v without any change", seed, c)
		}
	}
}

// TestGroupsOfCodes: a special code is a group of its own, and no number of the fifths.
func TestGroupsOfCodes(t *testing.T) {
	f := &model.Feature{Name: "x", Use: model.UseReport, Special: []float64{-999, -888}}
	v := groupValues{}
	for i := range 1000 {
		x := float64(i)
		if i%4 == 0 {
			x = -999
		}
		v.add(f, &model.Column{Float: []float64{x}}, 0)
	}
	s := v.split(f, 20)
	counts := make([]int, len(s.names))
	for _, g := range s.of {
		counts[g]++
	}
	if last := len(counts) - 1; s.names[last] != "-999 (special)" || counts[last] != 250 || len(counts) != groupCells+1 ||
		counts[0] != 750/groupCells {
		t.Errorf("%v: %v", s.names, counts)
	}
}

// TestManySegmentsAskForMoreEvidence: each is looked at with its part of the rate of false alarms. The change of one is
// found when ADWIN finds it at that rate, which is later beside many others.
func TestManySegmentsAskForMoreEvidence(t *testing.T) {
	in := func(i int) bool { return draw(3, uint64(i), 3) < .2+.08*float64(b01(i >= 1500)) }
	last := int64(0)
	for _, n := range []int{1, 50} {
		m := &groupMeter{o: GroupOptions{Segments: make([]groups.Segment, n), Least: 20}, segments: make([][]bool, n)}
		o := drift.DefaultADWIN()
		o.Delta /= float64(2 * n)
		want, slow := int64(0), drift.NewADWIN(o)
		for i := range 6000 {
			m.records = append(m.records, groupRecord{index: int64(i), p: .3, weight: 1})
			for k := range m.segments {
				m.segments[k] = append(m.segments[k], k == 0 && in(i))
			}
			if slow.Add(float64(b01(in(i)))) && want == 0 {
				want = int64(i + 1)
			}
		}
		if got := m.changes(); len(got) == 0 || got[0].At != want || want <= last {
			t.Errorf("of %d segments: changes %+v, the first should be at %d, and behind %d", n, got, want, last)
		}
		last = want
	}
}

// TestGroupsKnowLateLevels: in a column of more levels than are told apart at once, the frequent ones have their group,
// however late they came, and all but 1/2048 of the records in it.
func TestGroupsKnowLateLevels(t *testing.T) {
	g := mixed(40000)
	want := map[string]int{}
	g.level = func(i int) string {
		text := fmt.Sprint("once", i)
		switch {
		case i%5 == 0:
			text = "early"
		case i > 20000 && i%3 == 0:
			text = "late"
		case i > 35000 && i%7 == 0:
			text = "last"
		}
		want[text]++
		return text
	}
	column := g.meter(t).result(1).Columns[0].Groups
	got := map[string]int{}
	for _, x := range column {
		got[x.Group] = int(x.Records)
	}
	for _, name := range []string{"early", "late", "last"} {
		// level is called twice for each record.
		if lost := want[name]/2 - got[name]; lost < 0 || lost > 40000/2048 {
			t.Errorf("%s: %d records, want %d", name, got[name], want[name]/2)
		}
	}
	if len(got) != 4 || got[otherGroup]+got["early"]+got["late"]+got["last"] != 40000 {
		t.Errorf("groups %v", got)
	}
}

// TestTextsInMemoryAreBounded: a column of ids holds no more texts than the bound.
func TestTextsInMemoryAreBounded(t *testing.T) {
	v := groupValues{known: map[string]*knownText{}}
	for i := range 50000 {
		v.code(fmt.Sprint(i / 2))
		if len(v.known) >= groupLevels {
			t.Fatalf("%d texts after %d records", len(v.known), i+1)
		}
	}
}

// TestTheCurveOfASegmentHasTheWindowsOfAll: a last window of half a window's records is one, a shorter one is none.
func TestTheCurveOfASegmentHasTheWindowsOfAll(t *testing.T) {
	for _, n := range []int{1, 49, 50, 149, 150, 151, 200, 2000, 2049, 2100, 2101} {
		m, s := &groupMeter{o: GroupOptions{Least: 1}}, NewSet(2)
		in := make([]bool, n)
		for i := range n {
			m.records = append(m.records, groupRecord{index: int64(3 * i), p: .3, weight: 1})
			in[i] = i%2 == 0
			if err := s.Add(int64(3*i), []float64{.7, .3}, 0, 1); err != nil {
				t.Fatal(err)
			}
		}
		var got, want []int64
		for _, p := range m.curve(in) {
			got = append(got, p.Records)
		}
		for _, p := range s.Curve() {
			want = append(want, p.Records)
		}
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%d records: the windows of a segment end at %d, those of all at %d", n, got, want)
		}
	}
}
