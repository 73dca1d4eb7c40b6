package model

import "math"

// MissingCode marks a missing value in Column.Code.
const MissingCode = ^uint32(0)

// Column holds one feature of a Batch: Float for Continuous (NaN = missing; infinities count as missing), otherwise
// Code, an index into the batch's own Levels or MissingCode.
type Column struct {
	Float  []float64
	Code   []uint32
	Levels []string
}

// Batch is a run of decoded records in input order. The decoder owns its buffers and may reuse them once the call that
// was given the Batch has returned; whoever keeps a value copies it.
type Batch struct {
	N       int
	Columns []Column // one for each feature of the Schema, in its order, each of N values
	// Label holds the class of each record, Unlabelled or UnknownClass.
	Label []int32
	// Weight is nil when every record weighs 1. Values are finite and at least 0.
	Weight []float64
	// ID is nil when the configuration names no id column.
	ID []string
	// Time is in Unix nanoseconds: the configured column, else the message's timestamp.
	Time []int64
	// Row is the position of each record in its message, counted over all rows that the message had, bad ones
	// included.
	Row []int32
	// Partition and Offset are those of the message; for files 0 and the number of the chunk.
	Partition int32
	Offset    int64
}

// Labels is a run of late or corrected labels: each names its record by ID or by position.
type Labels struct {
	N     int
	Class []int32
	ID    []string // nil when the labels name positions
	// Partition, Offset and Row are nil when the labels name ids.
	Partition []int32
	Offset    []int64
	Row       []int32
	Time      []int64
}

// Term is the feature index of a contribution that belongs to no feature.
const (
	TermIntercept   int32 = -1
	TermLocal       int32 = -2
	TermKernel      int32 = -3
	TermCalibration int32 = -4
	TermSets        int32 = -5
)

// TermName is the name under which a contribution is published: the feature's, or that of a term in parentheses.
func (s *Schema) TermName(f int32) string {
	switch f {
	case TermIntercept:
		return "(intercept)"
	case TermLocal:
		return "(local)"
	case TermKernel:
		return "(kernel)"
	case TermCalibration:
		return "(calibration)"
	case TermSets:
		return "(sets)"
	}
	return s.Features[f].Name
}

// Reason is one contribution to the log-odds of the target class.
type Reason struct {
	Feature int32   // index in Schema.Features, or a Term
	Value   float64 // the record's cell of the Row; NaN for a Term or a missing value
	Effect  float64 // contribution in nats
	// Lift is the lift of the target in the record's cell as the score used it: the rate of the target there over its
	// base rate, over the scorecard's horizons as they weigh in the score now, shrunken towards 1 by the prior. NaN
	// for a Term, and where the records of the cell cannot tell it from 1, or there are none: of values that tell
	// nothing, some feature shows a lift in about one score of twenty. Whether it is shown does not depend on Effect.
	// The lift over all records is the fit's to report.
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

// Status is what a score is worth.
type Status uint8

const (
	StatusOK Status = iota
	StatusUntrained
	StatusDegraded
)

func (s Status) String() string { return [...]string{"ok", "untrained", "degraded"}[s] }

// Scores is what a Partition publishes for a Batch, one entry a record in the same order. Its buffers are reused by
// the next call of Reset. List columns are flat, with the end of each record's run.
type Scores struct {
	N       int
	Classes int
	Model   int64

	Status      []Status
	Reason      []string // "" unless degraded
	Segment     []int32
	Target      []int32
	P           []float64 // N x Classes
	BaseRate    []float64
	Lift        []float64
	Percentile  []float32
	SubspaceEnd []int32
	Subspace    []int32 // feature indices
	Relevance   []float32
	Profile     []string // "" when none is met
	ProfileLift []float64
	WhyEnd      []int32
	Why         []Reason
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Reset makes room for n records of the given number of classes, all entries zero and the lists empty.
func (s *Scores) Reset(n, classes int) {
	s.N, s.Classes = n, classes
	s.Status = grow(s.Status, n)
	s.Reason = grow(s.Reason, n)
	s.Segment = grow(s.Segment, n)
	s.Target = grow(s.Target, n)
	s.P = grow(s.P, n*classes)
	s.BaseRate = grow(s.BaseRate, n)
	s.Lift = grow(s.Lift, n)
	s.Percentile = grow(s.Percentile, n)
	s.SubspaceEnd = grow(s.SubspaceEnd, n)
	s.Profile = grow(s.Profile, n)
	s.ProfileLift = grow(s.ProfileLift, n)
	s.WhyEnd = grow(s.WhyEnd, n)
	s.Subspace, s.Relevance, s.Why = s.Subspace[:0], s.Relevance[:0], s.Why[:0]
}

// Append adds a copy of entry i of other scores, of the same classes, after the last one. Model stays as it is.
func (s *Scores) Append(o *Scores, i int) {
	s.N++
	s.Status, s.Reason = append(s.Status, o.Status[i]), append(s.Reason, o.Reason[i])
	s.Segment, s.Target = append(s.Segment, o.Segment[i]), append(s.Target, o.Target[i])
	s.P = append(s.P, o.P[i*o.Classes:(i+1)*o.Classes]...)
	s.BaseRate, s.Lift, s.Percentile = append(s.BaseRate, o.BaseRate[i]), append(s.Lift, o.Lift[i]), append(s.Percentile, o.Percentile[i])
	features, relevance := o.SubspaceOf(i)
	s.Subspace, s.Relevance = append(s.Subspace, features...), append(s.Relevance, relevance...)
	s.SubspaceEnd = append(s.SubspaceEnd, int32(len(s.Subspace)))
	s.Profile, s.ProfileLift = append(s.Profile, o.Profile[i]), append(s.ProfileLift, o.ProfileLift[i])
	s.Why = append(s.Why, o.WhyOf(i)...)
	s.WhyEnd = append(s.WhyEnd, int32(len(s.Why)))
}

func span(end []int32, i int) (int32, int32) {
	if i == 0 {
		return 0, end[0]
	}
	return end[i-1], end[i]
}

// WhyOf returns the contributions of record i; the slice is valid until the next Reset.
func (s *Scores) WhyOf(i int) []Reason {
	a, b := span(s.WhyEnd, i)
	return s.Why[a:b]
}

// SubspaceOf returns the features selected for record i, best first, and their relevance.
func (s *Scores) SubspaceOf(i int) ([]int32, []float32) {
	a, b := span(s.SubspaceEnd, i)
	return s.Subspace[a:b], s.Relevance[a:b]
}
