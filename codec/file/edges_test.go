package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
)

var errFull = errors.New("no space left")

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestAFileWhoseLastBytesAreLostDoesNotAppear: where only the end cannot be written Close says so, and the file under
// the name stays.
func TestAFileWhoseLastBytesAreLostDoesNotAppear(t *testing.T) {
	o := rowsOptions()
	r, err := Open([]string{"testdata/rows.csv"}, Options{Codec: o, Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	enc, err := codec.NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	if err := r.Next(&b, nil); err != nil {
		t.Fatal(err)
	}
	table, err := enc.Table(&b, scores(b.N), model.NewLevels(o.Schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{".csv", ".jsonl", ".jsonl.gz", ".arrow", ".arrows", ".feather", ".parquet"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "scores"+kind)
			if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			w, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w.buf.Reset(full{}) // it holds the whole file, which meets the output at Close
			if err := w.Write(table); err != nil {
				t.Fatal(err)
			}
			var e *Error
			if err := w.Close(); !errors.Is(err, errFull) || !errors.As(err, &e) || e.File != path {
				t.Errorf("the file is finished with %v", err)
			}
			if was, err := os.ReadFile(path); err != nil || string(was) != "before" {
				t.Errorf("the file that was there is %q now (%v)", was, err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
				t.Errorf("files are left: %q (%v)", left, err)
			}
		})
	}
}

// TestRowsOfEachFileAreNumberedFromOne: an error of the second file names its own row, and a second file without
// records is noticed.
func TestRowsOfEachFileAreNumberedFromOne(t *testing.T) {
	const header = "who,age,score,job,grade,zip,class\n"
	const good = "a,1,2,x,1,0,no\n"
	first := write(t, "first.csv", header+good+good+good)
	for _, c := range []struct {
		second string
		row    int64
		says   string
	}{{header + good + "b,1,2,x,1,0,perhaps\n", 2, ""}, {header, 0, "no records"}} {
		_, err := readAll(t, Options{Codec: rowsOptions(), RequireLabel: true}, first, write(t, "second.csv", c.second))
		var e *Error
		if !errors.As(err, &e) || e.Row != c.row || filepath.Base(e.File) != "second.csv" ||
			!strings.Contains(e.Error(), c.says) {
			t.Errorf("got %v, want one about row %d of the second file", err, c.row)
		}
	}
}

// TestTextsByTheFormatOfAFile: values in quotes of CSV and strings of JSON lines, in each table anew; values that are
// not there, nulls, bare words and numbers are none.
func TestTextsByTheFormatOfAFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "a,b\n\"NA\",x\nNA,\"7\"\n,\"y\"\n\"NA\",7\nNA,7\n",
		"a.jsonl": `{"a":"NA","b":7}` + "\n" + `{"a":null,"b":"7"}` + "\n" + `{"b":"y"}` + "\n" +
			`{"a":"NA","b":[1]}` + "\n" + `{"a":1,"b":7}` + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := [][2]bool{{true, false}, {false, true}, {false, true}, {true, false}, {false, false}}
		for _, rows := range []int{1, 3, 5} {
			for _, asked := range []bool{true, false} {
				r, err := OpenTables([]string{path}, TableOptions{Rows: rows, Texts: asked})
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for table, err := r.Next(); err == nil; table, err = r.Next() {
					for i := range table.Rows() {
						for c, name := range []string{"a", "b"} {
							got := table.Column(name) >= 0 && r.IsText(table.Column(name), i)
							if got != (asked && want[at][c]) {
								t.Errorf("%s, %d rows a table, asked %v: row %d, column %s is text: %v", path, rows, asked, at, name, got)
							}
						}
						at++
					}
				}
				r.Close()
				if at != len(want) {
					t.Errorf("%s: %d rows", path, at)
				}
			}
		}
	}
}
