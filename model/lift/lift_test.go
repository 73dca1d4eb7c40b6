package lift

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/report"
	"liftstream/model/wire"
)

func testOptions() Options {
	return Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 100}, Windows: WindowOptions{Top: 5},
		Profiles: ProfileOptions{Top: 10, MinSupport: .05, MaxFeatures: 2, Validate: .2}}
}

func generated(n int, seed uint64) *model.Evidence {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, n, seed)
	return modeltest.Evidence(s, l, ex)
}

func serve(t testing.TB, o Options, ev *model.Evidence, part []byte, self int32, since []int) *Component {
	t.Helper()
	c := New(o, ev.Schema).New(ev.Levels).(*Component)
	err := c.Rebase(&model.Rebase{Part: part, Self: self, Since: func(yield func(*model.Example) bool) {
		for _, i := range since {
			if !yield(exampleOf(ev, i)) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func exampleOf(ev *model.Evidence, i int) *model.Example {
	row := make(model.Row, len(ev.Columns))
	ev.Row(i, row)
	return &model.Example{Row: row, Class: ev.Class[i], Weight: ev.Weight[i], Clock: ev.Clock[i], Time: ev.Time[i]}
}

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

// TestFormerFormatIsRead: a part of format 3 and a state of format 2 give sets, windows and profiles.
func TestFormerFormatIsRead(t *testing.T) {
	file, err := os.Open("testdata/part-3-state-2.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	s := modeltest.Schema()
	r := wire.NewReader(raw)
	levels, err := model.DecodeLevels(s, r)
	if err != nil {
		t.Fatal(err)
	}
	b, state := r.Bytes(), r.Bytes()
	p, err := DecodePart(s, b)
	if err != nil {
		t.Fatal(err)
	}
	c := New(testOptions(), s).New(levels).(*Component)
	if err := c.LoadState(state); err != nil {
		t.Fatal(err)
	}
	if p.Rank != ByEta || len(p.Sets) == 0 || len(p.Windows) == 0 || len(p.Profiles) == 0 || len(c.profiles) != len(p.Profiles) {
		t.Fatalf("rank %d, %d sets, %d windows, %d and %d profiles", p.Rank, len(p.Sets), len(p.Windows), len(p.Profiles), len(c.profiles))
	}
	if w := p.Windows[0]; !(w.Eta > 0 && w.N > 0 && w.Mass > 0) || w.Low == w.Low || w.Folded != 0 {
		t.Errorf("window %+v", w)
	}
	if f := p.Profiles[0]; f.Among != len(p.Profiles) || f.Text == "" || f.Folded != 0 {
		t.Errorf("profile %+v", f)
	}
	again, err := DecodePart(s, p.appendBinary(nil))
	if err != nil || len(again.Profiles) != len(p.Profiles) || again.Profiles[0].Tally != p.Profiles[0].Tally {
		t.Errorf("written in the present format it reads back as %v, %v", again, err)
	}
}

func FuzzState(f *testing.F) {
	ev := generated(60, 1)
	o := testOptions()
	o.Sets.Top, o.Windows.Top, o.Profiles.Top = 2, 1, 1 // small seeds: large ones stall the fuzzer
	part, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
	c := serve(f, o, ev, part, 0, []int{0, 1, 2})
	f.Add(c.AppendState(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := New(o, ev.Schema).New(ev.Levels).(*Component)
		if d.LoadState(b) != nil {
			return
		}
		d.Learn(exampleOf(ev, 5))
		d.Profile(exampleOf(ev, 5).Row, 2)
		e := New(o, ev.Schema).New(ev.Levels)
		if err := e.LoadState(d.AppendState(nil)); err != nil {
			t.Errorf("loading its own state: %v", err)
		}
	})
}

func FuzzPart(f *testing.F) {
	ev := generated(60, 1)
	o := testOptions()
	o.Sets.Top, o.Windows.Top, o.Profiles.Top = 2, 1, 1 // small seeds: large ones stall the fuzzer
	part, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(part)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePart(ev.Schema, b)
		if err != nil {
			return
		}
		var r report.Report
		p.Report(ev.Schema, ev.Levels, &r)
		d := New(o, ev.Schema).New(ev.Levels)
		if err := d.Rebase(&model.Rebase{Part: b, Since: func(func(*model.Example) bool) {}}); err != nil {
			t.Errorf("rebasing to a part that decodes: %v", err)
		}
		d.Learn(exampleOf(ev, 5))
	})
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
