package show

import (
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// TestGoalsOfARecord: each goal has its propensity and its reasons; one without a model says so.
func TestGoalsOfARecord(t *testing.T) {
	schema := &model.Schema{Features: []model.Feature{{Name: "age"}}, Classes: []string{"no", "yes"}, Positive: 1}
	s := &model.Scores{}
	s.Reset(1, 2)
	names := []string{"clicks", "leaves"}
	var b strings.Builder
	if err := Goals(&b, schema, model.NewLevels(schema), s, names); err != nil || b.String() != "" {
		t.Errorf("without goals: %v %q", err, b.String())
	}
	s.Goals, s.GoalLift = []float64{.8, .5}, []float64{2, nan}
	s.GoalWhy = []model.Reason{{Feature: 0, Value: 41.5, Effect: .405}, {Feature: model.TermIntercept, Effect: -2}}
	s.GoalWhyEnd = []int32{2, 2}
	want := `
goal clicks: 0.800, 2.00 times its base rate

for clicks:
  age = 41.5 raises the odds of clicks by a factor of 1.50

goal leaves: 0.500, no model knows the goal: a base rate
`
	if err := Goals(&b, schema, model.NewLevels(schema), s, names); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}

// TestGoalsOfAFit: the features are in the order of their information, a warning that the label has too is told once,
// and a goal without a structure says so.
func TestGoalsOfAFit(t *testing.T) {
	r := &report.Report{Features: []report.Feature{{Name: "age", Warnings: []string{"always missing"}}},
		Goals: []report.Goal{{Goal: "clicks", Classes: []string{"no", "yes"}, Records: 90, BaseRate: .4, Fitted: true,
			Features: []report.Feature{{Name: "age", InformationValue: .1, Warnings: []string{"always missing"}},
				{Name: "plan", InformationValue: .5, Warnings: []string{"is it known before?"}}}},
			{Goal: "leaves", Classes: []string{"no", "yes"}}}}
	var b strings.Builder
	if err := reportGoals(&b, r, ""); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"plan (0.500), age (0.100)", "40.0 %", "not fitted",
		"note: plan, for the goal clicks: is it known before?"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "always missing") {
		t.Errorf("a warning is told twice:\n%s", got)
	}
	b.Reset()
	if err := reportGoals(&b, &report.Report{}, ""); err != nil || b.String() != "" {
		t.Errorf("without goals: %v %q", err, b.String())
	}
}

// TestGainsOfGoalsArePrinted with the profit of the goals that have a value.
func TestGainsOfGoalsArePrinted(t *testing.T) {
	var b strings.Builder
	r := &evaluate.Result{Goals: []evaluate.Goal{{Goal: "clicks", Records: 100, BaseRate: .4,
		Metrics: &evaluate.Metrics{AUC: .7}, Gains: []evaluate.Gain{{Share: .05, Lift: 3}, {Share: .1, Lift: 2.5},
			{Share: .15, Lift: 9}}, Profit: &evaluate.Profit{Value: evaluate.Value{Hit: 2, Contact: 1}, PayingProfit: 77}},
		{Goal: "leaves", Metrics: &evaluate.Metrics{}}}}
	if err := evaluationGoals(&b, r); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "2.50") || strings.Contains(got, "9.00") ||
		strings.Count(got, "profit of") != 1 || !strings.Contains(got, "profit of clicks at 2 a hit and 1 a contact: 77") {
		t.Errorf("%s", got)
	}
}
