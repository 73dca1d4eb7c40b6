package assemble

import (
	"fmt"
	"slices"
	"strings"

	"liftstream/config"
	"liftstream/model"
	"liftstream/model/groups"
)

// segments returns the named segments of a configuration, by name, as conditions on the records of the schema.
func segments(c *config.Config, s *model.Schema) ([]groups.Segment, error) {
	var out []groups.Segment
	for name := range c.Segments {
		parsed, err := c.Condition(name)
		if err != nil {
			return nil, fmt.Errorf("reading segments.%s: %w", name, err)
		}
		condition, err := conditionOf(&parsed, s)
		if err != nil {
			return nil, fmt.Errorf("reading segments.%s: %w", name, err)
		}
		out = append(out, groups.Segment{Name: name, Condition: condition})
	}
	slices.SortFunc(out, func(a, b groups.Segment) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func conditionOf(c *config.Condition, s *model.Schema) (groups.Condition, error) {
	if len(c.Any)+len(c.All) == 0 {
		op := map[string]groups.Operator{"=": groups.Equal, "!=": groups.NotEqual, "<": groups.Less, "<=": groups.AtMost,
			">": groups.More, ">=": groups.AtLeast}[c.Operator]
		return groups.NewComparison(s, c.Feature, op, c.Missing, c.Value, c.Number)
	}
	parts := func(from []config.Condition) (to []groups.Condition, err error) {
		for k := range from {
			x, err := conditionOf(&from[k], s)
			if err != nil {
				return nil, err
			}
			to = append(to, x)
		}
		return to, nil
	}
	var out groups.Condition
	var err error
	if out.Any, err = parts(c.Any); err != nil {
		return out, err
	}
	out.All, err = parts(c.All)
	return out, err
}
