package papers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/cli"
)

// reproduce returns the output of a table.
func reproduce(r Reproduction, table string) (string, error) {
	var out, notes bytes.Buffer
	err := r.Run(context.Background(), cli.New(nil, &out, &notes), []string{table})
	return out.String(), err
}

// TestReproduceAccuracies cross-validates the set that ships, under the name of one of the table.
func TestReproduceAccuracies(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	dir := t.TempDir()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "model", "local", "testdata", "wdbc.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wdbc.csv.gz"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := reproduce(Reproduction{Data: dir, Draws: 1}, "local")
	if err != nil || !strings.Contains(out, "wdbc, standard error 0.007") ||
		!strings.Contains(out, "0.965  .972  .977  0.968") {
		t.Fatalf("error %v:\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "wine.csv.gz"), b[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = reproduce(Reproduction{Data: dir, Draws: 1}, "local")
	if cli.Status(err) != cli.StatusInput || !strings.Contains(fmt.Sprint(err), "wine.csv.gz") {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestReproduceTellsDifferences(t *testing.T) {
	kept := ballots
	t.Cleanup(func() { ballots = kept })
	ballots = append([]ballot{}, kept...)
	ballots[3].n++
	ballots[12].votes = "y,y,n,n,y,n"
	out, err := reproduce(Reproduction{}, "5")
	if !errors.Is(err, cli.ErrFound) || strings.Count(out, "DIFFERS") != 2 {
		t.Errorf("error %v:\n%s", err, out)
	}
	for _, want := range []string{"not among the best 16", "2 figures differ from what is printed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var x Reproduction
	x.number("rounds to it", "0.307", .3065)
	x.number("rounds to another", "0.307", .30649)
	if x.differ != 1 || x.rows[1][3] != "DIFFERS" {
		t.Errorf("rows %q", x.rows)
	}
}
