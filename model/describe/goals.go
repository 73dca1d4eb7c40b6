package describe

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// GoalColumn has the findings about the column of a goal, a further outcome of two classes beside the label.
type GoalColumn struct {
	Name    string
	Classes []Count // the positive one last: that of a usual pair, such as yes beside no, else the rarer one
}

// goalColumns are the numbers of the columns of the goals, in the order of the options.
func goalColumns(t Table, o Options) ([]int, error) {
	at := make([]int, len(o.Goals))
	for k, name := range o.Goals {
		at[k] = slices.Index(t.Columns, name)
		switch {
		case at[k] < 0:
			return nil, fmt.Errorf("the goal column %q does not exist: the columns are %s", name,
				strings.Join(t.Columns, ", "))
		case name == o.Label || name == o.ID || name == o.Time || slices.Contains(o.Goals[:k], name):
			return nil, fmt.Errorf("the goal %q is another outcome, the id or the time already: each is a column of its own",
				name)
		case t.format(at[k]).Refused != "":
			return nil, fmt.Errorf("the goal column %q holds no classes: %s", name, t.format(at[k]).Refused)
		}
	}
	return at, nil
}

// countGoal counts a cell of a goal; three texts are enough to see that it has more than two classes.
func countGoal(n map[string]int64, text string) {
	if _, ok := n[text]; !ok {
		if len(n) > 2 {
			return
		}
		text = strings.Clone(text)
	}
	n[text]++
}

// settleGoals settles on the classes of the goals. One of a single class in the file has the other one of a pair that
// is usual, such as no beside yes; there is no other.
func settleGoals(d *Description, t Table, at []int, counted map[int]map[string]int64) error {
	if len(at) > 0 && len(d.Classes) > 2 {
		return fmt.Errorf("the label column %q has %d classes, and goals stand beside a label of two: make it an outcome of "+
			"two classes, or leave the goals out", d.Label, len(d.Classes))
	}
	for _, c := range at {
		g := GoalColumn{Name: t.Columns[c]}
		for text, n := range counted[c] {
			g.Classes = append(g.Classes, Count{text, n})
		}
		switch len(g.Classes) {
		case 0:
			return fmt.Errorf("the goal column %q is empty in each record (%s)", g.Name, count(d.Records))
		case 1:
			only := g.Classes[0].Text
			other := opposite(only)
			if other == "" {
				return fmt.Errorf("the goal column %q has one value, %q: a goal has two classes", g.Name, only)
			}
			g.Classes = append(g.Classes, Count{Text: other})
			d.warn(g.Name, WarnOneClass, "every record of which it is known is of class %q: there is nothing to learn yet", only)
			if slices.Contains(positives, only) {
				slices.Reverse(g.Classes)
			}
		case 2:
			slices.SortFunc(g.Classes, func(a, b Count) int {
				if opposite(a.Text) == b.Text {
					return slices.Index(positives, a.Text) - slices.Index(positives, b.Text)
				}
				if a.N != b.N {
					return int(max(min(b.N-a.N, 1), -1))
				}
				return strings.Compare(a.Text, b.Text) // no before yes, 0 before 1
			})
		default:
			return fmt.Errorf("the goal column %q has more than two classes: %s; a goal has two, and one of several classes "+
				"is a label of its own", g.Name, someTexts(counted[c]))
		}
		if known := g.known(); known < d.Records {
			d.warn(g.Name, WarnUnlabelled, "%s of %s records do not tell this goal: it is learnt when it becomes known",
				count(d.Records-known), count(d.Records))
		}
		d.Goals = append(d.Goals, g)
	}
	return nil
}

// known is the number of records that tell the goal.
func (g *GoalColumn) known() (n int64) {
	for _, c := range g.Classes {
		n += c.N
	}
	return n
}

func someTexts(n map[string]int64) string {
	var texts []string
	for text := range n {
		texts = append(texts, fmt.Sprintf("%q", text))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// positives and negatives are usual pairs of classes, in the texts by which a stage compares them.
var (
	positives = []string{"yes", "1", "true", "y", "Yes", "YES"}
	negatives = []string{"no", "0", "false", "n", "No", "NO"}
)

// opposite is the other class of a usual pair, "" of another text.
func opposite(text string) string {
	if i := slices.Index(positives, text); i >= 0 {
		return negatives[i]
	}
	if i := slices.Index(negatives, text); i >= 0 {
		return positives[i]
	}
	return ""
}

// goalColumn is the column of a goal: nothing else is measured of it.
func goalColumn(name string) Column {
	return Column{Name: name, Role: Goal, AUC: math.NaN(), AUCBlocks: math.NaN()}
}

// goalLeaks takes out the features that give a goal away: the features of a stage are the same for all of its
// outcomes. It reads the table once for each goal.
func goalLeaks(d *Description, t Table, at []int, profiles []profile) error {
	for k, c := range at {
		g := &d.Goals[k]
		own := Description{Name: d.Name, Records: d.Records, Label: g.Name, Classes: g.Classes, Positive: g.Classes[1].Text,
			ID: d.ID, Time: d.Time, Missing: d.Missing, units: d.units, quoted: d.quoted}
		own.Columns = slices.Clone(d.Columns)
		if err := own.leaks(t, c, profiles); err != nil {
			return err
		}
		for i := range own.Columns {
			x, col := &own.Columns[i], &d.Columns[i]
			if x.Role == Leak && col.Role == Feature {
				col.Role, col.Why = Leak, fmt.Sprintf("of the goal %s: %s", g.Name, x.Why)
			}
		}
		for _, w := range own.Warnings {
			if w.Kind != WarnLater { // that of the label says so
				d.warn(w.Column, w.Kind, "of the goal %s: %s", g.Name, w.Text)
			}
		}
	}
	return nil
}

// goalLines writes the goals.
func goalLines(d *Description, line func(format string, args ...any)) {
	if len(d.Goals) == 0 {
		return
	}
	line("  goals:  # further outcomes; a score has the propensity of the second class of each: swap the two if you " +
		"ask for the first")
	for i := range d.Goals {
		line("    - %s  # %s", d.Goals[i].yaml(), d.Goals[i].facts())
	}
}

// yaml is the entry of the goal in a list in flow style.
func (g *GoalColumn) yaml() string {
	return fmt.Sprintf("{column: %s, classes: [%s, %s]}", scalar(g.Name), scalar(g.Classes[0].Text),
		scalar(g.Classes[1].Text))
}

// facts is the text of the comment on a goal.
func (g *GoalColumn) facts() string {
	n := g.known()
	first, second := percent(g.Classes[0].N, n), percent(g.Classes[1].N, n)
	return comment(fmt.Sprintf("%s and %s of %s records", first, second, count(n)))
}

// goalNames are the names of the columns of the lift and of the reasons of each goal: the configuration asks for them.
func goalNames(d *Description) (names []string) {
	for i := range d.Goals {
		names = append(names, "lift_"+d.Goals[i].Name, "why_"+d.Goals[i].Name)
	}
	return names
}

// classNames are the names of the classes.
func classNames(d *Description) []string {
	names := make([]string, len(d.Classes))
	for i, k := range d.Classes {
		names[i] = k.Text
	}
	return names
}
