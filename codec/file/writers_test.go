package file

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
)

// TestWritersOfArrow reads one table as the libraries for C++, Rust, JavaScript, nanoarrow and Polars write it: with
// metadata of version 4, without continuation marks, as before version 0.15, with several dictionaries and types that
// nobody reads. Streams that begin with the mark are messages, too.
func TestWritersOfArrow(t *testing.T) {
	want := map[string][]string{"id": {"a", "b", "c", "d", "e"}, "x": {"1.5", "", "-2", "0", "1e+300"},
		"level": {"low", "mid", "low", "", "high"},
		"at":    {"1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "", "2023-11-14T22:13:20Z", "1970-01-01T00:00:00.005Z"}}
	names, err := filepath.Glob("testdata/writers/*.arrow*")
	if err != nil || len(names) != 21 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		got, err := columnTexts(name, slices.Collect(maps.Keys(want)))
		if err != nil || got["id"] == nil || got["x"] == nil {
			t.Errorf("%s: columns %v, %v", name, got, err)
		}
		for column, texts := range got {
			w := slices.Clone(want[column])
			if column == "x" && strings.Contains(name, "js-0.") {
				w[1] = "7"
			}
			if !slices.Equal(texts, w) {
				t.Errorf("%s: %s is %q, want %q", name, column, texts, w)
			}
		}
		if strings.HasSuffix(name, ".arrows") {
			checkMessage(t, name)
		}
	}
}

// checkMessage decodes a stream as a message, of which one without marks is refused.
func checkMessage(t *testing.T, name string) {
	t.Helper()
	s := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}}
	d, err := codec.NewDecoder(codec.Options{Schema: s, ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	value, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	bad, err := d.Decode(&codec.Message{Value: value}, &b, nil)
	var refused *codec.MessageError
	if strings.Contains(name, "0.13") || strings.Contains(name, "0.15") {
		if !errors.As(err, &refused) || refused.Reason != codec.ReasonNotArrow {
			t.Errorf("%s as a message: %v", name, err)
		}
		return
	}
	if err != nil || len(bad) > 0 || b.N != 5 || b.Columns[0].Float[2] != -2 || b.ID[4] != "e" {
		t.Errorf("%s as a message: %v, bad %v, %d records", name, err, bad, b.N)
	}
}

// columnTexts returns the texts of those of the columns that a file has.
func columnTexts(name string, columns []string) (map[string][]string, error) {
	r, err := OpenTables([]string{name}, TableOptions{Missing: []string{""}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	got := map[string][]string{}
	for {
		table, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		for _, column := range columns {
			at := table.Column(column)
			for row := 0; at >= 0 && row < table.Rows(); row++ {
				text, _ := table.Text(at, row)
				got[column] = append(got[column], text)
			}
		}
	}
}
