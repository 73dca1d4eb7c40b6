package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/modeltest"
)

// TestOneRecordIsExplained holds the explanation of a record against its score: the same propensity, and the places and
// the relevance are those of its subspace.
func TestOneRecordIsExplained(t *testing.T) {
	modeltest.Computes(t)
	workbench(t)
	var row struct {
		Yes       float64   `json:"propensity_yes"`
		Subspace  []string  `json:"subspace"`
		Relevance []float64 `json:"relevance"`
	}
	lines := strings.Split(scored(t, 0, false, "bank.csv"), "\n")
	if err := json.Unmarshal([]byte(lines[178]), &row); err != nil {
		t.Fatal(err)
	}
	if len(row.Subspace) == 0 {
		t.Fatal("record 178 has no subspace")
	}
	r := command(t, "score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--record", "178")
	if r.status != cli.StatusDone {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	if want := fmt.Sprintf("record 178: ok, no %.3f, yes %.3f; ", 1-row.Yes, row.Yes); !strings.HasPrefix(r.out, want) {
		t.Errorf("got %q, want %q", strings.SplitN(r.out, "\n", 2)[0], want)
	}
	for i, feature := range row.Subspace {
		found := false
		for line := range strings.Lines(r.out) {
			// feature, value, alone, beside others, place, curve, sd
			x := strings.Fields(line)
			if len(x) < 5 || x[0] != feature || x[4] != fmt.Sprint(i+1) {
				continue
			}
			for _, of := range x[2:4] {
				if v, err := strconv.ParseFloat(of, 64); err == nil && math.Abs(v-row.Relevance[i]) < 1e-4 {
					found = true
				}
			}
		}
		if !found {
			t.Errorf("%s is not at place %d of\n%s", feature, i+1, r.out)
		}
	}
	for _, c := range []struct{ record, want string }{{"99999", "has 2056 records"}, {"-1", "numbered from 0"}} {
		if r := command(t, "score", "-c", "bank.yaml", "--model", "bank.model", "bank.csv", "--record",
			c.record); r.status == cli.StatusDone || !strings.Contains(r.err, c.want) {
			t.Errorf("--record %s: status %d, %q", c.record, r.status, r.err)
		}
	}
}
