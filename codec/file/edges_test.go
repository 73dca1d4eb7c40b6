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
