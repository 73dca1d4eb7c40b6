package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

const frameRows = 1500

// frame writes one table in the forms of CSV and JSON lines that pandas gives it: booleans are True or true, a nullable
// whole number is a float, an id has nineteen digits.
func frame() (csv, jsonl []byte) {
	var c, j bytes.Buffer
	c.WriteString("customer,age,plus,tier,price,zip,grade,day,y\n")
	capital := map[bool]string{true: "True", false: "False"}
	for i := range frameRows {
		u := func(k int) float64 { return float64(model.Hash(17, uint64(i), uint64(k))>>11) / (1 << 53) }
		age, plus, grade := 18+int(60*u(0)), u(1) < .4, 1+int(5*u(2))
		tier, null := fmt.Sprintf("%d.0", 1+int(3*u(3))), fmt.Sprintf("%d.0", 1+int(3*u(3)))
		if u(4) < .1 {
			tier, null = "", "null"
		}
		price, zip := float64(int(400*u(5)))/8, fmt.Sprintf("0%d", 2130+int(9*u(6)))
		day := fmt.Sprintf("2024-05-%02d", 1+int(5*u(7)))
		y := u(8) < .2+.4*float64(grade)/5+map[bool]float64{true: .2}[plus]
		id := 1777134800018164000 + int64(i)
		fmt.Fprintf(&c, "%d,%d,%s,%s,%.3f,%s,%d,%s,%s\n", id, age, capital[plus], tier, price, zip, grade, day,
			capital[y])
		fmt.Fprintf(&j, `{"customer": %d, "age": %d, "plus": %v, "tier": %s, "price": %v, "zip": %q, "grade": %d, `+
			`"day": %q, "y": %v}`+"\n", id, age, plus, null, price, zip, grade, day, y)
	}
	return c.Bytes(), j.Bytes()
}

// frames writes the table in eight kinds of files and returns their names.
func frames(t *testing.T, dir string) (names []string) {
	t.Helper()
	csv, jsonl := frame()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(csv)
	z.Close()
	for _, f := range []struct {
		name    string
		content []byte
	}{{"x.csv", csv}, {"x.csv.gz", packed.Bytes()}, {"x.jsonl", jsonl}} {
		names = append(names, filepath.Join(dir, f.name))
		if err := os.WriteFile(names[len(names)-1], f.content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"x.parquet", "x.feather", "x.arrow", "x.arrows", "own.csv"} {
		names = append(names, filepath.Join(dir, name))
		w, err := file.Create(names[len(names)-1])
		if err != nil {
			t.Fatal(err)
		}
		r, err := file.OpenTables([]string{filepath.Join(dir, "x.jsonl")}, file.TableOptions{Missing: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			table, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(table); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// spelled writes the table as programs write it that do not agree with themselves: each value in any of its spellings,
// JSON in any of its types.
func spelled(t *testing.T, dir string) (names []string) {
	t.Helper()
	yes := []string{"True", "true", "TRUE", `"true"`, `"True"`, "1", "1.0", `"1"`, `"1.0"`}
	no := []string{"False", "false", "FALSE", `"false"`, `"False"`, "0", "0.0", `"0"`, `"-0.0"`}
	whole := []string{"%s", "%s.0", "%s.00", `"%s"`, `"%s.0"`}
	pick := func(list []string, i, k int) string {
		return list[model.Hash(23, uint64(i), uint64(k))%uint64(len(list))]
	}
	write := func(file string, json bool) {
		csv, _ := frame()
		lines := strings.Split(strings.TrimSpace(string(csv)), "\n")
		header := strings.Split(lines[0], ",")
		var b strings.Builder
		if !json {
			b.WriteString(lines[0] + "\n")
		}
		for i, line := range lines[1:] {
			cells := strings.Split(line, ",")
			for k, cell := range cells {
				bare := strings.TrimSuffix(cell, ".0")
				switch name := header[k]; {
				case cell == "" && json:
					cell = "null"
				case cell == "":
				case cell == "True" || cell == "False":
					cell = pick(map[string][]string{"True": yes, "False": no}[cell], i, k)
					if json && cell[0] != '"' {
						cell = strings.ToLower(cell) // JSON has no other booleans
					}
				case name == "tier" || name == "grade":
					cell = strings.ReplaceAll(pick(whole, i, k), "%s", bare)
				case name == "zip" || name == "day": // the day is the time, which scores repeat as it came
					cell = `"` + cell + `"`
				}
				if !json {
					cell = strings.Trim(cell, `"`)
				}
				cells[k] = cell
				if json {
					cells[k] = fmt.Sprintf("%q: %s", header[k], cell)
				}
			}
			line = strings.Join(cells, ",")
			if json {
				line = "{" + line + "}"
			}
			b.WriteString(line + "\n")
		}
		names = append(names, filepath.Join(dir, file))
		if err := os.WriteFile(names[len(names)-1], []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("spelled.csv", false)
	write("spelled.jsonl", true)
	return names
}

var remark = regexp.MustCompile(`(?m) *#.*$`)

// TestOneTableInAllFormats: init proposes one configuration, fit makes one model, and score gives the same scores, bit
// for bit, however the table was written; so does a stage to which it is sent.
func TestOneTableInAllFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it fits eight files")
	}
	compareFormats(t, frames(t, t.TempDir()), spelled(t, t.TempDir()))
}

// TestOneDataFrameInAllFormats is the same by pandas, with decimals, dates and dictionaries in the types of the format.
func TestOneDataFrameInAllFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it fits seven files")
	}
	name := os.Getenv("LIFTSTREAM_PYTHON")
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT PROVED: that files of pandas agree; %s is missing", name)
	}
	if out, err := exec.Command(python, "-c", "import pandas, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("NOT PROVED: that files of pandas agree; pip install pandas pyarrow\n%s", out)
	}
	dir := t.TempDir()
	out, err := exec.Command(python, "testdata/frame.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compareFormats(t, strings.Fields(string(out)), nil)
}

// compareFormats compares files of one table, and the live scores of others whose cells mean the same.
func compareFormats(t *testing.T, data, alike []string) {
	t.Helper()
	must := func(args ...string) string {
		t.Helper()
		r := command(t, args...)
		if r.status != 0 {
			t.Fatalf("%q: status %d\n%s%s", args, r.status, r.out, r.err)
		}
		return r.out
	}
	t.Chdir(t.TempDir())
	var yaml, fitted, scores, own string
	same := func(what, name, got string, want *string) {
		t.Helper()
		if *want == "" {
			*want = got
		}
		if got != *want {
			t.Errorf("%s of %s:\n%.2000s\nof %s:\n%.2000s", what, filepath.Base(name), got, filepath.Base(data[0]), *want)
		}
	}
	for _, name := range data {
		out := must("init", name, "--label", "y", "--positive", "True", "--name", "frame")
		same("configuration", name, remark.ReplaceAllString(out, ""), &yaml)
		if err := os.WriteFile("frame.yaml", []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		must("lint", "frame.yaml")
		must("fit", "-c", "frame.yaml", name, "-m", "own.model", "-r", "r.json")
		same("model", name, fmt.Sprintf("%x", read(t, "own.model")), &fitted)
		must("score", "-c", "frame.yaml", "-m", "own.model", name, "--out", "s.csv")
		same("scores", name, read(t, "s.csv"), &scores)
		must("eval", "-c", "frame.yaml", name, "--method", "lift", "--skip", "100", "--scores", "e.csv")
		same("evaluated scores", name, read(t, "e.csv"), &own)
	}
	if ids := len(distinct(scores)); ids != frameRows {
		t.Errorf("%d different ids of %d customers", ids, frameRows)
	}
	if !strings.Contains(yaml, "id: customer") || !strings.Contains(yaml, `classes: ["false", "true"]`) ||
		!strings.Contains(yaml, "{name: zip, kind: nominal}") || !strings.Contains(yaml, "{name: tier, kind: nominal}") {
		t.Errorf("the configuration is\n%s", yaml)
	}
	var live string
	for _, name := range slices.Concat(data, alike) {
		same("live scores", name, liveScores(t, name), &live)
	}
	if ids := len(distinct(live)); ids != frameRows {
		t.Errorf("live: %d different ids of %d customers", ids, frameRows)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// distinct has the first cells of the rows of a CSV file.
func distinct(csv string) map[string]bool {
	ids := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(csv), "\n")[1:] {
		id, _, _ := strings.Cut(line, ",")
		ids[id] = true
	}
	return ids
}

// liveScores sends a file to a stage that scores by own.model and learns its labels, and returns the scores as CSV.
func liveScores(t *testing.T, name string) string {
	t.Helper()
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := &world{t: t, address: b.Addr(), client: txn.NewClient(txn.Config{Brokers: []string{b.Addr()}}),
		file: filepath.Join(t.TempDir(), "frame.yaml")}
	defer w.client.Close()
	text := regexp.MustCompile(`(?m)^fit:.*$`).ReplaceAllString(read(t, "frame.yaml"), "")
	text += fmt.Sprintf("fit: {warmup: 1000000}\nkafka: {brokers: [%q]}\nhttp: {listen: \"127.0.0.1:0\"}\n", b.Addr())
	if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.config, _, err = config.Load(w.file, nil); err != nil {
		t.Fatal(err)
	}
	if w.stage, err = assemble.New(w.config); err != nil {
		t.Fatal(err)
	}
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, name, "--batch", "200")
	run := start(t, "run", "-c", w.file, "--model", "own.model")
	w.await(frameRows)
	run.stop(t)
	return w.must("tail", "-c", w.file, "--from", "start", "-n", fmt.Sprint(frameRows), "--format", "csv").out
}
