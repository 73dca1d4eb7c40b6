package lift

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// handMade is a part of which each number is another one, with its levels.
func handMade() (*model.Schema, *model.Levels, *Part) {
	s := &model.Schema{Features: []model.Feature{{Name: "age"}, {Name: "job", Kind: model.Nominal},
		{Name: "side", Kind: model.Nominal, Levels: []string{"left", "right"}}}, Classes: []string{"no", "yes"}, Positive: 1}
	l := model.NewLevels(s)
	l.Code(1, "nurse")
	l.Code(1, "clerk")
	age := newSet(s, []int32{0}, Product, []part{{features: []int32{0}, cuts: []float64{30, 40.5}}})
	both := newSet(s, []int32{0, 2}, Product, []part{{features: []int32{0}, cuts: []float64{30}}})
	table := func(n ...float64) *Table {
		t := NewTable(2)
		for i, v := range n {
			for range int(v) {
				t.add(i/2, i%2, 1, 1)
			}
		}
		return t
	}
	p := &Part{Rank: ByLeaveOneOut, Exhausted: 2, Tried: 17, Depth: 3, Inexact: 4,
		Sets: []PartSet{
			{Set: age, RankError: .0125, Shares: []Share{{Partition: 0, Table: table(40, 5, 0, 0, 10, 20)},
				{Partition: 3, Table: table(1, 1), Estimated: true}}},
			{Set: both, Shares: []Share{{Partition: 0, Table: table(3, 0, 0, 0, 2, 9, 7, 1, 0, 5)}}},
		},
		Windows: []*Window{{Set: age, Cells: []int{0, 2}, Eta: .51, Corrected: .42, Low: .33, High: .64, N: 75, Mass: .75,
			Folded: 6}},
		Profiles: []*Profile{
			{Class: 1, Items: []Item{{Feature: 0, Level: -1, Low: 30, High: math.Inf(1)}, {Feature: 1, Level: 1}},
				Tally:      Tally{N: 100, NX: 20, NXY: 15, NY: 30, Effective: 19},
				Validation: Tally{N: 50, NX: 12, NXY: 9, NY: 15, Effective: 11}, Among: 9, LiftAll: 2.4, Q: .05,
				Refinements: 7, Folded: 8, Text: "age in (30, inf) & job=clerk"},
			{Class: 0, Items: []Item{{Feature: 2, Level: 2}}, Tally: Tally{N: 90, NX: 10, NXY: 9, NY: 45, Effective: 10},
				Validation: Tally{N: 40, NX: 4, NXY: 3, NY: 20, Effective: 4}, Among: 9, LiftAll: 1.7, Q: .0501,
				Text: "side=(other)"},
		},
		Entered: []*Entered{{Set: both, Value: []float64{-.1, .1}}},
	}
	return s, l, p
}

// TestEachFigureOfAPartIsReported under its own name.
func TestEachFigureOfAPartIsReported(t *testing.T) {
	s, l, p := handMade()
	var r report.Report
	p.Report(s, l, &r)
	low, high := liftInterval(15, 20, 30, 100, 19./20)
	vlow, vhigh := jointLiftInterval(9, 12, 15, 50, 11./12, 9)
	want := report.Profile{Class: "yes", Text: "age in (30, inf) & job=clerk", Lift: 2.5, LiftLow: report.Number(low),
		LiftHigh: report.Number(high), LiftAll: 2.4, ValidatedLift: 2.5, ValidatedLow: report.Number(vlow),
		ValidatedHigh: report.Number(vhigh), ValidatedAmong: 9, N: 100, NX: 20, NXY: 15, NY: 30, QValue: .05, Confirmed: true,
		Refinements: 7, Folded: 8, Profile: report.Tests{{Feature: "age", Cell: "(30, inf)"}, {Feature: "job",
			Cell: "clerk"}}}
	if got := r.Profiles[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("profile\n%+v, want\n%+v", got, want)
	}
	if got := r.Profiles[1]; got.Confirmed || got.Class != "no" || got.Profile[0].Cell != "(other)" || got.Folded != 0 {
		t.Errorf("a q-value above .05: %+v", got)
	}
	window := report.Window{Features: []string{"age"}, Levels: []string{"Q1", "Q3"}, Eta: .51, EtaCorrected: .42,
		EtaLow:  .33,
		EtaHigh: .64, N: 75, Mass: .75, Folded: 6}
	if !reflect.DeepEqual(r.Windows, []report.Window{window}) {
		t.Errorf("windows %+v, want %+v", r.Windows, window)
	}
	log := *r.Search
	if log.Sets != 17 || log.Exhaustive != 2 || log.ProfileFeatures != 3 || log.InexactWindows != 4 ||
		!reflect.DeepEqual(log.Entered, [][]string{{"age", "side"}}) {
		t.Errorf("search %+v", log)
	}
	notes := strings.Join(log.Notes, "\n")
	for _, text := range []string{"those of 6 cells, after a search through 17 sets", "of all 17 sets tried at once",
		"for all 9 profiles at once"} {
		if !strings.Contains(notes, text) {
			t.Errorf("no %q in the notes\n%s", text, notes)
		}
	}
	p.Profiles[0].Among, p.Profiles[0].Validation = 0, Tally{}
	p.Report(s, l, &r)
	if f := r.Profiles[0]; f.ValidatedLift == f.ValidatedLift || f.ValidatedLow == f.ValidatedLow ||
		!strings.Contains(strings.Join(r.Search.Notes, "\n"), "no records were held back") {
		t.Errorf("without validation: %+v, notes %q", f, r.Search.Notes)
	}
	p.Profiles, p.Windows = nil, nil
	if p.Report(s, l, &r); len(r.Search.Notes) != 2 || r.Profiles == nil || r.Windows == nil {
		t.Errorf("notes about nothing: %q", r.Search.Notes)
	}
}

// TestEachCellOfASetIsReported with its counts of all partitions, lifts and intervals; an empty cell is left out.
func TestEachCellOfASetIsReported(t *testing.T) {
	s, l, p := handMade()
	var r report.Report
	p.Report(s, l, &r)
	if len(r.Sets) != 2 {
		t.Fatalf("%d sets", len(r.Sets))
	}
	for i, want := range []struct {
		features, levels string
		counts           [][2]float64
		cuts             string
		estimated        bool
		off              float64
	}{
		{"[age side]", "[Q1 & left Q1 & right Q2 & left Q2 & (other) Q1 & (other)]",
			nil, "[30]", false, 0},
		{"[age]", "[Q1 Q3]", [][2]float64{{41, 6}, {10, 20}}, "[30 40.5]", true, .0125},
	} {
		at := slices.IndexFunc(r.Sets, func(x report.Set) bool { return fmt.Sprint(x.Features) == want.features })
		x := r.Sets[at]
		if want.counts == nil { // of two parts and three levels, each cell of which is named once
			names := slices.Clone(x.Levels)
			if slices.Sort(names); len(slices.Compact(names)) != 4 || float64(x.N) != 27 || x.Estimated || x.RankError != 0 {
				t.Errorf("set %d: %+v", i, x)
			}
			continue
		}
		if fmt.Sprint(x.Levels) != want.levels || fmt.Sprint(x.Cuts) != want.cuts || x.Estimated != want.estimated ||
			float64(x.RankError) != want.off || x.N != 77 {
			t.Errorf("set %d: %+v", i, x)
		}
		table := NewTable(2)
		for c, n := range want.counts {
			for y, v := range n {
				for range int(v) {
					table.add(c, y, 1, 1)
				}
			}
		}
		m := Summarise(table.n, 2, 77)
		for c, n := range want.counts {
			for y, v := range n {
				low, high := liftInterval(v, n[0]+n[1], m.NY[y], 77, 1)
				near(t, "count", float64(x.Counts[c][y]), v, 0)
				near(t, "lift", float64(x.Lift[c][y]), v/(n[0]+n[1])*77/m.NY[y], 1e-15)
				near(t, "low", float64(x.LiftLow[c][y]), low, 1e-15)
				near(t, "high", float64(x.LiftHigh[c][y]), high, 1e-15)
			}
			near(t, "eta of a cell", float64(x.CellEta[c]), m.CellEta(c), 1e-15)
		}
		near(t, "eta", float64(x.Eta), m.Eta(), 1e-15)
		near(t, "corrected eta", float64(x.EtaCorrected), m.EtaCorrected(), 1e-15)
		near(t, "eta of records left out", float64(x.EtaLeaveOneOut), m.EtaLeaveOneOut(), 1e-15)
	}
}

// TestSetsAreReportedInTheirRank: a set of as many cells as records has the largest eta and tells nothing.
func TestSetsAreReportedInTheirRank(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "few", Kind: model.Nominal}, {Name: "many", Kind: model.Nominal}},
		Classes: []string{"no", "yes"}}
	few, many := NewTable(2), NewTable(2)
	for i := range 40 {
		few.add(i%2, (i%2+i/36)%2, 1, 1)
		many.add(i, i%2, 1, 1)
	}
	sets := []Counted{{Set: newSet(s, []int32{0}, Product, nil), Table: few},
		{Set: newSet(s, []int32{1}, Product, nil), Table: many}}
	for by, first := range map[Rank]string{ByEta: "many", ByLeaveOneOut: "few"} {
		got := ReportSets(s, model.NewLevels(s), sets, by)
		if got[0].Features[0] != first {
			t.Errorf("rank %d: %s comes first, eta %v and %v, left out %v and %v", by, got[0].Features[0], got[0].Eta,
				got[1].Eta, got[0].EtaLeaveOneOut, got[1].EtaLeaveOneOut)
		}
	}
}

// TestAPartIsPrinted, each figure under its heading.
func TestAPartIsPrinted(t *testing.T) {
	s, _, p := handMade()
	var b strings.Builder
	if err := PrintPart(&b, s, p.appendBinary(nil)); err != nil {
		t.Fatal(err)
	}
	m := Summarise(p.Sets[0].Total(2).n, 2, 77)
	row := fmt.Sprintf("  1    %.4f  %.4f     %.4f       77      2      0.0125  age", m.EtaLeaveOneOut(), m.Eta(),
		m.EtaCorrected())
	for _, want := range []string{row, "       exact  age side\n",
		"\nIn the scorecard beside the single features: age side\n",
		"rank error: how far", "17 sets tried, all of up to 2 features; 1 window, 2 profiles of which 1 confirmed on"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	p.Sets[0].RankError, p.Entered = 0, nil
	p.Sets = append(p.Sets, PartSet{Set: newSet(s, []int32{1}, Product, nil)})
	b.Reset()
	if err := PrintPart(&b, s, p.appendBinary(nil)); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "rank error: how") || strings.Contains(got, "In the scorecard") ||
		!strings.Contains(got, "           -  job\n") {
		t.Errorf("nothing is estimated, and no set enters:\n%s", got)
	}
	if err := PrintPart(&b, s, []byte{99}); err == nil {
		t.Error("a part that cannot be read is printed")
	}
}

// TestAPartComesBackAsItWas from its bytes, which do not depend on how far tables have grown.
func TestAPartComesBackAsItWas(t *testing.T) {
	s, _, p := handMade()
	raw := p.appendBinary(nil)
	back, err := DecodePart(s, raw)
	if err != nil || string(back.appendBinary(nil)) != string(raw) {
		t.Fatalf("%v", err)
	}
	for i := range p.Windows {
		if !reflect.DeepEqual(back.Windows[i], p.Windows[i]) {
			t.Errorf("window %+v, want %+v", back.Windows[i], p.Windows[i])
		}
	}
	if !reflect.DeepEqual(back.Profiles, p.Profiles) || back.Rank != p.Rank || back.Tried != p.Tried ||
		back.Exhausted != p.Exhausted || back.Depth != p.Depth || back.Inexact != p.Inexact ||
		back.Sets[0].RankError != p.Sets[0].RankError || !back.Sets[0].Shares[1].Estimated ||
		back.Sets[0].Shares[0].Estimated {
		t.Errorf("%+v, want %+v", back, p)
	}
	p.Sets[1].Shares[0].Table.grow(40)
	if string(p.appendBinary(nil)) != string(raw) {
		t.Error("empty cells of a table that has grown are written")
	}
}

// TestRecordsThatAProfileMeets: intervals are open below and closed above, levels equal, missing values meet nothing;
// only confirmed profiles of the class are in scores, the first that is met.
func TestRecordsThatAProfileMeets(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		item Item
		v    float64
		want bool
	}{
		{Item{Level: -1, Low: 1, High: 2}, 1, false}, {Item{Level: -1, Low: 1, High: 2}, 2, true},
		{Item{Level: -1, Low: 1, High: 2}, 1.5, true}, {Item{Level: -1, Low: 1, High: 2}, 2.1, false},
		{Item{Level: -1, Low: -inf, High: 2}, -1e300, true}, {Item{Level: -1, Low: 1, High: inf}, 1e300, true},
		{Item{Level: -1, Low: -inf, High: inf}, nan, false}, {Item{Level: 1}, 1, true}, {Item{Level: 1}, 0, false},
		{Item{Level: 0}, nan, false},
	} {
		if got := c.item.meets(model.Row{c.v}); got != c.want {
			t.Errorf("%+v, %v: met %v", c.item, c.v, got)
		}
	}
	s, _, p := handMade()
	c := New(testOptions(), s).New(nil).(*Component)
	second := *p.Profiles[0]
	second.Items, second.Text, second.Validation.NXY = second.Items[:1], "age in (30, inf)", 6
	unsure := second
	unsure.Text, unsure.Q = "unsure", .0501
	c.setProfiles([]*Profile{p.Profiles[1], &unsure, p.Profiles[0], &second})
	for _, x := range []struct {
		row   model.Row
		class int32
		want  string
		lift  float64
	}{
		{model.Row{31, 1, 0}, 1, "age in (30, inf) & job=clerk", 2.5},
		{model.Row{31, 0, 0}, 1, "age in (30, inf)", 6. / 12 * 50 / 15}, {model.Row{30, 1, 0}, 1, "", nan},
		{model.Row{31, 1, 2}, 0, "", nan}, {model.Row{nan, 1, 0}, 1, "", nan}, {model.Row{31, nan, nan}, 1,
			"age in (30, inf)",
			6. / 12 * 50 / 15}, {model.Row{31, 1, 0}, 2, "", nan}, {model.Row{31, 1, 0}, -1, "", nan},
	} {
		text, lift := c.Profile(x.row, x.class)
		if text != x.want {
			t.Errorf("row %v, class %d: %q, want %q", x.row, x.class, text, x.want)
		}
		near(t, "validated lift", lift, x.lift, 1e-15)
	}
}

// TestCarryingAndLearningCommute: a state that is carried over to another schema is that of a component which was
// carried over first and has learnt the records as the other schema has them; all else is kept bit for bit, with its
// squares and its marks.
func TestCarryingAndLearningCommute(t *testing.T) {
	ev := generated(1200, 7)
	for i := range ev.Class { // texts that no fixed level has
		if i%17 == 0 {
			ev.Columns[5][i] = 2
		}
		if i%19 == 0 {
			ev.Columns[4][i] = 3
		}
	}
	ev.Recent, ev.Sampled = 100, map[int32]bool{0: true}
	o := testOptions()
	o.Enter, o.Profiles.Validate, o.Profiles.MinSupport = true, .3, .01
	p, raw := fitPart(t, o, ev, nil)
	if len(p.Entered)+len(p.Profiles) == 0 {
		t.Fatal("nothing is found: the test would say nothing")
	}
	was := ev.Schema
	learn := func(c *Component, change *model.Change) {
		var row model.Row
		for i := range 500 {
			ex := exampleOf(ev, 700+i)
			if change != nil {
				row = change.Row(ex.Row, row)
				ex.Row = row
			}
			c.Learn(ex)
		}
	}
	features := func(change func(f []model.Feature) []model.Feature) *model.Schema {
		next := *was
		next.Features = change(slices.Clone(was.Features))
		return &next
	}
	more := *was
	more.Classes = append(slices.Clone(was.Classes), "perhaps")
	for name, next := range map[string]*model.Schema{
		"the same": was,
		"levels added": features(func(f []model.Feature) []model.Feature {
			f[4].Levels, f[5].Levels = append(slices.Clone(f[4].Levels), "top"), append(slices.Clone(f[5].Levels), "blue",
				"grey")
			return f
		}),
		"a feature added": features(func(f []model.Feature) []model.Feature {
			return append([]model.Feature{{Name: "extra"}}, f...)
		}),
		"features gone": features(func(f []model.Feature) []model.Feature { return append(f[:1:1], f[3:]...) }),
		"a class added": &more,
	} {
		change, err := model.Relate(was, next)
		if err != nil {
			t.Fatal(err)
		}
		carry := func(c *Component) (*Component, []int) {
			state, inputs, err := New(o, next).CarryState(change, c.AppendState(nil))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out := New(o, next).New(nil).(*Component)
			if err := out.LoadState(state); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return out, inputs
		}
		before := serve(t, o, ev, raw, 0, nil)
		first, inputs := carry(before)
		learn(first, change)
		learn(before, nil)
		second, _ := carry(before)
		if got, want := second.AppendState(nil), first.AppendState(nil); string(got) != string(want) {
			t.Errorf("%s: carried over after the records it is another state than before them", name)
		}
		if name == "the same" && string(second.AppendState(nil)) != string(before.AppendState(nil)) {
			t.Errorf("%s: the state is another one", name)
		}
		if len(inputs) != second.InputCount() || !slices.IsSorted(inputs) {
			t.Errorf("%s: %d inputs had the numbers %v", name, second.InputCount(), inputs)
		}
		if len(second.sets) == 0 || !second.sets[0].estimated {
			t.Errorf("%s: %d sets, whose counts began as estimates", name, len(second.sets))
		}
		kept := 0
		for i := range 300 {
			ex := exampleOf(ev, i)
			for y := range was.Classes {
				text, lift := before.Profile(ex.Row, int32(y))
				got, now := second.Profile(change.Row(ex.Row, nil), int32(y))
				if name != "features gone" && (got != text || now != lift && lift == lift) {
					t.Fatalf("%s, record %d: profile %q, before it was %q", name, i, got, text)
				}
				if got != "" {
					kept++
				}
			}
		}
		if kept == 0 && name == "the same" {
			t.Error("no record meets a profile: the test would say nothing")
		}
	}
}
