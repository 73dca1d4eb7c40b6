package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestListsAndExpressionsEndAtTheirLimits: as TestLimitsHoldAtTheirEnds, of what is counted within a text or a list of
// a feature, and of numbers that two keys bound together.
func TestListsAndExpressionsEndAtTheirLimits(t *testing.T) {
	sections := func(name, pattern string) func(n int) string {
		return func(n int) string {
			out := make([]string, n)
			for i := range out {
				out[i] = fmt.Sprintf(pattern, i)
			}
			return minimal + name + ": {" + strings.Join(out, ", ") + "}\n"
		}
	}
	feature := func(keys string) string {
		return strings.Replace(minimal, "{name: age, kind: continuous}", "{name: age, kind: continuous, "+keys+"}", 1)
	}
	segment := func(condition string) string { return minimal + "segments: {s: '" + condition + "'}\n" }
	derived := func(expression string) string { return minimal + "derive: {d: '" + expression + "'}\n" }
	goals := func(n int) string {
		of := list(n, "{column: g%[1]d, classes: [n, y]}")
		return strings.Replace(minimal, "record:\n", "record:\n  goals: ["+of+"]\n", 1)
	}
	value := func(goal string) string { return goals(1) + "value: {hit: 9, goals: [{goal: g0, " + goal + "}]}\n" }
	nested := func(n int) string { return derived(strings.Repeat("log(", n) + "age" + strings.Repeat(")", n)) }
	blanks := strings.Repeat(" ", maxExpression-len("log(age)"))
	for _, c := range []struct{ name, taken, refused, says string }{
		{"segments", sections("segments", "s%d: age>1")(MaxSegments), sections("segments", "s%d: age>1")(MaxSegments + 1),
			"at most 50 are possible"},
		{"comparisons", segment(strings.Repeat("age>1&", 63) + "age>1"), segment(strings.Repeat("age>1&", 64) + "age>1"),
			"at most 64 comparisons"},
		{"parentheses", segment(strings.Repeat("(", 16) + "age>1" + strings.Repeat(")", 16)),
			segment(strings.Repeat("(", 17) + "age>1" + strings.Repeat(")", 17)), "at most 16 inside of each other"},
		{"parentheses beside others", segment(strings.Repeat("((age>1))|", 20) + strings.Repeat("(", 16) + "age>1" +
			strings.Repeat(")", 16)), segment("(age>1)|" + strings.Repeat("(", 17) + "age>1" + strings.Repeat(")", 17)),
			"at most 16 inside of each other"},
		{"length of a condition", segment("age>1" + strings.Repeat(" ", maxCondition-5)),
			segment("age>1" + strings.Repeat(" ", maxCondition-4)), "at most 1024 bytes long, not 1025"},
		{"derived features", sections("derive", "d%d: log(age)")(MaxDerived),
			sections("derive", "d%d: log(age)")(MaxDerived + 1), "at most 256 are possible"},
		{"functions", nested(maxNested), nested(maxNested + 1), "at most 8 inside of each other"},
		{"length of an expression", derived("log(age)" + blanks), derived("log(age)" + blanks + " "),
			"at most 1024 bytes long, not 1025"},
		{"goals", goals(MaxGoals), goals(MaxGoals + 1), fmt.Sprintf("at most %d are possible", MaxGoals)},
		{"special codes", feature("special: [" + list(MaxSpecial, "1%d") + "]"),
			feature("special: [" + list(MaxSpecial+1, "1%d") + "]"), fmt.Sprintf("at most %d are possible", MaxSpecial)},
		{"cuts", feature("cuts: [" + list(MaxCuts, "1%03d") + "]"), feature("cuts: [" + list(MaxCuts+1, "1%03d") + "]"),
			fmt.Sprintf("at most %d are possible", MaxCuts)},
		{"ascending cuts", feature("cuts: [1, 1.0000001]"), feature("cuts: [1, 1]"), "cuts ascend"},
		{"a contact as dear as a hit", minimal + "value: {hit: 9, contact: 9}\n",
			minimal + "value: {hit: 9, contact: 9.01}\n", "value.contact must be at most value.hit"},
		{"a contact as dear as the hit of a goal", value("hit: 7, contact: 7"), value("hit: 7, contact: 8"),
			"contact must be at least 0 and at most value.goals[0].hit"},
		{"a contact that costs nothing", value("hit: 7, contact: 0"), value("hit: 7, contact: -1"), "must be at least 0"},
		{"the dearest hit of a goal", value("hit: 1e12"), value("hit: 1.1e12"), "above 0 and at most 1e+12"},
		{"a hit of a goal that brings something", value("hit: 1e-9"), value("hit: 0"), "above 0 and at most 1e+12"},
		{"base rates", minimal + "propensity: {base_rates: {no: 0.5, yes: 0.509}}\n",
			minimal + "propensity: {base_rates: {no: 0.5, yes: 0.511}}\n", "propensity.base_rates"},
		{"base rates below", minimal + "propensity: {base_rates: {no: 0.5, yes: 0.491}}\n",
			minimal + "propensity: {base_rates: {no: 0.5, yes: 0.489}}\n", "propensity.base_rates"},
		{"lowest share of a bin", feature("bins: {min: 0.001}"), feature("bins: {min: 0}"), "above 0 and below 1"},
		{"largest share of a bin", feature("bins: {min: 0.999}"), feature("bins: {min: 1}"), "above 0 and below 1"},
	} {
		if _, _, err := Parse("t.yaml", []byte(c.taken), environment); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_, _, err := Parse("t.yaml", []byte(c.refused), environment)
		if problems, ok := err.(Problems); !ok || len(problems) != 1 || !strings.Contains(problems[0].Message, c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
