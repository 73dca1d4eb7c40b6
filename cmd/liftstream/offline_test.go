package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// workbench is a directory with copies of the examples and a model of the bank, as the working directory.
func workbench(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if r := command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "bank.model"); r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
}

// write writes a file that edit makes of another one.
func write(t *testing.T, name, from string, edit func(string) string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(edit(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// line edits line n, from 1, of a text.
func line(n int, edit func(string) string) func(string) string {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		lines[n-1] = edit(lines[n-1])
		return strings.Join(lines, "\n")
	}
}

func swap(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

// TestBadInput holds what each command says of each bad input: place, fault and remedy in one message, status 1.
func TestBadInput(t *testing.T) {
	workbench(t)
	write(t, "empty.csv", "bank.csv", func(string) string { return "" })
	write(t, "header.csv", "bank.csv", func(s string) string { return s[:strings.Index(s, "\n")+1] })
	write(t, "nolabel.csv", "bank.csv", line(1, swap(",class", ",klass")))
	write(t, "class.csv", "bank.csv", line(9, func(s string) string { return s[:strings.LastIndex(s, ",")] + ",perhaps" }))
	write(t, "oneclass.csv", "bank.csv", func(s string) string { return strings.ReplaceAll(s, ",yes\n", ",no\n") })
	write(t, "text.csv", "bank.csv", line(5, func(s string) string { return "old" + s[strings.Index(s, ","):] }))
	write(t, "twice.csv", "bank.csv", line(1, swap("job", "age")))
	write(t, "short.csv", "bank.csv", line(7, func(s string) string { return s[:strings.LastIndex(s, ",")] }))
	write(t, "gone.csv", "bank.csv", line(1, swap("balance", "balances")))
	write(t, "data.xls", "bank.csv", func(s string) string { return s })
	write(t, "id.csv", "bank.csv", func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines[:len(lines)-1] {
			lines[i] = fmt.Sprintf("r%d,%s", i, lines[i])
		}
		lines[0] = "who" + lines[0][2:]
		lines[8] = lines[8][:strings.LastIndex(lines[8], ",")+1]
		return strings.Join(lines, "\n")
	})
	write(t, "id.yaml", "bank.yaml", swap("record:\n", "record:\n  id: who\n"))
	for name, text := range map[string]string{
		"good.txt": "r1,r2,r3\n", "short.txt": "i,j,k\nr1,r2,r3\nr1,r2\n", "quote.txt": "r1,r2,r3\nr1,\"r2,r3\n", "blank.txt": "r1,r2,r3\nr1, ,r3\n",
		"same.txt": "r1,r2,r1\n", "unknown.txt": "i,j,k\nr1,r2,r3\nr1,r9999,r3\n", "label.txt": "r1,r8,r3\n",
	} {
		write(t, name, "bank.csv", func(string) string { return text })
	}
	write(t, "broken.yaml", "bank.yaml", swap("kind: nominal", "kind: nominl"))
	write(t, "lacks.yaml", "bank.yaml", func(s string) string { return s + "propensity: {calibration: {half_life: 24h}}\n" })
	write(t, "seed.yaml", "bank.yaml", func(s string) string { return s + "fit: {seed: 9}\n" })
	write(t, "short.model", "bank.model", func(s string) string { return s[:len(s)/2] })
	write(t, "damaged.model", "bank.model", func(s string) string { return s[:len(s)/2] + "!" + s[len(s)/2+1:] })
	type row struct {
		args []string
		want []string
	}
	rows := []row{
		{[]string{"fit", "-c", "bank.yaml", "class.csv"}, []string{"class.csv", "row 8", `"class"`, `"perhaps"`, "no, yes"}},
		{[]string{"eval", "-c", "bank.yaml", "class.csv"}, []string{"class.csv", "row 8", `"class"`, `"perhaps"`, "no, yes"}},
		{[]string{"fit", "-c", "bank.yaml", "nolabel.csv"}, []string{"nolabel.csv", `"class"`, "klass"}},
		{[]string{"eval", "-c", "bank.yaml", "nolabel.csv"}, []string{"nolabel.csv", `"class"`, "klass"}},
		{[]string{"init", "nolabel.csv", "--label", "class"}, []string{"nolabel.csv", `"class"`, "klass"}},
		{[]string{"init", "bank.csv", "--label", "class", "--id", "who"}, []string{"bank.csv", `"who"`, "--id"}},
		{[]string{"init", "bank.csv", "--label", "class", "--positive", "perhaps"}, []string{"bank.csv", `"perhaps"`, "no, yes"}},
		{[]string{"fit", "-c", "bank.yaml", "oneclass.csv"}, []string{"oneclass.csv", "all 2056 labelled records are of the class no", "two classes"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "text.csv"}, []string{"text.csv", "row 4", `"age"`, `"old"`}},
		{[]string{"fit", "-c", "none.yaml", "bank.csv"}, []string{"none.yaml", "no such file", "liftstream init"}},
		{[]string{"fit", "-c", "broken.yaml", "bank.csv"}, []string{"broken.yaml:7:", `did you mean "nominal"`}},
		{[]string{"lint", "bank.yaml", "broken.yaml", "none.yaml"}, []string{"broken.yaml:7:", `did you mean "nominal"`, "none.yaml", "no such file"}},
		{[]string{"lint", "lacks.yaml"}, []string{"lacks.yaml:1: propensity.calibration.half_life", "give their number"}},
		{[]string{"fit", "-c", "lacks.yaml", "bank.csv"}, []string{"lacks.yaml: propensity.calibration.half_life", "give their number"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "none.model", "bank.csv"}, []string{"none.model", "no such file"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.csv", "bank.csv"}, []string{"bank.csv", "not a liftstream model", "liftstream fit --model"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "short.model", "bank.csv"}, []string{"short.model", "liftstream fit --model"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "damaged.model", "bank.csv"}, []string{"damaged.model", "liftstream fit --model"}},
		{[]string{"inspect", "damaged.model"}, []string{"damaged.model", "liftstream fit --model"}},
		{[]string{"score", "-c", "votes.yaml", "--model", "bank.model", "votes.csv"}, []string{"bank.model does not belong to the configuration", "15 features", "fit it again"}},
		{[]string{"score", "-c", "seed.yaml", "--model", "bank.model", "bank.csv"}, []string{"bank.model does not belong to the configuration", "fit it again"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "scores.xls"}, []string{"scores.xls", ".parquet"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "scores"}, []string{"scores: the name has no extension", ".parquet"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "no/scores.csv"}, []string{"no/scores.csv", "create it first"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "--model", "."}, []string{". is a directory"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--skip", "9999"}, []string{"bank.csv", "2056 records", "--skip"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "folds", "--fold-column", "fold"}, []string{"bank.csv", `"fold"`}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--folds", "2000"}, []string{"bank.csv: fold 1", "no triple can be drawn", "fewer folds"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--triples", "none.txt"}, []string{"none.txt", "no such file"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--triples", "good.txt"}, []string{"good.txt", "record.id"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "--triples", "good.txt"}, []string{"good.txt", "record.id"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "empty.csv"}, []string{"empty.csv: no triple"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "short.txt"}, []string{"short.txt:3: 2 values", "i,j,k"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "quote.txt"}, []string{"quote.txt:2: ", "quote"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "blank.txt"}, []string{"blank.txt:2: an empty id"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "same.txt"}, []string{"same.txt:1: r1, r2, r1 are not three records"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "unknown.txt"}, []string{`unknown.txt:3: there is no record "r9999" in id.csv`}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "label.txt"}, []string{`label.txt:1: record "r8"`, "row 8", "no class"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "id.csv", "--triples", "good.txt"}, []string{`good.txt:1: the id "r1" names two records`, "rows 1 and 2057"}},
	}
	for _, c := range [][]string{{"fit", "-c", "bank.yaml"}, {"eval", "-c", "bank.yaml"}, {"score", "-c", "bank.yaml", "--model", "bank.model"}, {"init", "--label", "class"}} {
		add := func(file string, want ...string) {
			rows = append(rows, row{append(append([]string{}, c...), file), want})
		}
		add("none.csv", "none.csv", "no such file")
		add("empty.csv", "empty.csv", "the file is empty")
		add("header.csv", "header.csv", "no record")
		add("twice.csv", "twice.csv", `"age"`, "two columns")
		add("short.csv", "short.csv", "row 6 (line 7)", "16 values")
		add("data.xls", "data.xls", ".parquet")
		add(".", ".: this is a directory", "name the files in it")
		if c[0] != "init" {
			add("text.csv", "text.csv", "row 4 (line 5)", `"age"`, `"old"`)
			add("gone.csv", "gone.csv", `"balance"`, "balances")
		}
	}
	for _, r := range rows {
		t.Run(strings.Join(r.args, " "), func(t *testing.T) {
			got := command(t, r.args...)
			text := got.err
			if r.args[0] == "lint" {
				text = got.out
			}
			if got.status != cli.StatusInput {
				t.Errorf("status %d, want 1", got.status)
			}
			for _, w := range r.want {
				if !strings.Contains(text, w) {
					t.Errorf("the message lacks %q: %s", w, text)
				}
			}
			if strings.Contains(text, "goroutine") || strings.Contains(text, ".partial") || strings.Count(text, "\n") > 2 {
				t.Errorf("not one clear sentence: %s", text)
			}
		})
	}
	left, err := filepath.Glob(".partial*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWrongUse(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"fit", "bank.csv"}, "-c FILE"},
		{[]string{"fit", "-c", "bank.yaml"}, "needs data files"},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "--colour"}, "--colour"},
		{[]string{"score", "-c", "bank.yaml", "bank.csv"}, "--model FILE"},
		{[]string{"init", "bank.csv"}, "--label"},
		{[]string{"init", "a.csv", "b.csv", "--label", "x"}, `"b.csv"`},
		{[]string{"lint"}, "needs configurations"},
		{[]string{"inspect"}, "model file"},
		{[]string{"eval", "-c", "x", "y", "--method", "magic"}, "one of all, lift, lift+local, lift+kernel, local, kernel, knn, prior"},
		{[]string{"eval", "-c", "x", "y", "--method", "all", "--protocol", "triples"}, "one of kernel, directions, euclidean"},
		{[]string{"eval", "-c", "x", "y", "--delay", "1", "--protocol", "triples"}, "means nothing under --protocol triples"},
		{[]string{"eval", "-c", "x", "y", "--triples", "z"}, "means nothing under --protocol prequential"},
		{[]string{"eval", "-c", "x", "y", "--protocol", "magic"}, "one of prequential, folds, triples"},
		{[]string{"eval", "-c", "x", "y", "--delay", "-1"}, "at least 0"},
		{[]string{"eval", "-c", "x", "y", "--skip", "many"}, "must be a number"},
		{[]string{"eval", "-c", "x", "y", "--folds", "5"}, "means nothing under --protocol prequential"},
		{[]string{"eval", "-c", "x", "y", "--delay", "5", "--protocol", "folds"}, "means nothing under --protocol folds"},
		{[]string{"eval", "-c", "x", "y", "--partitions", "100000000"}, "at most 10000"},
		{[]string{"eval", "-c", "x", "y", "--delay", "1000000000000"}, "at most 10000000"},
		{[]string{"eval", "-c", "x", "y", "--protocol", "triples", "--scores", "s.csv"}, "--scores means nothing under --protocol triples"},
		{[]string{"eval", "-c", "x", "y", "--json", "s.csv", "--scores", "./s.csv"}, "--json and --scores are both ./s.csv"},
		{[]string{"eval", "-c", "x", "y", "--json", "y"}, "--json y would overwrite what is read as the data"},
		{[]string{"score", "-c", "x", "--model", "m", "y.csv", "z.csv", "--out", "./z.csv"}, "--out ./z.csv would overwrite what is read as the data"},
		{[]string{"score", "-c", "x", "--model", "m.csv", "y.csv", "--out", "m.csv"}, "--out m.csv would overwrite what is read as --model"},
		{[]string{"fit", "-c", "x", "y", "--model", "x"}, "--model x would overwrite what is read as --config"},
		{[]string{"fit", "-c", "x", "y", "--model", "m", "--report", "./m"}, "--model and --report are both ./m"},
		{[]string{"fit", "-c", "x", "y", "--model", "-", "--report", "-"}, "--model and --report are both -"},
	} {
		if r := command(t, c.args...); r.status != cli.StatusUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%q: status %d: %s; want status 2 and %q", c.args, r.status, r.err, c.want)
		}
	}
}

// Standard output in place of a file holds that file, and nothing else.
func TestModelToStandardOutput(t *testing.T) {
	workbench(t)
	want, err := os.ReadFile("bank.model")
	if err != nil {
		t.Fatal(err)
	}
	if r := command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "-"); r.status != cli.StatusDone || r.out != string(want) {
		t.Errorf("status %d and %d bytes, want the %d of the file\n%s", r.status, len(r.out), len(want), r.err)
	}
}

// full is a writer on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestOutputThatFailsIsTheEnvironments(t *testing.T) {
	workbench(t)
	for _, args := range [][]string{
		{"version"},
		{"init", "bank.csv", "--label", "class"},
		{"fit", "-c", "bank.yaml", "bank.csv"},
		{"fit", "-c", "bank.yaml", "bank.csv", "--report", "-"},
		{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv"},
		{"eval", "-c", "bank.yaml", "bank.csv"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--json", "-"},
		{"inspect", "bank.model"},
	} {
		var errs bytes.Buffer
		if status := execute(context.Background(), args, strings.NewReader(""), full{}, &errs); status != cli.StatusEnvironment {
			t.Errorf("%q: status %d (%s), want 3", args, status, errs.String())
		}
	}
}

func TestInterruptedCommandsLeaveNothing(t *testing.T) {
	workbench(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{
		{"init", "bank.csv", "--label", "class"},
		{"fit", "-c", "bank.yaml", "bank.csv", "--model", "new.model"},
		{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "new.csv"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--json", "new.json"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--scores", "new.jsonl"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "folds", "--json", "new.json"},
	} {
		var out, errs bytes.Buffer
		status := execute(ctx, args, strings.NewReader(""), &out, &errs)
		if status != cli.StatusEnvironment || errs.String() != "liftstream: interrupted\n" || out.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, out.String(), errs.String())
		}
	}
	if left, _ := filepath.Glob("*new*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// alike compares decoded JSON, numbers to a relative 1e-9.
func alike(got, want any, path string) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if err := alike(g[k], w[k], path+"."+k); err != nil {
				return err
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
		for i := range w {
			if err := alike(g[i], w[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 1e-9*math.Max(1, math.Abs(w)) {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
	default:
		if got != want {
			return fmt.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	return nil
}

// TestFitVotes holds the report of a fit of all votes. The figures themselves are checked against the paper and an
// independent program in model/lift; this golden file holds what the command makes of them.
func TestFitVotes(t *testing.T) {
	golden, err := filepath.Abs("testdata/votes_fit.json")
	if err != nil {
		t.Fatal(err)
	}
	r := command(t, "fit", "-c", "examples/votes.yaml", "examples/votes.csv", "--report", "-")
	if r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	var got, want map[string]any
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	if s, ok := got["seconds"].(map[string]any); !ok || s["read"] == nil || s["lift"].(float64) <= 0 {
		t.Errorf("seconds %v", got["seconds"])
	}
	delete(got, "seconds")
	if *update {
		if err := cli.ReplaceFile(golden, func(name string) error {
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return cli.WriteJSON(f, got)
		}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if err := alike(got, want, ""); err != nil {
		t.Errorf("%v (-update writes the golden file anew)", err)
	}
}

func TestSummaryShowsTheBest(t *testing.T) {
	r := command(t, "fit", "-c", "examples/votes.yaml", "examples/votes.csv")
	if r.status != cli.StatusDone || r.err != "" {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	for _, want := range []string{"votes: 435 records, 435 labelled", "democrat 61.4 %, republican 38.6 %", "0.8716", "Profiles of republican", "physician-fee-freeze=y", "validated", "Kernel (optimal): records of a class are most alike in physician-fee-freeze"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, r.out)
		}
	}
	if strings.ContainsAny(r.out, "\x1b\r") {
		t.Error("a pipe got terminal codes")
	}
}

func TestSecretsOfTheBrokerAreNotNeededOffline(t *testing.T) {
	workbench(t)
	t.Setenv("HTTP_TOKEN", "x")
	secrets := "kafka: {brokers: [b:9092], sasl: {mechanism: PLAIN, username: u, password: ${NO_SUCH_PASSWORD}}}\nhttp: {token: ${HTTP_TOKEN}}\n"
	write(t, "live.yaml", "bank.yaml", func(s string) string { return s + secrets })
	if r := command(t, "score", "-c", "live.yaml", "--model", "bank.model", "bank.csv"); r.status != cli.StatusDone {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	write(t, "name.yaml", "live.yaml", swap("column: class", "column: ${NO_SUCH_COLUMN}"))
	if r := command(t, "score", "-c", "name.yaml", "--model", "bank.model", "bank.csv"); r.status != cli.StatusInput || !strings.Contains(r.err, "NO_SUCH_COLUMN, which is not set") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}

func TestFitIsDeterministic(t *testing.T) {
	workbench(t)
	command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "again.model")
	a, err := os.ReadFile("bank.model")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("again.model")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two fits of the same file differ")
	}
}

// scored runs score in the process, in batches of n records.
func scored(t *testing.T, n int, explain bool, data ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := cli.New(nil, &out, &errs)
	s := scoring{config: "bank.yaml", model: "bank.model", out: "-", batch: n, explain: explain}
	if err := s.run(context.Background(), a, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestScoresDoNotDependOnBatches is "live = offline" as far as files go: the same bytes in batches of 1, 7 and 1,000.
func TestScoresDoNotDependOnBatches(t *testing.T) {
	workbench(t)
	want := scored(t, 0, true, "bank.csv")
	for _, n := range []int{1, 7, 1000} {
		if scored(t, n, true, "bank.csv") != want {
			t.Errorf("batches of %d records give other scores", n)
		}
	}
}

func TestScoringDoesNotLearn(t *testing.T) {
	workbench(t)
	want := scored(t, 0, false, "bank.csv")
	write(t, "other.csv", "bank.csv", func(s string) string { return strings.ReplaceAll(s, ",no\n", ",yes\n") })
	if scored(t, 0, false, "other.csv") != want {
		t.Error("scores depend on the labels")
	}
	first, _, _ := strings.Cut(want, "\n")
	twice := strings.Split(strings.TrimSuffix(scored(t, 0, false, "bank.csv", "bank.csv"), "\n"), "\n")
	var a, b map[string]any
	if err := json.Unmarshal([]byte(first), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(twice[len(twice)/2]), &b); err != nil {
		t.Fatal(err)
	}
	if b["source_row"] != 2056. {
		t.Errorf("the first record of the second file is row %v, want 2056", b["source_row"])
	}
	for _, k := range []string{"source_row", "percentile"} {
		delete(a, k)
		delete(b, k)
	}
	if err := alike(b, a, ""); err != nil {
		t.Errorf("the same record scored later: %v", err)
	}
}

// TestReasonsSumToTheLogOdds reads the scores as a user would.
func TestReasonsSumToTheLogOdds(t *testing.T) {
	workbench(t)
	for i, text := range strings.Split(strings.TrimSuffix(scored(t, 0, true, "bank.csv"), "\n"), "\n") {
		var s struct {
			No, Yes float64
			Status  string
			Why     []struct {
				Feature string
				Effect  float64
			}
		}
		if err := json.Unmarshal([]byte(strings.NewReplacer("propensity_no", "no", "propensity_yes", "yes").Replace(text)), &s); err != nil {
			t.Fatal(err)
		}
		sum, terms := 0.0, 0
		for _, w := range s.Why {
			sum += w.Effect
			if strings.HasPrefix(w.Feature, "(") {
				terms++
			}
		}
		if s.Status != "ok" || terms == 0 || math.Abs(sum-math.Log(s.Yes/s.No)) > 1e-9 || math.Abs(s.Yes+s.No-1) > 1e-12 {
			t.Fatalf("record %d: %d reasons sum to %v, the log-odds are %v: %s", i, len(s.Why), sum, math.Log(s.Yes/s.No), text)
		}
	}
}

func TestScoresInEveryFormat(t *testing.T) {
	workbench(t)
	lines := strings.Split(strings.TrimSuffix(scored(t, 0, false, "bank.csv"), "\n"), "\n")
	for _, name := range []string{"s.jsonl", "s.csv", "s.arrow", "s.arrows", "s.feather", "s.parquet"} {
		got := command(t, "score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", name)
		if got.status != cli.StatusDone || got.out != "" || !strings.Contains(got.err, "2056 records scored to "+name) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", name, got.status, got.out, got.err)
		}
		// What was written reads back.
		r, err := file.OpenTables([]string{name}, file.TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			x, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for row := range x.Rows() {
				var want map[string]any
				if err := json.Unmarshal([]byte(lines[n]), &want); err != nil {
					t.Fatal(err)
				}
				if p, ok := x.Float(x.Column("propensity_yes"), row); !ok || p != want["propensity_yes"] {
					t.Fatalf("%s: record %d has propensity %v, standard output %v", name, n, p, want["propensity_yes"])
				}
				n++
			}
		}
		r.Close()
		if n != len(lines) {
			t.Errorf("%s holds %d records, want %d", name, n, len(lines))
		}
	}
}

func TestEvalFigures(t *testing.T) {
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
		t.Errorf("%v records, %v scored, positive %v, %v records/s", m["records"], m["scored"], m["positive"], m["records_per_second"])
	}
	if !(loss(m, "all") < loss(m, "prior")-.05) || math.Abs(loss(m, "all")-loss(m, "lift")) > .005 || loss(m, "all") == loss(m, "lift") {
		t.Errorf("log-loss: all %v, lift %v, prior %v", loss(m, "all"), loss(m, "lift"), loss(m, "prior"))
	}
	late := run("--delay", "200")
	if late["delay"] != 200. || !(loss(late, "all") > loss(m, "all")) {
		t.Errorf("with labels 200 late: delay %v, log-loss %v, at once %v", late["delay"], loss(late, "all"), loss(m, "all"))
	}
	if p := run("--partitions", "2", "--skip", "0"); p["partitions"] != 2. || p["scored"] != 2056. {
		t.Errorf("partitions %v, scored %v", p["partitions"], p["scored"])
	}
	// The kernel is calibrated by construction; the votes of neighbours rank well and need the scorecard to be
	// probabilities.
	if m := run("--method", "local", "--method", "kernel", "--method", "prior"); !(loss(m, "kernel") < loss(m, "prior")) || loss(m, "local") == loss(m, "prior") {
		t.Errorf("alone: local %v, kernel %v, prior %v", loss(m, "local"), loss(m, "kernel"), loss(m, "prior"))
	}
	if m := run("--method", "prior"); len(m["methods"].(map[string]any)) != 1 {
		t.Errorf("methods %v", m["methods"])
	}
	f := run("--protocol", "folds", "--folds", "3")
	if f["protocol"] != "folds" || f["scored"] != 2056. {
		t.Errorf("protocol %v, %v scored", f["protocol"], f["scored"])
	}
	// Folds by month: every record has one, so all are scored, by a model of the other months.
	if g := run("--protocol", "folds", "--fold-column", "month"); g["scored"] != 2056. || loss(g, "all") == loss(f, "all") {
		t.Errorf("folds by month: %v scored, log-loss %v", g["scored"], loss(g, "all"))
	}
}

// TestTriples evaluates drawn triples and those of a file, and fits to the file: comparisons by day alone give that
// feature the largest weight. TestScoresOfAnEvaluation: --scores writes every record's score as it was before the
// record was learnt. The log-loss of these scores is the one that eval reports, and their reasons name the record's own
// values, whatever model and partition scored it.
func TestScoresOfAnEvaluation(t *testing.T) {
	workbench(t)
	data, err := os.ReadFile("bank.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	names := strings.Split(lines[0], ",")
	write(t, "often.yaml", "bank.yaml", func(s string) string { return s + "fit: {records: 600, warmup: 100}\n" })
	for _, flags := range [][]string{{}, {"--delay", "50", "--method", "lift"}, {"--partitions", "3", "--method", "lift+local"}, {"--protocol", "folds", "--folds", "3", "--method", "lift"}, {"--method", "prior"}} {
		r := command(t, append([]string{"eval", "-c", "often.yaml", "bank.csv", "--scores", "s.jsonl", "--json", "-"}, flags...)...)
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
		if !prior && (reasons == 0 || !folds && len(models) < 3) || slices.Contains(flags, "--partitions") && len(partitions) != 3 {
			t.Errorf("%v: %d reasons, models %v, partitions %v", flags, reasons, models, partitions)
		}
	}
}

func TestTriples(t *testing.T) {
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
	if len(m["splits"].([]any)) != 3 || m["features"] != 15. || !(both(m, "kernel") > both(m, "euclidean")+.05) || both(m, "directions") < .33 {
		t.Errorf("drawn: kernel %v, directions %v, euclidean %v of %v features", both(m, "kernel"), both(m, "directions"), both(m, "euclidean"), m["features"])
	}
	m = run("eval", "-c", "id.yaml", "id.csv", "--protocol", "triples", "--folds", "3", "--triples", "days.txt", "--method", "kernel", "--json", "-")
	if len(m["methods"].(map[string]any)) != 1 || m["methods"].(map[string]any)["kernel"].(map[string]any)["single"].(float64) < .99 {
		t.Errorf("by day: %v", m["methods"])
	}
	m = run("fit", "-c", "id.yaml", "id.csv", "--triples", "days.txt", "--report", "-")
	if list := m["kernel"].(map[string]any)["features"]; list.([]any)[0] != "day" {
		t.Errorf("comparisons by day leave the features %v", list)
	}
	if m = run("fit", "-c", "id.yaml", "id.csv", "--report", "-"); len(m["kernel"].(map[string]any)["features"].([]any)) < 2 {
		t.Errorf("drawn comparisons: %v", m["kernel"])
	}
	if r := command(t, "eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--fold-column", "month", "--method", "kernel", "--method", "euclidean"); r.status != cli.StatusDone ||
		!strings.Contains(r.out, "both views") || !strings.Contains(r.out, "features of 15") || !strings.Contains(r.out, "poutcome (") {
		t.Errorf("status %d: %s%s", r.status, r.out, r.err)
	}
}

func TestEvalTellsOfTheWarmup(t *testing.T) {
	r := command(t, "eval", "-c", "examples/votes.yaml", "examples/votes.csv", "--skip", "0")
	if r.status != cli.StatusDone || !strings.Contains(r.err, "fit.warmup = 500") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}

func TestInspectShowsTheModel(t *testing.T) {
	workbench(t)
	r := command(t, "inspect", "bank.model")
	if r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	for _, want := range []string{"bank.model", "version      1", "2056 labelled records", "no, yes; positive: yes", "poutcome", "lift", "propensity", "eta"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("inspect lacks %q:\n%s", want, r.out)
		}
	}
}

func TestQuietSaysNothing(t *testing.T) {
	workbench(t)
	for _, args := range [][]string{
		{"-q", "score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv"},
		{"fit", "-q", "-c", "bank.yaml", "bank.csv", "--model", "x.model"},
		{"init", "-q", "votes.csv", "--label", "class"},
	} {
		if r := command(t, args...); r.status != cli.StatusDone || r.err != "" {
			t.Errorf("%q: status %d, stderr %q", args, r.status, r.err)
		}
	}
}

// TestInitOfEveryDataSet runs the whole way from a data file: init, lint, fit, score, eval, with the configuration as
// init wrote it.
func TestInitOfEveryDataSet(t *testing.T) {
	for _, c := range []struct {
		file, positive string
		skip           string
		better         float64 // log-loss of all is lower than that of prior by this
	}{
		{"bank_full.csv.gz", "yes", "1000", .05},
		{"adult_train.csv.gz", ">50K", "1000", .2},
		{"telco_churn.csv", "Yes", "1000", .1},
		{"elec2.csv.gz", "UP", "1000", .2},
		{"house_votes84.csv", "republican", "0", -1}, // fewer records than the warm-up
	} {
		t.Run(c.file, func(t *testing.T) {
			if testing.Short() {
				t.Skip("SKIPPED under -short: it fits whole data sets")
			}
			data := modeltest.Shared(t, "data/"+c.file)
			t.Chdir(t.TempDir())
			must := func(args ...string) result {
				t.Helper()
				r := command(t, args...)
				if r.status != cli.StatusDone {
					t.Fatalf("%q: status %d: %s", args, r.status, r.err)
				}
				return r
			}
			r := must("init", data, "--label", "class", "--positive", c.positive)
			if err := os.WriteFile("c.yaml", []byte(r.out), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, warnings, err := config.Load("c.yaml", os.LookupEnv); err != nil || len(warnings) > 0 {
				t.Fatalf("%v, warnings %v", err, warnings)
			}
			must("lint", "c.yaml")
			must("fit", "-c", "c.yaml", data, "--model", "m", "--report", "r.json")
			must("score", "-c", "c.yaml", "--model", "m", data, "--out", "s.arrow")
			r = must("eval", "-c", "c.yaml", data, "--skip", c.skip, "--json", "-")
			var e struct {
				Methods map[string]struct {
					LogLoss float64 `json:"log_loss"`
				}
			}
			if err := json.Unmarshal([]byte(r.out), &e); err != nil {
				t.Fatal(err)
			}
			if all, prior := e.Methods["all"].LogLoss, e.Methods["prior"].LogLoss; !(all < prior-c.better) {
				t.Errorf("log-loss of all is %v, of prior %v", all, prior)
			}
		})
	}
}
