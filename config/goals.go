package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// MaxGoals bounds the goals beside the label.
const MaxGoals = 15

// Goal is a further label of a record, of two classes: a record may buy, click and leave at once. It shares the
// features, the learnt records and the waiting ones with the label.
type Goal struct {
	// Column holds the class of a record. Required; it may be null or absent, in events as in labels: the goal is then
	// not known, or not yet. The scores have its propensity in the column propensity_<column>.
	Column string `yaml:"column"`
	// Classes lists its two classes. Default [no, yes]. They are texts; true and 1 are the same value.
	Classes []string `yaml:"classes"`
	// Positive is the class whose propensity the scores have. Default the second one.
	Positive string `yaml:"positive,omitempty"`
}

func (g *Goal) setDefaults() { g.Classes = []string{"no", "yes"} }

// Ordered returns the two classes, the positive one last.
func (g *Goal) Ordered() []string {
	if g.Positive == g.Classes[0] {
		return []string{g.Classes[1], g.Classes[0]}
	}
	return g.Classes
}

// PropensityName is the name of the column of the scores that holds the propensity of the goal.
func (g *Goal) PropensityName() string { return "propensity_" + g.Column }

// splitLabels makes `label: [A, B, ...]` of a record the label A and the goals B, ....
func splitLabels(root *yaml.Node) {
	record := valueOf(root, "record")
	if record == nil {
		return
	}
	for i := 0; i+1 < len(record.Content); i += 2 {
		k, list := record.Content[i], record.Content[i+1]
		if k.Value != "label" || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
			continue
		}
		record.Content[i+1] = list.Content[0]
		if rest := list.Content[1:]; len(rest) > 0 {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "goals", Line: rest[0].Line}
			record.Content = append(record.Content, key,
				&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: rest, Line: rest[0].Line})
		}
		return
	}
}

// valueOf is the value of a key of a mapping, nil where there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// checkGoals holds the goals against the record and against the sections that speak of one label.
func checkGoals(d checker, c *Config, columns map[string]string) {
	const path = "record.goals"
	goals := c.Record.Goals
	if len(goals) == 0 && c.Output.Goals == GoalsWhy {
		d.report("output.goals", "", "output.goals: why is about goals, and the record has none: list them as record.goals")
	}
	if len(goals) > MaxGoals {
		d.report(path, "", "%s lists %d goals; at most %d are possible", path, len(goals), MaxGoals)
	}
	for i := range goals {
		checkGoal(d, c, elementPath(path, i), &goals[i], columns)
	}
	if len(goals) == 0 {
		return
	}
	if len(c.Record.Label.Classes) > 2 {
		d.report("record.label.classes", "", "goals stand beside a label of two classes, not of %d: list no goals, or "+
			"make the classes goals", len(c.Record.Label.Classes))
	}
	if x := c.Control; x != nil && x.Uplift == ControlUpliftOn {
		d.report("control.uplift", "", "control.uplift speaks of one label: it does not go with goals")
	}
	if x := c.Control; x != nil && x.Learn != ControlLearnAll {
		d.report("control.learn", "", "control.learn %s weighs the records of one label: it does not go with goals", x.Learn)
	}
	if c.Labels != nil && c.Labels.OnExpiry != OnExpiryDrop {
		d.report("labels.on_expiry", "", "labels.on_expiry %s tells the class of one label: with goals it must be drop",
			d.quote("labels.on_expiry", c.Labels.OnExpiry))
	}
}

func checkGoal(d checker, c *Config, path string, g *Goal, columns map[string]string) {
	d.require(path+".column", "the column that holds the class", g.Column != "")
	if len(g.Classes) != 2 && d.given(path+".classes") {
		d.report(path+".classes", "", "%s.classes needs the two classes of the goal, not %d", path, len(g.Classes))
	}
	for k, class := range g.Classes {
		d.plainText(elementPath(path+".classes", k), class, "a class")
	}
	d.unique(path+".classes", g.Classes)
	if g.Positive != "" && len(g.Classes) == 2 && !slices.Contains(g.Classes, g.Positive) &&
		!d.unseen(path+".classes") {
		d.report(path+".positive", Nearest(g.Positive, g.Classes), "%s.positive: %s is not one of its classes", path,
			d.quote(path+".positive", g.Positive))
	}
	if g.Column == "" {
		return
	}
	shown := d.quote(path+".column", g.Column)
	d.plainText(path+".column", g.Column, "the column of a goal")
	if role := columns[g.Column]; role != "" {
		d.report(path+".column", "", "%s.column: column %s is already %s", path, shown, role)
		return
	}
	columns[g.Column] = "a goal"
	taken := c.reserved(g.PropensityName())
	for _, class := range c.Record.Label.Classes {
		taken = taken || class == g.Column
	}
	if taken {
		d.report(path+".column", "", "goal %s: the scores have a column %s already: rename it", shown,
			quote(g.PropensityName()))
	}
}

// goalPrefixes begin the names of the columns that scores have of a goal.
func (c *Config) goalPrefixes() []string {
	if c.Output.Goals == GoalsWhy {
		return []string{"propensity_", "lift_", "why_"}
	}
	return []string{"propensity_"}
}

// goalColumn returns the path of the goal of which scores have a column of that name, "" where there is none.
func (c *Config) goalColumn(name string) string {
	for i := range c.Record.Goals {
		goal := c.Record.Goals[i].Column
		if goal != "" && slices.ContainsFunc(c.goalPrefixes(), func(p string) bool { return p+goal == name }) {
			return fmt.Sprintf("record.goals[%d]", i)
		}
	}
	return ""
}

// goal returns the name where it is the column of a goal, else "".
func (c *Config) goal(name string) string {
	for i := range c.Record.Goals {
		if c.Record.Goals[i].Column == name {
			return name
		}
	}
	return ""
}

// Goal reports whether the name is the column of a goal.
func (c *Config) Goal(name string) bool { return c.goal(name) != "" }

// GoalNames are the columns of the goals, in their order.
func (c *Config) GoalNames() (names []string) {
	for i := range c.Record.Goals {
		names = append(names, c.Record.Goals[i].Column)
	}
	return names
}
