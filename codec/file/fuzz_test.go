package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// fuzzFile reads files of hostile bytes under a contract and raw: an end or an error, no panic, and never more rows
// than the file's own numbers say.
func fuzzFile(f *testing.F, kind string) {
	for _, pattern := range []string{"testdata/rows" + kind, "testdata/peers/*" + kind} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no files %s: %v", pattern, err)
		}
		for _, p := range paths {
			content, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	path := filepath.Join(f.TempDir(), "x"+kind)
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, Options{Codec: rowsOptions(), Rows: 3}, path); err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File == "" {
				t.Errorf("an error without a place: %v", err)
			}
		}
		r, err := OpenTables([]string{path}, TableOptions{Missing: []string{""}, Rows: 100})
		if err != nil {
			return
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		var e *Error
		if !errors.Is(err, io.EOF) && (!errors.As(err, &e) || e.File == "") {
			t.Errorf("an error without a place: %v", err)
		}
	})
}

func FuzzParquet(f *testing.F)   { fuzzFile(f, ".parquet") }
func FuzzArrowFile(f *testing.F) { fuzzFile(f, ".arrow") }
func FuzzArrows(f *testing.F)    { fuzzFile(f, ".arrows") }
