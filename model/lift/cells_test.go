package lift

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
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
				c := &Component{schema: ev.Schema, sets: []liveSet{{set: f.set, own: NewTable(3, model.HalfLife{}), others: NewTable(3, model.HalfLife{})}}}
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

// TestCutsStayWhileTheyServe: cuts of the serving part stay on like evidence, so that counts carry over, and go when
// the feature has moved.
func TestCutsStayWhileTheyServe(t *testing.T) {
	o := testOptions()
	before := generated(3000, 21)
	p, part := fitPart(t, o, before, nil)
	after := generated(3000, 22)
	q, _ := fitPart(t, o, after, part)
	kept := 0
	for i := range q.Sets {
		for j := range p.Sets {
			if q.Sets[i].Set.equal(p.Sets[j].Set) {
				kept++
			}
		}
	}
	if kept < len(p.Sets)*9/10 {
		t.Errorf("%d of %d sets kept their cells on evidence of the same distribution", kept, len(p.Sets))
	}
	for i, v := range after.Columns[0] {
		after.Columns[0][i] = v + 3
	}
	q, _ = fitPart(t, o, after, part)
	for i := range q.Sets {
		for j := range p.Sets {
			if slices.Contains(q.Sets[i].Set.features, 0) && q.Sets[i].Set.equal(p.Sets[j].Set) {
				t.Errorf("set %v keeps cells that its feature has left", q.Sets[i].Set.features)
			}
		}
	}
}

// TestLevelsThatComeLate get cells of their own, without a fit.
func TestLevelsThatComeLate(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "a", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal, Levels: []string{"x", "y"}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	ev := evidenceOf(s, [][]string{{"p", "x", "no"}, {"q", "y", "yes"}, {"p", "y", "no"}})
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	for i := 0; i < 30; i++ {
		a := ev.Levels.Code(0, fmt.Sprintf("late %d", i%10))
		b := ev.Levels.Code(1, "unheard of")
		c.Learn(&model.Example{Row: model.Row{float64(a), float64(b)}, Class: int32(i % 2), Weight: 1})
	}
	labels := map[string]float64{}
	for _, r := range ReportSets(s, ev.Levels, c.Live(), ByEta) {
		total := 0.0
		for i, l := range r.Levels {
			n := float64(r.Counts[i][0] + r.Counts[i][1])
			labels[strings.Join(r.Features, ",")+":"+l] = n
			total += n
		}
		if total != 33 {
			t.Errorf("set %v counts %v of 33 records", r.Features, total)
		}
	}
	for l, want := range map[string]float64{"a:late 3": 3, "a:p": 2, "b:(other)": 30, "a,b:late 9 & (other)": 3, "a,b:p & y": 1} {
		if labels[l] != want {
			t.Errorf("%q has %v records, want %v", l, labels[l], want)
		}
	}
}

// TestManyLevelsAreBounded: levels beyond the room of a set share its last cell.
func TestManyLevelsAreBounded(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for i := 0; i < 3; i++ {
		s.Features = append(s.Features, model.Feature{Name: string(rune('a' + i)), Kind: model.Nominal})
	}
	set := newSet(s, []int32{0, 1, 2}, Mahalanobis, nil)
	if set.Cells() > maxCells {
		t.Errorf("%d cells", set.Cells())
	}
	l := model.NewLevels(s)
	for f := 0; f < 3; f++ {
		for i := 0; i < 100; i++ {
			l.Code(f, fmt.Sprint(i))
		}
	}
	if a, b := set.Cell(model.Row{99, 2, 3}), set.Cell(model.Row{50, 2, 3}); a != b || set.Label(l, a) != "(other) & 2 & 3" {
		t.Errorf("cells %d and %d, %q", a, b, set.Label(l, a))
	}
	seen := map[int]bool{}
	for a := 0; a < 15; a++ {
		for b := 0; b < 15; b++ {
			for c := 0; c < 15; c++ {
				x := set.Cell(model.Row{float64(a), float64(b), float64(c)})
				if seen[x] || set.Label(l, x) != fmt.Sprintf("%d & %d & %d", a, b, c) {
					t.Fatalf("cell %d of %d %d %d is %q", x, a, b, c, set.Label(l, x))
				}
				seen[x] = true
			}
		}
	}
	wide := &model.Schema{Classes: []string{"no", "yes"}}
	var all []int32
	for i := 0; i < 30; i++ {
		wide.Features = append(wide.Features, model.Feature{Name: fmt.Sprint(i), Kind: model.Nominal})
		all = append(all, int32(i))
	}
	if newSet(wide, all, Mahalanobis, nil) != nil {
		t.Error("a set of 30 features with levels has cells")
	}
}

// TestTenThousandLevels: of two features with 10,000 levels each, live tables and their bytes stay within the bound on
// cells, every record is counted, and the levels that came too late share the cell "other".
func TestTenThousandLevels(t *testing.T) {
	const levels = 10000
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "a", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal}, {Name: "x", Kind: model.Continuous}}}
	l := model.NewLevels(s)
	var ex []model.Example
	for i := range 2 * levels {
		k := i % levels
		a, b := l.Code(0, fmt.Sprint("level ", k)), l.Code(1, fmt.Sprint("level ", levels-1-k))
		ex = append(ex, model.Example{Row: model.Row{float64(a), float64(b), float64(i % 97)}, Class: int32(i % 3 / 2), Weight: 1, Clock: float64(i), Time: int64(i)})
	}
	ev := modeltest.Evidence(s, l, ex[:3000])
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	for i := 3000; i < len(ex); i++ {
		c.Learn(&ex[i])
	}
	bound := 0
	for _, x := range c.Live() {
		n := 0.0
		for _, v := range x.Table.Counts() {
			n += v
		}
		if x.Table.Cells() > maxCells || n != float64(len(ex)) {
			t.Errorf("set %v: %d cells, %v of %d records", x.Set.Features(), x.Table.Cells(), n, len(ex))
		}
		bound += 24*maxCells + 1000 // two classes and the distance to the cell before
	}
	if n := len(c.AppendState(nil)); n > 2*bound {
		t.Errorf("a state of %d bytes, the bound is %d", n, 2*bound)
	}
	for _, x := range c.Live() {
		if len(x.Set.Features()) != 1 || x.Set.Features()[0] == 2 {
			continue
		}
		first, last := x.Set.Cell(ex[0].Row), x.Set.Cell(ex[levels-1].Row)
		if f := x.Set.Features()[0]; f == 0 && (x.Set.Label(l, first) == "(other)" || x.Set.Label(l, last) != "(other)") {
			t.Errorf("feature %d: the first level is in %q, the last in %q", f, x.Set.Label(l, first), x.Set.Label(l, last))
		}
	}
}
