package assemble

import "liftstream/model/evaluate"

// Value is the worth of the label, the zero value of none: without the section value, and where it has goals and no
// other key than with its default. Everybody pays by the defaults, which nobody asks for beside the values of goals.
func (s *Stage) Value() evaluate.Value {
	v := s.Config.Value
	if v == nil || len(v.Goals) > 0 && v.Hit == 1 && v.Contact == 0 {
		return evaluate.Value{}
	}
	return evaluate.Value{Hit: v.Hit, Contact: v.Contact}
}

// GoalValues are the values of the goals that the section value lists, by their columns.
func (s *Stage) GoalValues() map[string]evaluate.Value {
	values := map[string]evaluate.Value{}
	if s.Config.Value != nil {
		for _, g := range s.Config.Value.Goals {
			values[g.Goal] = evaluate.Value{Hit: g.Hit, Contact: g.Contact}
		}
	}
	return values
}
