package lift

import (
	"fmt"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestLevelsThatComeLate get cells of their own, without a fit.
func TestLevelsThatComeLate(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "a", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal, Levels: []string{"x", "y"}}}}
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
	for l, want := range map[string]float64{
		"a:late 3": 3, "a:p": 2, "b:(other)": 30, "a,b:late 9 & (other)": 3, "a,b:p & y": 1,
	} {
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
	a, b := set.Cell(model.Row{99, 2, 3}), set.Cell(model.Row{50, 2, 3})
	if a != b || set.Label(l, a) != "(other) & 2 & 3" {
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
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	const levels = 10000
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "a", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal}, {Name: "x", Kind: model.Continuous}}}
	l := model.NewLevels(s)
	var ex []model.Example
	for i := range 2 * levels {
		k := i % levels
		a, b := l.Code(0, fmt.Sprint("level ", k)), l.Code(1, fmt.Sprint("level ", levels-1-k))
		ex = append(ex, model.Example{Row: model.Row{float64(a), float64(b), float64(i % 97)},
			Class: int32(i % 3 / 2), Weight: 1, Clock: float64(i), Time: int64(i)})
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

// TestARecodeMovesLevelsWithACell: the records of a level with a cell of its own go to that of its new code. Those of
// levels beyond are not told apart, and stay together whatever their new codes are.
func TestARecodeMovesLevelsWithACell(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "a", Kind: model.Nominal}, {Name: "b", Kind: model.Nominal}, {Name: "c", Kind: model.Nominal},
		{Name: "x", Kind: model.Continuous}}}
	set := newSet(s, []int32{0, 1, 2, 3}, Mahalanobis, []part{{features: []int32{3}, cuts: []float64{0}}})
	last := float64(set.levels[0].cap - 1)
	for _, l := range set.levels {
		if float64(l.cap-1) != last || last < 4 {
			t.Fatalf("cells of a level: %+v", set.levels)
		}
	}
	const levels = 20
	turned := make([]uint32, levels) // the codes of two features, from the last to the first
	for i := range turned {
		turned[i] = uint32(levels - 1 - i)
	}
	recode := model.Recode{turned, nil, turned, nil}
	old, want := NewTable(2), NewTable(2)
	for i := range 3000 {
		h := mix(uint64(i))
		row := model.Row{float64(h % levels), float64(h >> 8 % levels), float64(h >> 16 % levels), float64(h>>24%2) - .5}
		class, weight := int(h>>32%2), float64(1+h>>40%3)
		old.add(set.Cell(row), class, 1, weight)
		for f, codes := range recode {
			if codes != nil && row[f] < last {
				row[f] = float64(codes[int(row[f])])
			}
		}
		want.add(set.Cell(row), class, 1, weight)
	}
	set.recode(old, recode)
	if string(appendTable(nil, old)) != string(appendTable(nil, want)) {
		t.Errorf("counts %v, want %v", old.n, want.n)
	}
}
