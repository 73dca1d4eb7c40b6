// Package groups tells which records belong together where figures are taken by group: named segments, which are
// conditions on the values of a record.
//
// Begin at Condition; Segment gives one a name. model/evaluate takes the figures.
package groups

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Operator compares a value of a record with that of a condition.
type Operator uint8

const (
	Equal Operator = iota
	NotEqual
	Less
	AtMost
	More
	AtLeast
)

// Condition says of each record whether it meets it: any part of Any, or each part of All, or else the comparison. It
// is immutable and may be shared.
type Condition struct {
	Any, All []Condition
	// Feature is an index of Schema.Features, of the comparison value-of-the-record Operator value.
	Feature  int
	Operator Operator
	// Missing compares with a missing value, by Equal or NotEqual.
	Missing bool
	Number  float64 // of a continuous feature
	// Codes are the special codes of a continuous feature: they have no place in its order.
	Codes []float64
	Level string // canonical text of another one
	// Order lists the levels of an ordinal feature, for which Rank is the place of Level.
	Order []string
	Rank  int
}

// Segment is a condition with a name.
type Segment struct {
	Name string
	Condition
}

// NewComparison returns the comparison of a feature with the text of a level, or with a number if it is continuous.
// It fails for a feature that the schema does not have, an order among nominal levels, and levels that are not listed.
func NewComparison(s *model.Schema, feature string, op Operator, missing bool, level string, number float64,
) (Condition, error) {
	c := Condition{Feature: s.Feature(feature), Operator: op, Missing: missing, Number: number, Rank: -1}
	if c.Feature < 0 {
		return c, fmt.Errorf("comparing %q: there is no such feature", feature)
	}
	f := &s.Features[c.Feature]
	if c.Missing || f.Kind == model.Continuous {
		c.Codes = f.Special
		return c, nil
	}
	canonical := func(text string) string { return string(model.CanonicalText(nil, []byte(text))) }
	if c.Level = canonical(level); len(f.Levels) > 0 {
		for _, l := range f.Levels {
			c.Order = append(c.Order, canonical(l))
		}
		if c.Rank = slices.Index(c.Order, c.Level); c.Rank < 0 {
			return c, fmt.Errorf("comparing %q: %q is not one of its levels", feature, level)
		}
	}
	if op > NotEqual && f.Kind == model.Nominal {
		return c, fmt.Errorf("comparing %q: nominal levels have no order", feature)
	}
	return c, nil
}

// Holds reports whether record i of the batch meets the condition. A missing value meets none but that of Missing, and
// neither a level beyond those of an ordinal feature nor a special code meets one of an order.
func (c *Condition) Holds(b *model.Batch, i int) bool {
	switch {
	case len(c.Any) > 0:
		for k := range c.Any {
			if c.Any[k].Holds(b, i) {
				return true
			}
		}
		return false
	case len(c.All) > 0:
		for k := range c.All {
			if !c.All[k].Holds(b, i) {
				return false
			}
		}
		return true
	}
	v := &b.Columns[c.Feature]
	if v.Float != nil {
		return c.number(v.Float[i])
	}
	code := v.Code[i]
	if absent := code == model.MissingCode; absent || c.Missing {
		return c.Missing && absent == (c.Operator == Equal)
	}
	return c.level(v.Levels[code])
}

func (c *Condition) number(v float64) bool {
	if absent := math.IsNaN(v) || math.IsInf(v, 0); absent || c.Missing {
		return c.Missing && absent == (c.Operator == Equal)
	}
	return (c.Operator <= NotEqual || !slices.Contains(c.Codes, v)) && c.Operator.holds(v, c.Number)
}

// level compares a text as the records have it: a canonical one, for levels are told apart by it.
func (c *Condition) level(text string) bool {
	if c.Operator <= NotEqual {
		return (text == c.Level) == (c.Operator == Equal)
	}
	rank := slices.Index(c.Order, text)
	return rank >= 0 && c.Operator.holds(float64(rank), float64(c.Rank))
}

func (o Operator) holds(a, b float64) bool {
	switch o {
	case Equal:
		return a == b
	case NotEqual:
		return a != b
	case Less:
		return a < b
	case AtMost:
		return a <= b
	case More:
		return a > b
	default:
		return a >= b
	}
}
