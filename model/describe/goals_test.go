package describe

import (
	"fmt"
	"strings"
	"testing"
)

// goalRows are records of a label, of three goals and of features: seen tells clicked, age tells nothing.
func goalRows(n int, goal func(i int, clicked bool) string) [][]string {
	rows := make([][]string, n)
	for i := range rows {
		bought, clicked := uniform(1, i, 0) < .3, uniform(1, i, 1) < .4
		left := "stays"
		if uniform(1, i, 2) < .2 {
			left = "leaves"
		}
		seen := "none"
		if clicked {
			seen = "page"
		}
		rows[i] = []string{fmt.Sprint(20 + int(50*uniform(1, i, 3))), seen, map[bool]string{true: "yes", false: "no"}[bought],
			goal(i, clicked), left}
	}
	return rows
}

var goalHead = []string{"age", "seen", "bought", "clicked", "left"}

// TestGoals: the columns of goals are no features, their classes end with the rarer one, and a feature that gives one
// of them away is none of any.
func TestGoals(t *testing.T) {
	rows := goalRows(3000, func(i int, clicked bool) string {
		switch {
		case i%10 == 3:
			return ""
		case clicked:
			return "1"
		}
		return "0"
	})
	d := describe(t, table(goalHead, rows), Options{Name: "x", Label: "bought", Goals: []string{"clicked", "left"}})
	if c := d.column(t, "seen"); c.Role != Leak || !strings.Contains(c.Why, "of the goal clicked") {
		t.Errorf("seen is %v: %s", c.Role, c.Why)
	}
	if c := d.column(t, "age"); c.Role != Feature {
		t.Errorf("age is %v: %s", c.Role, c.Why)
	}
	text := string(d.YAML())
	for _, want := range []string{`- {column: clicked, classes: ["0", "1"]}`, "- {column: left, classes: [stays, leaves]}",
		"{name: seen, kind: nominal, use: never}", "of 2,700 records", "output: {goals: why}"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "name: clicked") || strings.Contains(text, "name: left") {
		t.Errorf("a goal is a feature:\n%s", text)
	}
	// Without goals the same file says nothing of them.
	one := describe(t, table(goalHead, rows), Options{Name: "x", Label: "bought"})
	if text := string(one.YAML()); strings.Contains(text, "goal") || !strings.Contains(text, "{name: left,") {
		t.Errorf("goals that nobody asked for:\n%s", text)
	}
}

// TestOutcomesThatAreNotKnown: the texts that stand for an unknown outcome are among those that mean missing, so that
// the stage reads its own file.
func TestOutcomesThatAreNotKnown(t *testing.T) {
	rows := goalRows(600, func(i int, clicked bool) string {
		return []string{"N/A", "yes", "no"}[i%3]
	})
	for i := range rows {
		if i%4 == 1 {
			rows[i][2] = "null"
		}
	}
	for _, goals := range [][]string{{"clicked"}, nil} {
		label := "bought"
		want := `missing: ["", "NA", "?", "N/A", "null"]  # 350 cells of this file: 200 "N/A", 150 "null"`
		if goals == nil {
			label, want = "clicked", `missing: ["", "NA", "?", "null", "N/A"]  # 350 cells of this file: 150 "null", 200 "N/A"`
		}
		d := describe(t, table(goalHead, rows), Options{Label: label, Goals: goals})
		if text := string(d.YAML()); !strings.Contains(text, want) {
			t.Errorf("label %s: no %q in\n%s", label, want, text)
		}
	}
}

// TestAFeatureWithTheNameOfAColumnOfAGoal is left out, as one with the name of another column of the scores.
func TestAFeatureWithTheNameOfAColumnOfAGoal(t *testing.T) {
	rows := goalRows(300, func(i int, _ bool) string { return []string{"no", "yes"}[i%2] })
	for _, name := range []string{"propensity_clicked", "lift_clicked", "why_clicked"} {
		head := append([]string{name}, goalHead[1:]...)
		taken := func(classes []string) (names []string) {
			for _, class := range classes {
				names = append(names, "propensity_"+class)
			}
			return names
		}
		o := Options{Label: "bought", Goals: []string{"clicked"}, Taken: taken}
		if c := describe(t, table(head, rows), o).column(t, name); c.Role != Left {
			t.Errorf("%s is %v", name, c.Role)
		}
		o.Goals = nil
		if c := describe(t, table(head, rows), o).column(t, name); c.Role != Feature {
			t.Errorf("without goals %s is %v: %s", name, c.Role, c.Why)
		}
	}
}

// TestThePositiveClassOfAGoal is the one of a usual pair, however frequent, and else the rarer one.
func TestThePositiveClassOfAGoal(t *testing.T) {
	for classes, want := range map[[2]string]string{{"yes", "no"}: `["no", "yes"]`, {"0", "1"}: `["0", "1"]`,
		{"true", "false"}: `["false", "true"]`, {"often", "rarely"}: "[often, rarely]",
		{"gone", "no"}: `[gone, "no"]`} { // the first one is the more frequent
		rows := goalRows(300, func(i int, _ bool) string { return classes[i%3/2] })
		d := describe(t, table(goalHead, rows), Options{Label: "bought", Goals: []string{"clicked"}})
		if text := string(d.YAML()); !strings.Contains(text, "{column: clicked, classes: "+want+"}") {
			t.Errorf("%v:\n%s", classes, text)
		}
	}
}

// TestGoalsOfOneClass: such a goal has the other class of a usual pair.
func TestGoalsOfOneClass(t *testing.T) {
	for only, want := range map[string]string{"no": `["no", "yes"]`, "yes": `["no", "yes"]`, "1": `["0", "1"]`,
		"false": `["false", "true"]`} {
		rows := goalRows(300, func(int, bool) string { return only })
		d := describe(t, table(goalHead, rows), Options{Label: "bought", Goals: []string{"clicked"}})
		if text := string(d.YAML()); !strings.Contains(text, "{column: clicked, classes: "+want+"}") {
			t.Errorf("only %s:\n%s", only, text)
		}
	}
}

// TestGoalsThatAreNone are refused, with the reason.
func TestGoalsThatAreNone(t *testing.T) {
	usual := func(i int, _ bool) string { return []string{"no", "yes"}[i%2] }
	letters := func(i int, _ bool) string { return "abc"[i%3 : i%3+1] }
	for name, c := range map[string]struct {
		goal  func(i int, clicked bool) string
		goals []string
		label string
		want  string
	}{
		"no column":     {usual, []string{"clicks"}, "bought", `"clicks" does not exist`},
		"the label":     {usual, []string{"bought"}, "bought", "another outcome"},
		"twice":         {usual, []string{"left", "left"}, "bought", "another outcome"},
		"empty":         {func(int, bool) string { return "" }, []string{"clicked"}, "bought", "is empty"},
		"three classes": {letters, []string{"clicked"}, "bought", `"a", "b", "c"`},
		"many classes": {func(i int, _ bool) string { return fmt.Sprint(i) }, []string{"clicked"}, "bought",
			"more than two"},
		"one class":        {func(int, bool) string { return "blue" }, []string{"clicked"}, "bought", "one value"},
		"a label of three": {letters, []string{"left"}, "clicked", "goals stand beside a label of two"},
	} {
		_, err := Describe(table(goalHead, goalRows(200, c.goal)), Options{Label: c.label, Goals: c.goals})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
