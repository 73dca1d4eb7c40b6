package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// degenerate is data in which there is little or nothing to learn.
type degenerate struct {
	name     string
	features string // of the configuration
	row      func(i int) string
	class    func(i int) string
	status   string // of the kernel
	reason   string // of every score; "" = none is degraded
}

var degenerates = []degenerate{
	{"constant", "[{name: a, kind: continuous}, {name: b, kind: nominal}]", func(int) string { return "7,x" }, nil,
		"empty", "local_no_curves"},
	{"missing", "[{name: a, kind: continuous}, {name: b, kind: nominal}]", func(int) string { return "," }, nil, "empty",
		"all_missing"},
	{"nominal", "[{name: a, kind: nominal}, {name: b, kind: nominal}]",
		func(i int) string { return fmt.Sprintf("l%d,m%d", i%5, i%7) }, nil, "", ""},
	{"ordinal", "[{name: a, kind: ordinal, levels: [low, mid, high]}]",
		func(i int) string { return [...]string{"low", "mid", "high"}[i%3] }, nil, "", ""},
	{"unseen", "[{name: a, kind: continuous}, {name: b, kind: nominal}]",
		func(i int) string { return fmt.Sprintf("%d,id%d", i, i) }, nil, "", ""},
	{"rare", "[{name: a, kind: continuous}]", func(i int) string { return fmt.Sprint(i % 11) },
		func(i int) string { return [...]string{"no", "yes"}[min(1, max(0, i-1198))] }, "", ""},
	{"oneclass", "[{name: a, kind: continuous}]", func(i int) string { return fmt.Sprint(i % 11) },
		func(int) string { return "no" }, "", ""},
	{"apart", "[{name: a, kind: continuous}]", func(i int) string { return fmt.Sprint(i%2*100 + i%7) },
		func(i int) string { return [...]string{"no", "yes"}[i%2] }, "", ""},
	{"hole", "[{name: a, kind: continuous}, {name: b, kind: nominal}]", func(i int) string {
		if i > 400 && i < 500 {
			return "NaN,x"
		}
		return fmt.Sprintf("%d,%d", i%11, i%3)
	}, nil, "", ""},
	{"huge", "[{name: a, kind: continuous}]", func(i int) string { return fmt.Sprintf("%de300", i%11) }, nil, "", ""},
}

// TestDegenerateData runs fit, score and eval over data in which there is little or nothing to learn: every score is a
// probability, and the report names the fault of the kernel.
func TestDegenerateData(t *testing.T) {
	long(t)
	t.Chdir(t.TempDir())
	for _, c := range degenerates {
		t.Run(c.name, func(t *testing.T) {
			c.write(t)
			evaluatesToProbabilities(t)
			if status, fitted := c.fits(t); fitted {
				c.scores(t, status)
			}
		})
	}
}

// write puts the data and their configuration into the working directory.
func (c *degenerate) write(t *testing.T) {
	t.Helper()
	if c.class == nil {
		c.class = func(i int) string { return [...]string{"no", "yes"}[i*i%5%2] }
	}
	names := "a"
	if strings.Contains(c.features, "name: b") {
		names = "a,b"
	}
	text := names + ",class\n"
	for i := range 1200 {
		text += c.row(i) + "," + c.class(i) + "\n"
	}
	config := "name: x\nrecord:\n  label: {column: class, classes: [\"no\", \"yes\"], positive: \"yes\"}\n  features: " +
		c.features + "\nfit: {warmup: 200, records: 600}\n"
	for name, text := range map[string]string{"d.csv": text, "d.yaml": config} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// evaluatesToProbabilities runs three methods of eval.
func evaluatesToProbabilities(t *testing.T) {
	t.Helper()
	r := command(t, "eval", "-c", "d.yaml", "d.csv", "--skip", "0", "--method", "all", "--method", "lift+kernel",
		"--method", "kernel", "--json", "-")
	if r.status != cli.StatusDone {
		t.Fatalf("eval: %s", r.err)
	}
	var m struct{ Methods map[string]map[string]any }
	if err := json.Unmarshal([]byte(r.out), &m); err != nil {
		t.Fatal(err)
	}
	for name, x := range m.Methods {
		if v, ok := x["log_loss"].(float64); !ok || !(v < 1) || len(m.Methods) != 3 {
			t.Errorf("%s: log-loss %v", name, x["log_loss"])
		}
	}
}

// fits runs fit, and returns the status of the kernel, and false where fit must refuse the data.
func (c *degenerate) fits(t *testing.T) (kernel string, ok bool) {
	t.Helper()
	r := command(t, "fit", "-c", "d.yaml", "d.csv", "--model", "d.model", "--report", "-")
	if c.name == "oneclass" {
		if r.status != cli.StatusInput || !strings.Contains(r.err, "two classes") {
			t.Errorf("one class: status %d, %s", r.status, r.err)
		}
		return "", false
	}
	if r.status != cli.StatusDone {
		t.Fatalf("fit: %s", r.err)
	}
	var report struct {
		Kernel struct{ Status string }
		Local  *struct {
			Theta  *float64
			Curves []struct{ Grid, Mean, SD []float64 }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Local == nil || report.Local.Theta == nil {
		t.Fatal("no local section")
	}
	for _, x := range report.Local.Curves {
		if len(x.Grid) == 0 || len(x.Mean) != len(x.Grid) || len(x.SD) != len(x.Grid) {
			t.Errorf("a curve of %d values, %d means and %d deviations", len(x.Grid), len(x.Mean), len(x.SD))
		}
	}
	if got := report.Kernel.Status; c.status != "" && got != c.status || got == "" || got == "stopped" || got == "kept" {
		t.Errorf("the kernel is %q, want %q", got, c.status)
	}
	return report.Kernel.Status, true
}

// scores runs score and looks at every line of it.
func (c *degenerate) scores(t *testing.T, kernel string) {
	t.Helper()
	r := command(t, "score", "-c", "d.yaml", "--model", "d.model", "d.csv", "--explain")
	if r.status != cli.StatusDone {
		t.Fatalf("score: %s", r.err)
	}
	var s map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(r.out, "\n", 2)[0]), &s); err != nil {
		t.Fatal(err)
	}
	if p, ok := s["propensity_yes"].(float64); !ok || !(p > 0 && p < 1) ||
		math.Abs(p+s["propensity_no"].(float64)-1) > 1e-9 {
		t.Errorf("score %v", s)
	}
	reasons := map[string]int{}
	for line := range strings.Lines(r.out) {
		var x struct {
			Status string
			Reason *string
			Yes    *float64 `json:"propensity_yes"`
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if x.Yes == nil || !(*x.Yes > 0 && *x.Yes < 1) || (x.Status == "degraded") != (x.Reason != nil) {
			t.Fatalf("score %s", line)
		}
		if x.Reason != nil {
			reasons[*x.Reason]++
		}
	}
	if got := reasons[c.reason]; c.reason != "" && got != 1200 || c.reason == "" && len(reasons) > 0 {
		t.Errorf("degraded: %v, want 1200 of %q", reasons, c.reason)
	}
	if kernel == "optimal" && !strings.Contains(r.out, `"(kernel)"`) {
		t.Errorf("no (kernel) in %v", s["why"])
	}
}
