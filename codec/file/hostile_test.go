package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
