package model

// Status is the worth of a score.
type Status uint8

const (
	StatusOK Status = iota
	StatusUntrained
	StatusDegraded
)

func (s Status) String() string { return [...]string{"ok", "untrained", "degraded"}[s] }

// Scores is the answer of a Partition to a Batch, one entry a record in the same order. Its buffers are reused by the
// next call of Reset. List columns are flat, with the end of each record's run.
type Scores struct {
	N       int
	Classes int
	Model   int64
	Terms   []string // names of the terms of the components; they belong to the Spec

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
	// Control says which records are in the control share; empty where none is configured.
	Control []bool
	// Uplift is the effect of the treatment; empty where it is not estimated.
	Uplift []Uplift
	// Intervals has the interval of the propensity of the target; empty where none is asked for.
	Intervals []Interval
	// Unusual is the feature whose value lies outside the learnt ones, -1 where none does; empty without an Observer.
	Unusual []int32
	// Goals are the propensities of the goals, N x goals, each that of class 1; empty where there are none.
	Goals []float64
	// GoalFitted says, N x goals, which of these are of a goal with a structure: the others are base rates.
	GoalFitted []bool
	// GoalLift are these over the base rates of the goals, NaN of a goal without a structure, and GoalWhy its reasons,
	// with the end of the run of each record and goal in GoalWhyEnd; empty unless Options.GoalReasons asks for them.
	GoalLift   []float64
	GoalWhy    []Reason
	GoalWhyEnd []int32
	// IntervalLevel is the share of the records whose intervals are to hold their true propensities.
	IntervalLevel float64
	// Effects are the contributions to the log-odds of the target, records x features of the schema, 0 for features that
	// are not scored; empty where they are not asked for.
	Effects []float64
	// GoalEffects are those to the log-odds of the goals, records x goals x features of the schema, NaN of a goal without
	// a structure; empty without goals, or where Effects are not asked for.
	GoalEffects []float64
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Reset makes space for n records of the given number of classes, all entries zero and the lists empty.
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
	s.Control, s.Uplift, s.Intervals, s.Effects = s.Control[:0], s.Uplift[:0], s.Intervals[:0], s.Effects[:0]
	s.Unusual, s.Goals, s.GoalFitted = s.Unusual[:0], s.Goals[:0], s.GoalFitted[:0]
	s.GoalLift, s.GoalWhy, s.GoalWhyEnd = s.GoalLift[:0], s.GoalWhy[:0], s.GoalWhyEnd[:0]
	s.GoalEffects = s.GoalEffects[:0]
}

// Append adds a copy of entry i of other scores, of the same classes and terms, after the last one. Model stays.
func (s *Scores) Append(o *Scores, i int) {
	s.Terms = o.Terms
	s.N++
	s.Status, s.Reason = append(s.Status, o.Status[i]), append(s.Reason, o.Reason[i])
	s.Segment, s.Target = append(s.Segment, o.Segment[i]), append(s.Target, o.Target[i])
	s.P = append(s.P, o.P[i*o.Classes:(i+1)*o.Classes]...)
	s.BaseRate, s.Lift = append(s.BaseRate, o.BaseRate[i]), append(s.Lift, o.Lift[i])
	s.Percentile = append(s.Percentile, o.Percentile[i])
	features, relevance := o.SubspaceOf(i)
	s.Subspace, s.Relevance = append(s.Subspace, features...), append(s.Relevance, relevance...)
	s.SubspaceEnd = append(s.SubspaceEnd, int32(len(s.Subspace)))
	s.Profile, s.ProfileLift = append(s.Profile, o.Profile[i]), append(s.ProfileLift, o.ProfileLift[i])
	s.Why = append(s.Why, o.WhyOf(i)...)
	s.WhyEnd = append(s.WhyEnd, int32(len(s.Why)))
	if len(o.Control) > 0 {
		s.Control = append(s.Control, o.Control[i])
	}
	if len(o.Uplift) > 0 {
		s.Uplift = append(s.Uplift, o.Uplift[i])
	}
	if n := len(o.Effects) / max(o.N, 1); n > 0 {
		s.Effects = append(s.Effects, o.Effects[i*n:(i+1)*n]...)
	}
	if len(o.Intervals) > 0 {
		s.Intervals = append(s.Intervals, o.Intervals[i])
	}
	appendGoals(s, o, i)
	if len(o.Unusual) > 0 {
		s.Unusual = append(s.Unusual, o.Unusual[i])
	}
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
