package config

// Value is the worth of the outcome, for audiences and the figures of profit in evaluations. It changes neither scores
// nor states.
type Value struct {
	// Hit is the worth of a record of the wanted class that is talked to, in any currency. Default 1: profit is counted in
	// hits.
	Hit float64 `yaml:"hit"`
	// Contact is the cost of talking to a record, in the same currency. Default 0. It is at most hit: beyond it nobody is
	// worth a contact.
	Contact float64 `yaml:"contact"`
	// Goals are the values of goals (record.goals): Hit and Contact are those of the label. Default none: no profit is
	// told of a goal. Beside goals the label has a value only where Hit or Contact is not its default.
	Goals []GoalValue `yaml:"goals,omitempty"`
}

// GoalValue is the worth of the positive class of a goal.
type GoalValue struct {
	// Goal is the column of the goal. Required.
	Goal string `yaml:"goal"`
	// Hit and Contact are as those of Value.
	Hit     float64 `yaml:"hit"`
	Contact float64 `yaml:"contact"`
}

func (v *GoalValue) setDefaults() { *v = GoalValue{Hit: 1} }

func (v *Value) setDefaults() { *v = Value{Hit: 1} }

// dearest is the upper bound of both keys.
const dearest = 1e12

// checkValue holds the two against each other.
func checkValue(d checker, c *Config) {
	v := c.Value
	if v != nil && v.Hit > 0 && !d.bad["value.hit"] && v.Contact > v.Hit && v.Contact <= dearest {
		d.report("value.contact", "", "value.contact must be at most value.hit: nobody is worth a contact that costs more "+
			"than a hit brings")
	}
	if v == nil {
		return
	}
	seen := map[string]bool{}
	for i := range v.Goals {
		checkGoalValue(d, c, elementPath("value.goals", i), &v.Goals[i], seen)
	}
}

func checkGoalValue(d checker, c *Config, path string, g *GoalValue, seen map[string]bool) {
	d.require(path+".goal", "the column of a goal", g.Goal != "")
	switch {
	case g.Goal == "":
	case !c.Goal(g.Goal) && d.unseen("record.goals"), d.bad[path+".goal"]:
	case !c.Goal(g.Goal):
		d.report(path+".goal", Nearest(g.Goal, c.GoalNames()), "%s.goal: %s is not the column of a goal (record.goals)", path,
			d.quote(path+".goal", g.Goal))
	case seen[g.Goal]:
		d.report(path+".goal", "", "%s.goal: %s has a value already", path, d.quote(path+".goal", g.Goal))
	}
	seen[g.Goal] = true
	if !(g.Hit > 0 && g.Hit <= dearest) {
		d.report(path+".hit", "", "%s.hit must be above 0 and at most %v", path, dearest)
	}
	if !(g.Contact >= 0 && g.Contact <= min(g.Hit, dearest)) {
		d.report(path+".contact", "", "%s.contact must be at least 0 and at most %s.hit", path, path)
	}
}
