package model

import (
	"math"
	"slices"
)

// ExplainGoals appends the lifts and the reasons. A goal without a structure has neither: NaN and none.
func (g *goals) ExplainGoals(row Row, memory []float64, o *Options, out *Scores) {
	p := out.Goals[len(out.Goals)-len(g.all):]
	for k := range g.all {
		x := &g.all[k]
		n := len(x.pending)
		lift := math.NaN()
		if x.structured {
			copy(x.pending, memory[:n]) // the scorecard of the goal scored into memory
			features, terms := x.contributions(row, 1)
			out.GoalWhy = x.appendWhy(out.GoalWhy, o, features, terms, 1)
			lift = p[k] / x.scorecard.BaseRate(1)
		}
		out.GoalLift = append(out.GoalLift, lift)
		out.GoalWhyEnd = append(out.GoalWhyEnd, int32(len(out.GoalWhy)))
		memory = memory[n:]
	}
}

// AppendGoalEffects appends the contributions of the features.
func (g *goals) AppendGoalEffects(row Row, memory []float64, out *Scores) {
	for k := range g.all {
		x := &g.all[k]
		n, from := len(x.pending), len(out.GoalEffects)
		out.GoalEffects = slices.Grow(out.GoalEffects, len(row))[:from+len(row)]
		effects := out.GoalEffects[from:]
		for f := range effects {
			effects[f] = math.NaN()
		}
		if x.structured {
			clear(effects)
			copy(x.pending, memory[:n])
			features, _ := x.contributions(row, 1)
			for i := range features {
				effects[features[i].Feature] = features[i].Effect
			}
		}
		memory = memory[n:]
	}
}

// GoalWhyOf returns the reasons of a goal of record i; the slice is valid until the next Reset. It is for scores that
// have them.
func (s *Scores) GoalWhyOf(i, goal int) []Reason {
	n := len(s.GoalWhyEnd) / s.N
	a, b := span(s.GoalWhyEnd, i*n+goal)
	return s.GoalWhy[a:b]
}

// appendGoals adds a copy of the goals of entry i of o after the last one.
func appendGoals(s, o *Scores, i int) {
	n := len(o.Goals) / max(o.N, 1)
	if n == 0 {
		return
	}
	s.Goals = append(s.Goals, o.Goals[i*n:(i+1)*n]...)
	if len(o.GoalFitted) > 0 {
		s.GoalFitted = append(s.GoalFitted, o.GoalFitted[i*n:(i+1)*n]...)
	}
	if m := len(o.GoalEffects) / o.N; m > 0 {
		s.GoalEffects = append(s.GoalEffects, o.GoalEffects[i*m:(i+1)*m]...)
	}
	if len(o.GoalLift) == 0 {
		return
	}
	s.GoalLift = append(s.GoalLift, o.GoalLift[i*n:(i+1)*n]...)
	for k := range n {
		s.GoalWhy = append(s.GoalWhy, o.GoalWhyOf(i, k)...)
		s.GoalWhyEnd = append(s.GoalWhyEnd, int32(len(s.GoalWhy)))
	}
}

// GoalParts returns the parts of the components and of the scorecard of each goal in a model, by their names: nil of a
// goal without a structure. specs are those of NewGoals.
func GoalParts(specs []*Spec, m *Model) ([]map[string][]byte, error) {
	f := goalsFactory{specs}
	goals, err := f.readPart(m.part(GoalsName))
	if err != nil {
		return nil, err
	}
	parts := make([]map[string][]byte, len(goals))
	for k := range goals {
		parts[k] = goals[k].parts
	}
	return parts, nil
}

// GoalEvidence is the rows taken so far that tell a goal, under the schema of the goal: in an order without meaning, as
// Exchangeable has them, or in their own. It must not be changed, and is valid until the next Add.
func (x *Builder) GoalEvidence(goal int, s *Schema, exchangeable bool) *Evidence {
	if exchangeable {
		return x.exchangeable().ofGoal(goal, s)
	}
	return x.rows.ofGoal(goal, s)
}
