package describe

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// described describes columns of n records, whose last one is the label y.
func described(t *testing.T, o Options, n int, columns string, cell func(column string, i int) string) *Description {
	t.Helper()
	names := strings.Fields(columns)
	rows := make([][]string, n)
	for i := range rows {
		for _, c := range names {
			rows[i] = append(rows[i], cell(c, i))
		}
	}
	o.Label = "y"
	return describe(t, table(names, rows), o)
}

// TestClassesOfALabel: the rarer of two is positive, of equals the later one; a positive class that is given in another
// text of its value is found; up to 64 numbers are classes, more a quantity; one record without a class is told.
func TestClassesOfALabel(t *testing.T) {
	for _, c := range []struct {
		label    func(i int) string
		positive string
		want     string
		guessed  bool
		warning  string
	}{
		{func(i int) string { return strconv.Itoa(min(i%3, 1)) }, "", "1 0 / 0", true, ""},
		{func(i int) string { return strconv.Itoa(i % 2) }, "", "0 1 / 1", true, ""},
		{func(i int) string { return strconv.Itoa(i % 2) }, "false", "1 0 / 0", false, ""},
		{func(i int) string { return strconv.Itoa(i % 2) }, "1.0", "0 1 / 1", false, ""},
		{func(i int) string { return []string{"b", "a", "c"}[i%3] }, "b", "a b c / b", false, ""},
		{func(i int) string { return []string{"b", "a", "c"}[i%3] }, "", "a b c / ", false, "3 classes and no positive one"},
		{func(i int) string { return strconv.Itoa(i % 64) }, "", "", false, "there are 64 classes"},
		{func(i int) string { return strconv.Itoa(i % 65) }, "", "", false,
			"65 classes are numbers: it looks like a quantity"},
		{func(i int) string { return []string{"b", "a", ""}[min(i%2+2*(i/649), 2)] }, "", "b a / a", true,
			"1 of 650 records have no class"},
	} {
		d := described(t, Options{Positive: c.positive}, 650, "x y", func(column string, i int) string {
			if column == "y" {
				return c.label(i)
			}
			return strconv.Itoa(i * 37 % 101)
		})
		var texts []string
		for _, k := range d.Classes {
			texts = append(texts, k.Text)
		}
		if got := strings.Join(texts, " ") + " / " + d.Positive; c.want != "" && (got != c.want || d.Guessed != c.guessed) {
			t.Errorf("%q, guessed %v; want %q", got, d.Guessed, c.want)
		}
		if len(d.Warnings) != min(len(c.warning), 1) || c.warning != "" && !says(d, "y", d.Warnings[0].Kind, c.warning) {
			t.Errorf("%s: warnings %v, want %q", c.want, d.Warnings, c.warning)
		}
	}
}

// TestRecordsSortedByTheirClass: in less than one of twenty records the class changes in which it would in any order.
func TestRecordsSortedByTheirClass(t *testing.T) {
	for _, c := range []struct {
		n, run int // records, of each class in turn
		want   bool
	}{{800, 40, true}, {800, 38, false}, {42, 21, true}, {40, 20, false}} {
		// Two classes of equal size change in half of the records in any order.
		d := described(t, Options{}, c.n, "x y", func(column string, i int) string {
			if column == "y" {
				return []string{"no", "yes"}[i/c.run%2]
			}
			return strconv.Itoa(i * 37 % 101)
		})
		if got := says(d, "y", WarnSorted, "the class changes"); got != c.want {
			t.Errorf("%d records in runs of %d: sorted %v", c.n, c.run, got)
		}
	}
}

// TestWhichColumnIsTheIDOrTheTime: the first, one whose name says so before; none that was given; of times the first
// that never falls.
func TestWhichColumnIsTheIDOrTheTime(t *testing.T) {
	for _, c := range []struct {
		columns, id, at string
		o               Options
	}{
		{"code mark x y", "code", "", Options{}}, {"code row_id user_id x y", "row_id", "", Options{}},
		{"row_id code x y", "row_id", "", Options{}}, {"code row_id x y", "code", "", Options{ID: "code"}},
		{"back_at on_at late_at x y", "", "on_at", Options{}}, {"back_at x y", "", "back_at", Options{}},
		{"back_at down_at x y", "", "", Options{}}, {"on_at late_at x y", "", "late_at", Options{Time: "late_at"}},
	} {
		d := described(t, c.o, 1500, c.columns, func(column string, i int) string {
			switch column {
			case "code", "row_id", "user_id", "mark":
				return column + whole(i*7919%100_003)
			case "on_at", "late_at":
				return fmt.Sprintf("2024-03-%02d %02d:%02d:00", 1+i/60, i%60/3, i%60%3*20)
			case "back_at", "down_at":
				return fmt.Sprintf("2024-%02d-%02d", 12-i/28%12, 1+i%28)
			case "y":
				return []string{"no", "yes"}[int(2*uniform(6, i, 1))]
			}
			return strconv.Itoa(i * 37 % 101)
		})
		if d.ID != c.id || d.Time != c.at {
			t.Errorf("%s: id %q, time %q; want %q, %q", c.columns, d.ID, d.Time, c.id, c.at)
		}
		for _, col := range d.Columns {
			if (col.Role == ID) != (col.Name == c.id) || (col.Role == Time) != (col.Name == c.at) {
				t.Errorf("%s: %s has the role %d", c.columns, col.Name, col.Role)
			}
		}
	}
}

// TestNamesThatTheScoresHave: a feature of such a name is left out, a leak too; a class may have that of a propensity,
// which is made of it, and none that scores have without classes.
func TestNamesThatTheScoresHave(t *testing.T) {
	long := strings.Repeat("n", 257)
	columns := "lift propensity_no (x) fine " + long + " " + long[:256] + " y"
	d := described(t, Options{Taken: taken}, 900, columns, func(column string, i int) string {
		y := []string{"no", "model"}[int(2*uniform(6, i, 1))]
		if column == "y" || column == "lift" { // a copy of the class
			return y
		}
		return strconv.Itoa(i * 37 % 101)
	})
	for _, c := range d.Columns[:6] {
		want := Left
		if c.Name == "fine" || len(c.Name) == 256 {
			want = Feature
		}
		if c.Role != want || (want == Left) != strings.HasPrefix(c.Why, "rename it: ") ||
			says(d, c.Name, WarnName, "cannot be a feature") != (want == Left) {
			t.Errorf("%s: role %d (%s)", c.Name, c.Role, c.Why)
		}
	}
	if !says(d, "y", WarnName, `class "model" must be renamed`) || says(d, "y", WarnName, `class "no"`) {
		t.Errorf("warnings %v", d.Warnings)
	}
	d = described(t, Options{Taken: taken}, 300, "lift y", func(column string, i int) string {
		if column == "y" {
			return []string{"no", "propensity_no"}[i%2]
		}
		return "same"
	})
	if says(d, "y", WarnName, "must be renamed") { // scores name propensities after it, and no column is named so
		t.Errorf("warnings %v", d.Warnings)
	}
	if !says(d, "", WarnNoFeature, "no column is left") || !strings.Contains(string(d.YAML()), "\n    []\n") {
		t.Errorf("warnings %v\n%s", d.Warnings, d.YAML())
	}
}

// TestBlocksOfTheSample: every block while there is room, and of large tables or many columns every few.
func TestBlocksOfTheSample(t *testing.T) {
	for _, c := range []struct {
		labelled int64
		scorers  int
		step     int64
	}{{0, 0, 1}, {20_000, 10, 1}, {20_001, 10, 2}, {40_000, 10, 2}, {41_000, 10, 3}, {20_000, 400, 1}, {20_000, 500, 2},
		{20_000, 1 << 20, 20}} {
		s := newSample(c.labelled, c.scorers)
		if s.step != c.step || len(s.cells) != c.scorers {
			t.Errorf("%d records, %d scorers: every %d. block, want %d", c.labelled, c.scorers, s.step, c.step)
		}
		if c.scorers != 10 {
			continue
		}
		for i := range int(c.labelled) {
			if held := s.next(int32(i%2), i%3 == 0); held != (i/1000%int(c.step) == 0) {
				t.Fatalf("%d records: record %d is held: %v", c.labelled, i, held)
			}
		}
		if s.seen != c.labelled || len(s.class) != len(s.odd) || len(s.class) > sampleRecords {
			t.Errorf("%d records are seen, %d held", s.seen, len(s.class))
		}
	}
}

// TestCellsOfANumberAlone: a value of more than a sixtieth of the records is a cell of its own, the others lie in up
// to 30 of equal size, and missing ones in the first.
func TestCellsOfANumberAlone(t *testing.T) {
	for atom, own := range map[int]bool{20: false, 21: true} {
		s := newAlone(0, &Column{Kind: model.Continuous, Marks: []string{"-"}}, 2, false)
		var warm [][]string
		for i := range 1200 {
			v := strconv.Itoa(i + 10)
			if i < atom {
				v = "5"
			}
			warm = append(warm, []string{v})
		}
		s.cut(warm)
		if got := slices.Equal(s.atoms, []float64{5}); got != own || len(s.cuts) != 29 {
			t.Errorf("%d of 1,200: atoms %v, %d cuts", atom, s.atoms, len(s.cuts))
		}
		if s.cell("-") != 0 || s.cell("NA") != 0 || s.cell("many") != 0 || (s.cell("5") == s.cell("5.5")) == own ||
			s.cell("1e9") != len(s.atoms)+1+29 {
			t.Errorf("%d of 1,200: cells %d, %d, %d, %d, %d", atom, s.cell("-"), s.cell("many"), s.cell("5"), s.cell("5.5"),
				s.cell("1e9"))
		}
	}
	s := newAlone(0, &Column{Kind: model.Nominal}, 2, false)
	for i := range maxCells + 10 {
		if got, want := s.cell("v"+whole(i)), min(2+i, maxCells); got != want {
			t.Fatalf("level %d has the cell %d, want %d", i, got, want)
		}
	}
	if s := newAlone(0, &Column{Kind: model.Continuous}, 2, true); s.cell("7") != 1 || s.cell("") != 0 {
		t.Error("whether a value is missing has other cells than 0 and 1")
	}
}

// TestTheFirstBlockIsNotCounted where there is another: it scores by hardly a record.
func TestTheFirstBlockIsNotCounted(t *testing.T) {
	for n, want := range map[int]float64{1000: .5, 1999: .5, 2000: 1, 3000: 1} {
		s := newAlone(0, &Column{Kind: model.Nominal}, 2, false)
		base := make([]float64, 2)
		for i := range n {
			y, cell := int32(i%2), 2
			if i >= 1000 { // from then on it tells the class
				cell = 3 + int(y)
			}
			if i == 1000 || i == 1001 { // its first records know nothing yet
				cell = 2
			}
			if err := s.add(cell, y, base); err != nil {
				t.Fatal(err)
			}
			base[y]++
		}
		if got := s.auc(); math.Abs(got-want) > .02 && !(n == 1999) {
			t.Errorf("%d records: AUC %v inside blocks, want %v", n, got, want)
		}
	}
}

// TestTextsOfTheConfiguration: shares are of the labelled records, names of topics are bounded, and the warm-up is
// named where the default would be too long.
func TestTextsOfTheConfiguration(t *testing.T) {
	for n, want := range map[int64]int64{0: 50, 2549: 50, 2550: 51, 24_999: 499, 25_000: 500, 1 << 40: 1 << 40 / 50} {
		if got := warmup(n); got != want {
			t.Errorf("a warm-up of %d for %d records, want %d", got, n, want)
		}
	}
	d := &Description{Records: 40_000, Label: "y", Classes: []Count{{"no", 18_750}, {"yes", 6250}}, Positive: "yes",
		Columns: []Column{{Name: "x", Kind: model.Continuous, Min: -1.5, Max: 3, Distinct: 7, Missing: 10_000}}}
	y := string(d.YAML())
	for _, want := range []string{"classes: [\"no\", \"yes\"]  # 75.0 %, 25.0 % of 25,000 labelled records\n",
		"positive: \"yes\"\n", "# From 40,000 records.", "# -1.5 to 3, 7 values; 25.0 % missing\n",
		"missing: []  # no cell of this file\n", "# id: COLUMN", "# time: COLUMN"} {
		if !strings.Contains(y, want) {
			t.Errorf("no %q in\n%s", want, y)
		}
	}
	if strings.Contains(y, "warmup") {
		t.Errorf("the default warm-up is named:\n%s", y)
	}
	d.Classes[1].N--
	d.Guessed, d.TimeUnit, d.Time, d.ID = true, "s", "at", "the id"
	d.Missing, d.Marks = []string{"", "NA"}, []Count{{"", 1}, {"NA", 0}}
	y = string(d.YAML())
	for _, want := range []string{"fit: {warmup: 499}", "positive: \"yes\"  # the rarer one", "id: \"the id\"\n",
		"time: {column: at, unit: s}", "missing: [\"\", \"NA\"]  # 1 cell of this file: 1 \"\"\n"} {
		if !strings.Contains(y, want) {
			t.Errorf("no %q in\n%s", want, y)
		}
	}
	if got := topicName(strings.Repeat("x", 300)); len(got) != 200 {
		t.Errorf("the name of a topic has %d bytes", len(got))
	}
	got := []string{count(0), count(999), count(1000), count(-5), count(1234567), percent(1, 3), plural(1, "cell"),
		plural(2, "cell"),
		is(1), is(0), said([]marked{{"a", 1, 0}}), said([]marked{{"a", 1000, 0}, {"b", 1, 0}, {"c", 2, 0}})}
	want := []string{"0", "999", "1,000", "-5", "1,234,567", "33.3 %", "cell", "cells", "is", "are", `1 cell "a"`,
		`1,000 cells "a", 1 "b" and 2 "c"`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
