package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// TestBadInput holds the message of each command on each bad input: place, fault and remedy, with status 1.
func TestBadInput(t *testing.T) {
	long(t)
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
		"good.txt": "r1,r2,r3\n", "short.txt": "i,j,k\nr1,r2,r3\nr1,r2\n", "quote.txt": "r1,r2,r3\nr1,\"r2,r3\n",
		"blank.txt": "r1,r2,r3\nr1, ,r3\n",
		"same.txt":  "r1,r2,r1\n", "unknown.txt": "i,j,k\nr1,r2,r3\nr1,r9999,r3\n", "label.txt": "r1,r8,r3\n",
	} {
		write(t, name, "bank.csv", func(string) string { return text })
	}
	write(t, "off.yaml", "id.yaml", func(s string) string { return s + "kernel: off\nlocal: off\n" })
	write(t, "broken.yaml", "bank.yaml", swap("kind: nominal", "kind: nominl"))
	write(t, "lacks.yaml", "bank.yaml",
		func(s string) string { return s + "propensity: {calibration: {half_life: 24h}}\n" })
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
		{[]string{"init", "bank.csv", "--label", "class", "--positive", "perhaps"}, []string{"bank.csv", `"perhaps"`,
			"no, yes"}},
		{[]string{"fit", "-c", "bank.yaml", "oneclass.csv"}, []string{"oneclass.csv", "each labelled record (2056) is of " +
			"the class no", "two classes"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "text.csv"}, []string{"text.csv", "row 4", `"age"`, `"old"`}},
		{[]string{"fit", "-c", "none.yaml", "bank.csv"}, []string{"none.yaml", "no such file", "liftstream init"}},
		{[]string{"fit", "-c", "broken.yaml", "bank.csv"}, []string{"broken.yaml:7:", `did you mean "nominal"`}},
		{[]string{"lint", "bank.yaml", "broken.yaml", "none.yaml"}, []string{"broken.yaml:7:", `did you mean "nominal"`,
			"none.yaml", "no such file"}},
		{[]string{"lint", "-c", "bank.yaml", "-c", "broken.yaml"}, []string{"broken.yaml:7:"}},
		{[]string{"lint", "lacks.yaml"}, []string{"lacks.yaml:1: propensity.calibration.half_life", "give their number"}},
		{[]string{"fit", "-c", "lacks.yaml", "bank.csv"}, []string{"lacks.yaml: propensity.calibration.half_life",
			"give their number"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "none.model", "bank.csv"}, []string{"none.model", "no such file"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.csv", "bank.csv"},
			[]string{"bank.csv", "not a liftstream model", "liftstream fit --model"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "short.model", "bank.csv"},
			[]string{"short.model", "liftstream fit --model"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "damaged.model", "bank.csv"},
			[]string{"damaged.model", "liftstream fit --model"}},
		{[]string{"inspect", "damaged.model"}, []string{"damaged.model", "liftstream fit --model"}},
		{[]string{"score", "-c", "votes.yaml", "--model", "bank.model", "votes.csv"},
			[]string{"bank.model does not belong to the configuration", "15 features", "fit it again"}},
		{[]string{"score", "-c", "seed.yaml", "--model", "bank.model", "bank.csv"},
			[]string{"bank.model does not belong to the configuration", "fit it again"}},
		{[]string{"run", "-c", "seed.yaml", "--model", "bank.model"},
			[]string{"bank.model does not belong to the configuration", "fit it again"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "scores.xls"},
			[]string{"scores.xls", ".parquet"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "scores"},
			[]string{"scores: the name has no extension", ".parquet"}},
		{[]string{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--out", "no/scores.csv"},
			[]string{"no/scores.csv", "create it first"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "--model", "."}, []string{". is a directory"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--skip", "9999"}, []string{"bank.csv", "2056 records", "--skip"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "folds", "--fold-column", "fold"},
			[]string{"bank.csv", `"fold"`}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--folds", "2000"},
			[]string{"bank.csv: fold 1", "no triple can be drawn", "fewer folds"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--triples", "none.txt"},
			[]string{"none.txt", "no such file"}},
		{[]string{"eval", "-c", "bank.yaml", "bank.csv", "--protocol", "triples", "--triples", "good.txt"},
			[]string{"good.txt", "record.id"}},
		{[]string{"fit", "-c", "bank.yaml", "bank.csv", "--triples", "good.txt"}, []string{"good.txt", "record.id"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "empty.csv"}, []string{"empty.csv: no triple"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "short.txt"}, []string{"short.txt:3: 2 values", "i,j,k"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "quote.txt"}, []string{"quote.txt:2: ", "quote"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "blank.txt"}, []string{"blank.txt:2: an empty id"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "same.txt"},
			[]string{"same.txt:1: r1, r2, r1 are not three records"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "unknown.txt"},
			[]string{`unknown.txt:3: there is no record "r9999" in id.csv`}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "--triples", "label.txt"}, []string{`label.txt:1: record "r8"`, "row 8",
			"no class"}},
		{[]string{"fit", "-c", "id.yaml", "id.csv", "id.csv", "--triples", "good.txt"},
			[]string{`good.txt:1: the id "r1" names two records`, "rows 1 and 2057"}},
		{[]string{"fit", "-c", "off.yaml", "id.csv", "--triples", "good.txt"},
			[]string{"off.yaml: --triples good.txt: the configuration switches kernel off"}},
		{[]string{"eval", "-c", "off.yaml", "id.csv", "--protocol", "triples"},
			[]string{"off.yaml: method kernel: the configuration switches kernel off"}},
		{[]string{"score", "-c", "off.yaml", "--model", "none.model", "id.csv", "--record", "3"},
			[]string{"off.yaml: --record 3: the configuration switches local off"}},
	}
	for _, c := range [][]string{{"fit", "-c", "bank.yaml"}, {"eval", "-c", "bank.yaml"},
		{"score", "-c", "bank.yaml", "--model", "bank.model"}, {"init", "--label", "class"}} {
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
		{[]string{"eval", "-c", "x", "y", "--method", "magic"}, "one of all, lift, lift+local, lift+kernel, lift+trees, " +
			"local, kernel, trees, knn, prior"},
		{[]string{"eval", "-c", "x", "y", "--method", "all", "--protocol", "triples"},
			"one of kernel, directions, euclidean"},
		{[]string{"eval", "-c", "x", "y", "--delay", "1", "--protocol", "triples"}, "means nothing under --protocol triples"},
		{[]string{"eval", "-c", "x", "y", "--triples", "z"}, "means nothing under --protocol prequential"},
		{[]string{"eval", "-c", "x", "y", "--protocol", "magic"}, "one of prequential, folds, triples"},
		{[]string{"eval", "-c", "x", "y", "--delay", "-1"}, "at least 0"},
		{[]string{"eval", "-c", "x", "y", "--skip", "many"}, "must be a number"},
		{[]string{"eval", "-c", "x", "y", "--folds", "5"}, "means nothing under --protocol prequential"},
		{[]string{"eval", "-c", "x", "y", "--delay", "5", "--protocol", "folds"}, "means nothing under --protocol folds"},
		{[]string{"eval", "-c", "x", "y", "--partitions", "100000000"}, "at most 10000"},
		{[]string{"eval", "-c", "x", "y", "--delay", "1000000000000"}, "at most 10000000"},
		{[]string{"eval", "-c", "x", "y", "--protocol", "triples", "--scores", "s.csv"}, "--scores means nothing under " +
			"--protocol triples"},
		{[]string{"eval", "-c", "x", "y", "--json", "s.csv", "--scores", "./s.csv"}, "--json and --scores are both ./s.csv"},
		{[]string{"eval", "-c", "x", "y", "--json", "y"}, "--json y would overwrite what is read as the data"},
		{[]string{"score", "-c", "x", "--model", "m", "y.csv", "z.csv", "--out", "./z.csv"},
			"--out ./z.csv would overwrite what is read as the data"},
		{[]string{"score", "-c", "x", "--model", "m.csv", "y.csv", "--out", "m.csv"}, "--out m.csv would overwrite what " +
			"is read as --model"},
		{[]string{"fit", "-c", "x", "y", "--model", "x"}, "--model x would overwrite what is read as --config"},
		{[]string{"fit", "-c", "x", "y", "--model", "m", "--report", "./m"}, "--model and --report are both ./m"},
		{[]string{"fit", "-c", "x", "y", "--model", "-", "--report", "-"}, "--model and --report are both -"},
	} {
		if r := command(t, c.args...); r.status != cli.StatusUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%q: status %d: %s; want status 2 and %q", c.args, r.status, r.err, c.want)
		}
	}
}

// full is a writer on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestOutputThatFailsIsTheEnvironments(t *testing.T) {
	long(t)
	workbench(t)
	for _, args := range [][]string{
		{"version"},
		{"init", "bank.csv", "--label", "class"},
		{"fit", "-c", "bank.yaml", "bank.csv"},
		{"fit", "-c", "bank.yaml", "bank.csv", "--report", "-"},
		{"score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--method", "prior"},
		{"eval", "-c", "bank.yaml", "bank.csv", "--method", "prior", "--json", "-"},
		{"inspect", "bank.model"},
	} {
		var errs bytes.Buffer
		if status := execute(context.Background(), args, strings.NewReader(""), full{},
			&errs); status != cli.StatusEnvironment {
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

func TestSecretsOfTheBrokerAreNotNeededOffline(t *testing.T) {
	workbench(t)
	t.Setenv("HTTP_TOKEN", "x")
	secrets := "kafka: {brokers: [b:9092], sasl: {mechanism: PLAIN, username: u, password: " +
		"${NO_SUCH_PASSWORD}}}\nhttp: {token: ${HTTP_TOKEN}}\n"
	write(t, "live.yaml", "bank.yaml", func(s string) string { return s + secrets })
	if r := command(t, "score", "-c", "live.yaml", "--model", "bank.model", "bank.csv"); r.status != cli.StatusDone {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	write(t, "name.yaml", "live.yaml", swap("column: class", "column: ${NO_SUCH_COLUMN}"))
	if r := command(t, "score", "-c", "name.yaml", "--model", "bank.model", "bank.csv"); r.status != cli.StatusInput ||
		!strings.Contains(r.err, "NO_SUCH_COLUMN, which is not set") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}

func TestQuietSaysNothing(t *testing.T) {
	long(t)
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
