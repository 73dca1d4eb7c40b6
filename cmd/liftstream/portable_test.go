package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model"
	"liftstream/model/modeltest"
)

// pythonFormats are the exported files that Python programs check, with the packages that they need.
var pythonFormats = map[string]string{"sql": "duckdb", "onnx": "onnxruntime numpy",
	"pmml": "jpmml_evaluator jpype pandas"}

// sources is the folder of this file: tests change the working directory.
var sources, _ = os.Getwd()

// oddCells replaces cells of records by missing values, unknown levels, special codes, the ends of the card's pieces
// and numbers next to them: one cell in five, by its place alone.
func oddCells(c *portable.Card, rows [][]string) {
	head := rows[0]
	for i, row := range rows[1:] {
		for j := range row {
			f := slices.IndexFunc(c.Features, func(f portable.Feature) bool { return f.Name == head[j] })
			n := i*31 + j*17
			if f < 0 || n%5 != 0 {
				continue
			}
			n /= 5
			switch x := &c.Features[f]; {
			case n%4 == 0:
				row[j] = ""
			case x.Pieces == nil && n%4 == 1:
				row[j] = "never 'seen' \"before\""
			case x.Pieces == nil:
				row[j] = x.Levels[n%len(x.Levels)].Level
			case len(x.Special) > 0 && n%4 == 1:
				row[j] = strconv.FormatFloat(x.Special[n%len(x.Special)].Code, 'f', 1, 64)
			default:
				v := math.MaxFloat64
				if end := x.Pieces[n%len(x.Pieces)].End; end != nil {
					v = *end
				}
				switch n % 4 {
				case 1:
					v = math.Nextafter(v, math.Inf(-1))
				case 2:
					v = math.Nextafter(v, math.Inf(1))
				}
				if n%29 == 0 {
					v *= -1e9
				}
				if !(math.Abs(v) <= 1e300) {
					v = 1e300
				}
				row[j] = strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
	}
}

// portableScore computes the log-odds of a record from the JSON alone, by the formula of
// cmd/liftstream/internal/portable/PORTABLE.md 1.
func portableScore(c *portable.Card, row map[string]string) (sum float64) {
	missing := func(s string) bool { return s == "" || slices.Contains(c.Missing, s) }
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	special := func(feature, s string) *portable.Code {
		f := &c.Features[slices.IndexFunc(c.Features, func(f portable.Feature) bool { return f.Name == feature })]
		if k := slices.IndexFunc(f.Special, func(x portable.Code) bool { return number(s) == x.Code }); k >= 0 {
			return &f.Special[k]
		}
		return nil
	}
	values := make([]float64, len(c.Sets))
	for i, s := range c.Sets {
		cell := 0
		for _, a := range s.Axes {
			text, at := row[a.Feature], -1
			switch {
			case missing(text) || special(a.Feature, text) != nil:
			case a.Levels == nil:
				for at = 0; at < len(a.Cuts) && a.Cuts[at] < number(text); at++ {
					continue
				}
			default:
				if at = slices.Index(a.Levels, text); at < 0 && a.Unknown != nil {
					at = *a.Unknown
				}
			}
			if at < 0 {
				cell = math.MinInt32
			}
			cell += at * a.Stride
		}
		for _, x := range s.Cells {
			if x.Cell == cell {
				values[i] = x.Value
			}
		}
	}
	for k, m := range c.Margins {
		z := m.Intercept
		for i, s := range c.Sets {
			z += s.Weight[k] * values[i]
		}
		for _, f := range c.Features {
			text := row[f.Name]
			switch {
			case missing(text):
				z += f.Missing[k]
			case special(f.Name, text) != nil:
				z += special(f.Name, text).Effect[k]
			case f.Pieces == nil:
				if at := slices.IndexFunc(f.Levels, func(l portable.Level) bool { return l.Level == text }); at >= 0 {
					z += f.Levels[at].Effect[k]
				} else {
					z += f.Unknown[k]
				}
			default:
				v := number(text)
				p := f.Pieces[slices.IndexFunc(f.Pieces, func(p portable.Piece) bool {
					return p.End == nil || v < *p.End || p.Closed && v == *p.End
				})]
				z += p.Constant[k] + p.Slope[k]*(v-p.Origin)
				for _, t := range p.Logs {
					z += t.Weight[k] * math.Log((t.A+t.B*(v-p.Origin))/(1+t.C*(v-p.Origin)))
				}
			}
		}
		last := len(m.Z) - 1
		switch j := slices.IndexFunc(m.Z, func(v float64) bool { return z <= v }); {
		case j == 0:
			sum += m.Value[0] + m.Share*(z-m.Z[0])
		case j < 0:
			sum += m.Value[last] + m.Share*(z-m.Z[last])
		default:
			sum += m.Value[j-1] + (m.Value[j]-m.Value[j-1])*(z-m.Z[j-1])/(m.Z[j]-m.Z[j-1])
		}
	}
	return max(-c.Clip, min(sum, c.Clip))
}

// TestExportIsTheScore compares the exports of models with the scores of 'score --method lift', on 10,000 records (as
// many as there are), a fifth of whose cells are odd.
func TestExportIsTheScore(t *testing.T) {
	long(t)
	workbench(t)
	if r := command(t, "fit", "-c", "bank.yaml", "bank.csv", "--as-of", "end", "--model", "end.model"); r.status != 0 {
		t.Fatal(r.err)
	}
	for _, m := range []string{"bank.model", "end.model"} {
		t.Run(m, func(t *testing.T) { exported(t, "bank.yaml", m, "bank.csv") })
	}
	write(t, "turned.yaml", "bank.yaml", strings.NewReplacer(`positive: "yes"`, `positive: "no"`,
		"{name: pdays, kind: continuous", "{name: pdays, kind: continuous, special: [-1]",
		"{name: balance, kind: continuous", "{name: balance, kind: continuous, special: [5000, 0]").Replace)
	if r := command(t, "fit", "-c", "turned.yaml", "bank.csv", "--model", "turned.model"); r.status != 0 {
		t.Fatal(r.err)
	}
	t.Run("the first class is positive and numbers are codes", func(t *testing.T) {
		exported(t, "turned.yaml", "turned.model", "bank.csv")
	})
}

// TestExportOfLongLevels: levels of several hundred bytes have effects of their own, also where they begin alike, and
// the exports find them.
func TestExportOfLongLevels(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("p", 300)
	levels := []string{long + "A", long + "B", strings.Repeat("é", 200), strings.Repeat("€", 340), "z"}
	rows := [][]string{{"text", "x", "y"}}
	for i := range 1200 {
		k, u := int(model.Hash(3, uint64(i))%5), float64(model.Hash(4, uint64(i))>>11)/(1<<53)
		y := "no"
		if u < []float64{.9, .1, .7, .2, .5}[k] {
			y = "yes"
		}
		rows = append(rows, []string{levels[k], fmt.Sprint(model.Hash(5, uint64(i)) % 1000), y})
	}
	save(t, "all.csv", rows)
	y := "name: long\nrecord:\n  label: {column: y, classes: [\"no\", \"yes\"], positive: \"yes\"}\n" +
		"  features: [{name: text, kind: nominal}, {name: x, kind: continuous}]\n"
	if err := os.WriteFile("set.yaml", []byte(y), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := command(t, "fit", "-c", "set.yaml", "all.csv", "--model", "set.model"); r.status != 0 {
		t.Fatal(r.err)
	}
	exported(t, "set.yaml", "set.model", "all.csv")
	rates := map[string]float64{}
	for i, s := range propensities(t, "set.yaml", "set.model", "all.csv") {
		rates[rows[1+i][0]] = s
	}
	if a, b := rates[levels[0]], rates[levels[1]]; a < .8 || b > .2 {
		t.Errorf("the propensities of two levels of rates .9 and .1 are %v and %v", a, b)
	}
}

// propensities are those of yes by the scorecard alone, record by record.
func propensities(t *testing.T, config, model, data string) (out []float64) {
	t.Helper()
	r := command(t, "score", "-c", config, "--model", model, "--method", "lift", data)
	if r.status != 0 {
		t.Fatal(r.err)
	}
	for line := range strings.Lines(r.out) {
		var x struct {
			Yes float64 `json:"propensity_yes"`
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x.Yes)
	}
	return out
}

// TestWrongExports lists wrong uses and their remedies.
func TestWrongExports(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-c x.yaml", "export needs a version"},
		{"-c x.yaml 3 --model m", "a version or --model FILE, not both"},
		{"-c x.yaml --model m", "m is a model file already: say --format csv|"},
		{"-c x.yaml --model m --format xml", `--format "xml": it is one of model, csv`},
		{"-c x.yaml --model m --format sql --out m", "would overwrite"},
	} {
		r := command(t, append([]string{"model", "export"}, strings.Fields(c.args)...)...)
		if r.status != cli.StatusUsage || r.out != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want %q", c.args, r.status, r.out, r.err, c.want)
		}
	}
	r := command(t, "score", "-c", "x", "--model", "m", "--method", "trees", "x.csv")
	if r.status != cli.StatusUsage || !strings.Contains(r.err, `--method "trees": it is all or lift`) {
		t.Errorf("status %d, %q", r.status, r.err)
	}
}

// TestExportsOfTheDataSets is TestExportIsTheScore on data that is not shipped, models of the first 4,000 records.
func TestExportsOfTheDataSets(t *testing.T) {
	long(t)
	for name, path := range map[string]string{"bank": "bank_full.csv.gz", "telco": "telco_churn.csv",
		"adult": "adult_train.csv.gz"} {
		t.Run(name, func(t *testing.T) {
			rows := modeltest.CSV(t, modeltest.Shared(t, "data/"+path))
			t.Chdir(t.TempDir())
			rows = rows[:min(len(rows), 10001)]
			label := rows[0][len(rows[0])-1]
			save(t, "all.csv", rows)
			save(t, "first.csv", rows[:4001])
			r := command(t, "init", "first.csv", "--label", label)
			if r.status != 0 {
				t.Fatal(r.err)
			}
			y := strings.ReplaceAll(r.out, "{name: duration, kind: continuous}",
				"{name: duration, kind: continuous, use: never}")
			if err := os.WriteFile("set.yaml", []byte(y+"\nlocal: off\nkernel: off\ntrees: off\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := command(t, "fit", "-c", "set.yaml", "first.csv", "--model", "set.model"); r.status != 0 {
				t.Fatal(r.err)
			}
			exported(t, "set.yaml", "set.model", "all.csv")
		})
	}
}

func save(t *testing.T, name string, rows [][]string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// exported compares all formats of a model with the scores of a data file.
func exported(t *testing.T, config, model, data string) {
	t.Helper()
	for _, format := range portable.Formats() {
		r := command(t, "model", "export", "-c", config, "--model", model, "--format", format, "--out", "card."+format)
		if r.status != cli.StatusDone || r.out != "" || !strings.Contains(r.err, "left out: ") ||
			!strings.Contains(r.err, "eval -c "+config) {
			t.Fatalf("%s: status %d, stdout %q, stderr %q", format, r.status, r.out, r.err)
		}
	}
	b, err := os.ReadFile("card.json")
	if err != nil {
		t.Fatal(err)
	}
	var c portable.Card
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader := csv.NewReader(f)
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	oddCells(&c, rows)
	save(t, "odd.csv", rows)
	r := command(t, "score", "-c", config, "--model", model, "--method", "lift", "odd.csv", "--out", "odd.jsonl")
	if r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	if b, err = os.ReadFile("odd.jsonl"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != len(rows)-1 {
		t.Fatalf("%d scores of %d records", len(lines), len(rows)-1)
	}
	want, worst := make([]float64, len(lines)), 0.
	for i, line := range lines {
		var x map[string]any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		want[i] = x["propensity_"+c.Target].(float64)
		row := map[string]string{}
		for j, name := range rows[0] {
			row[name] = rows[1+i][j]
		}
		got := 1 / (1 + math.Exp(-portableScore(&c, row)))
		worst = max(worst, math.Abs(got-want[i]))
		if !(math.Abs(got-want[i]) <= 1e-9) {
			t.Fatalf("record %d: %v by the formula, score says %v: %v", i, got, want[i], row)
		}
	}
	t.Logf("%d records, %d margins, %d sets: at most %.1e apart", len(lines), len(c.Margins), len(c.Sets), worst)
	for _, format := range slices.Sorted(maps.Keys(pythonFormats)) {
		t.Run(format, func(t *testing.T) { byPython(t, format, &c, rows, want) })
	}
}

// byPython lets a Python program score the records with an exported file, and compares.
func byPython(t *testing.T, format string, c *portable.Card, rows [][]string, want []float64) {
	name := os.Getenv("LIFTSTREAM_PYTHON")
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: the exports in other programs; %s is missing", name)
	}
	const there = "import importlib.util as u, sys; sys.exit(' '.join(m for m in sys.argv[1:] if not u.find_spec(m)) or 0)"
	if out, err := exec.Command(python, append([]string{"-c", there}, strings.Fields(pythonFormats[format])...)...).
		CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: the export %s; pip install -r deploy/clients/python/requirements.txt "+
			"-r .ci/requirements.txt\nmissing: %s", format, out)
	}
	if _, err := exec.LookPath("java"); err != nil && format == "pmml" {
		t.Skip("SKIPPED, NOT CHECKED: the export pmml; java is missing")
	}
	if format == "pmml" { // its evaluator takes milliseconds a record
		want = want[:min(len(want), 1000)]
	}
	kinds := map[string]string{}
	for _, f := range c.Features {
		kinds[f.Name] = f.Kind
	}
	b, err := json.Marshal(map[string]any{"kinds": kinds, "records": "odd.csv", "target": c.Target, "n": len(want)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("records.json", b, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(python, filepath.Join(sources, "testdata", "portable.py"), "records.json", "card."+format)
	var errs strings.Builder
	run.Stderr = &errs
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var got []float64
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(want) {
		t.Fatalf("%d scores, %v", len(got), err)
	}
	worst := 0.
	for i := range got {
		if worst = max(worst, math.Abs(got[i]-want[i])); !(worst <= 1e-9) {
			t.Fatalf("record %d scores %v, score says %v: %v", i, got[i], want[i], rows[1+i])
		}
	}
	t.Logf("%d records at most %.1e apart", len(got), worst)
}
