package describe

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// load reads a CSV file into memory.
func load(t testing.TB, path string) ([]string, [][]string) {
	t.Helper()
	rows := modeltest.CSV(t, path)
	return rows[0], rows[1:]
}

func table(columns []string, rows [][]string) Table {
	return Table{Columns: columns, Rows: func(yield func([]string, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}}
}

func describe(t testing.TB, tb Table, o Options) *Description {
	t.Helper()
	d, err := Describe(tb, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *Description) column(t testing.TB, name string) *Column {
	t.Helper()
	for i := range d.Columns {
		if d.Columns[i].Name == name {
			return &d.Columns[i]
		}
	}
	t.Fatalf("no column %q", name)
	return nil
}

func uniform(seed uint64, i, k int) float64 {
	return float64(model.Hash(seed, uint64(i), uint64(k))>>11) / (1 << 53)
}

func normal(seed uint64, i, k int) float64 {
	return math.Sqrt(-2*math.Log(1-uniform(seed, i, k))) * math.Cos(2*math.Pi*uniform(seed, i, k+1))
}

// flags are the columns said to leak.
func flags(d *Description) (names []string) {
	for _, w := range d.Warnings {
		if (w.Kind == WarnLeak || w.Kind == WarnMissing || w.Kind == WarnLater) && !slices.Contains(names, w.Column) {
			names = append(names, w.Column)
		}
	}
	return names
}

// columnOf describes n records whose one column, beside a label that knows nothing, is made by cell.
func columnOf(t *testing.T, name string, n int, cell func(i int) string) (*Description, *Column) {
	rows := make([][]string, n)
	for i := range rows {
		rows[i] = []string{cell(i), strconv.FormatFloat(uniform(6, i, 0), 'f', 3, 64),
			[]string{"no", "yes"}[int(2*uniform(6, i, 1))]}
	}
	d := describe(t, table([]string{name, "x", "y"}, rows), Options{Label: "y", Units: true})
	return d, d.column(t, name)
}

func TestKindsAndRoles(t *testing.T) {
	pick := func(texts ...string) func(int) string {
		return func(i int) string { return texts[int(uniform(7, i, 0)*float64(len(texts)))] }
	}
	whole := func(lo, span float64) func(int) string {
		return func(i int) string { return strconv.Itoa(int(lo + span*uniform(7, i, 0))) }
	}
	for _, c := range []struct {
		what, name string
		cell       func(int) string
		kind       model.Kind
		role       Role
	}{
		{"numbers", "balance", whole(-500, 3000), model.Continuous, Feature},
		{"few whole numbers", "children", whole(0, 5), model.Nominal, Feature},
		{"months", "month", whole(1, 12), model.Nominal, Feature},
		{"hours", "hour", whole(0, 24), model.Continuous, Feature},
		{"few numbers with fractions", "grade", pick("1", "1.5", "2", "2.5"), model.Continuous, Feature},
		{"leading zeros", "branch", func(i int) string { return fmt.Sprintf("%03d", i*7919%400) }, model.Nominal, Feature},
		{"numbers that begin with zero", "ratio", pick("0.5", "0.25", "0", "1"), model.Continuous, Feature},
		{"zip codes", "zip", whole(10000, 500), model.Nominal, Feature},
		{"postal codes", "homePostalCode", whole(10000, 500), model.Nominal, Feature},
		{"few numbers, some unknown", "tier", pick("1", "2", "3", "unknown"), model.Nominal, Feature},
		{"numbers, a third unknown", "income", func(i int) string {
			if i%3 == 0 {
				return "unknown"
			}
			return strconv.Itoa(i * 7919 % 1009)
		}, model.Continuous, Feature},
		{"an id of nineteen digits", "customer", func(i int) string { return strconv.Itoa(1777134800018164000 + i) },
			model.Continuous, ID},
		{"numbers with exponents", "e", pick("1e-3", "-2.5E+2", "7", "+3", ".5"), model.Continuous, Feature},
		{"numbers, some missing", "gap", pick("1.5", "2", "3", "NA", "", " ", "?", "null"), model.Continuous, Feature},
		{"0 and 1", "flag", pick("0", "1"), model.Nominal, Feature},
		{"yes and no", "housing", pick("yes", "no"), model.Nominal, Feature},
		{"true and false", "ok", pick("true", "false"), model.Nominal, Feature},
		{"words", "job", pick("a", "b", "c: d"), model.Nominal, Feature},
		{"ordered words", "education", pick("primary", "secondary", "tertiary"), model.Nominal, Feature},
		{"hexadecimal", "hex", pick("0x1", "0x2", "0x3"), model.Nominal, Feature},
		{"infinities", "inf", pick("inf", "-inf", "1"), model.Nominal, Feature},
		{"numbers and words", "mixed", pick("1", "2", "3", "4", "many"), model.Nominal, Feature},
		{"one value", "const", pick("x"), model.Nominal, Left},
		{"row numbers without a name", "", func(i int) string { return strconv.Itoa(i) }, model.Continuous, Left},
		{"words without a name", "", pick("a", "b"), model.Nominal, Left},
		{"nothing", "void", pick("", "NA"), model.Nominal, Left},
		{"codes", "customer", func(i int) string { return fmt.Sprintf("C%06d", i*7919%1000003) }, model.Nominal, ID},
		{"a counter", "n", func(i int) string { return strconv.Itoa(i + 17) }, model.Continuous, ID},
		{"account numbers", "account", func(i int) string { return strconv.Itoa(1000000 + i*7919%1000003) }, model.Continuous,
			ID},
		{"ids that come again", "user_id", whole(0, 1900), model.Continuous, ID},
		{"no id though its name ends so", "paid", whole(0, 1900), model.Continuous, Feature},
		{"amounts that hardly come again", "amount",
			func(i int) string { return strconv.FormatFloat(1e4*uniform(7, i, 0), 'f', 6, 64) }, model.Continuous, Feature},
		{"dates that grow", "day", func(i int) string { return fmt.Sprintf("2024-%02d-%02d", 1+i/200, 1+i/8%25) },
			model.Nominal, Time},
		{"seconds since 1970", "seen", func(i int) string { return strconv.Itoa(1700000000 + i/3) }, model.Continuous, Time},
		{"milliseconds in any order", "updatedAt", func(i int) string { return strconv.Itoa(1700000000000 + i*7919%10007) },
			model.Continuous, Time},
		{"amounts as large as seconds", "volume", func(i int) string { return strconv.Itoa(1400000000 + i*7919%997*1000) },
			model.Continuous, Feature},
		{"a share that grows", "date", func(i int) string { return strconv.FormatFloat(float64(i/4)/500, 'f', 6, 64) },
			model.Continuous, Feature},
		{"sentences", "remark", func(i int) string { return fmt.Sprint("said ", int(900*uniform(7, i, 0))) }, model.Nominal,
			Feature},
		{"hardly a sentence twice", "remark", func(i int) string { return fmt.Sprint("said ", int(3000*uniform(7, i, 0))) },
			model.Nominal, Left},
	} {
		d, got := columnOf(t, c.name, 2000, c.cell)
		if got.Kind != c.kind || got.Role != c.role {
			t.Errorf("%s: %v, role %d (%s); want %v, role %d", c.what, got.Kind, got.Role, got.Why, c.kind, c.role)
		}
		if c.role == ID && d.ID != c.name || c.role == Time && d.Time != c.name {
			t.Errorf("%s: id %q, time %q", c.what, d.ID, d.Time)
		}
	}
}

func TestMissingMarks(t *testing.T) {
	d, c := columnOf(t, "v", 2000, func(i int) string {
		switch {
		case i%200 == 3:
			return "-"
		case i%10 == 4:
			return "null"
		}
		return strconv.Itoa(i * 37 % 501)
	})
	if c.Kind != model.Continuous || c.Missing != 210 || !slices.Equal(d.Missing, []string{"", "NA", "?", "null", "-"}) ||
		c.Distinct != 501 {
		t.Errorf("%+v, missing %q", c, d.Missing)
	}
	// The same text is a level elsewhere: it cannot mean missing.
	rows := make([][]string, 2000)
	for i := range rows {
		v := strconv.Itoa(i * 37 % 501)
		if i%200 == 0 {
			v = "none"
		}
		rows[i] = []string{v, []string{"none", "some", "all"}[i%3], []string{"no", "yes"}[i%2]}
	}
	d = describe(t, table([]string{"v", "w", "y"}, rows), Options{Label: "y"})
	if c := d.column(t, "v"); c.Kind != model.Nominal || slices.Contains(d.Missing, "none") ||
		d.Warnings[0].Kind != WarnMixed {
		t.Errorf("%+v, missing %q", c, d.Missing)
	}
}

func TestTimesAfterTheRecord(t *testing.T) {
	rows := make([][]string, 3000)
	for i := range rows {
		at := 1700000000 + 60*i
		later, before := at, at-1000
		if i%10 == 0 {
			later += 500
		}
		rows[i] = []string{strconv.Itoa(at), strconv.Itoa(later), strconv.Itoa(before),
			strconv.Itoa(int(100 * uniform(8, i, 0))), []string{"no", "yes"}[int(2*uniform(8, i, 1))]}
	}
	d := describe(t, table([]string{"seen_at", "closed_at", "born_at", "x", "y"}, rows),
		Options{Label: "y", Time: "seen_at"})
	if got := flags(d); !slices.Equal(got, []string{"closed_at"}) ||
		!strings.Contains(d.column(t, "closed_at").Why, "10.0 %") || d.column(t, "born_at").Role != Left {
		t.Errorf("flags %q, closed_at: %+v", got, d.column(t, "closed_at"))
	}
}

// TestATimeThatSomeRecordsLackIsNotChosen, though it is the only one; beside one that is always there that is.
func TestATimeThatSomeRecordsLackIsNotChosen(t *testing.T) {
	for _, c := range []struct {
		columns []string
		want    string
	}{{[]string{"seen_at", "x", "y"}, ""}, {[]string{"seen_at", "sent_at", "x", "y"}, "sent_at"},
		{[]string{"sent_at", "x", "y"}, "sent_at"}} {
		rows := make([][]string, 1200)
		for i := range rows {
			at := time.Unix(1_760_000_000+60*int64(i), 0).UTC()
			for _, name := range c.columns {
				cell := map[string]string{"seen_at": at.Format(time.RFC3339), "sent_at": at.Add(time.Hour).Format(time.RFC3339),
					"x": strconv.Itoa(i * 7919 % 503), "y": []string{"no", "yes"}[int(2*uniform(8, i, 1))]}[name]
				if name == "seen_at" && i == 700 {
					cell = ""
				}
				rows[i] = append(rows[i], cell)
			}
		}
		d := describe(t, table(c.columns, rows), Options{Label: "y"})
		if d.Time != c.want {
			t.Errorf("of %q the time is %q, want %q", c.columns, d.Time, c.want)
		}
	}
}

func TestClasses(t *testing.T) {
	of := func(o Options, classes ...string) *Description {
		rows := make([][]string, len(classes)*50)
		for i := range rows {
			rows[i] = []string{strconv.Itoa(i * 37 % 101), classes[i%len(classes)]}
		}
		o.Label = "y"
		return describe(t, table([]string{"x", "y"}, rows), o)
	}
	names := func(d *Description) string {
		var s []string
		for _, c := range d.Classes {
			s = append(s, c.Text)
		}
		return strings.Join(s, " ") + " / " + d.Positive
	}
	for _, c := range []struct {
		o       Options
		classes []string
		want    string
	}{
		{Options{}, []string{"yes", "no"}, "no yes / yes"},
		{Options{}, []string{"yes", "no", "yes"}, "yes no / no"},
		{Options{Positive: "yes"}, []string{"yes", "no", "yes"}, "no yes / yes"},
		{Options{}, []string{"10", "9", "2"}, "2 9 10 / "},
		{Options{Positive: "9"}, []string{"10", "9", "2"}, "2 9 10 / 9"},
		{Options{}, []string{"b", "a", "c"}, "a b c / "},
		{Options{}, []string{"yes", "", "no", "NA"}, "no yes / yes"},
	} {
		if got := names(of(c.o, c.classes...)); got != c.want {
			t.Errorf("%q: %q, want %q", c.classes, got, c.want)
		}
	}
	if d := of(Options{}, "yes", "", "no", "NA"); d.Warnings[0].Kind != WarnUnlabelled {
		t.Errorf("unlabelled records: %v", d.Warnings)
	}
	numbers := make([]string, 100)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	if d := of(Options{}, numbers...); !strings.Contains(d.Warnings[0].Text, "quantity") {
		t.Errorf("a quantity as label: %v", d.Warnings)
	}
	if d := of(Options{}, "only"); d.Warnings[0].Kind != WarnOneClass {
		t.Errorf("one class: %v", d.Warnings)
	}
}

func TestErrors(t *testing.T) {
	good := [][]string{{"1", "no"}, {"2", "yes"}}
	broken := errors.New("broken")
	many := make([][]string, 1000)
	for i := range many {
		many[i] = []string{"1", strconv.Itoa(i)}
	}
	calls := 0
	for what, c := range map[string]struct {
		t    Table
		o    Options
		want string
	}{
		"no such label": {table([]string{"x", "y"}, good), Options{Label: "z"},
			`label column "z" does not exist: the columns are x, y`},
		"no such id":      {table([]string{"x", "y"}, good), Options{Label: "y", ID: "z"}, `id column "z"`},
		"no label":        {table([]string{"x", "y"}, good), Options{}, "no label column"},
		"label is id":     {table([]string{"x", "y"}, good), Options{Label: "y", ID: "y"}, "different columns"},
		"repeated column": {table([]string{"x", "x"}, good), Options{Label: "x"}, `two columns have the name "x"`},
		"ragged": {table([]string{"x", "y"}, [][]string{{"1", "no"}, {"2"}}), Options{Label: "y"},
			"record 2: 1 cells, the header has 2"},
		"empty": {table([]string{"x", "y"}, nil), Options{Label: "y"}, "no record"},
		"empty label": {table([]string{"x", "y"}, [][]string{{"1", ""}, {"2", "NA"}}), Options{Label: "y"},
			"empty in each record (2)"},
		"no such positive": {table([]string{"x", "y"}, good), Options{Label: "y", Positive: "Yes"},
			`positive class "Yes" does not occur in column "y": it has no, yes`},
		"too many classes": {table([]string{"x", "y"}, many), Options{Label: "y"},
			"more than 256 distinct values by record 257"},
		"unreadable": {Table{Columns: []string{"x", "y"}, Rows: func(yield func([]string, error) bool) {
			_ = yield(good[0], nil) && yield(nil, broken)
		}}, Options{Label: "y"}, "reading record 2: broken"},
		"changes between the passes": {Table{Columns: []string{"x", "y"}, Rows: func(yield func([]string, error) bool) {
			calls++
			for range 3 - calls {
				if !yield(good[0], nil) || !yield(good[1], nil) {
					return
				}
			}
		}}, Options{Label: "y"}, "2 records, the first time 4"},
	} {
		if d, err := Describe(c.t, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", what, d, err, c.want)
		}
	}
}

// FuzzDescribe: no text makes it panic or print anything but one entry a line.
func FuzzDescribe(f *testing.F) {
	f.Add("a,b,y\n1,x,no\n2,?,yes\n", "y")
	f.Add("y,t\nno,2024-01-01\nyes,1700000000\n", "y")
	f.Add("\"a\n# \",y\n\"${\",no\n\x85,yes\n", "y")
	f.Fuzz(func(t *testing.T, text, label string) {
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		all, err := r.ReadAll()
		if err != nil || len(all) == 0 {
			return
		}
		d, err := Describe(table(all[0], all[1:]), Options{Name: text, Label: label})
		if err != nil {
			return
		}
		for _, line := range strings.Split(strings.TrimSuffix(string(d.YAML()), "\n"), "\n") {
			if s := strings.TrimSpace(line); !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "- {name: ") && !yamlKey(s) &&
				s != "[]" {
				t.Errorf("line %q", line)
			}
		}
	})
}

func BenchmarkDescribe(b *testing.B) {
	columns, rows := load(b, modeltest.Shared(b, "data/bank_full.csv.gz"))
	for b.Loop() {
		describe(b, table(columns, rows), Options{Label: "class"})
	}
	b.ReportMetric(float64(len(rows))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
