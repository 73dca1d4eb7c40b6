package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/model/modeltest"
)

func TestReproduceWhatShips(t *testing.T) {
	r := command(t, "reproduce")
	if r.status != statusDone || strings.Contains(r.out, "DIFFERS") {
		t.Fatalf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	for _, want := range []string{"Table 1", "0.03874688", "Table 2", "0.03540962", "Table 3", "0.05750099", "Table 5", "all 33779 profiles", "2.651163 of 342"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	for _, want := range []string{"L1 literal", ".380559456   0.3805594560", ".614931812   0.6149318115", ".444258780   0.4442587796", "cube"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	for _, want := range []string{"the synthetic experiment", "wide: features selected", "narrow: features selected", "draws on which both are ahead"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if n := strings.Count(r.out, " of 2") + strings.Count(r.out, " of 3"); n != 2*27 {
		t.Errorf("%d figures of Table 5, want twice 27", n)
	}
	if !strings.Contains(r.err, "NOT CHECKED: tables 7, 8 and 9") {
		t.Errorf("nothing says what was left out: %q", r.err)
	}
}

// TestReproduceAccuracies cross-validates the set that ships, under the name of one of the table.
func TestReproduceAccuracies(t *testing.T) {
	kept := subspaceSeeds
	t.Cleanup(func() { subspaceSeeds = kept })
	subspaceSeeds = 1
	dir := t.TempDir()
	b, err := os.ReadFile(filepath.Join("..", "..", "model", "local", "testdata", "wdbc.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wdbc.csv.gz"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	r := command(t, "reproduce", "local", "--data", dir)
	if r.status != statusDone || !strings.Contains(r.out, "wdbc, standard error 0.007") || !strings.Contains(r.out, "0.965  .972  .977  0.968") {
		t.Fatalf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wine.csv.gz"), b[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if r := command(t, "reproduce", "local", "--data", dir); r.status != statusInput || !strings.Contains(r.err, "wine.csv.gz") {
		t.Errorf("a damaged file: status %d: %s", r.status, r.err)
	}
}

// TestReproduceCovertype searches all 1,023 sets.
func TestReproduceCovertype(t *testing.T) {
	data := modeltest.Shared(t, "data/covtype10.csv.gz")
	r := command(t, "reproduce", "9", "7", "8", "--data", filepath.Dir(data))
	if r.status != statusDone || strings.Contains(r.out, "DIFFERS") {
		t.Fatalf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	for _, want := range []string{"best of 1023 sets", "0.3072887", "3244 54473 35344 2747 3385 17010 0", "0.356610", "4.886615"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}

// TestReproduceTellsDifferences changes what the paper is said to print.
func TestReproduceTellsDifferences(t *testing.T) {
	kept := ballots
	t.Cleanup(func() { ballots = kept })
	ballots = append([]ballot{}, kept...)
	ballots[3].n++
	ballots[12].votes = "y,y,n,n,y,n"
	r := command(t, "reproduce", "5")
	if r.status != statusInput || strings.Count(r.out, "DIFFERS") != 2 || !strings.Contains(r.out, "not among the best 16") || !strings.Contains(r.out, "2 figures differ from what is printed") {
		t.Errorf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	var x reproduction
	x.number("rounds to it", "0.307", .3065)
	x.number("rounds to another", "0.307", .30649)
	if x.differ != 1 || x.rows[1][3] != "DIFFERS" {
		t.Errorf("rows %q", x.rows)
	}
}

func TestReproduceErrors(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"reproduce", "4"}, statusUsage, `no table "4"`},
		{[]string{"reproduce", "8"}, statusInput, "--data DIR"},
		{[]string{"reproduce", "7", "--data", t.TempDir()}, statusInput, "neither covtype10.csv.gz nor covtype10.csv"},
	} {
		r := command(t, c.args...)
		if r.status != c.status || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: status %d, %q; want %d and %q", c.args, r.status, r.err, c.status, c.want)
		}
	}
}
