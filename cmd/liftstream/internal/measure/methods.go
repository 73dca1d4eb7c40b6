package measure

import (
	"slices"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
)

// methods are the methods of prequential and folds, in the order of the table: by name, the components under the whole
// scorecard, or one component alone.
var methods = []struct {
	name       string
	components []string // under the scorecard
	alone      string
}{
	{name: evaluate.MethodAll, components: []string{lift.Name, local.Name, kernel.Name}},
	{name: "lift", components: []string{lift.Name}},
	{name: "lift+local", components: []string{lift.Name, local.Name}},
	{name: "lift+kernel", components: []string{lift.Name, kernel.Name}},
	{name: "local", alone: local.Name},
	{name: "kernel", alone: kernel.Name},
	{name: "knn", alone: assemble.Neighbours},
	{name: "prior"},
}

// drive returns the methods to run, all first.
func (e *Evaluation) drive(stage *assemble.Stage, frozen func(*model.Spec)) []evaluate.Method {
	wanted := e.Methods
	if len(wanted) == 0 {
		wanted = []string{evaluate.MethodAll, "lift", "prior"}
	}
	var out []evaluate.Method
	for _, m := range methods {
		if !slices.Contains(wanted, m.name) {
			continue
		}
		var spec *model.Spec
		switch {
		case m.alone != "":
			spec = stage.Alone(m.alone)
		case m.components != nil:
			spec = stage.Scoring(m.components...)
		default:
			out = append(out, evaluate.Prior(stage.Spec.Schema))
			continue
		}
		frozen(spec)
		out = append(out, evaluate.Stage(m.name, spec))
	}
	return out
}

func methodNames() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}
