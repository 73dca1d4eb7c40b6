package measure

import (
	"slices"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/model"
	"liftstream/model/evaluate"
)

// drive returns the methods to run, all first.
func (e *Evaluation) drive(stage *assemble.Stage, frozen func(*model.Spec)) ([]evaluate.Method, error) {
	wanted := e.Methods
	if len(wanted) == 0 {
		wanted = []string{evaluate.MethodAll, "lift", "prior"}
	}
	var out []evaluate.Method
	for _, m := range assemble.Methods() {
		if !slices.Contains(wanted, m.Name) {
			continue
		}
		x, err := stage.Method(m, frozen)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// MethodNames names the methods of eval, in the order of its table.
func MethodNames() (names []string) {
	for _, m := range assemble.Methods() {
		names = append(names, m.Name)
	}
	return names
}
