package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
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
		r, err := OpenTables([]string{filepath.Join("testdata", f)}, TableOptions{Codec: rowsOptions()})
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		var notes []string
		for {
			table, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", f, err)
				break
			}
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
		r.Close()
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
		{"long", "12345678901234567890123", "float64"},
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
	path := write(t, "x.csv", "v\n1\n2\n2.5\n3\nx\n4\n")
	r, err := OpenTables([]string{path}, TableOptions{Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var types []string
	for {
		table, err := r.Next()
		if err != nil {
			break
		}
		types = append(types, table.Columns()[0].Type)
	}
	if want := []string{"int64", "int64", "float64", "float64", "utf8", "utf8"}; !reflect.DeepEqual(types, want) {
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
		{"no id", "x.csv", header + good + ",1,2,x,1,0,no\n", Error{Row: 2, Column: "who"}, "id is missing"},
		{"open quote", "x.csv", header + good + "\"b,1,2,x,1,0,no\n", Error{Row: 2, Line: 3}, "never closed"},
		{"text after a quote", "x.csv", header + "\"b\"c,1,2,x,1,0,no\n", Error{Row: 1, Line: 2, Value: "b"},
			"after a closing quote"},
		{"rows after a quoted line end", "x.csv", header + "\"b\nb\",1,2,x,1,0,no\nc,old,2,x,1,0,no\n",
			Error{Row: 2, Line: 4, Column: "age", Value: "old"}, "not a number"},
		{"latin-1", "x.csv", header + "b,1,2,gr\xFC\xDFe,1,0,no\n",
			Error{Row: 1, Line: 2, Column: "job", Value: "gr\xFC\xDFe"}, "UTF-8"},
		{"utf-16", "x.csv", "\xFF\xFEa\x00,\x00", Error{Line: 1}, "UTF-8"},
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

// TestEventsAreFiles: the message that produce makes of a file is read as eval reads the file.
func TestEventsAreFiles(t *testing.T) {
	for _, f := range formats {
		path := filepath.Join("testdata", f)
		want, err := readAll(t, Options{Codec: rowsOptions()}, path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenTables([]string{path}, TableOptions{Codec: rowsOptions()})
		if err != nil {
			t.Fatal(err)
		}
		enc := codec.NewEventEncoder()
		d, err := codec.NewDecoder(rowsOptions())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			table, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all := make([]int, table.Rows())
			for i := range all {
				all[i] = i
			}
			for _, rows := range [][]int{all[:len(all)/2], all[len(all)/2:]} {
				value, err := enc.Encode(nil, table, rows)
				if err != nil {
					t.Fatalf("%s: %v", f, err)
				}
				var b model.Batch
				if bad, err := d.Decode(&codec.Message{Value: value, Headers: codec.EventHeaders(value, len(rows))}, &b,
					nil); err != nil || len(bad) > 0 {
					t.Fatalf("%s: %v, %v", f, err, bad)
				}
				got = append(got, text(&b)...)
			}
		}
		r.Close()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", f, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func scores(n int) *model.Scores {
	s := &model.Scores{}
	s.Reset(n, 2)
	for i := range n {
		s.P[2*i], s.P[2*i+1] = .75, .25
		s.Subspace = append(s.Subspace, 0, 2)
		s.Relevance = append(s.Relevance, .5, .25)
		s.SubspaceEnd[i] = int32(len(s.Subspace))
		s.Why = append(s.Why, model.Reason{Feature: 0, Value: 58, Effect: .5, Lift: 2, N: 10})
		s.WhyEnd[i] = int32(len(s.Why))
	}
	return s
}

// TestWriters: the output of score is read again, equal in every format.
func TestWriters(t *testing.T) {
	o := rowsOptions()
	o.Features = codec.FeaturesAll
	dir := t.TempDir()
	var want []string
	for _, kind := range []string{".jsonl", ".csv", ".arrow", ".arrows", ".feather", ".parquet", ".jsonl.gz", ".csv.gz"} {
		path := filepath.Join(dir, "scores"+kind)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open([]string{"testdata/rows.csv"}, Options{Codec: o, Rows: 3})
		if err != nil {
			t.Fatal(err)
		}
		enc, err := codec.NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		var b model.Batch
		var c codec.Carry
		for {
			err := r.Next(&b, &c)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			table, err := enc.Table(&b, scores(b.N), model.NewLevels(o.Schema), &c)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(table); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: there before it was finished", kind)
		}
		if err := w.Close(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		r.Close()
		tables, err := OpenTables([]string{path}, TableOptions{Missing: []string{""}})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var got []string
		for {
			table, err := tables.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			for i := range table.Rows() {
				line := ""
				for _, name := range []string{"id", "source_offset", "source_row", "status", "segment", "propensity_no", "age",
					"score", "job", "zip"} {
					s, _ := table.Text(table.Column(name), i)
					line += s + " "
				}
				got = append(got, line)
			}
		}
		tables.Close()
		if want == nil {
			want = got
			if len(got) != 8 || got[4] != "a5 1 1 ok no 0.75 47 2000000  01234 " {
				t.Errorf("%q", got)
			}
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	csv, err := os.ReadFile(filepath.Join(dir, "scores.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(string(csv), "\n")[1]; !strings.Contains(line, ",age; job,0.5; 0.25,,,age:58:0.5:2:10,") {
		t.Errorf("lists in CSV: %s", line)
	}
	if _, err := Create(filepath.Join(dir, "scores.xls")); err == nil {
		t.Error("an unknown kind was created")
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

// TestProgress: the reported progress adds up to the sizes of the files.
func TestProgress(t *testing.T) {
	paths := []string{"testdata/rows.csv", "testdata/rows.csv.gz", "testdata/rows.jsonl", "testdata/rows.arrows"}
	total := int64(0)
	if _, err := readAll(t, Options{Codec: rowsOptions(), Progress: func(n int64) { total += n }}, paths...); err != nil {
		t.Fatal(err)
	}
	if want, err := Size(paths); err != nil || total != want {
		t.Errorf("%d bytes of %d, %v", total, want, err)
	}
}

func hostile(t testing.TB, kind string, content []byte) {
	t.Helper()
	path := write(t, "x"+kind, string(content))
	readAll(t, Options{Codec: rowsOptions(), Rows: 3, RequireLabel: true}, path)
	r, err := OpenTables([]string{path}, TableOptions{Missing: []string{""}, Rows: 3})
	if err != nil {
		return
	}
	defer r.Close()
	for {
		table, err := r.Next()
		if err != nil {
			break
		}
		for i := range table.Rows() {
			table.AppendJSON(nil, i)
			for c := range table.Columns() {
				table.Text(c, i)
				table.Float(c, i)
				table.Int(c, i)
			}
		}
	}
}

// TestFilesNoPanic damages files of every format and cuts them short.
func TestFilesNoPanic(t *testing.T) {
	for _, f := range formats {
		content, err := os.ReadFile(filepath.Join("testdata", f))
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimPrefix(f, strings.SplitN(f, ".", 2)[0])
		step := 1 + len(content)/60
		for i := 0; i < len(content); i += step {
			hostile(t, kind, content[:i])
			for _, x := range []byte{0xFF, 0x01} {
				damaged := append([]byte{}, content...)
				damaged[i] ^= x
				hostile(t, kind, damaged)
			}
		}
	}
}

func fuzzText(f *testing.F, file, kind string, open func(s *stored, rows int, w *wants) (source, error)) {
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(content))
	f.Add("")
	f.Add("a,b\n1,\"x\ny\"\n")
	f.Add("{\"a\": [1, {\"b\": \"\\ud83d\\ude00\"}], \"c\": 1e400}\n")
	f.Fuzz(func(t *testing.T, content string) {
		for _, w := range []wants{wantsOf(rowsOptions()), {missing: missingSet(nil)}} {
			src, err := open(&stored{r: strings.NewReader(content)}, 3, &w)
			for err == nil {
				_, err = src.next()
			}
			if err == nil {
				t.Fatal("no end")
			}
		}
	})
}

func FuzzCSV(f *testing.F) {
	fuzzText(f, "rows.csv", ".csv", func(s *stored, rows int, w *wants) (source, error) { return openCSV(s, rows, w) })
}

func FuzzJSONL(f *testing.F) {
	fuzzText(f, "rows.jsonl", ".jsonl", func(s *stored, rows int, w *wants) (source,
		error) {
		return openJSON(s, rows, w)
	})
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
