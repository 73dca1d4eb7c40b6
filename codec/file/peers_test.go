package file

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/codec/number"
)

// peerFile is a line of the index that testdata/peers.py writes.
type peerFile struct {
	File, How, Peer, Says string
	Bad                   bool
}

// peerColumn is a column as the peer reads it.
type peerColumn struct {
	Name, Kind string
	Values     []*string
}

// TestPeers reads files of pyarrow, pandas, Polars and DuckDB: the rows are those of the peer. A damaged copy has the
// peer's rows, or is refused; none is shorter. A few files are kept; with LIFTSTREAM_PYTHON, which has these libraries,
// 500 and 1,000 damaged ones are made.
func TestPeers(t *testing.T) {
	t.Run("kept", func(t *testing.T) { comparePeers(t, "testdata/peers") })
	t.Run("made", func(t *testing.T) {
		if testing.Short() {
			t.Skip("SKIPPED under -short: making the files takes minutes")
		}
		dir := os.Getenv("LIFTSTREAM_PEERS")
		if dir == "" {
			python := os.Getenv("LIFTSTREAM_PYTHON")
			if python == "" {
				t.Skip("SKIPPED, NOT CHECKED: no Python with pyarrow, pandas, polars and duckdb in LIFTSTREAM_PYTHON")
			}
			dir = t.TempDir()
			out, err := exec.Command(python, "testdata/peers.py", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("making files: %v\n%s", err, out)
			}
		}
		comparePeers(t, dir)
	})
}

func comparePeers(t *testing.T, dir string) {
	index, err := os.Open(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f peerFile
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		outcome, why := comparePeer(t, dir, f)
		kind := "whole"
		if f.Bad {
			kind = "damaged"
		}
		counts[kind+" "+outcome]++
		if outcome == "wrong" || outcome == "refused" && !f.Bad {
			t.Errorf("%s (%s; the peer: %s %s) is %s: %v", f.File, f.How, f.Peer, f.Says, outcome, why)
		}
	}
	if err := lines.Err(); err != nil || len(counts) == 0 {
		t.Errorf("no files: %v", err)
	}
	t.Logf("%s: %v", dir, counts)
}

// comparePeer says whether a file is equal, refused or wrong.
func comparePeer(t *testing.T, dir string, f peerFile) (outcome string, why error) {
	peer := f.File
	if f.Peer == "error" {
		peer = strings.SplitN(f.How, ":", 2)[0] // the damage may not matter
	}
	var want []peerColumn
	content, err := os.ReadFile(filepath.Join(dir, peer+".rows"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &want); err != nil {
		t.Fatal(err)
	}
	at := 0
	var wrong error
	r, err := OpenTables([]string{filepath.Join(dir, f.File)}, TableOptions{Missing: []string{""}})
	if err == nil {
		defer r.Close()
	}
	for err == nil {
		var table *codec.Table
		if table, err = r.Next(); err == nil {
			if e := compareTable(table, want, at); e != nil && wrong == nil {
				wrong = e // it counts where the file is read to its end
			}
			at += table.Rows()
		}
	}
	rows := 0
	if len(want) > 0 {
		rows = len(want[0].Values)
	}
	if !errors.Is(err, io.EOF) {
		if rows == 0 {
			return "equal", nil // a file without records is refused by name
		}
		return "refused", err
	}
	if wrong != nil {
		return "wrong", wrong
	}
	if at != rows {
		return "wrong", fmt.Errorf("%d rows, want %d", at, rows)
	}
	return "equal", nil
}

func compareTable(t *codec.Table, want []peerColumn, at int) error {
	known := map[string]bool{}
	for i := range want {
		w := &want[i]
		known[w.Name] = true
		if at+t.Rows() > len(w.Values) {
			return fmt.Errorf("more than %d rows", len(w.Values))
		}
		k := t.Column(w.Name)
		for row := range t.Rows() {
			value := w.Values[at+row]
			if k < 0 { // JSON finds columns as it goes
				if value != nil {
					return fmt.Errorf("row %d: no column %q", at+row+1, w.Name)
				}
				continue
			}
			if !equalCell(t, k, row, w.Kind, value) {
				text, ok := t.Text(k, row)
				say := "null"
				if value != nil {
					say = strconv.Quote(*value)
				}
				return fmt.Errorf("row %d: column %q holds %q (%v), want %s %s", at+row+1, w.Name, text, ok, w.Kind, say)
			}
		}
	}
	for _, c := range t.Columns() {
		if !known[c.Name] {
			return fmt.Errorf("a column %q too many", c.Name)
		}
	}
	return nil
}

func equalCell(t *codec.Table, k, row int, kind string, want *string) bool {
	text, ok := t.Text(k, row)
	if kind == "other" {
		return true
	}
	if kind == "time" && want != nil {
		ns, fits := new(big.Int).SetString(*want, 10)
		v, ok := t.Int(k, row)
		return fits && (ok && ns.IsInt64() && v == ns.Int64() || !ok && !ns.IsInt64())
	}
	if want == nil || !ok {
		return want == nil && !ok
	}
	switch kind {
	case "float":
		v, ok := t.Float(k, row)
		w, err := strconv.ParseFloat(*want, 64)
		return ok && err == nil && v == w
	case "decimal":
		a, ok := new(big.Rat).SetString(text)
		b, fits := new(big.Rat).SetString(*want)
		return ok && fits && a.Cmp(b) == 0
	case "loose":
		if text == *want {
			return true
		}
		a, ok := number.Parse([]byte(text))
		b, also := number.Parse([]byte(*want))
		return ok && also && a == b && !isInteger([]byte(*want))
	}
	return text == *want
}
