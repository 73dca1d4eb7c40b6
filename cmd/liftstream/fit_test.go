package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/model/modeltest"
)

// Standard output in place of a file holds that file, and nothing else.
func TestModelToStandardOutput(t *testing.T) {
	long(t)
	workbench(t)
	want, err := os.ReadFile("bank.model")
	if err != nil {
		t.Fatal(err)
	}
	if r := command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "-"); r.status != cli.StatusDone ||
		r.out != string(want) {
		t.Errorf("status %d and %d bytes, want the %d of the file\n%s", r.status, len(r.out), len(want), r.err)
	}
}

// TestFitVotes holds the report of a fit of all votes. The figures themselves are checked against the paper and an
// independent program in model/lift; this golden file holds their form in the report.
func TestFitVotes(t *testing.T) {
	modeltest.Computes(t)
	golden, err := filepath.Abs("testdata/votes_fit.json")
	if err != nil {
		t.Fatal(err)
	}
	r := command(t, "fit", "-c", "examples/votes.yaml", "examples/votes.csv", "--report", "-")
	if r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	var got, want map[string]any
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	if s, ok := got["seconds"].(map[string]any); !ok || s["read"] == nil || s["lift"].(float64) <= 0 {
		t.Errorf("seconds %v", got["seconds"])
	}
	delete(got, "seconds")
	if *update {
		if err := cli.ReplaceFile(golden, func(name string) error {
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return cli.WriteJSON(f, got)
		}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if err := alike(got, want, ""); err != nil {
		t.Errorf("%v (-update writes the golden file anew)", err)
	}
}

func TestSummaryShowsTheBest(t *testing.T) {
	modeltest.Computes(t)
	r := command(t, "fit", "-c", "examples/votes.yaml", "examples/votes.csv")
	if r.status != cli.StatusDone || r.err != "" {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	for _, want := range []string{"votes: 435 records, 435 labelled", "democrat 61.4 %, republican 38.6 %", "0.8716",
		"Profiles of republican", "physician-fee-freeze=y", "validated", "Kernel (optimal): records of a class are most " +
			"alike in physician-fee-freeze"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, r.out)
		}
	}
	if strings.ContainsAny(r.out, "\x1b\r") {
		t.Error("a pipe got terminal codes")
	}
}

func TestFitIsDeterministic(t *testing.T) {
	long(t)
	workbench(t)
	command(t, "fit", "-c", "bank.yaml", "bank.csv", "--model", "again.model")
	a, err := os.ReadFile("bank.model")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("again.model")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two fits of the same file differ")
	}
}

func TestInspectShowsTheModel(t *testing.T) {
	long(t)
	workbench(t)
	r := command(t, "inspect", "bank.model")
	if r.status != cli.StatusDone {
		t.Fatal(r.err)
	}
	for _, want := range []string{"bank.model", "version      1", "2056 labelled records", "no, yes; positive: yes",
		"poutcome", "lift", "propensity", "eta"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("inspect lacks %q:\n%s", want, r.out)
		}
	}
}

// TestInitOfEveryDataSet runs the whole way from a data file: init, lint, fit, score, eval, with the configuration as
// init wrote it. The longest stream is evaluated whole, two others in part.
func TestInitOfEveryDataSet(t *testing.T) {
	long(t)
	for _, c := range []struct {
		file, positive string
		skip           string
		better         float64 // log-loss of all is lower than that of prior by this
		third          bool    // eval has every third record
	}{
		{"bank_full.csv.gz", "yes", "1000", .05, true},
		{"adult_train.csv.gz", ">50K", "1000", .2, true},
		{"telco_churn.csv", "Yes", "1000", .1, false},
		{"elec2.csv.gz", "UP", "1000", .2, false},
		{"house_votes84.csv", "republican", "0", -1, false}, // fewer records than the warm-up
	} {
		t.Run(c.file, func(t *testing.T) {
			if testing.Short() {
				t.Skip("SKIPPED under -short: it fits whole data sets")
			}
			data := modeltest.Shared(t, "data/"+c.file)
			t.Chdir(t.TempDir())
			r := must(t, "init", data, "--label", "class", "--positive", c.positive)
			if err := os.WriteFile("c.yaml", []byte(r.out), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, warnings, err := config.Load("c.yaml", os.LookupEnv); err != nil || len(warnings) > 0 {
				t.Fatalf("%v, warnings %v", err, warnings)
			}
			must(t, "lint", "c.yaml")
			must(t, "fit", "-c", "c.yaml", data, "--model", "m", "--report", "r.json")
			must(t, "score", "-c", "c.yaml", "--model", "m", data, "--out", "s.arrow")
			if c.third {
				var third [][]string
				for i, row := range modeltest.CSV(t, data) {
					if i == 0 || i%3 == 1 {
						third = append(third, row)
					}
				}
				data = "third.csv"
				save(t, data, third)
			}
			r = must(t, "eval", "-c", "c.yaml", data, "--skip", c.skip, "--method", "all", "--method", "prior", "--json", "-")
			var e struct {
				Methods map[string]struct {
					LogLoss float64 `json:"log_loss"`
				}
			}
			if err := json.Unmarshal([]byte(r.out), &e); err != nil {
				t.Fatal(err)
			}
			if all, prior := e.Methods["all"].LogLoss, e.Methods["prior"].LogLoss; !(all < prior-c.better) {
				t.Errorf("log-loss of all is %v, of prior %v", all, prior)
			}
		})
	}
}
