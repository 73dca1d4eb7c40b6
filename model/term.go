package model

import "math"

// A term is the feature index of a contribution that belongs to no feature: one of these, or TermOf a component.
const (
	TermIntercept   int32 = -1
	TermCalibration int32 = -2
	TermRecent      int32 = -3 // the correction by recent errors
)

// TermOf is the term of component i of a Spec.
func TermOf(i int) int32 { return TermRecent - 1 - int32(i) }

// TermName is the name under which a contribution is published: the feature's, or that of a term in parentheses.
func (s *Scores) TermName(schema *Schema, f int32) string {
	switch {
	case f >= 0:
		return schema.Features[f].Name
	case f == TermIntercept:
		return "(intercept)"
	case f == TermCalibration:
		return "(calibration)"
	case f == TermRecent:
		return "(recent)"
	}
	return s.Terms[TermOf(0)-f]
}

// Reason is one contribution to the log-odds of the target class.
type Reason struct {
	Feature int32   // index in Schema.Features, or a Term
	Value   float64 // the record's cell of the Row, a special code as its number; NaN for a Term or a missing value
	Effect  float64 // contribution in nats
	// Lift is the lift of the target in the record's cell as the score used it: the rate of the target there over its
	// base rate, over the scorecard's horizons as they weigh in the score now, shrunken towards 1 by the prior. NaN
	// for a Term, and where the records of the cell cannot tell it from 1, or there are none: of values that tell
	// nothing, some feature shows a lift in at most about one score of twenty. That holds for records that do not depend
	// on each other: where records are repeated, or the class and the values come in runs, chance shows more lifts.
	// Whether it is shown does not depend on Effect. The lift over all records is the fit's to report.
	Lift float64
	N    float64 // labelled records, ever, that those of the cell are worth: their weight by Unit
}

// conflicting is the effect, in nats, from which on it matters that it goes against its lift.
const conflicting = .1

// Matters reports whether the reason is a feature's and has an effect of more than .1 nats.
func (r *Reason) Matters() bool { return r.Feature >= 0 && math.Abs(r.Effect) > conflicting }

// Counts reports whether the reason matters and has a lift: whether it could be in conflict.
func (r *Reason) Counts() bool { return r.Matters() && !math.IsNaN(r.Lift) }

// Conflicts reports whether such an effect goes against its lift: the feature's weights say the opposite of its
// counts, as they may where it stands for others.
func (r *Reason) Conflicts() bool { return r.Counts() && r.Effect*(r.Lift-1) < 0 }
