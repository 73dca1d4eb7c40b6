package assemble

import (
	"slices"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/propensity"
)

// newGoals returns the component of the goals: each is learnt as the method lift of a stage of that label alone.
func newGoals(c *config.Config, s *model.Schema) model.Factory {
	scorecard, err := scorecardOptions(c)
	if err != nil {
		panic("assemble: " + err.Error()) // New has returned it
	}
	var specs []*model.Spec
	for i := range c.Record.Goals {
		schema := model.Schema{Features: slices.Clone(s.Features), Classes: c.Record.Goals[i].Ordered(), Positive: 1}
		for f := range schema.Features { // directions are those of the label
			schema.Features[f].Monotone, schema.Features[f].Trend = model.Free, model.Free
		}
		spec, o := &model.Spec{Schema: &schema}, scorecard
		for _, x := range components {
			if x.base {
				spec.Components = append(spec.Components, x.scoring(c, &schema))
			}
		}
		o.Blocks = propensity.BlocksOf(spec)
		spec.Scorecard = propensity.New(o, &schema)
		specs = append(specs, spec)
	}
	return model.NewGoals(specs)
}

// GoalNames are the columns of the goals, in their order.
func (s *Stage) GoalNames() (names []string) {
	for i := range s.Config.Record.Goals {
		names = append(names, s.Config.Record.Goals[i].Column)
	}
	return names
}

func goalColumns(c *config.Config) (goals []codec.Goal) {
	for i := range c.Record.Goals {
		g := &c.Record.Goals[i]
		goals = append(goals, codec.Goal{Column: g.Column, Classes: g.Ordered()})
	}
	return goals
}
