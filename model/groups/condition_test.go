package groups

import (
	"math"
	"testing"

	"liftstream/model"
)

func schema() *model.Schema {
	return &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "x", Kind: model.Continuous}, {Name: "plan", Kind: model.Nominal},
		{Name: "size", Kind: model.Ordinal, Levels: []string{"1.0", "2", "10"}},
		{Name: "fixed", Kind: model.Nominal, Levels: []string{"a", "b"}}}}
}

// TestConditions: each operator at, below and above its value, missing values, unlisted levels, and the joins.
func TestConditions(t *testing.T) {
	s := schema()
	b := &model.Batch{N: 4, Columns: []model.Column{
		{Float: []float64{1, 2, math.NaN(), math.Inf(1)}},
		{Code: []uint32{0, 1, model.MissingCode, 2}, Levels: []string{"plus", "base", "2"}},
		{Code: []uint32{0, 1, model.MissingCode, 2}, Levels: []string{"1", "10", "11"}},
		{Code: []uint32{0, 0, 0, 0}, Levels: []string{"a"}}}}
	comparison := func(feature string, op Operator, missing bool, level string, number float64) Condition {
		t.Helper()
		c, err := NewComparison(s, feature, op, missing, level, number)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plus, above := comparison("plan", Equal, false, "plus", 0), comparison("x", More, false, "", 1)
	for name, c := range map[string]struct {
		condition Condition
		want      [4]bool
	}{
		"x = 1":       {comparison("x", Equal, false, "", 1), [4]bool{true, false, false, false}},
		"x != 1":      {comparison("x", NotEqual, false, "", 1), [4]bool{false, true, false, false}},
		"x < 2":       {comparison("x", Less, false, "", 2), [4]bool{true, false, false, false}},
		"x <= 2":      {comparison("x", AtMost, false, "", 2), [4]bool{true, true, false, false}},
		"x > 1":       {above, [4]bool{false, true, false, false}},
		"x >= 1":      {comparison("x", AtLeast, false, "", 1), [4]bool{true, true, false, false}},
		"x = ?":       {comparison("x", Equal, true, "?", 0), [4]bool{false, false, true, true}},
		"x != ?":      {comparison("x", NotEqual, true, "?", 0), [4]bool{true, true, false, false}},
		"plan = plus": {plus, [4]bool{true, false, false, false}},
		"plan != 2.0": {comparison("plan", NotEqual, false, "2.0", 0), [4]bool{true, true, false, false}},
		"plan = ?":    {comparison("plan", Equal, true, "?", 0), [4]bool{false, false, true, false}},
		"size >= 1.0": {comparison("size", AtLeast, false, "1.0", 0), [4]bool{true, true, false, false}},
		"size > 2":    {comparison("size", More, false, "2", 0), [4]bool{false, true, false, false}},
		"size < 10":   {comparison("size", Less, false, "10", 0), [4]bool{true, false, false, false}},
		"any":         {Condition{Any: []Condition{plus, above}}, [4]bool{true, true, false, false}},
		"all":         {Condition{All: []Condition{plus, above}}, [4]bool{}},
		"all of any": {Condition{All: []Condition{{Any: []Condition{plus, above}}, plus}},
			[4]bool{true, false, false, false}},
	} {
		for i := range b.N {
			if got := c.condition.Holds(b, i); got != c.want[i] {
				t.Errorf("%s, record %d: %v", name, i, got)
			}
		}
	}
}

// TestComparisonsThatCannotBe: a feature, a level or an order that is not there.
func TestComparisonsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		feature string
		op      Operator
		level   string
	}{{"y", Equal, "a"}, {"plan", Less, "plus"}, {"size", Equal, "3"}, {"fixed", NotEqual, "c"}} {
		if _, err := NewComparison(schema(), c.feature, c.op, false, c.level, 0); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestCodesHaveNoOrder: a special code is none of the numbers below or above one, and is met by its own number.
func TestCodesHaveNoOrder(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "x", Special: []float64{-999, 7}}}}
	b := &model.Batch{N: 4, Columns: []model.Column{{Float: []float64{-999, 3, 7, 9}}}}
	for op, want := range map[Operator][4]bool{Less: {false, true, false, false}, AtMost: {false, true, false, true},
		More: {}, AtLeast: {false, false, false, true},
		NotEqual: {true, true, true, false}, Equal: {false, false, false, true}} {
		c, err := NewComparison(s, "x", op, false, "", 9)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			if c.Holds(b, i) != want[i] {
				t.Errorf("operator %d, number %v: %v", op, b.Columns[0].Float[i], !want[i])
			}
		}
	}
	for _, code := range []float64{-999, 7} {
		c, err := NewComparison(s, "x", Equal, false, "", code)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range b.Columns[0].Float {
			if c.Holds(b, i) != (v == code) {
				t.Errorf("x = %v, number %v", code, v)
			}
		}
	}
	c, err := NewComparison(s, "x", More, false, "", 5)
	if err != nil || c.Holds(b, 2) || !c.Holds(b, 3) {
		t.Errorf("x > 5: the code 7 %v, 9 %v, %v", c.Holds(b, 2), c.Holds(b, 3), err)
	}
}
