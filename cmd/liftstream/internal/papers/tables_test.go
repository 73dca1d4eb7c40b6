package papers

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/model/lift"
)

// TestAFigureIsTheSameWhenItRoundsToThePrintedOne, both ends of the interval included.
func TestAFigureIsTheSameWhenItRoundsToThePrintedOne(t *testing.T) {
	for _, c := range []struct {
		paper string
		ours  float64
		same  bool
		shown string
	}{{"0.38", .375, true, "0.375000"}, {"0.38", .385, true, "0.385000"}, {"0.38", .3749, false, "0.374900"},
		{"0.38", .3851, false, "0.385100"}, {"8.000000000", 8.0000000004, true, "8.0000000004000"},
		{"8.000000000", 8.000000001, false, "8.0000000010000"}, {"19", 19.4, true, "19.4000"}, {"19", 18.4, false, "18.4000"},
		{"1.94", -1.94, false, "-1.940000"}, {"none", 1, false, "1.0000"}} {
		var r Reproduction
		r.number("what", c.paper, c.ours)
		mark := map[bool]string{true: "", false: "DIFFERS"}[c.same]
		if want := []string{"what", c.paper, c.shown, mark}; !slices.Equal(r.rows[0], want) ||
			(r.differ == 0) != c.same {
			t.Errorf("%v beside %s: %q, want %q", c.ours, c.paper, r.rows[0], want)
		}
	}
}

// TestEachPrintedFigureIsCompared: a table agrees, and with any of its figures changed it differs once.
func TestEachPrintedFigureIsCompared(t *testing.T) {
	tables, programmes := countedTables, knownProgrammes
	t.Cleanup(func() { countedTables, knownProgrammes = tables, programmes })
	for _, c := range []struct {
		name, table string
		change      func()
	}{
		{"nothing", "1", func() {}}, {"nothing", "2", func() {}}, {"nothing", "3", func() {}},
		{"nothing", "kernel", func() {}},
		{"eta", "1", func() { changed("1", func(x *counted) { x.eta = "0.0388" }) }},
		{"eta", "2", func() { changed("2", func(x *counted) { x.eta = "0.0355" }) }},
		{"eta of a window", "3", func() { changed("3", func(x *counted) { x.cells[2] = "0.0576" }) }},
		{"lift", "3", func() { changed("3", func(x *counted) { x.lift = "1.52" }) }},
		{"optimum", "kernel", func() { knownProgrammes[4].optimum = ".444258781" }},
	} {
		countedTables, knownProgrammes = maps.Clone(tables), slices.Clone(programmes)
		c.change()
		out, err := reproduce(Reproduction{}, c.table)
		differs := c.name != "nothing"
		if errors.Is(err, cli.ErrFound) != differs || err != nil && !differs ||
			(strings.Count(out, "DIFFERS") == 1) != differs ||
			strings.Contains(out, "\n1 figure differs from what is printed\n") != differs {
			t.Errorf("%s of table %s: %v\n%s", c.name, c.table, err, out)
		}
	}
}

func changed(name string, change func(*counted)) {
	x := countedTables[name]
	change(&x)
	countedTables[name] = x
}

// TestTablesAreThoseThatAreNamed, in the order of the papers, each with its own rows; those of Covertype need it.
func TestTablesAreThoseThatAreNamed(t *testing.T) {
	run := func(r Reproduction, tables ...string) (out, notes string, err error) {
		var o, n bytes.Buffer
		err = r.Run(context.Background(), cli.New(nil, &o, &n), tables)
		return o.String(), n.String(), err
	}
	out, notes, err := run(Reproduction{}, "3", "1", "2")
	parts := strings.Split(out, "\n\n")
	if err != nil || notes != "" || len(parts) != 3 {
		t.Fatalf("%v, %q\n%s", err, notes, out)
	}
	for i, want := range []string{"Table 1: ", "Table 2: ", "Table 3: "} {
		if alone, _, err := run(Reproduction{}, strconv.Itoa(i+1)); err != nil || !strings.HasPrefix(parts[i], want) ||
			strings.TrimSpace(alone) != strings.TrimSpace(parts[i]) {
			t.Errorf("part %d is\n%s\nalone\n%s", i, parts[i], alone)
		}
	}
	for _, table := range []string{"7", "8", "9"} {
		if out, _, err := run(Reproduction{}, "1", table); err == nil ||
			!strings.Contains(err.Error(), "table "+table+" is") || !strings.HasPrefix(out, "Table 1: ") {
			t.Errorf("table %s without its data: %v\n%s", table, err, out)
		}
		if _, _, err := run(Reproduction{Data: t.TempDir()}, table); err == nil ||
			!strings.Contains(err.Error(), "holds neither covtype10.csv.gz nor covtype10.csv") {
			t.Errorf("table %s of an empty folder: %v", table, err)
		}
	}
}

// grown is a forest of few records, with all its sets.
func grown(t *testing.T) *forest {
	t.Helper()
	s := &model.Schema{Classes: []string{"1", "2", "3", "4", "5", "6", "7"}, Positive: -1}
	for _, c := range forestColumns {
		s.Features = append(s.Features, model.Feature{Name: c[1]})
	}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, len(s.Features)), Seed: 1}
	for i := range 300 {
		class := int32(model.Hash(4, uint64(i)) % 7)
		for f := range ev.Columns {
			noise := float64(model.Hash(5, uint64(i), uint64(f)) % 1000)
			ev.Columns[f] = append(ev.Columns[f], noise+float64(class)*float64(100*(f%3)))
		}
		ev.Class, ev.Weight = append(ev.Class, class), append(ev.Weight, 1)
		ev.Time, ev.Partition, ev.Clock = append(ev.Time, 0), append(ev.Partition, 0), append(ev.Clock, float64(i))
	}
	o := lift.Options{Quantiles: 5, Sets: lift.SetOptions{Min: 1, Max: 10, Search: lift.Exhaustive, Top: 1023},
		Windows: lift.WindowOptions{Top: 10}}
	b, err := lift.New(o, s).Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lift.DecodePart(s, b)
	if err != nil {
		t.Fatal(err)
	}
	return &forest{s, p}
}

// TestTablesOfAnotherForest: its own figures agree, and each one that is changed differs.
func TestTablesOfAnotherForest(t *testing.T) {
	f := grown(t)
	counts, windows, profiles := forestCounts, forestWindowRows, forestProfileRows
	t.Cleanup(func() { forestCounts, forestWindowRows, forestProfileRows = counts, windows, profiles })
	differ := func(table func(*Reproduction) error) (int, string) {
		t.Helper()
		var out bytes.Buffer
		r := &Reproduction{out: &out, forest: f}
		if err := table(r); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "DIFFERS"); n != r.differ || len(r.rows) > 0 {
			t.Errorf("%d marks of %d differences:\n%s", n, r.differ, out.String())
		}
		return r.differ, out.String()
	}
	want := func(name string, n int, table func(*Reproduction) error) {
		t.Helper()
		if got, out := differ(table); got != n {
			t.Errorf("%s: %d figures differ, want %d\n%s", name, got, n, out)
		}
	}
	want("table 7 of another forest", 7, (*Reproduction).forestSet) // the set, its eta, five rows of counts
	best := f.summary(0)
	forestCounts = nil
	for x := range best.NX {
		forestCounts = append(forestCounts, slices.Clone(best.Count[7*x:7*x+7]))
	}
	want("table 7 with its own counts", 2, (*Reproduction).forestSet)
	forestCounts[4][6]++
	want("table 7 with another last count", 3, (*Reproduction).forestSet)

	forestWindowRows = nil
	for _, w := range f.part.Windows[:10] {
		var cells []string
		for _, c := range w.Cells {
			cells = append(cells, fmt.Sprint("Q", c+1))
		}
		forestWindowRows = append(forestWindowRows, [3]string{f.short(w.Set), strings.Join(cells, " "),
			strconv.FormatFloat(w.Eta, 'f', 4, 64)})
	}
	want("table 8 with its own figures", 0, (*Reproduction).forestWindows)
	forestWindowRows[3][2] = "0.9"
	forestWindowRows[9][1] = "Q9"
	want("table 8 with another eta and another window", 2, (*Reproduction).forestWindows)
	forestWindowRows = append(forestWindowRows, [3]string{"(E)", "Q1", "0.1"})
	want("table 8 with a row too many", 3, (*Reproduction).forestWindows)

	for _, rank := range []int{0, 1} { // the highest profile of each class, and the next one
		for y := range forestProfileRows {
			forestProfileRows[y].set, forestProfileRows[y].cell, forestProfileRows[y].lift = f.ranked(y, rank)
		}
		want(fmt.Sprintf("table 9 with profiles of rank %d", rank), 7*rank, (*Reproduction).forestProfiles)
	}
	forestProfileRows[2].lift = "9.99"
	want("table 9 with another lift besides", 8, (*Reproduction).forestProfiles)
	empty := &Reproduction{out: &bytes.Buffer{}, forest: &forest{f.schema, &lift.Part{}}}
	if err := empty.forestSet(); err != nil || empty.differ != 1 {
		t.Errorf("a forest of no set: %d differences, %v", empty.differ, err)
	}
}

// ranked is the profile of a class that all but rank others are below; those of one lift are one.
func (f *forest) ranked(class, rank int) (set string, cell int, text string) {
	type profile struct {
		set  string
		cell int
		lift float64
	}
	var all []profile
	for i := range f.part.Sets {
		s := f.summary(i)
		for x := range s.NX {
			all = append(all, profile{f.short(f.part.Sets[i].Set), x, s.Lift(x, class)})
		}
	}
	slices.SortStableFunc(all, func(a, b profile) int { return cmp.Compare(b.lift, a.lift) })
	best := all[0]
	for _, p := range all {
		if rank > 0 && p.lift < best.lift*(1-1e-9) {
			best, rank = p, rank-1
		}
	}
	return best.set, best.cell, strconv.FormatFloat(best.lift, 'f', 6, 64)
}

// TestFoldsOfAFile: the columns before class and fold are numbers.
func TestFoldsOfAFile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a,b,class,fold\n1,2,x,0\n3,-4.5,w,1\n5,6e1,x,f\n", ""},
		{"", "the last two columns are not class and fold"}, {"a,class,fold\n", "the last two columns"},
		{"class,fold\nx,1\n", "the last two columns"}, {"a,class,folds\n1,x,1\n", "the last two columns"},
		{"a,b,class,fold\n1,2,x,0\n1,y,x,0\n", `row 2, column "b": "y" is no number`},
		{"a,class,fold\n1,x\n", "wrong number of fields"},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.csv.gz")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		ev, fold, err := readFolds(path)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), path+": ")) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
		if err == nil && fmt.Sprint(ev.Schema.Classes, ev.Class, ev.Columns, fold) !=
			"[w x] [1 0 1] [[1 3 5] [2 -4.5 60]] [0 1 f]" {
			t.Errorf("%v %v %v %v", ev.Schema.Classes, ev.Class, ev.Columns, fold)
		}
	}
}
