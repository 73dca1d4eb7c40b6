package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

func TestEvalFigures(t *testing.T) {
	long(t)
	workbench(t)
	run := func(args ...string) map[string]any {
		t.Helper()
		r := command(t, append([]string{"eval", "-c", "bank.yaml", "bank.csv", "--json", "-"}, args...)...)
		if r.status != cli.StatusDone {
			t.Fatalf("%q: %s", args, r.err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(r.out), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	loss := func(m map[string]any, method string) float64 {
		t.Helper()
		x, ok := m["methods"].(map[string]any)[method].(map[string]any)
		if !ok {
			t.Fatalf("no method %s", method)
		}
		return x["log_loss"].(float64)
	}
	m := run()
	if m["records"] != 2056. || m["scored"] != 1056. || m["positive"] != "yes" || m["records_per_second"].(float64) <= 0 {
		t.Errorf("%v records, %v scored, positive %v, %v records/s", m["records"], m["scored"], m["positive"],
			m["records_per_second"])
	}
	if !(loss(m, "all") < loss(m, "prior")-.05) || math.Abs(loss(m, "all")-loss(m, "lift")) > .005 ||
		loss(m, "all") == loss(m, "lift") {
		t.Errorf("log-loss: all %v, lift %v, prior %v", loss(m, "all"), loss(m, "lift"), loss(m, "prior"))
	}
	late := run("--delay", "200", "--method", "all")
	if late["delay"] != 200. || !(loss(late, "all") > loss(m, "all")) {
		t.Errorf("with labels 200 late: delay %v, log-loss %v, at once %v", late["delay"], loss(late, "all"), loss(m, "all"))
	}
	if p := run("--partitions", "2", "--skip", "0", "--method", "lift"); p["partitions"] != 2. || p["scored"] != 2056. {
		t.Errorf("partitions %v, scored %v", p["partitions"], p["scored"])
	}
	// The kernel is calibrated by construction; the votes of neighbours rank well and need the scorecard to be
	// probabilities.
	if m := run("--method", "local", "--method", "kernel", "--method", "prior"); !(loss(m, "kernel") < loss(m, "prior")) ||
		loss(m, "local") == loss(m, "prior") {
		t.Errorf("alone: local %v, kernel %v, prior %v", loss(m, "local"), loss(m, "kernel"), loss(m, "prior"))
	}
	if m := run("--method", "prior"); len(m["methods"].(map[string]any)) != 1 {
		t.Errorf("methods %v", m["methods"])
	}
	f := run("--protocol", "folds", "--folds", "3", "--method", "lift")
	if f["protocol"] != "folds" || f["scored"] != 2056. {
		t.Errorf("protocol %v, %v scored", f["protocol"], f["scored"])
	}
	// Folds by month: every record has one, so all are scored, by a model of the other months.
	if g := run("--protocol", "folds", "--fold-column", "month", "--method", "lift"); g["scored"] != 2056. ||
		loss(g, "lift") == loss(f, "lift") {
		t.Errorf("folds by month: %v scored, log-loss %v", g["scored"], loss(g, "lift"))
	}
}

// TestScoresOfAnEvaluation: --scores writes every record's score as it was before the record was learnt. The log-loss
// of these scores is the one that eval reports, and their reasons name the record's own values under every model and
// partition.
func TestScoresOfAnEvaluation(t *testing.T) {
	long(t)
	workbench(t)
	data, err := os.ReadFile("bank.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	names := strings.Split(lines[0], ",")
	write(t, "often.yaml", "bank.yaml", func(s string) string { return s + "fit: {records: 600, warmup: 100}\n" })
	for _, flags := range [][]string{{}, {"--delay", "50", "--method", "lift"}, {"--partitions", "3", "--method",
		"lift+local"}, {"--protocol", "folds", "--folds", "3", "--method", "lift"}, {"--method", "prior"}} {
		r := command(t, append([]string{"eval", "-c", "often.yaml", "bank.csv", "--scores", "s.jsonl", "--json", "-"},
			flags...)...)
		if r.status != cli.StatusDone {
			t.Fatalf("%v: %s", flags, r.err)
		}
		var result struct {
			Methods map[string]struct {
				LogLoss float64 `json:"log_loss"`
			}
		}
		if err := json.Unmarshal([]byte(r.out), &result); err != nil {
			t.Fatal(err)
		}
		want := result.Methods["all"].LogLoss
		if len(flags) > 0 {
			want = result.Methods[flags[len(flags)-1]].LogLoss
		}
		text, err := os.ReadFile("s.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(rows) != len(lines)-1 {
			t.Fatalf("%v: %d rows for %d records", flags, len(rows), len(lines)-1)
		}
		folds := slices.Contains(flags, "folds")
		seen, models, partitions := map[int]bool{}, map[float64]bool{}, map[float64]bool{}
		loss, counted, reasons := 0.0, 0, 0
		for i, row := range rows {
			var s map[string]any
			if err := json.Unmarshal([]byte(row), &s); err != nil {
				t.Fatal(err)
			}
			at := int(s["source_row"].(float64))
			if seen[at] || !folds && at != i {
				t.Fatalf("%v: row %d is of record %d", flags, i, at)
			}
			seen[at] = true
			models[s["model"].(float64)], partitions[s["source_partition"].(float64)] = true, true
			cells := strings.Split(lines[at+1], ",")
			if folds || at >= 1000 {
				loss -= math.Log(s["propensity_"+cells[len(cells)-1]].(float64))
				counted++
			}
			if s["why"] == nil {
				continue
			}
			for _, w := range s["why"].([]any) {
				w := w.(map[string]any)
				if f := slices.Index(names, w["feature"].(string)); f >= 0 && w["value"] != nil {
					reasons++
					a, e1 := strconv.ParseFloat(w["value"].(string), 64)
					b, e2 := strconv.ParseFloat(cells[f], 64)
					if e1 == nil && e2 == nil && a == b || w["value"] == cells[f] {
						continue
					}
					t.Fatalf("%v: record %d: reason %v, its value is %q", flags, at, w, cells[f])
				}
			}
		}
		if got := loss / float64(counted); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: the scores have a log-loss of %v, eval says %v", flags, got, want)
		}
		prior := slices.Contains(flags, "prior")
		if !prior && (reasons == 0 || !folds && len(models) < 3) || slices.Contains(flags, "--partitions") &&
			len(partitions) != 3 {
			t.Errorf("%v: %d reasons, models %v, partitions %v", flags, reasons, models, partitions)
		}
	}
}

// TestTriples evaluates drawn triples and those of a file, and fits to the file: comparisons by day alone give that
// feature the largest weight.
func TestTriples(t *testing.T) {
	long(t)
	workbench(t)
	column := func(name string, row string) string {
		header, _ := os.ReadFile("bank.csv")
		names := strings.Split(strings.SplitN(string(header), "\n", 2)[0], ",")
		return strings.Split(row, ",")[slices.Index(names, name)]
	}
	var rows []string
	write(t, "id.csv", "bank.csv", func(s string) string {
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		rows = lines[1:]
		for i := range lines {
			lines[i] = fmt.Sprintf("r%d,%s", i, lines[i])
		}
		lines[0] = "who" + lines[0][2:]
		return strings.Join(lines, "\n") + "\n"
	})
	write(t, "id.yaml", "bank.yaml", swap("record:\n", "record:\n  id: who\n"))
	write(t, "days.txt", "bank.csv", func(string) string {
		text := "i,j,k\n"
		for n := 0; n < 6000; n++ {
			i, j, k := n*7%len(rows), n*13%len(rows), n*29%len(rows)
			day := func(r int) float64 {
				v, _ := strconv.ParseFloat(column("day", rows[r][strings.Index(rows[r], ",")+1:]), 64)
				return v
			}
			if i != j && i != k && j != k && math.Abs(day(i)-day(j))+3 < math.Abs(day(i)-day(k)) {
				text += fmt.Sprintf("r%d,r%d,r%d\n", i+1, j+1, k+1)
			}
		}
		return text
	})
	run := func(args ...string) (m map[string]any) {
		t.Helper()
		r := command(t, args...)
		if r.status != cli.StatusDone {
			t.Fatalf("%q: %s", args, r.err)
		}
		if err := json.Unmarshal([]byte(r.out), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	both := func(m map[string]any, method string) float64 {
		t.Helper()
		x, ok := m["methods"].(map[string]any)[method].(map[string]any)
		if !ok {
			t.Fatalf("no method %s", method)
		}
		return x["both"].(float64)
	}
	m := run("eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--folds", "3", "--json", "-")
	if len(m["splits"].([]any)) != 3 || m["features"] != 15. || !(both(m, "kernel") > both(m, "euclidean")+.05) ||
		both(m, "directions") < .33 {
		t.Errorf("drawn: kernel %v, directions %v, euclidean %v of %v features", both(m, "kernel"), both(m, "directions"),
			both(m, "euclidean"), m["features"])
	}
	m = run("eval", "-c", "id.yaml", "id.csv", "--protocol", "triples", "--folds", "3", "--triples", "days.txt",
		"--method", "kernel", "--json", "-")
	methods := m["methods"].(map[string]any)
	if len(methods) != 1 || methods["kernel"].(map[string]any)["single"].(float64) < .99 {
		t.Errorf("by day: %v", m["methods"])
	}
	m = run("fit", "-c", "id.yaml", "id.csv", "--triples", "days.txt", "--report", "-")
	if list := m["kernel"].(map[string]any)["features"]; list.([]any)[0] != "day" {
		t.Errorf("comparisons by day leave the features %v", list)
	}
	if m = run("fit", "-c", "id.yaml", "id.csv", "--report",
		"-"); len(m["kernel"].(map[string]any)["features"].([]any)) < 2 {
		t.Errorf("drawn comparisons: %v", m["kernel"])
	}
	if r := command(t, "eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--fold-column", "month",
		"--method", "kernel", "--method", "euclidean"); r.status != cli.StatusDone ||
		!strings.Contains(r.out, "both views") || !strings.Contains(r.out, "features of 15") ||
		!strings.Contains(r.out, "poutcome (") {
		t.Errorf("status %d: %s%s", r.status, r.out, r.err)
	}
}

func TestEvalTellsOfTheWarmup(t *testing.T) {
	r := command(t, "eval", "-c", "examples/votes.yaml", "examples/votes.csv", "--skip", "0")
	if r.status != cli.StatusDone || !strings.Contains(r.err, "fit.warmup = 500") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}
