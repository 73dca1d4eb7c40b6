package lift

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// TestSetCellAgreesWithTheSearch: the live path and the columnar one put every record into the same cell.
func TestSetCellAgreesWithTheSearch(t *testing.T) {
	ev := generated(700, 3)
	for _, joint := range []Joint{Mahalanobis, Product} {
		o := testOptions()
		o.Joint = joint
		s := newSetSearch(newSample(ev), &o, nil)
		row := make(model.Row, len(ev.Columns))
		for size := 1; size <= 3; size++ {
			sets := combinations(s.fields, size)
			s.groupByPart(sets)
			for _, features := range sets {
				f, _ := s.evaluate(features)
				if f == nil {
					t.Fatalf("no set of %v", features)
				}
				live := liveSet{set: f.set, own: NewTable(3), others: NewTable(3)}
				c := &Component{schema: ev.Schema, sets: []liveSet{live}}
				c.compile()
				for i := range ev.Class {
					ev.Row(i, row)
					if got := f.set.Cell(row); got != int(s.cells[i]) {
						t.Fatalf("joint %d set %v record %d: cell %d live, %d in the search", joint, features, i, got, s.cells[i])
					}
					c.Learn(exampleOf(ev, i))
				}
				if !slices.Equal(c.sets[0].own.n, f.table.n) {
					t.Fatalf("joint %d set %v: counted live %v, in the search %v", joint, features, c.sets[0].own.n, f.table.n)
				}
			}
		}
	}
}

// TestJointCellsAreEqualMass: cells of a continuous set are fifths of its own complete cases, by the distance that a
// direct solution gives.
func TestJointCellsAreEqualMass(t *testing.T) {
	ev := generated(1000, 5)
	for i := range ev.Weight {
		ev.Weight[i] = 1
	}
	o := testOptions()
	s := newSetSearch(newSample(ev), &o, nil)
	f, m := s.evaluate([]int32{0, 1, 7})
	for x, n := range m.NX {
		if math.Abs(n-m.N/5) > 2 {
			t.Errorf("cell %d has %v of %v records", x, n, m.N)
		}
	}
	// d^2 = x' S^-1 x with S summed and inverted here by hand.
	var rows [][3]float64
	for i := range ev.Class {
		r := [3]float64{ev.Columns[0][i], ev.Columns[1][i], ev.Columns[7][i]}
		if !math.IsNaN(r[0] + r[1] + r[2]) {
			rows = append(rows, r)
		}
	}
	var mean [3]float64
	var cov [3][3]float64
	n := float64(len(rows))
	for _, r := range rows {
		for j := range r {
			mean[j] += r[j] / n
		}
	}
	for _, r := range rows {
		for j := range r {
			for k := range r {
				cov[j][k] += (r[j] - mean[j]) * (r[k] - mean[k]) / (n - 1)
			}
		}
	}
	minor := func(a, b, c, d int) float64 { return cov[a][b]*cov[c][d] - cov[a][d]*cov[c][b] }
	inv := [3][3]float64{
		{minor(1, 1, 2, 2), -minor(0, 1, 2, 2), minor(0, 1, 1, 2)},
		{-minor(1, 0, 2, 2), minor(0, 0, 2, 2), -minor(0, 0, 1, 2)},
		{minor(1, 0, 2, 1), -minor(0, 0, 2, 1), minor(0, 0, 1, 1)},
	}
	det := cov[0][0]*inv[0][0] + cov[0][1]*inv[1][0] + cov[0][2]*inv[2][0]
	row := make(model.Row, len(ev.Columns))
	for _, r := range rows {
		d := 0.0
		for j := range r {
			for k := range r {
				d += r[j] * inv[j][k] / det * r[k]
			}
		}
		row[0], row[1], row[7] = r[0], r[1], r[2]
		near(t, "distance", f.set.parts[0].distance(row), math.Sqrt(d), 1e-9)
	}
}

// TestDegenerateSets: constant and repeated features neither break a set nor invent dependence.
func TestDegenerateSets(t *testing.T) {
	s := &model.Schema{Classes: []string{"a", "b"}, Positive: -1}
	for _, n := range []string{"x", "same", "constant", "zero", "label", "level"} {
		s.Features = append(s.Features, model.Feature{Name: n})
	}
	s.Features[5].Kind = model.Nominal
	var rows [][]string
	for i := 0; i < 400; i++ {
		x := 1 + float64(mix(uint64(i))%1000)/100
		y := mix(uint64(i)+7) % 2
		rows = append(rows, []string{fmt.Sprint(x), fmt.Sprint(x), "3", "0", fmt.Sprint(y), "only", []string{"a", "b"}[y]})
	}
	ev := evidenceOf(s, rows)
	o := testOptions()
	search := newSetSearch(newSample(ev), &o, nil)
	eta := func(f ...int32) float64 {
		e, m := search.evaluate(f)
		for x := range m.NX {
			if m.NX[x] == 0 {
				t.Errorf("set %v: cell %d is empty", f, x)
			}
		}
		return e.eta
	}
	near(t, "a feature with its copy", eta(0, 1), eta(0), 1e-12)
	near(t, "a constant", eta(2), 0, 1e-12)
	near(t, "a zero", eta(3), 0, 1e-12)
	near(t, "two constants", eta(2, 3), 0, 1e-12)
	near(t, "a constant beside a feature", eta(0, 2), eta(0), 1e-12)
	near(t, "one level", eta(5), 0, 1e-12)
	near(t, "one level beside a feature", eta(0, 5), eta(0), 1e-12)
	near(t, "the label", eta(4), 1, 1e-12)
	if eta(0) > .05 {
		t.Errorf("noise has eta %v", eta(0))
	}
}

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
	want := []string{"copy", "label", "noise+copy", "noise+label", "copy+label",
		"holes", "noise+holes", "copy+holes", "label+holes", "noise"}
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
	// With 8 features the beam is wider than the number of sets, so it finds the same ones as the exhaustive search.
	beam := len(p.Sets)
	o.Sets.Search = Exhaustive
	q, _ := fitPart(t, o, ev, nil)
	if q.Exhausted != 3 || len(q.Sets) != 28+56 || beam != len(q.Sets) {
		t.Errorf("exhausted %d, %d sets, the beam %d", q.Exhausted, len(q.Sets), beam)
	}
	if d := affordableDepth(16, 45211, 3, affordable); d != 3 {
		t.Errorf("profiles of %d features of the bank records", d)
	}
	if d := affordableDepth(600, 1e6, 3, affordable); d != 1 {
		t.Errorf("profiles of %d features of a wide table", d)
	}
}
