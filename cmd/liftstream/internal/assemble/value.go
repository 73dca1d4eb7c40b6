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
