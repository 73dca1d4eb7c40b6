package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/describe"
	"liftstream/model/propensity"
)

func schema() *model.Schema {
	return &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
}

func spec() *model.Spec {
	s := schema()
	return &model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s)}
}

// app is one whose notes and results are kept.
func app() (a *cli.App, out, notes *strings.Builder) {
	out, notes = &strings.Builder{}, &strings.Builder{}
	return cli.New(nil, out, notes), out, notes
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contract() codec.Options {
	return codec.Options{Schema: schema(), ID: "id", Label: "y", Missing: []string{""}}
}

// TestPositionsOfRecordsAreTheirNumbers: two numbers never share a position, in batches of any size, also beyond
// the range of a row.
func TestPositionsOfRecordsAreTheirNumbers(t *testing.T) {
	const row = 1 << 31
	for _, c := range []struct {
		n      int64
		offset int64
		rows   []int32
	}{{0, 0, []int32{0, 1, 2}}, {4095, 0, []int32{4095, 4096, 4097}}, {row - 3, 0, []int32{row - 3, row - 2, row - 1}},
		{row, 1, []int32{0, 1, 2}}, {5*row + 7, 5, []int32{7, 8, 9}}} {
		b := model.Batch{N: 3, Row: make([]int32, 3)}
		Number(&b, c.n)
		if b.Offset != c.offset || !slices.Equal(b.Row, c.rows) {
			t.Errorf("from record %d on: offset %d, rows %d; want %d, %d", c.n, b.Offset, b.Row, c.offset, c.rows)
		}
	}
}

// TestTriplesAreFoundByTheirIds in any order of the records, and an error names the line, the id and the data.
func TestTriplesAreFoundByTheirIds(t *testing.T) {
	const triples = "i,j,k\n b , a,c\nc,b,d\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(triples))
	_ = z.Close()
	for _, c := range []struct {
		data, want, says string
	}{
		{"id,x,y\na,1,no\nb,2,yes\nzz,3,no\nc,4,no\nd,5,yes\n", "[[1 0 3] [3 1 4]]", ""},
		{"id,x,y\nd,5,yes\nzz,3,\nc,4,no\nb,2,yes\na,1,no\n", "[[2 3 1] [1 2 0]]", ""},
		{"id,x,y\na,1,no\nb,2,yes\nc,4,no\n", "", `:3: there is no record "d" in `},
		{"id,x,y\na,1,no\nb,2,yes\nc,4,\nd,5,yes\n", "", `:2: record "c", row 3 of `},
		{"id,x,y\na,1,no\nb,2,yes\nc,4,no\nd,5,yes\nb,2,no\nb,2,no\n", "", `:2: the id "b" names two records of `},
		{"id,x,y\na,1,\na,1,no\nb,2,yes\nc,4,no\nd,5,yes\n", "", `:2: the id "a" names two records of `},
	} {
		for name, content := range map[string]string{"t.csv": triples, "t.csv.gz": packed.String()} {
			given, err := ReadComparisons(write(t, name, content))
			if err != nil {
				t.Fatal(err)
			}
			a, _, _ := app()
			data := []string{write(t, "data.csv", c.data)}
			if _, err = Gather(t.Context(), a, data, file.Options{Codec: contract(), Rows: 2}, model.NewBuilder(spec()), given,
				nil); err != nil {
				t.Fatal(err)
			}
			got, err := given.Indices(data)
			switch {
			case c.says == "" && (err != nil || fmt.Sprint(got) != c.want):
				t.Errorf("%q: got %v, %v; want %s", c.data, got, err, c.want)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), name+c.says)):
				t.Errorf("%q: got %v, want %q", c.data, err, c.says)
			}
			if c.says != "" && strings.Contains(c.says, "two") && !strings.Contains(err.Error(), "data.csv, rows ") {
				t.Errorf("%q: the rows are not named: %v", c.data, err)
			}
		}
	}
	given, err := ReadComparisons(write(t, "t.csv", triples))
	if err != nil {
		t.Fatal(err)
	}
	o := contract()
	o.ID = ""
	a, _, _ := app()
	if _, err := Gather(t.Context(), a, nil, file.Options{Codec: o}, model.NewBuilder(spec()), given, nil); err == nil ||
		!strings.Contains(err.Error(), "record.id") {
		t.Errorf("without ids: %v", err)
	}
	_, err = ReadComparisons(write(t, "t.csv", "a,b,c\n\"a,b\n"))
	if err == nil || !strings.Contains(err.Error(), ":2: ") {
		t.Errorf("a quote that is never closed: %v", err)
	}
}

// TestGatheredClassesAreThoseOfTheRows: each row is told once, with its class, those without a number too.
func TestGatheredClassesAreThoseOfTheRows(t *testing.T) {
	a, _, notes := app()
	var got []string
	data := []string{write(t, "a.csv", "id,x,y\na,1,no\nb,2,\nc,3,perhaps\n"), write(t, "b.csv", "id,x,y\nd,4,yes\n")}
	n, err := Gather(t.Context(), a, data, file.Options{Codec: contract(), Rows: 2}, model.NewBuilder(spec()), nil,
		func(row int64, class, index int32) { got = append(got, fmt.Sprint(row, class, index)) })
	want := []string{"0 0 0", fmt.Sprint(1, model.Unlabelled, -1), fmt.Sprint(2, model.UnknownClass, -1), "3 1 1"}
	if err != nil || n != 4 || !slices.Equal(got, want) {
		t.Errorf("%d records, %v: got %q, want %q", n, err, got, want)
	}
	if !strings.Contains(notes.String(), "1 label is no class of the configuration and not learnt; the first one: ") {
		t.Errorf("notes %q", notes.String())
	}
}

// TestCollectEndsWithItsCommand, and says where there are no records.
func TestCollectEndsWithItsCommand(t *testing.T) {
	a, _, _ := app()
	data := []string{write(t, "a.csv", "id,x,y\na,1,no\nb,2,no\nc,3,no\n")}
	ctx, stop := context.WithCancel(t.Context())
	n, err := Collect(ctx, a, data, file.Options{Codec: contract(), Rows: 1}, func(*model.Batch) { stop() })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d records, %v", n, err)
	}
	if _, err := Collect(t.Context(), a, []string{write(t, "x.csv", "id,x,y\n")}, file.Options{Codec: contract()},
		func(*model.Batch) {}); err == nil || !strings.Contains(err.Error(), "no records") {
		t.Errorf("a file without records: %v", err)
	}
	n, err = Collect(t.Context(), a, append(data, write(t, "b.csv", "id,x,y\na,1,no\nb,old,no\n")),
		file.Options{Codec: contract(), Rows: 1}, func(*model.Batch) {})
	var e *file.Error
	if n != 4 || !errors.As(err, &e) || e.Row != 2 || e.Column != "x" || filepath.Base(e.File) != "b.csv" {
		t.Errorf("%d records, %v", n, err)
	}
}

// placeOf is the part of a score's JSON line that tells the place of its record.
func placeOf(line string) string {
	_, rest, _ := strings.Cut(line, `"source_offset":`)
	place, _, _ := strings.Cut(rest, `,"model"`)
	return place
}

// TestScoresOfFilesHaveTheNumbersOfTheirRecords over all files and batches, to a file and to standard output alike; a
// fault of the data leaves no file.
func TestScoresOfFilesHaveTheNumbersOfTheirRecords(t *testing.T) {
	data := []string{write(t, "a.csv", "id,x,y\na,1,no\nb,2,\nc,1e999,no\n"),
		write(t, "b.csv", "id,x,y\nd,4,yes\ne,5,no\n")}
	path := filepath.Join(t.TempDir(), "scores.jsonl")
	a, out, notes := app()
	for _, to := range []string{path, "-"} {
		p := model.NewPartition(spec(), 0)
		o := Scoring{In: file.Options{Codec: contract(), Rows: 2}, Out: contract(), Path: to}
		n, err := o.Score(t.Context(), a, data, p)
		if err != nil || n != 5 {
			t.Fatal(n, err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != out.String() {
		t.Errorf("the file differs from standard output: %v\n%s\n%s", err, b, out.String())
	}
	var got []string
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		got = append(got, placeOf(line))
		if id := string(rune('a' + i)); !strings.HasPrefix(line, `{"id":"`+id+`",`) {
			t.Errorf("record %d is %s", i, line)
		}
	}
	if want := []string{`0,"source_row":0`, `0,"source_row":1`, `0,"source_row":2`, `0,"source_row":3`,
		`0,"source_row":4`}; !slices.Equal(got, want) {
		t.Errorf("places %q, want %q", got, want)
	}
	if n := strings.Count(notes.String(), "note: 1 value is infinite and taken for missing\n"); n != 2 {
		t.Errorf("notes of two commands: %q", notes.String())
	}
	bad := append(data, write(t, "c.csv", "id,x,y\nf,1,no\ng,old,no\n"))
	p := model.NewPartition(spec(), 0)
	torn := filepath.Join(t.TempDir(), "torn.jsonl")
	if _, err := (Scoring{In: file.Options{Codec: contract()}, Out: contract(), Path: torn}).Score(t.Context(), a, bad,
		p); err == nil {
		t.Error("a text for a number was scored")
	}
	if left, _ := filepath.Glob(filepath.Dir(torn) + "/*"); len(left) != 0 {
		t.Errorf("files are left: %q", left)
	}
}

// TestOneRecordIsScoredUnderItsNumber, counted over all files.
func TestOneRecordIsScoredUnderItsNumber(t *testing.T) {
	a, _, _ := app()
	data := []string{write(t, "a.csv", "id,x,y\na,1,no\nb,2,no\nc,3,yes\n"), write(t, "b.csv", "id,x,y\nd,4,yes\n")}
	builder := model.NewBuilder(spec())
	if _, err := Gather(t.Context(), a, data, file.Options{Codec: contract()}, builder, nil, nil); err != nil {
		t.Fatal(err)
	}
	m, err := builder.Fit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	partition := func() *model.Partition {
		p := model.NewPartition(spec(), 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for n := range int64(4) {
		p := partition()
		got, err := Nth(t.Context(), a, data, contract(), n, p)
		if err != nil || got.N != 1 {
			t.Fatal(err)
		}
		if x := p.Row()[0]; x != float64(n+1) {
			t.Errorf("record %d: the value is %v", n, x)
		}
	}
	for n, says := range map[int64]string{4: "has 4 records, numbered from 0", -1: "numbered from 0"} {
		if _, err := Nth(t.Context(), a, data, contract(), n, partition()); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("record %d: %v", n, err)
		}
	}
}

// scores is a table of scores of records with these ids.
func scores(t *testing.T, ids ...string) *codec.Table {
	t.Helper()
	enc, err := codec.NewScoreEncoder(contract())
	if err != nil {
		t.Fatal(err)
	}
	b := &model.Batch{N: len(ids), ID: ids, Time: make([]int64, len(ids)), Row: make([]int32, len(ids))}
	Number(b, 0)
	s := &model.Scores{}
	s.Reset(len(ids), 2)
	for i := range s.P {
		s.P[i] = 1
	}
	table, err := enc.Table(b, s, model.NewLevels(schema()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

var errFeed = errors.New("the feed fails")

// TestTablesAppearWhole: a feed that fails leaves the file that was there, and its error is told.
func TestTablesAppearWhole(t *testing.T) {
	path := write(t, "scores.csv", "before")
	a, _, _ := app()
	if err := WriteTables(a, path, func(func(*codec.Table) error) error { return errFeed }); !errors.Is(err, errFeed) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "before" {
		t.Errorf("the file is %q, %v", b, err)
	}
	if err := WriteTables(a, "-", func(func(*codec.Table) error) error { return errFeed }); !errors.Is(err, errFeed) {
		t.Errorf("to standard output: %v", err)
	}
	if err := WriteTables(a, filepath.Join(t.TempDir(), "none", "x.csv"),
		func(func(*codec.Table) error) error { return nil }); err == nil {
		t.Error("a file in a folder that is not there was written")
	}
	full := cli.New(nil, full{}, io.Discard)
	err := WriteTables(full, "-", func(write func(*codec.Table) error) error { return write(scores(t, "a")) })
	if !errors.Is(err, errFull) || cli.Status(err) != cli.StatusEnvironment {
		t.Errorf("an output that takes nothing: %v, status %d", err, cli.Status(err))
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestPassesReadTheSame: each pass yields all records; values read otherwise are noted once, after the last; an error
// ends a pass, as the end of the command does.
func TestPassesReadTheSame(t *testing.T) {
	a, _, notes := app()
	ctx, stop := context.WithCancel(t.Context())
	s := &Source{App: a, Context: ctx, Passes: 2, Options: file.Options{Codec: contract(), Rows: 2},
		Data: []string{write(t, "a.csv", "id,x,y\na,1,no\nb,2,\nc,nan,no\n"), write(t, "b.csv", "id,x,y\nd,4,yes\n")}}
	pass := func() (ids []string, err error) {
		for b, e := range s.Batches {
			if err = e; e == nil {
				ids = append(ids, b.ID...)
			}
		}
		return ids, err
	}
	for k := range 2 {
		if notes.Len() > 0 {
			t.Errorf("before pass %d: %q", k, notes.String())
		}
		if ids, err := pass(); err != nil || strings.Join(ids, "") != "abcd" {
			t.Errorf("pass %d: %q, %v", k, ids, err)
		}
	}
	if want := "note: 1 value is not a number and taken for missing\n"; notes.String() != want {
		t.Errorf("notes %q, want %q", notes.String(), want)
	}
	stop()
	if ids, err := pass(); len(ids) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the command: %q, %v", ids, err)
	}
	s = &Source{App: a, Context: t.Context(), Options: s.Options, Data: []string{"absent.csv"}}
	if _, err := pass(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	wrapped := fmt.Errorf("method all: %w", &file.Error{File: "a.csv", Row: 3, Err: errFeed})
	if got := Plain(wrapped); got.Error() != "a.csv: row 3: the feed fails" {
		t.Errorf("got %v", got)
	}
	if got := Plain(errFeed); !errors.Is(got, errFeed) {
		t.Errorf("got %v", got)
	}
}

// TestNotesOfARun: each count in its own words, on one line.
func TestNotesOfARun(t *testing.T) {
	a, _, notes := app()
	note(a, file.Notes{})
	if notes.Len() > 0 {
		t.Errorf("a note of nothing: %q", notes.String())
	}
	note(a, file.Notes{Changes: codec.Changes{NaN: 2, Infinite: 3, Rounded: 4, Text: 1, Shortened: 6, Absent: 99},
		UnknownClass: 7, First: errFeed, Merged: []string{"m1", "m2"}})
	want := "note: 2 values are not a number and taken for missing; 3 values are infinite and taken for missing; " +
		"4 numbers are rounded, beyond 2^53 or 15 digits; 1 text is repaired, no UTF-8; 6 texts are shortened; " +
		"7 labels are no class of the configuration and not learnt; the first one: the feed fails; m1; m2\n"
	if notes.String() != want {
		t.Errorf("got %q\nwant %q", notes.String(), want)
	}
}

// TestFormatsOfDescribedColumns: texts of files with types are told from numbers, columns that no stage reads are
// named, and columns of texts that are numbers by the format are no texts.
func TestFormatsOfDescribedColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	w, err := file.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(scores(t, "1,5", "2,25", "7")), w.Close()); err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	table, written, err := Described(t.Context(), path, func(n int64) { read += n })
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]describe.Format{}
	for c, name := range table.Columns {
		formats[name] = table.Formats[c]
	}
	const none = " is none that a stage reads (text, numbers, booleans, times)"
	for name, want := range map[string]describe.Format{"id": {}, "status": {Text: true}, "source_row": {},
		"propensity_no": {Exact: 1 << 53}, "subspace": {Refused: "its type list<item: utf8, nullable>" + none}} {
		if got, ok := formats[name]; !ok || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	var rows []string
	for row, err := range table.Rows {
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) string { return row[slices.Index(table.Columns, name)] }
		rows = append(rows, at("id")+" "+at("source_row")+" "+at("propensity_no")+at("reason"))
	}
	if want := []string{"1.5 0 1", "2.25 1 1", "7 2 1"}; !slices.Equal(rows, want) ||
		!slices.Equal(written.Columns, []string{"id"}) {
		t.Errorf("rows %q, want %q; %+v", rows, want, written)
	}
	if size, err := file.Size([]string{path}); err != nil || read != size {
		t.Errorf("%d bytes are told of %d, %v", read, size, err)
	}
	if _, _, err := Described(t.Context(), write(t, "x.csv", "a,b\n"), nil); err == nil {
		t.Error("a file without records was described")
	}
}

// TestCellsOfARecordAreItsOwn: a key that a record lacks is empty, and no value of the record before.
func TestCellsOfARecordAreItsOwn(t *testing.T) {
	lines := `{"a": "1", "b": 2}` + "\n" + `{"b": 3}` + "\n" + `{"a": null}` + "\n" + `{"a": "4", "b": "x"}` + "\n"
	table, _, err := Described(t.Context(), write(t, "x.jsonl", lines), nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for row, err := range table.Rows {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(strings.Join(row, "|"), table.Text(0), table.Text(1)))
	}
	if want := []string{"1|2true false", "|3false false", "|false false", "4|xtrue true"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// TestAFormatIsThatOfNearlyAllTexts: a column is one of numbers where 98 of 100 texts are, and the sample ends with the
// two thousandth record.
func TestAFormatIsThatOfNearlyAllTexts(t *testing.T) {
	for texts, want := range map[int]bool{0: true, 2: true, 3: false} {
		var b strings.Builder
		b.WriteString("a;y\n")
		for i := range 2100 {
			switch {
			case i < 20*texts && i%20 == 7:
				b.WriteString("unknown;no\n")
			case i >= formatRows:
				b.WriteString("words;no\n")
			case i < 100:
				fmt.Fprintf(&b, "%d,5;no\n", i)
			default:
				b.WriteString(";no\n") // no text
			}
		}
		_, w, err := Described(t.Context(), write(t, "x.csv", b.String()), nil, "y")
		if err != nil || (len(w.Columns) == 1) != want {
			t.Errorf("%d texts among 100: %+v, %v", texts, w, err)
		}
	}
}
