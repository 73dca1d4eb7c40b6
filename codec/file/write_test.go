package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
)

// TestEventsAreFiles: the message that produce makes of a file is read as eval reads the file.
func TestEventsAreFiles(t *testing.T) {
	for _, f := range formats {
		path := filepath.Join("testdata", f)
		want, err := readAll(t, Options{Codec: rowsOptions()}, path)
		if err != nil {
			t.Fatal(err)
		}
		enc := codec.NewEventEncoder()
		d, err := codec.NewDecoder(rowsOptions())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for table := range tablesOf(t, path, TableOptions{Codec: rowsOptions()}) {
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
		var got []string
		for table := range tablesOf(t, path, TableOptions{Missing: []string{""}}) {
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

// TestProgress: the reported progress adds up to the sizes of the files.
func TestProgress(t *testing.T) {
	paths := []string{"testdata/rows.csv", "testdata/rows.csv.gz", "testdata/rows.jsonl", "testdata/rows.arrows",
		"testdata/rows.arrow", "testdata/rows.feather"}
	total := int64(0)
	if _, err := readAll(t, Options{Codec: rowsOptions(), Progress: func(n int64) { total += n }}, paths...); err != nil {
		t.Fatal(err)
	}
	if want, err := Size(paths); err != nil || total != want {
		t.Errorf("%d bytes of %d, %v", total, want, err)
	}
}
