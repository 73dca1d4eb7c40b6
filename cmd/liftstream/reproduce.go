package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/propensity"
)

func reproduceCommand(a *app) *cobra.Command {
	var r reproduction
	c := a.command(groupOther, "reproduce [TABLE...] [--data DIR]", `Compute the tables of the papers again
Prints the tables of the paper that the lifts come from (Marcondes, Simonis and Barrera, Entropy 20(2), 97, 2018)
beside what this build computes: 1, 2, 3, 5, 7, 8 and 9, or those that are named. The exit status is 1 if anything
differs from what the paper prints. The paper that the kernel comes from (Fung, Rosales and Rao, IJCAI 2007) prints no
figures: 'kernel' solves its programme on instances whose optima are known, in each reading of its price. Nor does the text
of the paper of the local subspaces (Pichara and Soto, Intelligent Data Analysis 18(3), 2014): 'local' draws its synthetic
experiment, and with --data the accuracies on wdbc, wine, ionosphere, isolet40, syn_wide1 and syn_narrow1, NAME.csv.gz with
the columns class and fold at the end, beside plain nearest neighbours and the best of others.

The voting records of table 5 are part of the program. Tables 7, 8 and 9 search all 1,023 sets of the ten continuous
features of Covertype (UCI, https://doi.org/10.24432/C50K5N): --data names the folder that holds covtype10.csv.gz or
covtype10.csv, its first ten columns and the class under a header, in the original order.`,
		`liftstream reproduce 1 2 3 5`, tableNumbers, func(ctx context.Context, tables []string) error { return r.run(ctx, a, tables) })
	c.Flags().StringVar(&r.data, "data", "", "folder `DIR` with covtype10.csv.gz, for tables 7, 8 and 9")
	_ = c.MarkFlagDirname("data")
	return c
}

// reproducible lists the tables, in the order in which they are printed.
var reproducible = []string{"1", "2", "3", "5", "7", "8", "9", "local", "kernel"}

func tableNumbers(_ *cobra.Command, args []string) error {
	for _, x := range args {
		if !slices.Contains(reproducible, x) {
			return usagef("there is no table %q to reproduce; it is one of %s", x, strings.Join(reproducible, ", "))
		}
	}
	return nil
}

// reproduction compares what a paper prints with what is computed here.
type reproduction struct {
	data string

	out    io.Writer
	rows   [][]string // of the table in hand
	differ int
	forest *forest
}

func (r *reproduction) run(ctx context.Context, a *app, tables []string) error {
	r.out = a.out
	named := len(tables) > 0
	if !named {
		tables = reproducible
	}
	printed := 0
	for _, x := range reproducible {
		if !slices.Contains(tables, x) {
			continue
		}
		if slices.Contains([]string{"7", "8", "9"}, x) && r.data == "" {
			if named {
				return fmt.Errorf("table %s is computed from Covertype; name the folder that holds covtype10.csv.gz with --data DIR", x)
			}
			continue
		}
		if printed++; printed > 1 {
			fmt.Fprintln(r.out)
		}
		var err error
		switch x {
		case "1", "2", "3":
			err = r.counts(x)
		case "5":
			err = r.votes(ctx, a)
		case "kernel":
			err = r.programmes(ctx)
		case "local":
			if err = r.subspaces(ctx); err == nil && r.data != "" {
				err = r.accuracies(ctx, a)
			}
		default:
			if r.forest == nil {
				if r.forest, err = readForest(ctx, a, r.data); err != nil {
					return err
				}
			}
			switch x {
			case "7":
				err = r.forestSet()
			case "8":
				err = r.forestWindows()
			case "9":
				err = r.forestProfiles()
			}
		}
		if err != nil {
			return err
		}
	}
	if !named && r.data == "" {
		a.notef("\nNOT CHECKED: tables 7, 8 and 9, which are computed from Covertype; name the folder that holds covtype10.csv.gz with --data DIR")
	}
	if r.differ > 0 {
		fmt.Fprintf(r.out, "\n%s from what is printed\n", differences(r.differ))
		return errFound
	}
	return nil
}

func differences(n int) string {
	if n == 1 {
		return "1 figure differs"
	}
	return fmt.Sprintf("%d figures differ", n)
}

// check adds a row to the table in hand.
func (r *reproduction) check(what, paper, ours string, same bool) {
	mark := ""
	if !same {
		mark = "DIFFERS"
		r.differ++
	}
	r.rows = append(r.rows, []string{what, paper, ours, mark})
}

// number adds a row for a number of which the paper prints the given decimals.
func (r *reproduction) number(what, paper string, ours float64) {
	_, decimals, _ := strings.Cut(paper, ".")
	p, err := strconv.ParseFloat(paper, 64)
	half := .5 * math.Pow10(-len(decimals))
	r.check(what, paper, strconv.FormatFloat(ours, 'f', len(decimals)+4, 64), err == nil && math.Abs(ours-p) <= half*(1+1e-9))
}

// flush prints the table in hand.
func (r *reproduction) flush(title string) error {
	return r.flushBeside(title, "paper")
}

// flushBeside prints the table in hand, whose first figures are of another source.
func (r *reproduction) flushBeside(title, source string) error {
	fmt.Fprintln(r.out, title)
	rows := r.rows
	r.rows = nil
	return table(r.out, "  ", []string{"", " " + source, " here", ""}, rows)
}

// counted is a table whose counts the paper prints, with the figures that it derives from them.
type counted struct {
	title  string
	counts [][]float64
	eta    string    // of the table; "" where the paper prints none
	cells  [3]string // eta of each cell
	lift   string    // of the last cell and class
}

var countedTables = map[string]counted{
	"1": {title: "Table 1: 79 students, tertiles by tertiles",
		counts: [][]float64{{9, 13, 5}, {9, 8, 9}, {9, 5, 12}}, eta: "0.0387"},
	"2": {title: "Table 2: 8,353 students, tertiles by tertiles",
		counts: [][]float64{{1277, 1018, 533}, {921, 951, 871}, {630, 775, 1377}}, eta: "0.0354"},
	"3": {title: "Table 3: 8,353 students, tertiles by tertiles, another feature set",
		counts: [][]float64{{1398, 1111, 667}, {843, 972, 847}, {587, 661, 1267}}, cells: [3]string{2: "0.0575"}, lift: "1.51"},
}

// counts measures the tables 1 to 3 from their printed counts: the marks of the students were not published.
func (r *reproduction) counts(name string) error {
	t := countedTables[name]
	var flat []float64
	for _, row := range t.counts {
		flat = append(flat, row...)
	}
	s := lift.Summarise(flat, 3, 0)
	if t.eta != "" {
		r.number("eta", t.eta, s.Eta())
	}
	for x, want := range t.cells {
		if want != "" {
			r.number(fmt.Sprintf("eta of the window T%d", x+1), want, s.CellEta(x))
		}
	}
	if t.lift != "" {
		r.number("lift of T3 in T3", t.lift, s.Lift(2, 2))
	}
	var rows []string
	for _, row := range t.counts {
		rows = append(rows, numbers(row))
	}
	return r.flush(t.title + "\n  counts " + strings.Join(rows, " / "))
}

// ballot is a row of Table 5: a profile of votes on some questions with its lift and the number of complete records.
type ballot struct {
	party, questions, votes, lift string
	n                             int
}

// questions are the paper's names of the columns of the voting records, in their order.
var questions = strings.Fields("HI WP AB PF SA RG ST AN MM IM SC ES SR CR DF EA")

var ballots = []ballot{
	{"democrat", "AB,PF,SA,RG,MM,ES,SR,EA", "y,n,n,n,y,n,n,y", "1.94", 277},
	{"democrat", "HI,AB,PF,SA,RG,MM,ES,SR,EA", "y,y,n,n,n,y,n,n,y", "1.94", 275},
	{"democrat", "AB,PF,RG,ST,MM,ES,SR,EA", "y,n,n,y,y,n,n,y", "1.94", 279},
	{"democrat", "HI,AB,PF,RG,ST,MM,ES,SR,EA", "y,y,n,n,y,y,n,n,y", "1.94", 277},
	{"democrat", "AB,PF,SA,RG,ST,MM,ES,SR,EA", "y,n,n,n,y,y,n,n,y", "1.94", 276},
	{"democrat", "HI,AB,PF,SA,RG,ST,MM,ES,SR,EA", "y,y,n,n,n,y,y,n,n,y", "1.94", 274},
	{"democrat", "AB,PF,SA,RG,MM,ES,SR,CR,EA", "y,n,n,n,y,n,n,n,y", "1.94", 275},
	{"democrat", "AB,PF,RG,ST,MM,ES,SR,CR,EA", "y,n,n,y,y,n,n,n,y", "1.94", 276},
	{"democrat", "AB,PF,SA,RG,ST,MM,ES,SR,CR,EA", "y,n,n,n,y,y,n,n,n,y", "1.94", 274},
	{"democrat", "AB,PF,RG,ST,MM,ES,SR,DF,EA", "y,n,n,y,y,n,n,y,y", "1.94", 269},
	{"democrat", "AB,PF,SA,RG,ST,MM,ES,SR,DF,EA", "y,n,n,n,y,y,n,n,y,y", "1.94", 266},
	{"republican", "WP,PF,SC,ES,CR", "n,y,n,y,y", "2.65", 342},
	{"republican", "AB,PF,AN,SC,CR,DF", "n,y,n,n,y,n", "2.64", 369},
	{"republican", "PF,AN,IM,ES,CR,DF", "y,n,y,y,y,n", "2.64", 361},
	{"republican", "PF,AN,SC,CR,DF", "y,n,n,y,n", "2.64", 373},
	{"republican", "AB,PF,AN,SC,ES", "n,y,n,n,y", "2.63", 376},
	{"republican", "HI,AB,PF,AN,SC,ES", "n,n,y,n,n,y", "2.63", 373},
	{"republican", "AB,PF,AN,SC,ES,CR", "n,y,n,n,y,y", "2.63", 368},
	{"republican", "HI,AB,PF,AN,SC,ES,CR", "n,n,y,n,n,y,y", "2.63", 365},
	{"republican", "PF,AN,SC,DF", "y,n,n,n", "2.63", 380},
	{"republican", "AB,PF,AN,SC,DF", "n,y,n,n,n", "2.63", 376},
	{"republican", "PF,AN,IM,ES,DF", "y,n,y,y,n", "2.63", 368},
	{"republican", "AB,PF,AN,SC,ES,DF", "n,y,n,n,y,n", "2.63", 360},
	{"republican", "HI,AB,PF,AN,SC,CR,DF", "n,n,y,n,n,y,n", "2.63", 365},
	{"republican", "PF,AN,SC,ES,CR,DF", "y,n,n,y,y,n", "2.63", 356},
	{"republican", "AB,PF,AN,SC,ES,CR,DF", "n,y,n,n,y,y,n", "2.63", 353},
	{"republican", "HI,AB,PF,AN,SC,ES,CR,DF", "n,n,y,n,n,y,y,n", "2.63", 350},
}

// votes searches all profiles of the voting records that more than .15 of their complete cases meet: the rows of Table
// 5 must be the best of each party.
func (r *reproduction) votes(ctx context.Context, a *app) error {
	dir, err := os.MkdirTemp("", "liftstream")
	if err != nil {
		return environment(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv")
	if err := a.writeFile(path, demo.Find("votes").WriteRecords); err != nil {
		return err
	}
	s := &model.Schema{Classes: []string{"democrat", "republican"}, Positive: -1}
	for _, name := range strings.Fields(`handicapped-infants water-project-cost-sharing adoption-of-the-budget-resolution physician-fee-freeze
		el-salvador-aid religious-groups-in-schools anti-satellite-test-ban aid-to-nicaraguan-contras mx-missile immigration
		synfuels-corporation-cutback education-spending superfund-right-to-sue crime duty-free-exports export-administration-act-south-africa`) {
		s.Features = append(s.Features, model.Feature{Name: name, Kind: model.Nominal})
	}
	ev, err := a.evidence(ctx, s, path)
	if err != nil {
		return err
	}
	o := lift.Options{Profiles: lift.ProfileOptions{Top: 16, MinSupport: .15, MaxFeatures: len(questions), KeepRedundant: true}}
	profiles, err := lift.Mine(ctx, ev, o)
	if err != nil {
		return err
	}
	frequent, err := lift.CountProfiles(ctx, ev, o)
	if err != nil {
		return err
	}
	best := map[string][]*lift.Profile{}
	for _, p := range profiles {
		best[s.Classes[p.Class]] = append(best[s.Classes[p.Class]], p)
	}
	rows := map[string]int{}
	for _, b := range ballots {
		rows[b.party]++
	}
	for _, b := range ballots {
		votes := strings.Split(b.votes, ",")
		var tests []string
		for i, q := range strings.Split(b.questions, ",") {
			tests = append(tests, s.Features[slices.Index(questions, q)].Name+"="+votes[i])
		}
		what := b.party + " " + b.questions + " = " + b.votes
		of := best[b.party]
		of = of[:min(len(of), rows[b.party])]
		i := slices.IndexFunc(of, func(p *lift.Profile) bool { return p.Text == strings.Join(tests, " & ") })
		paper := fmt.Sprintf("%s of %d", b.lift, b.n)
		if i < 0 {
			r.check(what, paper, fmt.Sprintf("not among the best %d", rows[b.party]), false)
			continue
		}
		t := &of[i].Tally
		want, _ := strconv.ParseFloat(b.lift, 64)
		r.check(what, paper, fmt.Sprintf("%.6f of %.0f", t.Lift(), t.N), int(t.N) == b.n && math.Abs(t.Lift()-want) <= .005*(1+1e-9))
	}
	return r.flush(fmt.Sprintf("Table 5: lift of the votes of 435 members of Congress, and the records that have all of them\n"+
		"  its rows are the best of all %d profiles that more than .15 of those records meet", frequent))
}

// forest is Covertype with what a fit of all its sets found.
type forest struct {
	schema *model.Schema
	part   *lift.Part
}

// forestColumns maps the paper's short names to the columns of Covertype, in the order of the file.
var forestColumns = [][2]string{
	{"E", "Elevation"}, {"A", "Aspect"}, {"S", "Slope"}, {"HH", "Horizontal_Distance_To_Hydrology"}, {"VH", "Vertical_Distance_To_Hydrology"},
	{"HR", "Horizontal_Distance_To_Roadways"}, {"H9", "Hillshade_9am"}, {"HN", "Hillshade_Noon"}, {"H3", "Hillshade_3pm"}, {"HF", "Horizontal_Distance_To_Fire_Points"},
}

func readForest(ctx context.Context, a *app, dir string) (*forest, error) {
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
	ev, err := a.evidence(ctx, s, path)
	if err != nil {
		return nil, err
	}
	if ev.Len() != 581012 {
		return nil, fmt.Errorf("%s has %s, Covertype has 581,012", path, count(ev.Len(), "record"))
	}
	if onTerminal(a.err) {
		a.notef("searching the 1,023 sets of Covertype")
	}
	o := lift.Options{Quantiles: 5, Sets: lift.SetOptions{Min: 1, Max: 10, Search: lift.Exhaustive, Top: 1023}, Windows: lift.WindowOptions{Top: 10}}
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

func (r *reproduction) forestSet() error {
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
	{"(E,HH,HF)", "Q5", "0.38"}, {"(E,A,HH,HF)", "Q5", "0.38"}, {"(E,HH)", "Q5", "0.37"}, {"(E,A,HH)", "Q5", "0.37"}, {"(E,HH,VH,HF)", "Q5", "0.37"},
	{"(E,A,HH,VH,HF)", "Q5", "0.36"}, {"(E,HH,HF)", "Q1 Q5", "0.36"}, {"(E,A,HH,VH)", "Q5", "0.36"}, {"(E,HH,VH)", "Q5", "0.36"}, {"(E,HH)", "Q1 Q5", "0.36"},
}

func (r *reproduction) forestWindows() error {
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
	{"(E,HH,HF)", "1.87", 4}, {"(E,HH,HR)", "1.63", 1}, {"(E,HH,HR,HF)", "4.96", 0}, {"(E,HH,HF)", "5.00", 0}, {"(E,HR,HF)", "3.31", 1}, {"(E,HH,HF)", "4.90", 0}, {"(E,HH)", "4.89", 4},
}

func (r *reproduction) forestProfiles() error {
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

// evidence reads all labelled records of a file under a schema whose label is the column class.
func (a *app) evidence(ctx context.Context, s *model.Schema, path string) (*model.Evidence, error) {
	b := model.NewBuilder(&model.Spec{Schema: s, Scorecard: propensity.New(propensity.Default(), s)})
	o := file.Options{Codec: codec.Options{Schema: s, Label: "class", Missing: []string{"", "?"}}, RequireLabel: true}
	if _, err := a.collect(ctx, []string{path}, o, b.Add); err != nil {
		return nil, err
	}
	return b.Evidence(), nil
}
