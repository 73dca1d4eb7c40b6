package assemble

import (
	"fmt"
	"testing"

	"liftstream/model/evaluate"
)

// TestTheValueOfGoalsIsNoneOfTheLabel: a section of goals alone gives the label no value, by which everybody would pay.
func TestTheValueOfGoalsIsNoneOfTheLabel(t *testing.T) {
	const goals = "goals: [{goal: clicked, hit: 3, contact: .5}]"
	for text, want := range map[string]evaluate.Value{
		"":                                    {},
		"value: {}":                           {Hit: 1},
		"value: {" + goals + "}":              {},
		"value: {contact: .2, " + goals + "}": {Hit: 1, Contact: .2},
		"value: {hit: 2, " + goals + "}":      {Hit: 2},
		"value: {hit: 2, contact: 1, " + goals + "}": {Hit: 2, Contact: 1},
	} {
		s := stage(t, fmt.Sprintf(goalsText, "["+bought+", "+clicked+"]", "correct")+text)
		if got := s.Value(); got != want || got.Given() != (want.Hit > 0) {
			t.Errorf("%s: the label has %+v, want %+v", text, got, want)
		}
	}
}
