package show

import (
	"strings"
	"testing"

	"liftstream/model"
)

// TestSidesOfAScore: reasons of either side have sentences, the largest first as they come; small ones and terms have
// none, and a score without reasons prints nothing.
func TestSidesOfAScore(t *testing.T) {
	schema := &model.Schema{Features: []model.Feature{{Name: "age"}, {Name: "plan", Kind: model.Ordinal,
		Levels: []string{"basic", "plus"}}, {Name: "job", Kind: model.Ordinal, Levels: []string{"a"}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	s := &model.Scores{}
	s.Reset(1, 2)
	s.Target[0] = 1
	var b strings.Builder
	if err := Sides(&b, schema, model.NewLevels(schema), s); err != nil || b.String() != "" {
		t.Errorf("without reasons: %v %q", err, b.String())
	}
	s.Why = []model.Reason{{Feature: 1, Value: 1, Effect: .405}, {Feature: 0, Value: 41.5, Effect: -.2},
		{Feature: 2, Value: nan, Effect: -.15}, {Feature: 0, Value: 1, Effect: .05},
		{Feature: model.TermIntercept, Effect: -2}}
	s.WhyEnd[0] = int32(len(s.Why))
	s.Intervals, s.IntervalLevel = []model.Interval{{Low: .1, High: .25}}, .9
	want := `
the propensity of yes lies between 0.100 and 0.250 in 90 % of such records

for yes:
  plan = plus raises the odds of yes by a factor of 1.50

against yes:
  age = 41.5 lowers the odds of yes by a factor of 0.82
  job is missing: it lowers the odds of yes by a factor of 0.86
`
	if err := Sides(&b, schema, model.NewLevels(schema), s); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}
