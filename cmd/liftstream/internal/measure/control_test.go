package measure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// TestOnControl: the figures are those of the records of the share among all scores, which do not change, and the
// scores that are written are those measured.
func TestOnControl(t *testing.T) {
	conf, path := data(t, 900, func(int) string { return "" })
	controlled := filepath.Join(t.TempDir(), "control.yaml")
	if err := os.WriteFile(controlled, []byte(configuration+"control: {share: 0.3, seed: 4}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	share := model.Control{Share: .3, Seed: 4}
	type row struct {
		ID      string  `json:"id"`
		Yes     float64 `json:"propensity_yes"`
		Control *bool   `json:"control"`
	}
	for _, protocol := range []string{prequential, folds} {
		scores := func(conf, on string, methods ...string) (rows []row, r *evaluate.Result) {
			t.Helper()
			e := flags()
			e.Protocol, e.Configs, e.Methods, e.Skip, e.Folds, e.On = protocol, []string{conf}, methods, 100, 3, on
			e.Scores = filepath.Join(t.TempDir(), "s.jsonl")
			if _, err := run(t, e, path, &r); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(e.Scores)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				var x row
				if err := json.Unmarshal([]byte(line), &x); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, x)
			}
			return rows, r
		}
		for _, method := range []string{"lift", "prior"} {
			plain, all := scores(conf, "", method)
			flagged, same := scores(controlled, "", method)
			on, measured := scores(controlled, onControl, method)
			if all.Methods[method].LogLoss != same.Methods[method].LogLoss || len(plain) != len(flagged) {
				t.Errorf("%s, %s: the share changes the log-loss", protocol, method)
			}
			var want []row
			for i, x := range flagged {
				if plain[i].Control != nil || x.Control == nil || *x.Control != share.Holds(x.ID, 0, 0, 0) ||
					x.Yes != plain[i].Yes {
					t.Fatalf("%s, %s: row %d is %+v, without a share %+v", protocol, method, i, x, plain[i])
				}
				if *x.Control {
					want = append(want, x)
				}
			}
			if len(on) != len(want) || len(on) == 0 || measured.Scored >= all.Scored/2 || measured.Records != all.Records {
				t.Fatalf("%s, %s: %d rows on control, want %d", protocol, method, len(on), len(want))
			}
			for i := range on {
				if on[i].ID != want[i].ID || on[i].Yes != want[i].Yes {
					t.Errorf("%s, %s: row %d is of %s, want %s", protocol, method, i, on[i].ID, want[i].ID)
				}
			}
		}
	}
	e := flags()
	e.Configs, e.On, e.Skip = []string{conf}, onControl, 10
	if _, err := run(t, e, path, nil); err == nil || !strings.Contains(err.Error(), "needs the section control") {
		t.Errorf("without the section: %v", err)
	}
}
