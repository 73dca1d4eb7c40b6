package model

import "slices"

// Outcomes are the known classes of the goals of a record, two bits a goal: which of its two classes, or that neither
// is known. 0 = none is.
type Outcomes uint32

// MaxGoals is the largest number of goals beside the label.
const MaxGoals = 15

// States of a goal in Outcomes.
const (
	outcomeUnknown  = 0
	outcomeClass    = 1 // and class 1 one more
	outcomeUnlisted = 3 // a text that is neither class
	outcomeBits     = 2
)

// Of is the class of a goal: 0 or 1, Unlabelled, or UnknownClass.
func (o Outcomes) Of(goal int) int32 {
	switch x := o >> (outcomeBits * goal) & outcomeUnlisted; x {
	case outcomeUnknown:
		return Unlabelled
	case outcomeUnlisted:
		return UnknownClass
	default:
		return int32(x - outcomeClass)
	}
}

// With returns the outcomes with that class of a goal.
func (o Outcomes) With(goal int, class int32) Outcomes {
	x := Outcomes(outcomeUnknown)
	switch {
	case class == UnknownClass:
		x = outcomeUnlisted
	case class >= 0:
		x = outcomeClass + Outcomes(class)
	}
	at := outcomeBits * goal
	return o&^(outcomeUnlisted<<at) | x<<at
}

// Listed returns the outcomes without texts that are neither class, and whether there was one.
func (o Outcomes) Listed() (known Outcomes, unlisted bool) {
	known = o
	for g := range MaxGoals {
		if o.Of(g) == UnknownClass {
			known, unlisted = known.With(g, Unlabelled), true
		}
	}
	return known, unlisted
}

// listed reports whether the class of a goal is known.
func listed(o Outcomes) bool {
	known, _ := o.Listed()
	return known != 0
}

// only returns the outcomes of the goals for which keep holds.
func (o Outcomes) only(keep func(goal int) bool) (out Outcomes) {
	for g := range MaxGoals {
		if o.Of(g) >= 0 && keep(g) {
			out = out.With(g, o.Of(g))
		}
	}
	return out
}

// all reports whether the classes of the first n goals are known.
func (o Outcomes) all(n int) bool {
	for g := range n {
		if o.Of(g) < 0 {
			return false
		}
	}
	return true
}

// valid reports whether each of n goals is unknown or has a class, and there are no others.
func (o Outcomes) valid(n int) bool {
	_, unlisted := o.Listed()
	return !unlisted && o>>(outcomeBits*n) == 0
}

// outcomeShift is the place of the outcomes in the number that stored records have for their class.
const outcomeShift = 20

// stored is the number by which stored records tell their class and their outcomes:
//
//	class + 2^20 outcomes
//
// the class alone where there are none.
func (ex *Example) stored() int64 { return int64(ex.Class) + int64(ex.Outcomes)<<outcomeShift }

// unstored is the inverse of Example.stored. A class that is none of the schema's, beside outcomes, is Unlabelled: an
// earlier build stored such records.
func unstored(v int64) (class int32, o Outcomes) {
	class = int32(v << (64 - outcomeShift) >> (64 - outcomeShift)) // with its sign
	o = Outcomes((v - int64(class)) >> outcomeShift)
	if class == UnknownClass && o != 0 {
		class = Unlabelled
	}
	return class, o
}

// known reports whether the class of the record is known, or that of a goal.
func (ex *Example) known() bool { return ex.Class >= 0 || ex.Outcomes != 0 }

// isStored reports whether v is the number of a class of the schema, or of Unlabelled beside a known goal, and of
// outcomes of n goals. UnknownClass beside a known goal stands for Unlabelled.
func isStored(v int64, classes, n int) bool {
	class, o := unstored(v)
	whole := v == (&Example{Class: class, Outcomes: o}).stored() ||
		v == (&Example{Class: UnknownClass, Outcomes: o}).stored() && o != 0
	return whole && o.valid(n) && int(class) < classes && (class >= 0 || class == Unlabelled && o != 0)
}

// labelled returns the evidence of the records with a class, and class in place of Class: the evidence itself, but for
// Class, where each record has one.
func (e *Evidence) labelled(class []int32) *Evidence {
	out := *e
	out.Class, out.Outcomes = class, nil
	if !slices.ContainsFunc(class, func(c int32) bool { return c < 0 }) {
		return &out
	}
	var rows []int32
	out.Recent = 0
	for i, c := range class {
		if c < 0 {
			continue
		}
		rows = append(rows, int32(i))
		if i < e.Recent {
			out.Recent++
		}
	}
	out.Columns = make([][]float64, len(e.Columns))
	for f := range e.Columns {
		out.Columns[f], _ = arranged(e.Columns[f], rows, nil)
	}
	out.Class, _ = arranged(class, rows, nil)
	out.Weight, _ = arranged(e.Weight, rows, nil)
	out.Clock, _ = arranged(e.Clock, rows, nil)
	out.Time, _ = arranged(e.Time, rows, nil)
	out.Partition, _ = arranged(e.Partition, rows, nil)
	if e.Source != nil {
		out.Source, _ = arranged(e.Source, rows, nil)
	}
	return &out
}

// oneClass reports whether all records with a class are of one, or none has a class.
func (e *Evidence) oneClass() bool {
	first := Unlabelled
	for _, c := range e.Class {
		if c >= 0 && first >= 0 && c != first {
			return false
		}
		if c >= 0 {
			first = c
		}
	}
	return true
}

// ofGoal is the evidence of the records of which the goal is known.
func (e *Evidence) ofGoal(goal int, s *Schema) *Evidence {
	class := make([]int32, e.Len())
	for i := range class {
		class[i] = Unlabelled
		if e.Outcomes != nil {
			class[i] = e.Outcomes[i].Of(goal)
		}
	}
	out := e.labelled(class)
	out.Schema = s
	if out.told != nil {
		out.told = &tellings{by: map[int32]float64{}}
	}
	return out
}
