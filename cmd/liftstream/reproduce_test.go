package main

import (
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model/modeltest"
)

func TestReproduceWhatShips(t *testing.T) {
	long(t)
	r := command(t, "reproduce")
	if r.status != cli.StatusDone || strings.Contains(r.out, "DIFFERS") {
		t.Fatalf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	for _, want := range []string{"Table 1", "0.03874688", "Table 2", "0.03540962", "Table 3", "0.05750099", "Table 5",
		"all 33779 profiles", "2.651163 of 342"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	for _, want := range []string{"L1 literal", ".380559456   0.3805594560", ".614931812   0.6149318115",
		".444258780   0.4442587796", "cube"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	for _, want := range []string{"the synthetic experiment", "wide: features selected", "narrow: features selected",
		"draws on which both are ahead"} {
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

// TestReproduceCovertype searches all 1,023 sets.
func TestReproduceCovertype(t *testing.T) {
	long(t)
	data := modeltest.Shared(t, "data/covtype10.csv.gz")
	r := command(t, "reproduce", "9", "7", "8", "--data", filepath.Dir(data))
	if r.status != cli.StatusDone || strings.Contains(r.out, "DIFFERS") {
		t.Fatalf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	for _, want := range []string{"best of 1023 sets", "0.3072887", "3244 54473 35344 2747 3385 17010 0", "0.356610",
		"4.886615"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}

func TestReproduceErrors(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"reproduce", "4"}, cli.StatusUsage, `no table "4"`},
		{[]string{"reproduce", "8"}, cli.StatusInput, "--data DIR"},
		{[]string{"reproduce", "7", "--data", t.TempDir()}, cli.StatusInput, "neither covtype10.csv.gz nor covtype10.csv"},
	} {
		r := command(t, c.args...)
		if r.status != c.status || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: status %d, %q; want %d and %q", c.args, r.status, r.err, c.status, c.want)
		}
	}
}
