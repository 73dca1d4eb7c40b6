package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/modeltest"
)

// TestReasonsFollowTheirLifts: on bank without duration at most one effect of fifty goes against the lift that is shown
// beside it, and some do, so that the count can tell; with sign: follow none does. A good part of the effects that
// matter has a lift.
func TestReasonsFollowTheirLifts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it evaluates a whole data set")
	}
	data := modeltest.Shared(t, "data/bank_full.csv.gz")
	plain, err := filepath.Abs("examples/bank.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const follow = "follow.yaml"
	write(t, follow, plain, func(text string) string { return text + "\npropensity: {sign: follow}\n" })
	for _, config := range []string{plain, follow} {
		r := command(t, "eval", "-q", "-c", config, data, "--method", "lift", "--json", "-")
		if r.status != cli.StatusDone {
			t.Fatal(r.err)
		}
		var e struct {
			Methods map[string]struct {
				Reasons   int `json:"reasons"`
				Conflicts int `json:"reason_conflicts"`
				Untold    int `json:"reasons_without_lift"`
			}
		}
		if err := json.Unmarshal([]byte(r.out), &e); err != nil {
			t.Fatal(err)
		}
		m := e.Methods["lift"]
		t.Logf("%s: %+v", filepath.Base(config), m)
		if config == plain && (50*m.Conflicts > m.Reasons || m.Conflicts == 0) || config == follow && m.Conflicts != 0 {
			t.Errorf("%s: %d of %d reasons go against their lift", config, m.Conflicts, m.Reasons)
		}
		if 3*m.Reasons < m.Reasons+m.Untold {
			t.Errorf("%s: of %d reasons %d have a lift", config, m.Reasons+m.Untold, m.Reasons)
		}
	}
}
