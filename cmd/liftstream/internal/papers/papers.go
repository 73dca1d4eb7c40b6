// Package papers computes the printed tables of the papers behind the models again, and compares each figure. Begin at
// Reproduction.
package papers

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/model/report/text"
)

// Tables lists the tables, in the order in which they are printed.
var Tables = []string{"1", "2", "3", "5", "7", "8", "9", "local", "kernel"}

// Reproduction compares the printed figures of papers with the figures that are computed here.
type Reproduction struct {
	Data string // the folder of Covertype and of the sets of the accuracies; "" = they are left out
	// Draws is the number of draws of the synthetic experiment of local subspaces; 0 = 3.
	Draws uint64

	out    io.Writer
	rows   [][]string // of the table in hand
	differ int
	forest *forest
}

// Run prints the tables that are named, all if none is. It returns cli.ErrFound when a figure differs.
func (r *Reproduction) Run(ctx context.Context, a *cli.App, tables []string) error {
	r.out = a.Out
	named := len(tables) > 0
	if !named {
		tables = Tables
	}
	printed := 0
	for _, x := range Tables {
		if !slices.Contains(tables, x) {
			continue
		}
		if slices.Contains([]string{"7", "8", "9"}, x) && r.Data == "" {
			if named {
				return fmt.Errorf("table %s is computed from Covertype; "+
					"name the folder that holds covtype10.csv.gz with --data DIR", x)
			}
			continue
		}
		if printed++; printed > 1 {
			fmt.Fprintln(r.out)
		}
		if err := r.table(ctx, a, x); err != nil {
			return err
		}
	}
	if !named && r.Data == "" {
		a.Notef("\nNOT CHECKED: tables 7, 8 and 9, which are computed from Covertype; " +
			"name the folder that holds covtype10.csv.gz with --data DIR")
	}
	if r.differ > 0 {
		fmt.Fprintf(r.out, "\n%s from what is printed\n", differences(r.differ))
		return cli.ErrFound
	}
	return nil
}

// table prints one table.
func (r *Reproduction) table(ctx context.Context, a *cli.App, name string) error {
	switch name {
	case "1", "2", "3":
		return r.counts(name)
	case "5":
		return r.votes(ctx, a)
	case "kernel":
		return r.programmes(ctx)
	case "local":
		if err := r.subspaces(ctx); err != nil || r.Data == "" {
			return err
		}
		return r.accuracies(ctx, a)
	}
	if r.forest == nil {
		var err error
		if r.forest, err = readForest(ctx, a, r.Data); err != nil {
			return err
		}
	}
	switch name {
	case "7":
		return r.forestSet()
	case "8":
		return r.forestWindows()
	}
	return r.forestProfiles()
}

func differences(n int) string {
	if n == 1 {
		return "1 figure differs"
	}
	return fmt.Sprintf("%d figures differ", n)
}

// check adds a row to the table in hand.
func (r *Reproduction) check(what, paper, ours string, same bool) {
	mark := ""
	if !same {
		mark = "DIFFERS"
		r.differ++
	}
	r.rows = append(r.rows, []string{what, paper, ours, mark})
}

// number adds a row for a number of which the paper prints the given decimals.
func (r *Reproduction) number(what, paper string, ours float64) {
	_, decimals, _ := strings.Cut(paper, ".")
	p, err := strconv.ParseFloat(paper, 64)
	half := .5 * math.Pow10(-len(decimals))
	r.check(what, paper, strconv.FormatFloat(ours, 'f', len(decimals)+4, 64), err == nil &&
		math.Abs(ours-p) <= half*(1+1e-9))
}

// flush prints the table in hand.
func (r *Reproduction) flush(title string) error {
	return r.flushBeside(title, "paper")
}

// flushBeside prints the table in hand, whose first figures are of another source.
func (r *Reproduction) flushBeside(title, source string) error {
	fmt.Fprintln(r.out, title)
	rows := r.rows
	r.rows = nil
	return text.Table(r.out, "  ", []string{"", " " + source, " here", ""}, rows)
}

// evidence reads all labelled records of a file under a schema whose label is the column class.
func evidence(ctx context.Context, a *cli.App, s *model.Schema, path string) (*model.Evidence, error) {
	b := model.NewBuilder(&model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s)})
	o := file.Options{Codec: codec.Options{Schema: s, Label: "class", Missing: []string{"", "?"}}, RequireLabel: true}
	if _, err := records.Collect(ctx, a, []string{path}, o, b.Add); err != nil {
		return nil, err
	}
	return b.Evidence(), nil
}
