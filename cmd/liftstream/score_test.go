package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/codec/file"
	"liftstream/model/modeltest"
)

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
	modeltest.Computes(t)
	workbench(t)
	want := scored(t, 0, true, "bank.csv")
	for _, n := range []int{1, 7, 1000} {
		if scored(t, n, true, "bank.csv") != want {
			t.Errorf("batches of %d records give other scores", n)
		}
	}
}

func TestScoringDoesNotLearn(t *testing.T) {
	modeltest.Computes(t)
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
	modeltest.Computes(t)
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
		if err := json.Unmarshal([]byte(strings.NewReplacer("propensity_no", "no", "propensity_yes", "yes").Replace(text)),
			&s); err != nil {
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
		// The file reads back.
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
