package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
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

// TestUpliftIsMeasured: with a column of treatments, at once and later, in figures, table and scores; a file without
// the column is refused by its name.
func TestUpliftIsMeasured(t *testing.T) {
	dir := t.TempDir()
	conf, path := filepath.Join(dir, "u.yaml"), filepath.Join(dir, "u.csv")
	var b strings.Builder
	b.WriteString("id,a,b,c,y,called\n")
	share := model.Control{Share: .3, Seed: 1}
	treated := 0
	const n = 1500
	for i := range n {
		draw := func(what uint64) float64 { return float64(model.Hash(2, uint64(i), what)>>11) / (1 << 53) }
		id, rate, called := fmt.Sprint("r", i), .3, "0"
		if !share.Holds(id, 0, 0, 0) && draw(1) < .7 {
			called, rate = "1", .7
			treated++
		}
		y := "no"
		if draw(2) < rate {
			y = "yes"
		}
		fmt.Fprintf(&b, "%s,%v,%v,%d,%s,%s\n", id, draw(3), draw(4), i%2, y, called)
	}
	section := "control: {share: 0.3, treated: called, learn: untreated, uplift: on}\n"
	for name, text := range map[string]string{conf: configuration + section, path: b.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, delay := range []int{0, 20} {
		e := flags()
		e.Configs, e.Methods, e.Skip, e.Delay = []string{conf}, []string{"lift"}, 0, delay
		e.Scores = filepath.Join(dir, "s.jsonl")
		var r evaluate.Result
		if _, err := run(t, e, path, &r); err != nil {
			t.Fatal(err)
		}
		u := r.Uplift
		if u == nil || u.Treated < treated*7/10 || u.Treated > treated || math.Abs(float64(u.Effect)-.4) > .1 ||
			math.Abs(float64(u.Mean)-.35) > .15 {
			t.Fatalf("delay %d: %+v of %d treated", delay, u, treated)
		}
		text, err := os.ReadFile(e.Scores)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); !strings.Contains(lines[0], `"uplift":null`) ||
			strings.Contains(lines[n-1], `"uplift":null`) || !strings.Contains(lines[n-1], `"uplift_high":`) {
			t.Errorf("delay %d: first %s\nlast %s", delay, lines[0], lines[n-1])
		}
		var table, notes strings.Builder
		e.JSON, e.Scores = "", ""
		if err := e.Run(t.Context(), cli.New(nil, &table, &notes), []string{path}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(table.String(), "Uplift: the effect of the treatment on the rate of yes is 0.") {
			t.Errorf("delay %d:\n%s", delay, table.String())
		}
	}
	bare := filepath.Join(dir, "bare.csv")
	if err := os.WriteFile(bare, []byte(strings.Replace(b.String(), "called", "other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	e := flags()
	e.Configs = []string{conf}
	if _, err := run(t, e, bare, nil); err == nil || !strings.Contains(err.Error(), "the treatment") {
		t.Errorf("without the column: %v", err)
	}
}
