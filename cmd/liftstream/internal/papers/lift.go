package papers

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/demo"
	"liftstream/model"
	"liftstream/model/lift"
)

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
		counts: [][]float64{{1398, 1111, 667}, {843, 972, 847}, {587, 661, 1267}}, cells: [3]string{2: "0.0575"},
		lift: "1.51"},
}

// counts measures the tables 1 to 3 from their printed counts: the marks of the students were not published.
func (r *Reproduction) counts(name string) error {
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
func (r *Reproduction) votes(ctx context.Context, a *cli.App) error {
	dir, err := os.MkdirTemp("", "liftstream")
	if err != nil {
		return cli.Environment(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv")
	if err := a.WriteFile(path, demo.Find("votes").WriteRecords); err != nil {
		return err
	}
	s := &model.Schema{Classes: []string{"democrat", "republican"}, Positive: -1}
	for _, name := range strings.Fields(`handicapped-infants water-project-cost-sharing adoption-of-the-budget-resolution
		physician-fee-freeze el-salvador-aid religious-groups-in-schools anti-satellite-test-ban aid-to-nicaraguan-contras
		mx-missile immigration synfuels-corporation-cutback education-spending superfund-right-to-sue crime
		duty-free-exports export-administration-act-south-africa`) {
		s.Features = append(s.Features, model.Feature{Name: name, Kind: model.Nominal})
	}
	ev, err := evidence(ctx, a, s, path)
	if err != nil {
		return err
	}
	o := lift.Options{Profiles: lift.ProfileOptions{Top: 16, MinSupport: .15, MaxFeatures: len(questions),
		KeepRedundant: true}}
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
		r.check(what, paper, fmt.Sprintf("%.6f of %.0f", t.Lift(), t.N), int(t.N) == b.n &&
			math.Abs(t.Lift()-want) <= .005*(1+1e-9))
	}
	return r.flush(fmt.Sprintf("Table 5: lift of the votes of 435 members of Congress, and the records that have all "+
		"of them\n"+
		"  its rows are the best of all %d profiles that more than .15 of those records meet", frequent))
}
