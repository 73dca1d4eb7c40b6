package factsheet

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// TestGoalsHaveASection: the section tells of each goal, with names that would break a page, and there is none without
// goals.
func TestGoalsHaveASection(t *testing.T) {
	in := input(3, 2)
	find := func(s *Sheet) *Section {
		for i := range s.Sections {
			if s.Sections[i].ID == "goals" {
				return &s.Sections[i]
			}
		}
		return nil
	}
	if find(New(in)) != nil {
		t.Error("a section of no goals")
	}
	nan := report.Number(math.NaN())
	goal := report.Goal{Goal: hostile[0], Classes: []string{"no", hostile[1]}, Fitted: true, Records: 900, BaseRate: .4,
		Sets: in.Report.Sets[:1], Features: []report.Feature{{Name: "weak", InformationValue: .1},
			{Name: "strong", InformationValue: .7, Warnings: []string{hostile[2]}}, {Name: "none", InformationValue: nan}}}
	in.Report.Goals = []report.Goal{goal, {Goal: "leaves", Classes: []string{"stays", "leaves"}, BaseRate: nan}}
	in.Evaluation.Goals = []evaluate.Goal{{Goal: hostile[0], Records: 800, BaseRate: .4,
		Metrics: &evaluate.Metrics{AUC: .71, LogLoss: .61, LogLossInterval: evaluate.Interval{.6, .62}},
		Gains: []evaluate.Gain{{Share: .05, Lift: 3}, {Share: .1, Capture: .25, Lift: 2.5,
			LiftInterval: evaluate.Interval{2.2, 2.8}}},
		Profit: &evaluate.Profit{Value: evaluate.Value{Hit: 2, Contact: 1}, Paying: .2, PayingProfit: 77}},
		{Goal: "without figures"}}
	in.Evaluation.Goals[0].Importance = []report.Importance{{Feature: hostile[3], Effect: .5}}
	in.Report.Goals[0].Importance = []report.Importance{{Feature: "of the fit", Effect: .9}}
	in.Report.Goals[1].Importance = []report.Importance{{Feature: "of the fit", Effect: .7}}
	s := New(in)
	x := find(s)
	if x == nil {
		t.Fatal("no section")
	}
	said := strings.Join(x.Text, "\n")
	for _, want := range []string{"10 % of the records with its highest propensity hold 25.0 % of all of it: 2.5 times",
		"brings 77", "leaves has no structure"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if len(x.Blocks) != 7 || x.Blocks[0].Table.Rows[0][3].Text != "0.7100" || len(x.Blocks[0].Table.Rows) != 1 {
		t.Fatalf("blocks %+v", x.Blocks)
	}
	if rows := x.Blocks[3].Table.Rows; rows[0][0].Text != "strong" {
		t.Errorf("the features are %v", rows)
	}
	for k, want := range []string{"0.500", "0.700"} { // that of the evaluation goes before that of the fit
		if rows := x.Blocks[1+k].Table.Rows; len(rows) != 1 || rows[0][1].Text != want {
			t.Errorf("the importances are %v, want %v", rows, want)
		}
	}
	var page bytes.Buffer
	if err := s.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Contains(page.String(), "<img src=x") {
		t.Error("the name of a goal is not escaped")
	}
	// A report of lists that do not fit together makes a shorter table.
	in.Report.Goals[0].Sets[0].Lift = in.Report.Goals[0].Sets[0].Lift[:2]
	in.Report.Goals[0].Sets[0].LiftLow, in.Report.Goals[0].Sets[0].LiftHigh = nil, nil
	if x := find(New(in)); len(x.Blocks[6].Table.Rows) != 2 {
		t.Errorf("%d rows of two lifts", len(x.Blocks[6].Table.Rows))
	}
	// A goal without its classes is left out.
	in.Report.Goals[0].Classes = nil
	if x := find(New(in)); len(x.Blocks) != 3 {
		t.Errorf("%d blocks of a goal without classes", len(x.Blocks)-3)
	}
}
