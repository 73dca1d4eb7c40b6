package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestLeaksOfKnownData: duration of the bank data is known only after the call, and is found; nothing else of the four
// data sets is a leak, and at most one column of all of them may be taken for one.
//
//nolint:gocyclo // each data set has conditions of its own
func TestLeaksOfKnownData(t *testing.T) {
	wrong := 0
	for _, file := range []string{"bank_full.csv.gz", "adult_train.csv.gz", "telco_churn.csv", "elec2.csv.gz"} {
		columns, rows := load(t, modeltest.Shared(t, "data/"+file))
		d := describe(t, table(columns, rows), Options{Name: strings.SplitN(file, ".", 2)[0], Label: "class"})
		for _, c := range flags(d) {
			if c != "duration" {
				t.Logf("%s: %s is taken for a leak: %s", file, c, d.column(t, c).Why)
				wrong++
			}
		}
		switch file {
		case "bank_full.csv.gz":
			c := d.column(t, "duration")
			if c.Role != Leak || math.Abs(c.AUC-.81) > .006 || math.Abs(c.AUCBlocks-.90) > .015 {
				t.Errorf("duration: role %d, AUC %.4f pooled, %.4f inside blocks; want a leak of .81 and .90", c.Role, c.AUC,
					c.AUCBlocks)
			}
			if d.Positive != "yes" || d.ID != "" || d.Time != "" || d.Records != 45211 || d.Classes[0] != (Count{"no", 39922}) {
				t.Errorf("bank: %+v", d)
			}
		case "telco_churn.csv":
			if c := d.column(t, "TotalCharges"); c.Kind != model.Continuous || c.Missing != 11 || c.Role != Feature {
				t.Errorf("TotalCharges: %+v", c)
			}
			if d.ID != "customerID" || d.Positive != "Yes" || d.column(t, "SeniorCitizen").Kind != model.Nominal {
				t.Errorf("telco: id %q, positive %q", d.ID, d.Positive)
			}
		case "adult_train.csv.gz":
			if c := d.column(t, "fnlwgt"); c.Kind != model.Continuous || c.Role != Feature {
				t.Errorf("fnlwgt: %+v", c)
			}
			if c := d.column(t, "workclass"); c.Missing != 1836 || len(c.Levels) != 8 {
				t.Errorf("workclass: %+v", c)
			}
		case "elec2.csv.gz":
			if c := d.column(t, "date"); c.Role != Feature || c.Kind != model.Continuous || d.Time != "" || d.ID != "" {
				t.Errorf("date of elec2: %+v, time %q, id %q", c, d.Time, d.ID)
			}
		}
	}
	if wrong > 1 {
		t.Errorf("%d columns are taken for leaks that are none", wrong)
	}
}

// plant returns the rows with three more columns that give the class away: a copy of it with a noise of 5 to 10 %, a
// number that is one, and one that is filled in for the positive class alone.
func plant(rows [][]string, label int, positive string, seed uint64) [][]string {
	out := make([][]string, len(rows))
	noise := .05 + .05*uniform(seed, 0, 99)
	for i, r := range rows {
		copied := func(k int) bool { return (r[label] == positive) != (uniform(seed, i, k) < noise) }
		word := "closed"
		if copied(1) {
			word = "won"
		}
		v := 40 + 3*normal(seed, i, 10)
		if copied(2) {
			v += 15
		}
		filled := ""
		if r[label] == positive && uniform(seed, i, 3) < .7 {
			filled = strconv.Itoa(int(1000 * uniform(seed, i, 4)))
		}
		out[i] = append(slices.Clone(r), word, strconv.FormatFloat(v, 'f', 2, 64), filled)
	}
	return out
}

var plantedNames = []string{"planted word", "planted number", "planted gap"}

func TestPlantedLeaksInKnownData(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	files := []string{"bank_full.csv.gz", "adult_train.csv.gz", "telco_churn.csv", "elec2.csv.gz"}
	positive := []string{"yes", ">50K", "Yes", "UP"}
	for f, file := range files {
		columns, rows := load(t, modeltest.Shared(t, "data/"+file))
		// Three features of its own are enough beside the planted ones.
		label := len(columns) - 1
		keep := []int{1, 2, 3, label}
		var names []string
		for _, c := range keep {
			names = append(names, columns[c])
		}
		for i, r := range rows {
			rows[i] = []string{r[1], r[2], r[3], r[label]}
		}
		for seed := uint64(f); seed < 20; seed += 4 {
			d := describe(t, table(append(names, plantedNames...), plant(rows, 3, positive[f], seed)), Options{Label: "class"})
			if got := flags(d); !slices.Equal(sorted(got), sorted(plantedNames)) {
				t.Errorf("%s, seed %d: leaks found %q, planted %q", file, seed, got, plantedNames)
			}
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// campaign is a made-up table with a base rate that moves, honest features of which the best alone has an AUC near .75,
// and values that are missing now and then.
func campaign(n int, seed uint64) ([]string, [][]string) {
	columns := []string{"age", "job", "visits", "outcome"}
	rows := make([][]string, n)
	for i := range rows {
		y := uniform(seed, i, 20) < .08+.2*math.Abs(math.Sin(float64(i)/2500))
		e := 0.0
		outcome := "lost"
		if y {
			e, outcome = 1, "sold"
		}
		age := strconv.Itoa(int(45 + 12*normal(seed, i, 21) + 3*e))
		if uniform(seed, i, 23) < .1 {
			age = "NA"
		}
		rows[i] = []string{age, fmt.Sprintf("job %d", int(6*uniform(seed, i, 24)+1.5*e)),
			strconv.Itoa(int(math.Exp(normal(seed, i, 25) + .9*e))), outcome}
	}
	return columns, rows
}

func TestPlantedLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for seed := range uint64(20) {
		for _, n := range []int{1500, 12000} {
			columns, rows := campaign(n, seed)
			if got := flags(describe(t, table(columns, rows), Options{Label: "outcome"})); len(got) > 0 {
				t.Errorf("seed %d, %d records: honest columns %q are taken for leaks", seed, n, got)
			}
			d := describe(t, table(append(columns, plantedNames...), plant(rows, 3, "sold", seed)), Options{Label: "outcome"})
			if got := flags(d); !slices.Equal(sorted(got), sorted(plantedNames)) {
				t.Errorf("seed %d, %d records: leaks found %q, planted %q", seed, n, got, plantedNames)
			}
			for _, c := range plantedNames {
				if d.column(t, c).Role != Leak {
					t.Errorf("seed %d: %s is no leak in the configuration", seed, c)
				}
			}
		}
	}
}

// TestSortedByClass: no block has two classes, so the comparison falls back to the halves. A copy of the class is
// found, and a column in which every value occurs twice is not.
func TestSortedByClass(t *testing.T) {
	const n = 8000
	var rows [][]string
	for i := range n {
		y, word := "no", "a"
		if i >= n/2 {
			y, word = "yes", "b"
		}
		if uniform(5, i, 1) < .05 {
			word = "a"
		}
		rows = append(rows, []string{word, strconv.Itoa(int(uniform(5, i, 2) * n / 2)), y})
	}
	d := describe(t, table([]string{"copy", "number", "y"}, rows), Options{Label: "y"})
	if got := flags(d); !slices.Equal(got, []string{"copy"}) {
		t.Errorf("leaks found %q, want the copy; %v", got, d.Warnings)
	}
}
