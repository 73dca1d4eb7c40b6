package lift

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// TestRankingIsTheContract: value, then records, then fewer features, then configuration order.
func TestRankingIsTheContract(t *testing.T) {
	s := &model.Schema{Classes: []string{"a", "b"}, Positive: -1}
	for _, n := range []string{"noise", "copy", "label", "holes"} {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	var rows [][]string
	for i := 0; i < 200; i++ {
		y := []string{"a", "b"}[i%2]
		h := y
		if i < 20 {
			h = ""
		}
		rows = append(rows, []string{fmt.Sprint(mix(uint64(i)) % 3), y, y, h, y})
	}
	ev := evidenceOf(s, rows)
	p, _ := fitPart(t, testOptions(), ev, nil)
	var got []string
	for i := range p.Sets {
		got = append(got, strings.Join(report.Names(s, p.Sets[i].Set.features), "+"))
	}
	want := []string{"copy", "label", "noise+copy", "noise+label", "copy+label", "holes", "noise+holes", "copy+holes", "label+holes", "noise"}
	if !slices.Equal(got, want) {
		t.Errorf("ranking %v, want %v", got, want)
	}
}

// TestFeatureOrderHasNoEffect: eta of every set, by name, is the same with the features in reverse.
func TestFeatureOrderHasNoEffect(t *testing.T) {
	ev := generated(600, 9)
	turned := *ev
	s := *ev.Schema
	s.Features, turned.Columns = slices.Clone(s.Features), slices.Clone(ev.Columns)
	slices.Reverse(s.Features)
	slices.Reverse(turned.Columns)
	turned.Schema = &s
	turned.Levels = model.NewLevels(&s)
	for f := range s.Features {
		if s.Features[f].Kind != model.Continuous {
			for _, text := range ev.Levels.Names(len(s.Features) - 1 - f) {
				turned.Levels.Code(f, text)
			}
		}
	}
	byName := func(ev *model.Evidence) map[string]float64 {
		o := testOptions()
		o.Sets.Max = 3
		o.Sets.Top = 256
		out := map[string]float64{}
		p, _ := fitPart(t, o, ev, nil)
		for i := range p.Sets {
			table := p.Sets[i].Total(3)
			names := report.Names(ev.Schema, p.Sets[i].Set.features)
			slices.Sort(names)
			out[strings.Join(names, "+")] = Summarise(table.n, 3, table.Effective()).Eta()
		}
		return out
	}
	a, b := byName(ev), byName(&turned)
	if len(a) != 8+28+56 || len(b) != len(a) {
		t.Fatalf("%d and %d sets", len(a), len(b))
	}
	for n, v := range a {
		near(t, n, b[n], v, 1e-9)
	}
}

// TestReportFeaturesAreNotSearched: a feature for reports only is in no set and no profile.
func TestReportFeaturesAreNotSearched(t *testing.T) {
	ev := generated(600, 9)
	o := testOptions()
	o.Sets.Top, o.Profiles.Top, o.Profiles.MinSupport = 256, 200, 0
	p, _ := fitPart(t, o, ev, nil)
	z := int32(ev.Schema.Feature("z"))
	for i := range p.Sets {
		if slices.Contains(p.Sets[i].Set.features, z) {
			t.Error("a report feature is in a set")
		}
	}
	for _, f := range p.Profiles {
		for _, it := range f.Items {
			if it.Feature == z {
				t.Error("a report feature is in a profile")
			}
		}
	}
}

// TestGenerationsLoseNothing: fit after fit, with fresh components and carried ones, every record is counted once.
func TestGenerationsLoseNothing(t *testing.T) {
	ev := generated(900, 11)
	o := testOptions()
	upTo := func(n int) *model.Evidence {
		return &model.Evidence{Schema: ev.Schema, Levels: ev.Levels, Columns: func() (c [][]float64) {
			for f := range ev.Columns {
				c = append(c, ev.Columns[f][:n])
			}
			return c
		}(), Class: ev.Class[:n], Weight: ev.Weight[:n], Clock: ev.Clock[:n], Time: ev.Time[:n], Partition: ev.Partition[:n]}
	}
	between := func(a, b int) (out []int) {
		for i := a; i < b; i++ {
			out = append(out, i)
		}
		return out
	}
	first := upTo(300)
	_, part := fitPart(t, o, first, nil)
	// The component starts from nothing but the part, learns, and hands its state to the next fit, three times.
	learnt := 300
	for generation := 0; generation < 3; generation++ {
		c := serve(t, o, ev, part, 0, between(learnt, learnt+100))
		for _, i := range between(learnt+100, learnt+200) {
			c.Learn(exampleOf(ev, i))
		}
		learnt += 200
		next := upTo(learnt)
		next.States = map[int32][]byte{0: c.AppendState(nil)}
		p, b := fitPart(t, o, next, part)
		for i := range p.Sets {
			total := 0.0
			for _, v := range p.Sets[i].Total(3).n {
				total += v
			}
			want := 0.0
			for r := 0; r < learnt; r++ {
				if newSample(ev).complete(p.Sets[i].Set.features, r) {
					want += ev.Weight[r]
				}
			}
			if total != want {
				t.Fatalf("generation %d set %v: %v counted, want %v", generation, p.Sets[i].Set.features, total, want)
			}
		}
		part = b
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	ev := generated(800, 2)
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	exs := make([]*model.Example, ev.Len())
	for i := range exs {
		exs[i] = exampleOf(ev, i)
		c.Learn(exs[i])
	}
	i := 0
	if n := testing.AllocsPerRun(500, func() {
		c.Learn(exs[i])
		c.Retract(exs[i])
		c.Profile(exs[i].Row, 2)
		i = (i + 1) % len(exs)
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// TestReport: the figures of a part in the form that users read.
func TestReport(t *testing.T) {
	ev := generated(900, 4)
	p, _ := fitPart(t, testOptions(), ev, nil)
	var r report.Report
	p.Report(ev.Schema, ev.Levels, &r)
	if len(r.Sets) != len(p.Sets) || len(r.Windows) != 5 || len(r.Profiles) != 30 || r.Search.Exhaustive != 2 || r.Search.Sets != 8+28 {
		t.Fatalf("%d sets, %d windows, %d profiles, %+v", len(r.Sets), len(r.Windows), len(r.Profiles), r.Search)
	}
	for i, s := range r.Sets {
		if i > 0 && s.Eta > r.Sets[i-1].Eta+1e-12 {
			t.Errorf("set %d is out of order", i)
		}
		total := 0.0
		for c := range s.Levels {
			for y := range s.Counts[c] {
				total += float64(s.Counts[c][y])
				if l := s.Lift[c][y]; s.LiftLow[c][y] > l || l > s.LiftHigh[c][y] {
					t.Errorf("set %v: lift %v outside [%v, %v]", s.Features, l, s.LiftLow[c][y], s.LiftHigh[c][y])
				}
			}
		}
		if total != float64(s.N) || len(s.CellEta) != len(s.Levels) || float64(s.EtaCorrected) > float64(s.Eta) {
			t.Errorf("set %v: %v records in cells of %v, %+v", s.Features, total, s.N, s)
		}
	}
	w := r.Windows[0]
	if len(w.Levels) == 0 || math.Abs(float64(w.N)-float64(w.Mass)*float64(p.Windows[0].N/p.Windows[0].Mass)) > 1e-9 {
		t.Errorf("window %+v", w)
	}
	f := r.Profiles[0]
	if math.Abs(float64(f.NXY/f.NX*f.N/f.NY-f.Lift)) > 1e-12 || f.LiftLow > f.Lift || len(f.Profile) == 0 {
		t.Errorf("profile %+v", f)
	}
}

func TestSearchSizes(t *testing.T) {
	ev := generated(400, 4)
	o := testOptions()
	o.Sets.Min, o.Sets.Max, o.Sets.Top, o.Sets.Search = 2, 3, 256, Beam
	p, _ := fitPart(t, o, ev, nil)
	if p.Exhausted != 1 {
		t.Errorf("a beam exhausts size %d", p.Exhausted)
	}
	for i := range p.Sets {
		if n := len(p.Sets[i].Set.features); n < 2 || n > 3 {
			t.Errorf("set of %d features", n)
		}
	}
	// With 8 features the beam is wider than what there is to try: it finds what the exhaustive search finds.
	beam := len(p.Sets)
	o.Sets.Search = Exhaustive
	q, _ := fitPart(t, o, ev, nil)
	if q.Exhausted != 3 || len(q.Sets) != 28+56 || beam != len(q.Sets) {
		t.Errorf("exhausted %d, %d sets, the beam %d", q.Exhausted, len(q.Sets), beam)
	}
	if d := affordableDepth(16, 45211, 3); d != 3 {
		t.Errorf("profiles of %d features of the bank records", d)
	}
	if d := affordableDepth(600, 1e6, 3); d != 1 {
		t.Errorf("profiles of %d features of a wide table", d)
	}
}

func BenchmarkLearn(b *testing.B) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for i := 0; i < 16; i++ {
		f := model.Feature{Name: fmt.Sprint("f", i)}
		if i >= 7 {
			f.Kind = model.Nominal
		}
		s.Features = append(s.Features, f)
	}
	l, ex := modeltest.Generate(s, 4000, 1)
	ev := modeltest.Evidence(s, l, ex)
	for _, top := range []int{20, 64} {
		o := testOptions()
		o.Sets.Top = top
		part, err := New(o, s).Fit(context.Background(), ev, nil)
		if err != nil {
			b.Fatal(err)
		}
		c := serve(b, o, ev, part, 0, nil)
		b.Run(fmt.Sprint(top, "sets"), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			reportCPU(b, func() {
				c.Learn(&ex[i])
				if i++; i == len(ex) {
					i = 0
				}
			})
		})
	}
}

// TestEstimatesAreFlagged: counts that a reservoir stands in for are marked for as long as they are kept, and weigh
// with the effective number of the sample.
func TestEstimatesAreFlagged(t *testing.T) {
	ev := generated(400, 6)
	o := testOptions()
	o.Sets.Max = 1
	ev.Recent, ev.Sampled = 100, map[int32]bool{0: true, 1: true}
	for i := range ev.Class {
		if ev.Weight[i] = 1; i < ev.Recent {
			ev.Weight[i] = 10 // one in ten of the older records is here
		}
		ev.Partition[i] = int32(i % 2)
	}
	flags := func(c *Component) (out []bool) {
		for _, s := range c.Live() {
			out = append(out, s.Estimated)
		}
		return out
	}
	p, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	if !p.Sets[0].Shares[0].Estimated || slices.Contains(flags(c), false) {
		t.Error("counts from a reservoir are not marked")
	}
	live := c.Live()[0].Table
	var n float64
	for _, v := range live.Counts() {
		n += v
	}
	if n < 1000 || live.Effective() > n/4 {
		t.Errorf("weight %v, effective %v", n, live.Effective())
	}
	// The state keeps the mark, and so does the next fit even if its own evidence is whole.
	d := New(o, ev.Schema).New(ev.Levels).(*Component)
	if err := d.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	whole := *ev
	whole.Recent = 0
	whole.States = map[int32][]byte{0: d.AppendState(nil), 1: serve(t, o, ev, part, 1, nil).AppendState(nil)}
	_, next := fitPart(t, o, &whole, part)
	if slices.Contains(flags(serve(t, o, ev, next, 0, nil)), false) {
		t.Error("a carried estimate lost its mark")
	}
	whole.States = nil
	_, next = fitPart(t, o, &whole, nil)
	if slices.Contains(flags(serve(t, o, ev, next, 0, nil)), true) {
		t.Error("whole counts are marked")
	}
	var r report.Report
	p.Report(ev.Schema, ev.Levels, &r)
	if !r.Sets[0].Estimated {
		t.Error("the report does not say so")
	}
}
