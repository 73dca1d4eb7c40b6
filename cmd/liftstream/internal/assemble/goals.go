package assemble

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/propensity"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// newGoals returns the component of the goals: each is learnt as the method lift of a stage of that label alone.
func newGoals(c *config.Config, s *model.Schema) model.Factory {
	return model.NewGoals(goalSpecs(c, s))
}

// goalSpecs are the Specs of the goals under the schema of the stage.
func goalSpecs(c *config.Config, s *model.Schema) []*model.Spec {
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
	return specs
}

// goalSections writes the goals of a model into a report.
func (s *Stage) goalSections(m *model.Model, r *report.Report) error {
	specs := goalSpecs(s.Config, s.Spec.Schema)
	parts, err := model.GoalParts(specs, m)
	if err != nil {
		return fmt.Errorf("reading the model's part %s: %w", model.GoalsName, err)
	}
	for k, spec := range specs {
		g := report.Goal{Goal: s.Config.Record.Goals[k].Column, Classes: spec.Schema.Classes, Fitted: parts[k] != nil,
			BaseRate: report.Number(math.NaN()), Sets: []report.Set{}}
		own, of := *m, report.Report{}
		own.Parts = parts[k]
		for _, f := range spec.Components {
			if err := section(f, &own, &of); err != nil {
				return fmt.Errorf("goal %s: %w", g.Goal, err)
			}
		}
		if of.Sets != nil {
			g.Sets = of.Sets
		}
		r.Goals = append(r.Goals, g)
	}
	return nil
}

// shownSets is the number of sets that PrintGoals names of a goal.
const shownSets = 5

// PrintGoals prints the goals of a model, nothing where it has none. names are those of the configuration, nil where it
// is not at hand.
func PrintGoals(w io.Writer, m *model.Model, names []string) error {
	goals, err := model.GoalsIn(m)
	if err != nil {
		return fmt.Errorf("reading the model's part %s: %w", model.GoalsName, err)
	}
	s := *m.Schema()
	s.Classes, s.Positive = []string{"0", "1"}, 1
	var rows [][]string
	for k, g := range goals {
		name := strconv.Itoa(k + 1)
		if len(names) == len(goals) {
			name = names[k]
		}
		if g.Parts == nil {
			rows = append(rows, []string{name, "no structure", "", fmt.Sprintf("base rates of records of weight %s, %s of "+
				"them of the positive class", text.Number(g.Seen[0]+g.Seen[1]), text.Number(g.Seen[1]))})
			continue
		}
		size := 0
		for _, b := range g.Parts {
			size += len(b)
		}
		sets, err := lift.EnteredNames(&s, g.Parts[lift.Name])
		if err != nil {
			return fmt.Errorf("goal %s: %w", name, err)
		}
		rows = append(rows, []string{name, "fitted", text.Bytes(int64(size)), cmp.Or(text.Some(sets, shownSets), "-")})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return text.Table(w, "", []string{"goal", "", " size", "in its scorecard beside the single features"}, rows)
}

// ReportGoals adds the records of a fit to the goals of its report: how many tell each goal, its base rate, and the
// features alone. The records stand as those of the fit of m did.
func (s *Stage) ReportGoals(records *model.Builder, m *model.Model, r *report.Report) {
	specs := goalSpecs(s.Config, s.Spec.Schema)
	for k := range r.Goals {
		g, ev := &r.Goals[k], records.GoalEvidence(k, specs[k].Schema, m.Info.Exchangeable)
		if g.Records = ev.Len(); g.Records == 0 {
			continue
		}
		var yes, all float64
		for i, class := range ev.Class {
			all += ev.Weight[i]
			yes += ev.Weight[i] * float64(class)
		}
		g.BaseRate, g.Features = report.Number(yes/all), report.Features(ev)
	}
}

// GoalNames are the columns of the goals, in their order.
func (s *Stage) GoalNames() []string { return s.Config.GoalNames() }

func goalColumns(c *config.Config) (goals []codec.Goal) {
	for i := range c.Record.Goals {
		g := &c.Record.Goals[i]
		goals = append(goals, codec.Goal{Column: g.Column, Classes: g.Ordered()})
	}
	return goals
}
