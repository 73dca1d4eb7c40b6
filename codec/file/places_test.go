package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec"
	"liftstream/codec/number"
	"liftstream/model"
)

// longNone is a text of more than 63 bytes that means missing.
var longNone = strings.Repeat("none ", 14) + "."

// contract names a column in each role.
func contract() codec.Options {
	return codec.Options{ID: "id", Time: "at", Weight: "w", Label: "y", Missing: []string{"", longNone},
		Numbers: number.Format{Decimal: ","}, Nullable: map[string]bool{"x": false, "v": true},
		Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: append(continuous("x"), nominal("v")...)}}
}

// TestABadRecordSaysWhatIsWrongWithIt: its file, row, column and value, the fault in words, and a remedy; the second
// file begins to count anew, over the batches of both.
func TestABadRecordSaysWhatIsWrongWithIt(t *testing.T) {
	const head, good = "id;at;w;x;v;y\n", "a;2024-05-01;1;1,5;p;no\n"
	for _, c := range []struct{ record, want string }{
		{";2024-05-01;1;1,5;p;no\n", `column "id": the id is missing; every record needs one`},
		{"a;soon;1;1,5;p;no\n", `column "at" holds "soon": not a time; a time is RFC 3339`},
		{"a;1714550400;1;1,5;p;no\n", `column "at" holds "1714550400": not a time; a time is RFC 3339`},
		{"a;2024-05-01;-1;1,5;p;no\n", `column "w" holds "-1": not a weight: a finite number of at least 0`},
		{"a;2024-05-01;;1,5;p;no\n", `column "w": not a weight: a finite number of at least 0`},
		{"a;2024-05-01;1;;p;no\n", `column "x": the value is missing; complete it, or leave out nullable: never`},
		{"a;2024-05-01;1;old;p;no\n", `column "x" holds "old": not a number; correct it, add the text to missing`},
		{"a;2024-05-01;1;1.5;p;no\n", `column "x" holds "1.5": not a number; correct it`},
		{"a;2024-05-01;1;1,5;p;maybe\n", `column "y" holds "maybe": no class of the configuration; the classes are no, yes;`},
		{"a;2024-05-01;1;1,5;p\n", `5 values, the header names 6 columns; complete the row`},
	} {
		first, second := write(t, "first.csv", head+good+good+good), write(t, "second.csv", head+good+good+c.record+good)
		for _, rows := range []int{1, 2, 3, 0} {
			got, err := readAll(t, Options{Codec: contract(), RequireLabel: true, Rows: rows}, first, second)
			var e *Error
			if !errors.As(err, &e) || e.File != second || e.Row != 3 || len(got) < 3 ||
				!strings.Contains(strings.ReplaceAll(err.Error(), " (line 4)", ""), ": row 3: "+c.want) {
				t.Errorf("%q by %d rows: %d records, %v; want row 3 and %q", c.record, rows, len(got), err, c.want)
			}
		}
	}
	records := head + good + "b;;0;-2;" + longNone + ";\n" + "c;1000;2;0;;yes\n"
	r, err := Open([]string{write(t, "x.csv", records)}, Options{Codec: contract(), RequireLabel: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b model.Batch
	if err := r.Next(&b, nil); err != nil {
		t.Fatal(err)
	}
	v := b.Columns[1]
	if !slices.Equal(b.Weight, []float64{1, 0, 2}) || !slices.Equal(b.Time, []int64{1714521600e9, 0, 1e9}) ||
		!slices.Equal(v.Code, []uint32{0, model.MissingCode, model.MissingCode}) ||
		!slices.Equal(b.Label, []int32{0, model.Unlabelled, 1}) || !slices.Equal(b.Columns[0].Float, []float64{1.5, -2, 0}) {
		t.Errorf("%+v", b)
	}
}

// TestNotesAddUpOverBatchesAndFiles: each change once, the first label without a class is that of the first one read,
// and batches are numbered on.
func TestNotesAddUpOverBatchesAndFiles(t *testing.T) {
	o := codec.Options{Label: "y", Missing: []string{""}, Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: append(continuous("x"), nominal("v")...)}}
	long := strings.Repeat("l", 2000)
	csv := "x,v,y\n1,a,no\nnan," + long + ",maybe\n1e999,a,yes\n" + "9007199254740993," + long + ",perhaps\n1,a,\n"
	typed := filepath.Join(t.TempDir(), "x.arrow")
	w, err := Create(typed)
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "v", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1<<53 + 1, 1<<53 + 3, 0}, []bool{true, true, false})
	builder.Field(1).(*array.StringBuilder).AppendValues([]string{"a", long, "a"}, nil)
	builder.Field(2).(*array.StringBuilder).AppendValues([]string{"no", "never", "yes"}, nil)
	rec := builder.NewRecord()
	if err := errors.Join(w.Write(codec.NewTable(rec)), w.Close()); err != nil {
		t.Fatal(err)
	}
	want := codec.Changes{NaN: 1, Infinite: 1, Rounded: 3, Shortened: 3}
	for _, rows := range []int{1, 2, 0} {
		r, err := Open([]string{write(t, "x.csv", csv), typed}, Options{Codec: o, Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var b model.Batch
		for next := int64(0); ; next++ {
			err := r.Next(&b, nil)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || b.Offset != next || b.Partition != 0 || b.Row[0] != 0 {
				t.Fatalf("batch %d: offset %d, partition %d, rows %d, %v", next, b.Offset, b.Partition, b.Row, err)
			}
		}
		n := r.Notes()
		if n.Changes != want || n.UnknownClass != 3 || n.First == nil ||
			!strings.Contains(n.First.Error(), `x.csv: row 2: column "y" holds "maybe"`) || r.Notes().Changes != want {
			t.Errorf("by %d rows: %+v", rows, n)
		}
		if err := r.Next(&b, nil); !errors.Is(err, io.EOF) || b.N != 0 {
			t.Errorf("after the end: %d records, %v", b.N, err)
		}
	}
}

// TestTextsBesideAreThoseOfTheBatch.
func TestTextsBesideAreThoseOfTheBatch(t *testing.T) {
	o := codec.Options{Label: "y", Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: continuous("x")}}
	path := write(t, "x.csv", "x,f,g,y\n1,a,10,no\n2,b,20,no\n3,,30,yes\n4,d,40,no\n5,e,50,no\n")
	for _, rows := range []int{1, 2, 3, 0} {
		r, err := Open([]string{path, path}, Options{Codec: o, Rows: rows, Beside: []string{"g", "f", "x"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []string
		var b model.Batch
		for r.Next(&b, nil) == nil {
			for k := range 3 {
				if len(r.Beside(k)) != b.N {
					t.Fatalf("by %d rows: %d texts beside %d records", rows, len(r.Beside(k)), b.N)
				}
			}
			for i := range b.N {
				got = append(got, r.Beside(0)[i]+r.Beside(1)[i]+r.Beside(2)[i])
			}
		}
		one := "10a1 20b2 303 40d4 50e5"
		if strings.Join(got, " ") != one+" "+one {
			t.Errorf("by %d rows: %q", rows, got)
		}
	}
	_, err := Open([]string{path}, Options{Codec: o, Beside: []string{"h"}})
	if err == nil || !strings.Contains(err.Error(), `column "h": the file has no such column, which the configuration `+
		`names as a column to read; its columns are x, f, g, y`) {
		t.Errorf("a column that is not there: %v", err)
	}
}

// TestLinesAreCountedAsAnEditorDoes: behind a line that names the delimiter, quoted line ends, empty lines and any kind
// of line end.
func TestLinesAreCountedAsAnEditorDoes(t *testing.T) {
	o := codec.Options{Schema: &model.Schema{Classes: []string{"a", "b"},
		Features: append(continuous("x"), nominal("v")...)}}
	for _, c := range []struct {
		file, content string
		row, line     int64
	}{
		{"x.csv", "x,v\n1,a\nold,b\n", 2, 3}, {"x.csv", "sep=;\nx;v\n1;a\nold;b\n", 2, 4},
		{"x.csv", "\"sep=;\"\r\nx;v\r\n1;a\r\nold;b\r\n", 2, 4}, {"x.csv", "x,v\n1,\"a\nb\n\"\nold,b\n", 2, 5},
		{"x.csv", "x,v\n\n\n1,a\n\nold,b\n", 2, 6}, {"x.csv", "x,v\r1,a\rold,b\r", 2, 3},
		{"x.csv", "x,v\n1,a\n2,\"b", 2, 3}, {"x.csv", "x,v\n1,a\n\n2,\"b\n\n\n", 2, 4},
		{"x.csv", "x,v\n1,a\n2,\"b\"c\n", 2, 3},
		{"x.jsonl", "{\"x\": 1}\n\n{\"x\": \"old\"}\n", 2, 3},
		{"x.jsonl", "{\"x\": 1, \"v\": \"a\"}\r\n{\"x\": [}\r\n", 2, 2},
	} {
		_, err := readAll(t, Options{Codec: o}, write(t, c.file, c.content))
		var e *Error
		if !errors.As(err, &e) || e.Row != c.row || e.Line != c.line {
			t.Errorf("%q: %v, want row %d on line %d", c.content, err, c.row, c.line)
		}
	}
}

// TestOfDelimitersThatFitAlikeTheFirstIsTaken: the one with the wider header, then the likelier; one that fits all
// records goes before one that does not.
func TestOfDelimitersThatFitAlikeTheFirstIsTaken(t *testing.T) {
	for content, want := range map[string]string{
		"a,b;c,d;e\n1,2;3,4;5\n":       "a|b;c|d;e",
		"a;b,c;d,e\n1;2,3;4,5\n":       "a;b|c;d|e",
		"a|b\tc|d\te\n1|2\t3|4\t5\n":   "a|b|c|d|e",
		"a;b,c;d\n1;2,3;4\n":           "a|b,c|d",
		"a,b;c,d,e;f\n1,2;3,4,5;6\n":   "a|b;c|d|e;f",
		"a,b;c,d\n1;2\n3;4\n":          "a,b|c,d",
		"a;b;c\n1,5;2;3\n4,5;6;7\n":    "a|b|c",
		"a\n1\n":                       "a",
		"a,b\n1\n2,3,4\n":              "a|b",
		"a;b|c\n1;2|3\n4;5\n":          "a|b|c",
		"sep=|\na,b|c;d\n1,2|3;4\n":    "a,b|c;d",
		"sep=\t\na,b\tc;d\n1,2\t3;4\n": "a,b|c;d",
	} {
		r, err := OpenTables([]string{write(t, "x.csv", content)}, TableOptions{})
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		names, err := r.src.names()
		if got := strings.Join(names, "|"); err != nil || got != want {
			t.Errorf("%q: names %q, want %q (%v)", content, got, want, err)
		}
		r.Close()
	}
}

// TestBlocksOfAFooterLieSideBySide: padding between them is small, and nothing lies outside of the file or twice.
func TestBlocksOfAFooterLieSideBySide(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []block
		end    int64
		ok     bool
	}{
		{"none", nil, 5000, true}, {"one", []block{{8, 16, 24}}, 48, true},
		{"a gap", []block{{8, 16, 24}, {48 + padding, 8, 8}}, 64 + padding, true},
		{"a large gap", []block{{8, 16, 24}, {49 + padding, 8, 8}}, 65 + padding, false},
		{"a gap at the end", []block{{8, 16, 24}}, 48 + padding, true},
		{"a large gap at the end", []block{{8, 16, 24}}, 49 + padding, false},
		{"in disorder", []block{{48, 16, 0}, {8, 16, 24}}, 64, true},
		{"over one another", []block{{8, 16, 24}, {47, 16, 0}}, 63, false},
		{"twice", []block{{8, 16, 24}, {8, 16, 24}}, 48, false},
		{"in the magic bytes", []block{{7, 16, 24}}, 47, false}, {"without a length", []block{{8, 7, 24}}, 39, false},
		{"a body beyond the end", []block{{8, 16, 25}}, 48, false},
		{"metadata beyond the end", []block{{8, 41, 0}}, 48, false},
		{"a body of less than nothing", []block{{8, 16, -1}}, 48, false},
	} {
		if err := tiled(slices.Clone(c.blocks), c.end); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDigitsOfDecimals: as many as the type says, and not one more.
func TestDigitsOfDecimals(t *testing.T) {
	for _, precision := range []int32{3, 18, 19, 20, 38} {
		most := decimal128.FromU64(1)
		for range precision {
			most = most.Mul(decimal128.FromU64(10))
		}
		for _, c := range []struct {
			v  decimal128.Num
			ok bool
		}{{most.Sub(decimal128.FromU64(1)), true}, {most, false}, {most.Negate(), false},
			{most.Sub(decimal128.FromU64(1)).Negate(), true}, {decimal128.FromU64(0), true}} {
			if precision == 38 && !c.ok {
				continue // 128 bits hold no more
			}
			b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: precision, Scale: 1})
			b.AppendNull()
			b.Append(c.v)
			row, _, err := soundColumn(b.NewArray())
			if (err == nil) != c.ok || err != nil && row != 1 {
				t.Errorf("%s of %d digits: row %d, %v", c.v.BigInt(), precision, row, err)
			}
		}
	}
}

// TestBadTextsOfArrowFilesHaveTheirRow, counted over the batches.
func TestBadTextsOfArrowFilesHaveTheirRow(t *testing.T) {
	o := codec.Options{Schema: &model.Schema{Classes: []string{"a", "b"}, Features: nominal("v")}}
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil)
	for _, kind := range []string{".arrow", ".arrows"} {
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		write2, finish := w.Write, w.Close
		if kind == ".arrow" {
			f, err := ipc.NewFileWriter(&position{w: &out}, ipc.WithSchema(schema))
			if err != nil {
				t.Fatal(err)
			}
			write2, finish = f.Write, f.Close
		}
		for _, texts := range [][]string{{"a", "b", "c"}, {"d", "e\xff"}} {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			b.AppendValues(texts, nil)
			if err := write2(array.NewRecord(schema, []arrow.Array{b.NewArray()}, int64(len(texts)))); err != nil {
				t.Fatal(err)
			}
		}
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		_, err := readAll(t, Options{Codec: o}, write(t, "x"+kind, out.String()))
		var e *Error
		if !errors.As(err, &e) || e.Row != 5 || e.Column != "v" || !errors.Is(err, errText) {
			t.Errorf("%s: %v, want row 5", kind, err)
		}
	}
}

// TestEveryPageWithAChecksumIsGuarded, those of dictionaries too: one changed bit is damage, and its row is named.
func TestEveryPageWithAChecksumIsGuarded(t *testing.T) {
	paths, err := filepath.Glob("testdata/peers/g*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[int32]int{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := openParquet(path, DefaultRows, &wants{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := int64(0)
		for g := range p.pf.NumRowGroups() {
			group := p.pf.MetaData().RowGroup(g)
			for leaf := range p.pf.MetaData().Schema.NumColumns() {
				chunk, err := group.ColumnChunk(leaf)
				if err != nil {
					t.Fatal(err)
				}
				from, n, err := chunkOf(chunk, p.size)
				if err != nil {
					t.Fatal(err)
				}
				for rest := content[from : from+n]; len(rest) > 0; {
					raw := bytes.NewReader(rest)
					in := bufio.NewReader(raw)
					h, err := readPageHeader(in)
					if err != nil {
						break
					}
					at := len(content) - (len(content) - int(from)) + int(n) - raw.Len() - in.Buffered()
					rest = content[at+int(h.packed) : from+n]
					if !h.sum || h.packed == 0 || tried[h.kind] >= 12 {
						continue
					}
					tried[h.kind]++
					torn := bytes.Clone(content)
					torn[at+int(h.packed)/2] ^= 4
					_, err = rowsOf(write(t, "x.parquet", string(torn)))
					var e *Error
					if !errors.As(err, &e) || e.Row <= before || e.Row > before+group.NumRows() || e.Column == "" {
						t.Errorf("%s: a page of kind %d at byte %d of rows %d to %d: %v", path, h.kind, at, before+1,
							before+group.NumRows(), err)
					}
				}
			}
			before += group.NumRows()
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
	if tried[dataPage] == 0 || tried[dictionaryPage] == 0 {
		t.Errorf("pages by kind: %v", tried)
	}
}

// TestWritersRefuseWhatTheyCannotWrite, and stay with their first error.
func TestWritersRefuseWhatTheyCannotWrite(t *testing.T) {
	for path, want := range map[string]string{"a.jsonl": ".jsonl", "a.NDJSON.GZ": ".ndjson", "b/c.csv.gz": ".csv",
		"x.arrow": ".arrow", "x.feather": ".feather", "x.parquet": ".parquet", "x.arrows": ".arrows",
		"x.parquet.gz": "", "x.arrow.gz": "",
		"x.tsv": "", "x.json": "", "x": "", "x.gz": "", "x.csv.zst": ""} {
		kind, packed, err := KindOf(path)
		end := strings.HasSuffix(strings.ToLower(path), ".gz")
		if kind != want || (err == nil) != (want != "") || err == nil && packed != end {
			t.Errorf("%s: %q, packed %v, %v", path, kind, packed, err)
		}
	}
	table := func(names ...string) *codec.Table {
		line := "{"
		for i, n := range names {
			line += fmt.Sprintf("%q: %d,", n, i)
		}
		for table := range tablesOf(t, write(t, "x.jsonl", strings.TrimSuffix(line, ",")+"}\n"), TableOptions{}) {
			return table
		}
		return nil
	}
	for _, kind := range []string{".csv", ".jsonl", ".arrow", ".arrows", ".parquet"} {
		path := filepath.Join(t.TempDir(), "x"+kind)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(table("a", "b")); err != nil {
			t.Fatal(err)
		}
		first := w.Write(table("a"))
		if first == nil {
			t.Errorf("%s: tables of two and of one column went into one file", kind)
		}
		if err := w.Write(table("a", "b")); !errors.Is(err, first) {
			t.Errorf("%s: after an error: %v", kind, err)
		}
		if err := w.Close(); err == nil {
			t.Errorf("%s: closed after an error", kind)
		}
		if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) > 0 {
			t.Errorf("%s: files are left: %q", kind, left)
		}
	}
	if _, err := Size([]string{"testdata/rows.csv", "testdata/absent.csv"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the size of a file that is not there: %v", err)
	}
}

// TestTablesOfALargeBatchAreCut: the rows of a batch come in order, at most so many at a time, and a bad one keeps its
// number.
func TestTablesOfALargeBatchAreCut(t *testing.T) {
	for _, rows := range []int{1, 2, 3, 5, 100} {
		r, err := OpenTables([]string{"testdata/rows.arrow", "testdata/rows.parquet", "testdata/rows.csv"},
			TableOptions{Rows: rows, Codec: rowsOptions()})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var ids []string
		for {
			table, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || table.Rows() > rows {
				t.Fatalf("by %d rows: %d, %v", rows, table.Rows(), err)
			}
			for i := range table.Rows() {
				id, _ := table.Text(table.Column("who"), i)
				ids = append(ids, id)
				if e := r.at(i, &Error{}); e.Row != int64((len(ids)-1)%8+1) {
					t.Errorf("by %d rows: record %s is row %d", rows, id, e.Row)
				}
			}
		}
		if got := strings.Join(ids, ""); got != strings.Repeat("a1a2a3a4a5a6a7a8", 3) {
			t.Errorf("by %d rows: %s", rows, got)
		}
	}
}

// TestTextsOfAnyLengthMayMeanMissing, in columns of numbers too.
func TestTextsOfAnyLengthMayMeanMissing(t *testing.T) {
	o := codec.Options{Schema: &model.Schema{Classes: []string{"a", "b"}, Features: continuous("x")}}
	for _, n := range []int{1, 62, 63, 64, 65, 127, 128, 300} {
		o.Missing = []string{strings.Repeat("m", n)}
		for more, ok := range map[int]bool{0: true, 1: false, 64: false} {
			got, err := readAll(t, Options{Codec: o}, write(t, "x.csv", "x\n1\n"+strings.Repeat("m", n+more)+"\n"))
			if (err == nil) != ok || ok && len(got) != 2 {
				t.Errorf("a text of %d bytes where one of %d means missing: %q, %v", n+more, n, got, err)
			}
		}
	}
}
