package file

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/modeltest"
)

func rowsOptions() codec.Options {
	return codec.Options{ID: "who", Label: "class", Missing: []string{"", "NA"}, Schema: &model.Schema{
		Classes: []string{"no", "yes"}, Positive: 1,
		Features: append(continuous("age", "score"), nominal("job", "grade", "zip")...),
	}}
}

// text renders a batch by value.
func text(b *model.Batch) (out []string) {
	for i := range b.N {
		s := fmt.Sprint(b.Label[i])
		if b.ID != nil {
			s += " " + b.ID[i]
		}
		for f := range b.Columns {
			switch c := b.Columns[f]; {
			case c.Float != nil:
				s += fmt.Sprint(" ", c.Float[i])
			case c.Code[i] == model.MissingCode:
				s += " -"
			default:
				s += " " + c.Levels[c.Code[i]]
			}
		}
		out = append(out, s)
	}
	return out
}

func readAll(t testing.TB, o Options, paths ...string) ([]string, error) {
	t.Helper()
	r, err := Open(paths, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []string
	var b model.Batch
	for {
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, text(&b)...)
	}
}

// tablesOf yields the tables of a file.
func tablesOf(t testing.TB, path string, o TableOptions) iter.Seq[*codec.Table] {
	t.Helper()
	return func(yield func(*codec.Table) bool) {
		r, err := OpenTables([]string{path}, o)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer r.Close()
		for {
			table, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if !yield(table) {
				return
			}
		}
	}
}

var formats = []string{"rows.csv", "rows.csv.gz", "semicolon.csv", "tabs.tsv", "rows.jsonl", "rows.jsonl.gz",
	"rows.arrows", "rows.arrow", "rows.feather", "rows.parquet"}

// TestFormats: the same records in every format are the same batch.
func TestFormats(t *testing.T) {
	want := []string{
		"0 a1 58 1.5 management 2 01234",
		"1 a2 44 -0.25 technician 1 99999",
		"0 a3 33 NaN entrepreneur 3 00001",
		"1 a4 NaN 0.001 blue-collar 1 12345",
		"0 a5 47 2e+06 - 2 01234",
		"1 a6 35 0.1 retired - 54321",
		"0 a7 28 3 technician 1 01234",
		"-1 a8 42 7.25 management 2 01234",
	}
	for _, f := range formats {
		for _, rows := range []int{0, 1, 3} {
			got, err := readAll(t, Options{Codec: rowsOptions(), Rows: rows, RequireLabel: true}, filepath.Join("testdata", f))
			if err != nil {
				t.Errorf("%s by %d rows: %v", f, rows, err)
				continue
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s by %d rows:\n%s\nwant\n%s", f, rows, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	got, err := readAll(t, Options{Codec: rowsOptions()}, "testdata/rows.csv", "testdata/rows.parquet")
	if err != nil || len(got) != 16 || got[8] != want[0] {
		t.Errorf("two files: %d rows, %v", len(got), err)
	}
}

// TestTables: raw columns keep their types, texts as they stand in the file.
func TestTables(t *testing.T) {
	for _, f := range formats {
		var notes []string
		for table := range tablesOf(t, filepath.Join("testdata", f), TableOptions{Codec: rowsOptions()}) {
			for i := range table.Rows() {
				s, _ := table.Text(table.Column("note"), i)
				notes = append(notes, s)
			}
			if strings.Contains(f, "csv") || strings.Contains(f, "tsv") || strings.Contains(f, "json") {
				want := map[string]codec.ValueKind{"who": codec.KindText, "age": codec.KindInt, "score": codec.KindFloat,
					"grade": codec.KindText, "zip": codec.KindText}
				for _, c := range table.Columns() {
					if k, ok := want[c.Name]; ok && k != c.Kind {
						t.Errorf("%s: column %s is %s", f, c.Name, c.Type)
					}
				}
			}
		}
		want := []string{"plain", `says "hi", twice`, "two\nlines", "", "tab\there", "grüße 漢", `back\slash`, "end"}
		if !reflect.DeepEqual(notes, want) {
			t.Errorf("%s: notes %q, want %q", f, notes, want)
		}
	}
}

// write makes a file of the given content.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGuess(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"integers", "1 2 -3", "int64"},
		{"fractions", "1 2.5", "float64"},
		{"exponents", "1e3 2", "float64"},
		{"leading zeros", "01 02", "utf8"},
		{"texts", "1 x", "utf8"},
		{"missing", "NA 5", "int64"},
		{"only missing", "NA NA", "utf8"},
		{"names of numbers", "nan inf", "utf8"},
		{"nineteen digits", "1777134800018164001 5", "int64"},
		{"unsigned", "18446744073709551615 1", "uint64"},
		{"unsigned and negative", "18446744073709551615 -1", "utf8"},
		{"more than 64 bits", "12345678901234567890123 1", "utf8"},
		{"fractions and digits that they would lose", "1.5 9007199254740993", "utf8"},
		{"fractions and digits that they hold", "1.5 9007199254740992", "float64"},
	} {
		path := write(t, "x.csv", "k,v\n"+"a,"+strings.Join(strings.Fields(c.values), "\na,")+"\n")
		r, err := OpenTables([]string{path}, TableOptions{Missing: []string{"NA"}})
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Columns()[1].Type; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		r.Close()
	}
	// Later values change the type for good.
	path := write(t, "x.csv", "v\n1\nNA\n2\n2.5\n3\nNA\nx\n4\n")
	var types []string
	for table := range tablesOf(t, path, TableOptions{Rows: 1, Missing: []string{" NA "}}) {
		types = append(types, table.Columns()[0].Type)
	}
	want := []string{"int64", "int64", "int64", "float64", "float64", "float64", "utf8", "utf8"}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("%q, want %q", types, want)
	}
}

func TestErrors(t *testing.T) {
	const header = "who,age,score,job,grade,zip,class\n"
	const good = "a,1,2,x,1,0,no\n"
	for _, c := range []struct {
		name, file, content string
		want                Error // of its place; and the text that Error() must contain:
		say                 string
	}{
		{"empty", "x.csv", "", Error{}, "empty"},
		{"header only", "x.csv", header, Error{}, "no records"},
		{"unknown label", "x.csv", "who,age,score,job,grade,zip\na,1,2,x,1,0\n", Error{Column: "class"},
			"who, age, score, job, grade, zip"},
		{"unknown feature", "x.csv", "who,age,score,job,grade,class\na,1,2,x,1,no\n", Error{Column: "zip"}, "no such column"},
		{"text for a number", "x.csv", header + good + "b,old,2,x,1,0,no\n",
			Error{Row: 2, Line: 3, Column: "age", Value: "old"}, "not a number"},
		{"number in hexadecimal", "x.csv", header + "b,0x1p2,2,x,1,0,no\n",
			Error{Row: 1, Line: 2, Column: "age", Value: "0x1p2"}, "not a number"},
		{"equal names", "x.csv", "who,age,age,score,job,grade,zip,class\na,1,1,2,x,1,0,no\n", Error{Column: "age"}, "name"},
		{"equal names that nobody reads", "x.csv", "who,age,z,z,score,job,grade,zip,class\na,1,1,2,x,1,0,no\n",
			Error{Column: "z"}, "two columns"},
		{"short row", "x.csv", header + good + "b,1\n", Error{Row: 2, Line: 3}, "2 values, the header names 7"},
		{"long row", "x.csv", header + good + "b,1,2,x,1,0,no,more\n", Error{Row: 2, Line: 3}, "8 values"},
		{"unknown class", "x.csv", header + good + good + "b,1,2,x,1,0,maybe\n",
			Error{Row: 3, Column: "class", Value: "maybe"}, "no, yes"},
		{"unknown class of many bytes", "x.csv", header + "b,1,2,x,1,0," + strings.Repeat("m", 5000) + "\n",
			Error{Row: 1, Column: "class", Value: strings.Repeat("m", 100)}, "no, yes"},
		{"no id", "x.csv", header + good + ",1,2,x,1,0,no\n", Error{Row: 2, Column: "who"}, "id is missing"},
		{"open quote", "x.csv", header + good + "\"b,1,2,x,1,0,no\n", Error{Row: 2, Line: 3}, "never closed"},
		{"text after a quote", "x.csv", header + "\"b\"c,1,2,x,1,0,no\n", Error{Row: 1, Line: 2, Value: "b"},
			"after a closing quote"},
		{"rows after a quoted line end", "x.csv", header + "\"b\nb\",1,2,x,1,0,no\nc,old,2,x,1,0,no\n",
			Error{Row: 2, Line: 4, Column: "age", Value: "old"}, "not a number"},
		{"latin-1", "x.csv", header + "b,1,2,gr\xFC\xDFe,1,0,no\n",
			Error{Row: 1, Line: 2, Column: "job", Value: "gr\xFC\xDFe"}, "UTF-8"},
		{"half a character of utf-16", "x.csv", "\xFF\xFEa\x00,\x00b", Error{Line: 1}, "UTF-8"},
		{"unknown kind", "x.xls", "", Error{}, ".csv"},
		{"not gzip", "x.csv.gz", header, Error{}, "gzip"},
		{"not arrow", "x.arrow", header, Error{}, "Arrow"},
		{"not parquet", "x.parquet", header, Error{}, "arquet"},
		{"empty arrow", "x.arrows", "", Error{}, "no bytes"},
		{"empty parquet", "x.parquet", "", Error{}, "arquet"},
		{"empty json", "x.jsonl", "\n\n", Error{}, "empty"},
		{"not json", "x.jsonl", "{\"age\": 1}\nage\n", Error{Row: 2, Line: 2}, "JSON object"},
		{"a key twice", "x.jsonl", "{\"age\": 1, \"age\": 2}\n", Error{Row: 1, Line: 1, Column: "age"}, "twice"},
		{"text for a number in json", "x.jsonl", "{\"age\": \"old\"}\n", Error{Row: 1, Line: 1, Column: "age", Value: "old"},
			"not a number"},
		{"list for a number", "x.jsonl", "{\"age\": [1]}\n", Error{Row: 1, Line: 1, Column: "age", Value: "[1]"},
			"not a number"},
		{"unknown feature in json", "x.jsonl", "{\"age\": 1}\n", Error{Column: "class"}, "age"},
	} {
		path := write(t, c.file, c.content)
		_, err := readAll(t, Options{Codec: rowsOptions(), RequireLabel: true}, path)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := Error{Row: e.Row, Line: e.Line, Column: e.Column, Value: e.Value}
		if got != c.want || e.File != path || !strings.Contains(e.Error(), c.say) || e.Err == nil {
			t.Errorf("%s: %v\n at %+v, want %+v and %q", c.name, e, got, c.want, c.say)
		}
	}
	if _, err := readAll(t, Options{Codec: rowsOptions()}, "testdata/absent.csv"); err == nil ||
		!strings.Contains(err.Error(), "absent.csv: no such file") {
		t.Errorf("absent file: %v", err)
	}
	if _, err := readAll(t, Options{Codec: rowsOptions()}, "testdata"); err == nil {
		t.Error("a folder was read")
	}
	// A file cut short.
	whole, err := os.ReadFile("testdata/rows.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t, Options{Codec: rowsOptions()}, write(t, "x.csv.gz",
		string(whole[:len(whole)-20]))); err == nil {
		t.Error("a file cut short was read")
	}
}

func TestWithoutLabel(t *testing.T) {
	path := write(t, "x.csv", "who,age,score,job,grade,zip,fold\na,1,2,x,1,0,7\nb,1,2,x,1,0,\n")
	r, err := Open([]string{path}, Options{Codec: rowsOptions(), Beside: []string{"fold"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b model.Batch
	if err := r.Next(&b, nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(b.Label, []int32{model.Unlabelled, model.Unlabelled}) ||
		!reflect.DeepEqual(r.Beside(0), []string{"7", ""}) {
		t.Errorf("labels %v, folds %q", b.Label, r.Beside(0))
	}
	if _, err := Open([]string{path}, Options{Codec: rowsOptions(), Beside: []string{"part"}}); err == nil {
		t.Error("an absent column was accepted")
	}
}

// TestDataSets reads the data sets that the project is measured on.
func TestDataSets(t *testing.T) {
	votes := codec.Options{Label: "class", Missing: []string{""},
		Schema: &model.Schema{Classes: []string{"republican", "democrat"},
			Features: nominal("handicapped-infants", "crime", "synfuels-corporation-cutback")}}
	telco := codec.Options{Label: "class", ID: "customerID", Missing: []string{""},
		Schema: &model.Schema{Classes: []string{"No", "Yes"},
			Features: append(continuous("tenure", "MonthlyCharges", "TotalCharges"), nominal("SeniorCitizen", "Contract")...)}}
	adult := codec.Options{Label: "class", Missing: []string{"", "?"},
		Schema: &model.Schema{Classes: []string{"<=50K", ">50K"},
			Features: append(continuous("age", "fnlwgt", "capital-gain"), nominal("workclass", "native-country")...)}}
	elec := codec.Options{Label: "class", Schema: &model.Schema{Classes: []string{"UP", "DOWN"},
		Features: append(continuous("nswprice", "nswdemand"), nominal("day")...)}}
	for _, c := range []struct {
		files   []string
		o       codec.Options
		rows    int
		missing []int // values by feature
	}{
		{[]string{"bank_full.csv.gz"}, bank(), 45211, make([]int, 16)},
		{[]string{"house_votes84.csv"}, votes, 435, []int{12, 17, 21}},
		{[]string{"telco_churn.csv"}, telco, 7043, []int{0, 0, 11, 0, 0}},
		{[]string{"adult_train.csv.gz", "adult_test.csv.gz"}, adult, 48842, []int{0, 0, 0, 2799, 857}},
		{[]string{"elec2.csv.gz"}, elec, 45312, []int{0, 0, 0}},
		{[]string{"covtype10.csv.gz"}, covtype(), 581012, make([]int, 10)},
	} {
		t.Run(c.files[0], func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, modeltest.Shared(t, "data/"+f))
			}
			r, err := Open(paths, Options{Codec: c.o, RequireLabel: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rows, missing := 0, make([]int, len(c.o.Schema.Features))
			var b model.Batch
			for {
				err := r.Next(&b, nil)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows += b.N
				for f := range b.Columns {
					for _, v := range b.Columns[f].Float {
						if v != v {
							missing[f]++
						}
					}
					for _, v := range b.Columns[f].Code {
						if v == model.MissingCode {
							missing[f]++
						}
					}
				}
			}
			if rows != c.rows || !reflect.DeepEqual(missing, c.missing) {
				t.Errorf("%d rows, missing %v; want %d, %v", rows, missing, c.rows, c.missing)
			}
		})
	}
}

// TestTimes: a time column of a text file holds integers or texts.
func TestTimes(t *testing.T) {
	o := codec.Options{Time: "at", Missing: []string{"", "NA"},
		Schema: &model.Schema{Classes: []string{"a"}, Features: continuous("x")}}
	for _, c := range []struct {
		file, content string
		kind          codec.ValueKind
	}{
		{"x.csv", "at,x\n1000,1\n,2\n-1000,3\n", codec.KindInt},
		{"x.csv", "at,x\n1970-01-01T00:00:01Z,1\nNA,2\n1969-12-31 23:59:59,3\n", codec.KindText},
		{"x.jsonl", "{\"at\": 1000, \"x\": 1}\n{\"x\": 2}\n{\"at\": -1000, \"x\": 3}\n", codec.KindInt},
		{"x.jsonl", "{\"at\": \"1970-01-01T01:00:01+01:00\", \"x\": 1}\n{\"at\": null}\n{\"at\": \"-1000\", \"x\": 3}\n",
			codec.KindText},
	} {
		path := write(t, c.file, c.content)
		r, err := Open([]string{path}, Options{Codec: o})
		if err != nil {
			t.Fatal(err)
		}
		var b model.Batch
		if err := r.Next(&b, nil); err != nil {
			t.Errorf("%s: %v", c.content, err)
		} else if want := []int64{1e9, 0, -1e9}; !reflect.DeepEqual(b.Time, want) {
			t.Errorf("%s: %v", c.content, b.Time)
		}
		r.Close()
		tables, err := OpenTables([]string{path}, TableOptions{Codec: o})
		if err != nil {
			t.Fatal(err)
		}
		table, err := tables.Next()
		if err != nil || table.Columns()[0].Kind != c.kind {
			t.Errorf("%s: %v, %v", c.content, table.Columns(), err)
		}
		tables.Close()
	}
	_, err := readAll(t, Options{Codec: o}, write(t, "x.csv", "at,x\n1970-01-01,1\nsoon,2\n"))
	var e *Error
	if !errors.As(err, &e) || e.Row != 2 || e.Column != "at" || e.Value != "soon" {
		t.Errorf("%v", err)
	}
}

// TestNotesCountWhatIsReadOtherwise in text files and in those with types alike.
func TestNotesCountWhatIsReadOtherwise(t *testing.T) {
	o := codec.Options{Schema: &model.Schema{Classes: []string{"0", "1"}, Positive: 1, Features: []model.Feature{
		{Name: "x", Kind: model.Continuous}, {Name: "v", Kind: model.Nominal}}}, Label: "y", Missing: []string{""}}
	for _, f := range []struct{ name, content string }{
		{"x.csv", "x,v,y\n1e999,3.1,True\nnan,3.10,1.0\n9007199254740993,3.1,maybe\n9007199254740994,4,false\n,4.0,\n"},
		{"x.jsonl", `{"x": 1e999, "v": "3.1", "y": true}` + "\n" + `{"x": "nan", "v": "3.10", "y": 1.0}` + "\n" +
			`{"x": 9007199254740993, "v": 3.1, "y": "maybe"}` + "\n" + `{"x": 9007199254740994, "v": 4.0, "y": false}` + "\n" +
			`{"x": null, "v": 4, "y": null}` + "\n"},
	} {
		r, err := Open([]string{write(t, f.name, f.content)}, Options{Codec: o})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var b model.Batch
		if err := r.Next(&b, nil); err != nil {
			t.Fatal(err)
		}
		n := r.Notes()
		if n.NaN != 1 || n.Infinite != 1 || n.Rounded != 1 || n.UnknownClass != 1 || len(n.Merged) != 1 ||
			!strings.Contains(fmt.Sprint(n.First), "row 3") {
			t.Errorf("%s: %+v", f.name, n)
		}
		if want := []int32{1, 1, model.UnknownClass, 0, model.Unlabelled}; !slices.Equal(b.Label, want) {
			t.Errorf("%s: labels %d, want %d", f.name, b.Label, want)
		}
		if v := &b.Columns[1]; !slices.Equal(v.Levels, []string{"3.1", "4"}) {
			t.Errorf("%s: levels %q", f.name, v.Levels)
		}
	}
}
