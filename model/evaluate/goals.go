package evaluate

import (
	"fmt"

	"liftstream/model"
)

// Goal has the figures of a goal, a further label of two classes: those of the records of which it is known.
type Goal struct {
	Goal     string `json:"goal"`
	Records  int    `json:"records"` // known, and not among the skipped
	BaseRate Number `json:"base_rate"`
	*Metrics
	// Gains are those of the propensity of its positive class; Profit is there where its value is given.
	Gains  []Gain  `json:"gains"`
	Profit *Profit `json:"profit,omitempty"`
}

// goalSet is the scores of a goal.
type goalSet struct {
	name  string
	value Value
	set   *Set
}

// Goals has the figures of the goals of these names taken, in the order of model.Outcomes. values has, by name, the
// values of the goals whose profit is asked for. It comes before the first record.
func (e *Evaluation) Goals(names []string, values map[string]Value) {
	for _, name := range names {
		e.goals = append(e.goals, goalSet{name, values[name], NewSet(2)})
	}
}

// addGoals takes the goals of a record that are known.
func (e *Evaluation) addGoals(r *Record) error {
	if r.Index < e.skip || len(e.goals) == 0 {
		return nil
	}
	out := r.Scores[e.lead]
	n := len(out.Goals) / max(out.N, 1)
	for k, g := range e.goals {
		class := r.outcomes.Of(k)
		if class < 0 || k >= n {
			continue
		}
		p := out.Goals[r.Row*n+k]
		if err := g.set.Add(r.Index, []float64{1 - p, p}, class, r.Weight); err != nil {
			return fmt.Errorf("goal %s: %w", g.name, err)
		}
	}
	return nil
}

// goalFigures are the figures of the goals; nil where the method of the gains has none.
func (e *Evaluation) goalFigures() (goals []Goal) {
	for _, g := range e.goals {
		x := Goal{Goal: g.name, Records: g.set.Len()}
		if x.Records == 0 {
			continue
		}
		g.set.Sort()
		var yes, all float64
		for i, class := range g.set.Class {
			all += g.set.Weight[i]
			yes += g.set.Weight[i] * float64(class)
		}
		x.BaseRate, x.Metrics = Number(yes/all), figures(g.set, 1, e.seed)
		x.Gains = g.set.Gains(1)
		x.Profit, x.GiniInterval = gainsIntervals(g.set, x.Gains, 1, g.value, e.seed)
		goals = append(goals, x)
	}
	return goals
}

// outcomesOf returns the outcomes of row i without texts that are no class.
func outcomesOf(b *model.Batch, i int) model.Outcomes {
	if b.Outcomes == nil {
		return 0
	}
	o, _ := b.Outcomes[i].Listed()
	return o
}

// known reports whether a class, or that of a goal, is known.
func known(class int32, o model.Outcomes) bool { return class >= 0 || o != 0 }
