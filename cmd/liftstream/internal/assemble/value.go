package assemble

import "liftstream/model/evaluate"

// Value is the section value of the configuration; the zero value without one.
func (s *Stage) Value() evaluate.Value {
	v := s.Config.Value
	if v == nil {
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
