package describe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// cell is a value with its type by the format.
type cell struct {
	text   string
	isText bool
}

// formed describes rows of cells whose last column is the label y.
func formed(t *testing.T, columns []string, formats []Format, o Options, rows [][]cell) *Description {
	t.Helper()
	var now []cell
	tb := Table{Columns: columns, Formats: formats, Text: func(c int) bool { return now[c].isText },
		Rows: func(yield func([]string, error) bool) {
			for _, r := range rows {
				now = r
				texts := make([]string, len(r))
				for i, c := range r {
					texts[i] = c.text
				}
				if !yield(texts, nil) {
					return
				}
			}
		}}
	o.Label = "y"
	return describe(t, tb, o)
}

func says(d *Description, column string, kind WarningKind, text string) bool {
	return slices.ContainsFunc(d.Warnings, func(w Warning) bool {
		return w.Column == column && w.Kind == kind && strings.Contains(w.Text, text)
	})
}

func class(i int) cell { return cell{[]string{"no", "yes"}[int(2*uniform(5, i, 9))], false} }

// TestMarksInQuotesAreText where the file chooses its quotes; where it quotes everything they say nothing.
func TestMarksInQuotesAreText(t *testing.T) {
	for _, c := range []struct {
		what             string
		quoted, allQuote bool
		typed            bool
		nulls            bool
		level            bool
	}{
		{"without quotes", false, false, false, false, false}, {"in quotes", true, false, false, false, true},
		{"all in quotes", true, true, false, false, false}, {"typed without nulls", true, false, true, false, false},
		{"typed with nulls", true, false, true, true, true},
	} {
		var rows [][]cell
		missing := int64(0)
		for i := range 600 {
			region := cell{[]string{"NA", "EU", "AS"}[i%3], c.quoted}
			if c.nulls && i%7 == 0 {
				region = cell{}
			}
			if region.text == "" || region.text == "NA" && !c.level {
				missing++
			}
			rows = append(rows, []cell{region, {strconv.Itoa(i * 7919 % 503), c.allQuote},
				{class(i).text, c.allQuote}})
		}
		var formats []Format
		if c.typed {
			formats = []Format{{Text: true}, {}, {}}
		}
		d := formed(t, []string{"region", "x", "y"}, formats, Options{}, rows)
		level := slices.ContainsFunc(d.column(t, "region").Levels, func(l Count) bool { return l.Text == "NA" })
		if level != c.level || slices.Contains(d.Missing, "NA") == c.level {
			t.Errorf("%s: levels %v, missing %q", c.what, d.column(t, "region").Levels, d.Missing)
		}
		if n := d.column(t, "region").Missing; n != missing {
			t.Errorf("%s: %d records without a value, want %d", c.what, n, missing)
		}
		if c.level && !says(d, "region", WarnMarks, `"NA" are in quotes`) {
			t.Errorf("%s: %v", c.what, d.Warnings)
		}
	}
}

// TestDigitsInQuotesAreNames, and numbers that their type has as text are no numbers.
func TestDigitsInQuotesAreNames(t *testing.T) {
	for _, c := range []struct {
		what    string
		value   func(i int) string
		isText  bool
		formats []Format
		kind    model.Kind
		role    Role
	}{
		{"digits", func(i int) string { return strconv.Itoa(i * 7 % 101) }, false, nil, model.Continuous, Feature},
		{"digits in quotes", func(i int) string { return strconv.Itoa(i * 7 % 101) }, true, nil, model.Nominal, Feature},
		{"fractions in quotes", func(i int) string { return fmt.Sprint(float64(i*7%101)/2 + .25) }, true, nil,
			model.Continuous, Feature},
		{"text by its type", func(i int) string { return strconv.Itoa(i * 7 % 101) }, true, []Format{{Text: true}, {}, {}},
			model.Nominal, Feature},
		{"amounts, text by their type", func(i int) string { return fmt.Sprint(float64(i) / 7) }, true,
			[]Format{{Text: true}, {}, {}}, model.Nominal, Left},
		{"a type that is not read", func(i int) string { return "[1]" }, false, []Format{{Refused: "a list"}, {}, {}},
			model.Nominal, Left},
	} {
		var rows [][]cell
		for i := range 1200 {
			rows = append(rows, []cell{{c.value(i), c.isText}, {strconv.Itoa(i * 7919 % 503), false}, class(i)})
		}
		d := formed(t, []string{"v", "x", "y"}, c.formats, Options{}, rows)
		if got := d.column(t, "v"); got.Kind != c.kind || got.Role != c.role {
			t.Errorf("%s: %v, role %d (%s)", c.what, got.Kind, got.Role, got.Why)
		}
	}
}

// TestWhatFitRefusesIsNotChosen, and the owner is told.
func TestWhatFitRefusesIsNotChosen(t *testing.T) {
	columns := []string{"customer_id", "seen_at", "sorted", "x", "y"}
	make := func(at func(i int) string) [][]cell {
		var rows [][]cell
		for i := range 1200 {
			id := fmt.Sprintf("C%05d", i)
			if i == 700 {
				id = ""
			}
			rows = append(rows, []cell{{id, false}, {at(i), false}, {"a", false}, {strconv.Itoa(i * 7919 % 503), false},
				{[]string{"no", "yes"}[i/600], false}})
		}
		return rows
	}
	seconds := func(i int) string { return strconv.Itoa(1760000000 + i*60) }
	d := formed(t, columns, nil, Options{}, make(seconds))
	if d.ID != "" || !says(d, "customer_id", WarnID, "1 record without it") {
		t.Errorf("the id is %q: %v", d.ID, d.Warnings)
	}
	if d.Time != "" || d.TimeUnit != "" || !says(d, "seen_at", WarnTime, "seconds since 1970") {
		t.Errorf("the time is %q: %v", d.Time, d.Warnings)
	}
	large := func(i int) string { return fmt.Sprintf("%d", 1<<53+2*(i*7919%100_003)) }
	for _, c := range []struct {
		what   string
		format Format
		id     func(i int) string
		want   string // part of the warning; "" = it is the id
	}{
		{"whole numbers", Format{}, large, ""},
		{"whole floats", Format{Exact: 1 << 54}, large, ""},
		{"large floats", Format{Exact: 1 << 53}, large, "floats as large as its largest"},
		{"negative floats", Format{Exact: 1 << 24}, func(i int) string { return "-" + large(i) }, "floats as large"},
		{"dates beyond times", Format{Time: true}, func(i int) string { return fmt.Sprintf("%d-01-01", 20000+i) },
			"times are no ids"},
		{"long texts", Format{}, func(i int) string { return fmt.Sprint(i, strings.Repeat("x", 9000*(i/1199))) }, "8 KiB"},
		{"bytes", Format{Refused: "its type binary"}, func(i int) string { return fmt.Sprint("k", i) }, "its type binary"},
	} {
		rows := make(seconds)
		for i := range rows {
			rows[i][0].text = c.id(i)
		}
		formats := []Format{c.format, {}, {}, {}, {}}
		if d := formed(t, columns, formats, Options{}, rows); (d.ID != "") != (c.want == "") {
			t.Errorf("%s: the id is %q: %v", c.what, d.ID, d.Warnings)
		}
		named := formed(t, columns, formats, Options{ID: "customer_id"}, rows)
		if is := says(named, "customer_id", WarnID, "refuse the file with this id"); is != (c.want != "") ||
			is && !says(named, "customer_id", WarnID, c.want) {
			t.Errorf("%s, named as the id: %v", c.what, named.Warnings)
		}
	}
	closed := make(seconds) // a column of times that hardly any record has, all of them readable
	for i := range closed {
		if closed[i][3].text = ""; i%600 == 0 {
			closed[i][3].text = fmt.Sprintf("2026-02-%02dT10:00:00Z", 1+i/600)
		}
	}
	d = formed(t, columns, []Format{{}, {}, {}, {Time: true}, {}}, Options{}, closed)
	if says(d, "x", WarnTime, "outside") {
		t.Errorf("two readable times: %v", d.Warnings)
	}
	powers := make(seconds)
	for i := range powers {
		powers[i][3].text = fmt.Sprintf("%de+2%02d", 1+i*7919%9973, i%90)
	}
	if d := formed(t, columns, nil, Options{}, powers); d.ID != "" || says(d, "x", WarnID, "") {
		t.Errorf("numbers with exponents are the id %q: %v", d.ID, d.Warnings)
	}
	if !says(d, "y", WarnSorted, "the class changes 1 time") {
		t.Errorf("sorted: %v", d.Warnings)
	}
	d = formed(t, columns, nil, Options{Units: true}, make(seconds))
	if d.Time != "seen_at" || d.TimeUnit != "s" ||
		!strings.Contains(string(d.YAML()), "time: {column: seen_at, unit: s}") {
		t.Errorf("the time is %q in %q:\n%s", d.Time, d.TimeUnit, d.YAML())
	}
	for unit, factor := range map[string]int64{"us": 1e6, "ns": 1e9} {
		d = formed(t, columns, nil, Options{Units: true}, make(func(i int) string {
			return strconv.FormatInt((1760000000+int64(i)*60)*factor, 10)
		}))
		if d.Time != "seen_at" || d.TimeUnit != unit {
			t.Errorf("%s: the time is %q in %q", unit, d.Time, d.TimeUnit)
		}
	}
	d = formed(t, columns, nil, Options{}, make(func(i int) string {
		if i%100 == 5 {
			return "later"
		}
		return fmt.Sprintf("2025-%02d-%02d 08:00", 1+i/100, 1+i%28)
	}))
	if d.Time != "" || !says(d, "seen_at", WarnTime, `12 records, such as "later"`) {
		t.Errorf("the time is %q: %v", d.Time, d.Warnings)
	}
}

// TestMissingCellsAreCountedByTheirTexts in a comment, and named at their column.
func TestMissingCellsAreCountedByTheirTexts(t *testing.T) {
	var rows [][]cell
	for i := range 1000 {
		v := strconv.Itoa(i * 7919 % 503)
		switch {
		case i%50 == 1:
			v = "n/a"
		case i%200 == 2:
			v = "on request"
		case i%100 == 3:
			v = ""
		}
		rows = append(rows, []cell{{v, false}, {strconv.Itoa(i * 31 % 499), false}, class(i)})
	}
	d := formed(t, []string{"income", "x", "y"}, nil, Options{}, rows)
	if c := d.column(t, "income"); c.Kind != model.Continuous || c.Missing != 35 ||
		!says(d, "income", WarnMixed, `20 cells "n/a" and 5 "on request" treated as missing`) {
		t.Errorf("%+v: %v", c, d.Warnings)
	}
	if y := string(d.YAML()); !strings.Contains(y, `# 35 cells of this file: 10 "", 20 "n/a", 5 "on request"`) {
		t.Errorf("the configuration is\n%s", y)
	}
}
