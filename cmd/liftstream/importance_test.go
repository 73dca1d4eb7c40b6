package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// TestImportanceOfAFit: the mean sizes and the curves are those of the reasons that 'score --explain' gives the same
// records.
func TestImportanceOfAFit(t *testing.T) {
	long(t)
	workbench(t)
	for _, args := range [][]string{
		{"fit", "-c", "votes.yaml", "votes.csv", "--model", "votes.model", "--report", "votes.json"},
		{"score", "-c", "votes.yaml", "--model", "votes.model", "votes.csv", "--explain", "--out", "s.jsonl"},
	} {
		if r := command(t, args...); r.status != cli.StatusDone {
			t.Fatal(r.err)
		}
	}
	var got struct {
		Importance []struct {
			Feature string
			Effect  float64 `json:"mean_absolute_effect"`
			Curve   []struct {
				Cell   string
				N      int
				Effect float64
			}
		}
	}
	b, err := os.ReadFile("votes.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile("s.jsonl"); err != nil {
		t.Fatal(err)
	}
	size, cells, n := map[string]float64{}, map[[2]string]float64{}, map[[2]string]int{}
	records := 0
	for line := range bytes.Lines(b) {
		var s struct {
			Why []struct {
				Feature string
				Value   *string
				Effect  float64
			}
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		records++
		for _, w := range s.Why {
			size[w.Feature] += math.Abs(w.Effect)
			cell := "(missing)"
			if w.Value != nil {
				cell = *w.Value
			}
			cells[[2]string{w.Feature, cell}] += w.Effect
			n[[2]string{w.Feature, cell}]++
		}
	}
	if len(got.Importance) != 16 || records != 435 {
		t.Fatalf("%d features of %d records", len(got.Importance), records)
	}
	before := math.Inf(1)
	for _, x := range got.Importance {
		if want := size[x.Feature] / float64(records); math.Abs(x.Effect-want) > 1e-9 || x.Effect > before {
			t.Errorf("%s: effect %v after %v, the scores have %v", x.Feature, x.Effect, before, want)
		}
		before = x.Effect
		for _, c := range x.Curve {
			k := [2]string{x.Feature, c.Cell}
			if c.N != n[k] || math.Abs(c.Effect-cells[k]/float64(n[k])) > 1e-9 {
				t.Errorf("%s, %s: %d of effect %v, the scores have %d of %v", x.Feature, c.Cell, c.N, c.Effect, n[k],
					cells[k]/float64(n[k]))
			}
		}
	}
}
