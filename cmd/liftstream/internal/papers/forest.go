package papers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/report/text"
)

// forest is Covertype with a fit of all its sets.
type forest struct {
	schema *model.Schema
	part   *lift.Part
}

// forestColumns maps the paper's short names to the columns of Covertype, in the order of the file.
var forestColumns = [][2]string{
	{"E", "Elevation"}, {"A", "Aspect"}, {"S", "Slope"}, {"HH", "Horizontal_Distance_To_Hydrology"},
	{"VH", "Vertical_Distance_To_Hydrology"},
	{"HR", "Horizontal_Distance_To_Roadways"}, {"H9", "Hillshade_9am"}, {"HN", "Hillshade_Noon"}, {"H3", "Hillshade_3pm"},
	{"HF", "Horizontal_Distance_To_Fire_Points"},
}

func readForest(ctx context.Context, a *cli.App, dir string) (*forest, error) {
	path := filepath.Join(dir, "covtype10.csv.gz")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, "covtype10.csv")
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s holds neither covtype10.csv.gz nor covtype10.csv", dir)
	}
	s := &model.Schema{Classes: []string{"1", "2", "3", "4", "5", "6", "7"}, Positive: -1}
	for _, c := range forestColumns {
		s.Features = append(s.Features, model.Feature{Name: c[1]})
	}
	ev, err := evidence(ctx, a, s, path)
	if err != nil {
		return nil, err
	}
	if ev.Len() != 581012 {
		return nil, fmt.Errorf("%s has %s, Covertype has 581,012", path, text.Count(ev.Len(), "record"))
	}
	a.Step("searching the 1,023 sets of Covertype")
	o := lift.Options{Quantiles: 5, Sets: lift.SetOptions{Min: 1, Max: 10, Search: lift.Exhaustive, Top: 1023},
		Windows: lift.WindowOptions{Top: 10}}
	b, err := lift.New(o, s).Fit(ctx, ev, nil)
	if err != nil {
		return nil, err
	}
	p, err := lift.DecodePart(s, b)
	if err != nil {
		return nil, err
	}
	return &forest{s, p}, nil
}

// short names a set as the paper does: (E,HH,HF).
func (f *forest) short(set *lift.Set) string {
	var names []string
	for _, i := range set.Features() {
		names = append(names, forestColumns[i][0])
	}
	return "(" + strings.Join(names, ",") + ")"
}

// summary measures the i-th best set.
func (f *forest) summary(i int) *lift.Summary {
	t := f.part.Sets[i].Total(len(f.schema.Classes))
	return lift.Summarise(t.Counts(), len(f.schema.Classes), t.Effective())
}

// forestCounts are the counts of Table 7: the quintiles of (E,HH,HF) by class.
var forestCounts = [][]float64{
	{3244, 54473, 35344, 2747, 3385, 17010, 0},
	{18816, 90872, 410, 0, 5663, 357, 84},
	{40195, 75562, 0, 0, 445, 0, 0},
	{70427, 45314, 0, 0, 0, 0, 461},
	{79158, 17080, 0, 0, 0, 0, 19965},
}

func (r *Reproduction) forestSet() error {
	f := r.forest
	if len(f.part.Sets) == 0 {
		r.check("best set", "(E,HH,HF)", "none", false)
		return r.flush("Table 7")
	}
	best := f.short(f.part.Sets[0].Set)
	r.check(fmt.Sprintf("best of %d sets", f.part.Tried), "(E,HH,HF)", best, best == "(E,HH,HF)" && f.part.Tried == 1023)
	s := f.summary(0)
	r.number("eta", "0.307", s.Eta())
	for x, want := range forestCounts {
		got := make([]float64, 7)
		if 7*(x+1) <= len(s.Count) {
			copy(got, s.Count[7*x:])
		}
		r.check(fmt.Sprintf("Q%d", x+1), numbers(want), numbers(got), slices.Equal(want, got))
	}
	return r.flush("Table 7: the classes of Covertype by the quintiles of the set of highest eta")
}

func numbers(v []float64) string {
	out := make([]string, len(v))
	for i, x := range v {
		out[i] = strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strings.Join(out, " ")
}

// forestWindowRows are the rows of Table 8.
var forestWindowRows = [][3]string{
	{"(E,HH,HF)", "Q5", "0.38"}, {"(E,A,HH,HF)", "Q5", "0.38"}, {"(E,HH)", "Q5", "0.37"}, {"(E,A,HH)", "Q5", "0.37"},
	{"(E,HH,VH,HF)", "Q5", "0.37"},
	{"(E,A,HH,VH,HF)", "Q5", "0.36"}, {"(E,HH,HF)", "Q1 Q5", "0.36"}, {"(E,A,HH,VH)", "Q5", "0.36"},
	{"(E,HH,VH)", "Q5", "0.36"}, {"(E,HH)", "Q1 Q5", "0.36"},
}

func (r *Reproduction) forestWindows() error {
	for i, want := range forestWindowRows {
		if i >= len(r.forest.part.Windows) {
			r.check(want[0]+" "+want[1], want[2], "none", false)
			continue
		}
		w := r.forest.part.Windows[i]
		var levels []string
		for _, c := range w.Cells {
			levels = append(levels, fmt.Sprintf("Q%d", c+1))
		}
		got := r.forest.short(w.Set) + " " + strings.Join(levels, " ")
		if paper := want[0] + " " + want[1]; got != paper {
			r.check(fmt.Sprintf("rank %d", i+1), paper, got, false)
		}
		r.number(got, want[2], w.Eta)
	}
	return r.flush("Table 8: the ten windows of highest eta, in order")
}

// forestProfileRows are the rows of Table 9: for each class a set, the quintile, and its lift.
var forestProfileRows = []struct {
	set, lift string
	cell      int
}{
	{"(E,HH,HF)", "1.87", 4}, {"(E,HH,HR)", "1.63", 1}, {"(E,HH,HR,HF)", "4.96", 0}, {"(E,HH,HF)", "5.00", 0},
	{"(E,HR,HF)", "3.31", 1}, {"(E,HH,HF)", "4.90", 0}, {"(E,HH)", "4.89", 4},
}

func (r *Reproduction) forestProfiles() error {
	f := r.forest
	highest := make([]float64, len(f.schema.Classes))
	of := make([]float64, len(f.schema.Classes))
	for i := range f.part.Sets {
		s := f.summary(i)
		for x := range s.NX {
			for y := range highest {
				if v := s.Lift(x, y); v > highest[y] {
					highest[y] = v
				}
			}
		}
		for y, row := range forestProfileRows {
			if row.set == f.short(f.part.Sets[i].Set) && row.cell < len(s.NX) {
				of[y] = s.Lift(row.cell, y)
			}
		}
	}
	for y, row := range forestProfileRows {
		what := fmt.Sprintf("class %s, %s Q%d", f.schema.Classes[y], row.set, row.cell+1)
		r.number(what, row.lift, of[y])
		// The paper may name another one of several profiles of the same lift.
		if highest[y] > of[y]*(1+1e-12) {
			r.check(what+" is the highest", row.lift, strconv.FormatFloat(highest[y], 'f', 6, 64), false)
		}
	}
	return r.flush("Table 9: the profile of highest lift of each class, among the quintiles of all 1,023 sets")
}
