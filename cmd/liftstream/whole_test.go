package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/model/modeltest"
)

// rowsOf returns the lines of a CSV file below its header in another order.
func rowsOf(order func(rows []string)) func(string) string {
	return func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		order(lines[1:])
		return strings.Join(lines, "\n") + "\n"
	}
}

var arrangements = map[string]func(rows []string){
	"sorted by its label": func(rows []string) {
		label := func(s string) string { return s[strings.LastIndexByte(s, ',')+1:] }
		slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(label(a), label(b)) })
	},
	"sorted by its first column": slices.Sort[[]string],
	"shuffled": func(rows []string) {
		for i := len(rows) - 1; i > 0; i-- {
			j := model.Hash(1, uint64(i)) % uint64(i+1)
			rows[i], rows[j] = rows[j], rows[i]
		}
	},
}

// TestOrderOfRowsHasNoEffect: a file in another order gives the same model with all components, byte for byte, and the
// same report; as of its end it does not.
func TestOrderOfRowsHasNoEffect(t *testing.T) {
	long(t)
	workbench(t)
	for _, name := range []string{"bank", "votes"} {
		fit := func(data string, flags ...string) (m []byte, report map[string]any) {
			t.Helper()
			if r := command(t, append([]string{"fit", "-c", name + ".yaml", data, "-m", "o.model", "-r", "o.json"},
				flags...)...); r.status != cli.StatusDone {
				t.Fatal(r.err)
			}
			m, err := os.ReadFile("o.model")
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile("o.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &report); err != nil {
				t.Fatal(err)
			}
			delete(report, "seconds")
			return m, report
		}
		want, report := fit(name + ".csv")
		for what, order := range arrangements {
			write(t, "o.csv", name+".csv", rowsOf(order))
			got, other := fit("o.csv")
			if !bytes.Equal(got, want) {
				t.Errorf("%s %s: another model", name, what)
			}
			if err := alike(other, report, ""); err != nil {
				t.Errorf("%s %s: another report: %v", name, what, err)
			}
		}
		end, _ := fit(name+".csv", "--as-of", "end")
		write(t, "o.csv", name+".csv", rowsOf(arrangements["shuffled"]))
		if other, _ := fit("o.csv", "--as-of", "end"); bytes.Equal(end, other) || bytes.Equal(end, want) {
			t.Errorf("%s: the order has no effect as of the end", name)
		}
		for data, says := range map[string]string{"bank.model": "all its records alike", "o.model": "as of its last record"} {
			if r := command(t, "inspect", data); !strings.Contains(r.out, says) {
				t.Errorf("inspect %s does not say %q:\n%s", data, says, r.out)
			}
		}
	}
	if r := command(t, "fit", "-c", "votes.yaml", "votes.csv", "--as-of", "now"); r.status != cli.StatusUsage {
		t.Errorf("--as-of now: status %d, %s", r.status, r.err)
	}
}

// TestScoresOfTheFittedFileHaveItsRate with all components on.
func TestScoresOfTheFittedFileHaveItsRate(t *testing.T) {
	modeltest.Computes(t)
	workbench(t)
	mean, rate, n := 0.0, 0.0, 0.0
	for l := range strings.Lines(scored(t, 1000, false, "bank.csv")) {
		var r struct {
			Propensity float64 `json:"propensity_yes"`
			BaseRate   float64 `json:"base_rate"`
		}
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		mean, rate, n = mean+r.Propensity, rate+r.BaseRate, n+1
	}
	if math.Abs(mean/rate-1) > .01 {
		t.Errorf("mean propensity %.4f, rate %.4f", mean/n, rate/n)
	}
}
