package config

import (
	"fmt"
	"reflect"
	"testing"
)

// A list of labels is its first label with the others as goals.
func TestAListOfLabels(t *testing.T) {
	const record = "name: bank\nrecord:\n  label: %s\n  features: [{name: age, kind: continuous}]\n%s"
	for _, c := range []struct {
		name, label, rest string
		goals             []Goal
	}{
		{"a label", "{column: a, classes: [no, yes]}", "", nil},
		{"a list of one", "[{column: a, classes: [no, yes]}]", "", nil},
		{"a list", "[{column: a, classes: [no, yes]}, {column: b}, {column: c, classes: [0, 1], positive: 0}]", "",
			[]Goal{{"b", []string{"no", "yes"}, ""}, {"c", []string{"0", "1"}, "0"}}},
		{"goals by their key", "{column: a, classes: [no, yes]}", "  goals: [{column: b}]\n",
			[]Goal{{"b", []string{"no", "yes"}, ""}}},
	} {
		got, _, err := Parse(c.name, fmt.Appendf(nil, record, c.label, c.rest), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if l := got.Record.Label; l.Column != "a" || !reflect.DeepEqual(got.Record.Goals, c.goals) {
			t.Errorf("%s: label %+v, goals %+v, want %+v", c.name, l, got.Record.Goals, c.goals)
		}
	}
	both := fmt.Sprintf(record, "[{column: a, classes: [no, yes]}, {column: b}]", "  goals: [{column: c}]\n")
	if _, _, err := Parse("both", []byte(both), nil); err == nil {
		t.Error("a list of labels and a list of goals are taken together")
	}
	for goal, want := range map[*Goal][]string{
		{Classes: []string{"0", "1"}}:                {"0", "1"},
		{Classes: []string{"0", "1"}, Positive: "0"}: {"1", "0"},
	} {
		if got := goal.Ordered(); !reflect.DeepEqual(got, want) {
			t.Errorf("the classes of %+v are %v, want %v", *goal, got, want)
		}
	}
}

// A configuration without goals keeps its fingerprint, and a goal changes it.
func TestGoalsAreInTheFingerprint(t *testing.T) {
	parse := func(label string) uint64 {
		const text = "name: bank\nrecord:\n  label: %s\n  features: [{name: age, kind: continuous}]\n"
		c, _, err := Parse("x", fmt.Appendf(nil, text, label), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Fingerprint()
	}
	const label = "{column: a, classes: [no, yes]}"
	if parse(label) != parse("["+label+"]") {
		t.Error("a list of one label has another fingerprint than the label")
	}
	if one := parse("[" + label + ", {column: b}]"); one == parse(label) || one == parse("["+label+", {column: c}]") {
		t.Error("a goal leaves the fingerprint as it is")
	}
}
