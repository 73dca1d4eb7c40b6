package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec"
)

// parts writes the first records of the world's file into files: n of them, those after them up to end, and both.
func (w *world) parts(n, end int) (before, after, both string) {
	w.t.Helper()
	dir := w.t.TempDir()
	before, after, both = filepath.Join(dir, "before.csv"), filepath.Join(dir, "after.csv"), filepath.Join(dir, "both.csv")
	all, err := os.ReadFile(w.data)
	if err != nil {
		w.t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(all))).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	for name, part := range map[string][][]string{before: rows[1 : n+1], after: rows[n+1 : end+1], both: rows[1 : end+1]} {
		f, err := os.Create(name)
		if err != nil {
			w.t.Fatal(err)
		}
		out := csv.NewWriter(f)
		if err := out.WriteAll(append(rows[:1:1], part...)); err != nil {
			w.t.Fatal(err)
		}
		f.Close()
	}
	return before, after, both
}

// propensitiesByID are those of the republicans in the scores of the world, by the id of the record.
func (w *world) propensitiesByID() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, r := range w.records(w.config.Topics.Scores) {
		for table, err := range codec.Tables(r.Value, 0) {
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range table.Rows() {
				id, _ := table.Text(table.Column("id"), i)
				p, _ := table.Float(table.Column("propensity_republican"), i)
				status, _ := table.Text(table.Column("status"), i)
				all[id] = fmt.Sprintln(p, status == "untrained")
			}
		}
	}
	return all
}

// offline are these propensities of the last records of a file under eval.
func offline(t *testing.T, file, data string, partitions, skip int) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scores.jsonl")
	if r := command(t, "eval", "-c", file, data, "--method", "all", "--skip", fmt.Sprint(skip), "--partitions",
		fmt.Sprint(partitions), "--scores", out); r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		var s struct {
			ID     string  `json:"id"`
			Row    int     `json:"source_row"`
			P      float64 `json:"propensity_republican"`
			Status string
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Row >= skip {
			all[s.ID] = fmt.Sprintln(s.P, s.Status == "untrained")
		}
	}
	return all
}

// TestTheStageGoesOnFromTheFiles: after a bootstrap each live record gets the score that eval gives it where the files
// came before, to the last bit, with one partition and with several; verify finds all in order.
func TestTheStageGoesOnFromTheFiles(t *testing.T) {
	const history, end = 260, 300 // fits at 100, 200, 300 records
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			worlds(t, fmt.Sprintf("topics: {partitions: %d}", partitions), func(t *testing.T, w *world) {
				before, after, both := w.parts(history, end)
				want := offline(t, w.file, both, partitions, history)
				w.must("topics", "create", "-c", w.file)
				out := w.must("bootstrap", "-c", w.file, before).out
				if n := strings.Count(out, "its events begin at offset 0"); n != partitions ||
					!strings.Contains(out, "serves from the first event on") {
					t.Errorf("it says\n%s", out)
				}
				w.must("model", "freeze", "-c", w.file) // whenever the next fit would come
				w.must("produce", "-c", w.file, after, "--batch", "10")
				run := start(t, "run", "-c", w.file)
				w.await(end - history)
				run.stop(t)
				got := w.propensitiesByID()
				for id, p := range want {
					if got[id] != p {
						t.Errorf("record %s is scored %s, and offline %s", id, got[id], p)
					}
				}
				if len(got) != end-history || len(want) != len(got) {
					t.Errorf("%d live scores, %d offline", len(got), len(want))
				}
				if out := w.must("verify", "-c", w.file).out; strings.Count(out, "that 'bootstrap' has learnt") != partitions {
					t.Errorf("verify says\n%s", out)
				}
				if text := refusal(t, cli.StatusInput, "bootstrap", "-c", w.file, before); !strings.Contains(text,
					"--replace "+w.config.Name) {
					t.Errorf("a second time: %s", text)
				}
				w.must("bootstrap", "-c", w.file, before, "--replace", w.config.Name)
			})
		})
	}
}

// TestWhatABootstrapRefuses in one sentence, before it learns anything.
func TestWhatABootstrapRefuses(t *testing.T) {
	w := newWorld(t, "")
	w.must("topics", "create", "-c", w.file)
	unlabelled := w.other(func(record []string, line int) {
		for i, v := range record {
			if line > 0 && (v == "democrat" || v == "republican") {
				record[i] = ""
			}
		}
	})
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{cli.StatusUsage, "it is first or end", []string{w.data, "--from", "middle"}},
		{cli.StatusUsage, "the stage of " + w.file + " is votes", []string{w.data, "--replace", "bank"}},
		{cli.StatusUsage, "needs data files", nil},
		{cli.StatusInput, "none of the 435 records has one of the classes", []string{unlabelled}},
		{cli.StatusInput, "no such file", []string{w.data + ".none"}},
	} {
		if text := refusal(t, c.status, append([]string{"bootstrap", "-c", w.file}, c.args...)...); !strings.Contains(text,
			c.says) {
			t.Errorf("%q: %s; want %q in it", c.args, text, c.says)
		}
	}
	w.must("produce", "-c", w.file, w.data)
	if text := refusal(t, cli.StatusInput, "bootstrap", "-c", w.file, w.data); !strings.Contains(text, "--from end") {
		t.Errorf("with messages: %s", text)
	}
	w.must("bootstrap", "-c", w.file, w.data, "--from", "end")
	run := start(t, "run", "-c", w.file)
	w.must("produce", "-c", w.file, w.data)
	w.await(435) // those of the second time alone
	run.stop(t)
}
