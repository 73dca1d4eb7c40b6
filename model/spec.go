package model

import "fmt"

// Spec describes a stage: the schema, the components, and the sizes. It is immutable and shared by all
// partitions and by the trainer.
type Spec struct {
	Schema     *Schema
	Scorecard  ScorecardFactory
	Components []Factory
	Options    Options
}

// Options are the sizes and choices of a Partition and of Fit.
type Options struct {
	// Fingerprint names the schema and the options that shape states and models; both carry it, and others are refused.
	Fingerprint uint64
	// Frame names the part of these that is neither features nor classes: states of another schema can be carried over
	// to this one if it is the same.
	Frame            uint64
	Warmup           int   // labelled records before the first structure is built from the tail
	TailBytes        int64 // bound of the tail; at least 4,096 records are kept
	ReservoirRecords int
	ReservoirBytes   int64
	WaitBytes        int64 // bound of the pending store; 0 = unlabelled records do not wait
	WaitWindow       int64 // nanoseconds of record time after which a waiting record expires; 0 = never
	// ExpireAs is the class as which a record is learnt whose window has closed without a label; Unlabelled = none, it is
	// dropped. With a class, and a WaitWindow, labels wait for the end of the windows, see MODEL.md 3.2.
	ExpireAs    int32
	Correct     bool  // a second label of the same record replaces the first
	CorrectFor  int64 // nanoseconds after the window in which a label corrects a record of ExpireAs
	Match       Match // the records that a label by an id means
	FitBytes    int64 // bound of the records that a fit holds of all partitions; 0 = none
	DedupWindow int64 // nanoseconds of record time within which a record of the same id is a duplicate; 0 = never
	DedupBytes  int64 // bound of the ids that are remembered for it
	// Recency says which features tell of the former records of an id; nil = none does, and nothing is remembered for it.
	Recency *RecencyOptions
	// BaseRates are the pseudo-records of each class in the scores of a partition without a structure, all above 0; nil =
	// one of each.
	BaseRates []float64
	Control   Control
	// FalseAlarms is the expected number of false alarms of drift in 100,000 records of a partition that are drawn alike,
	// of all alarms together, below 1; 0 = nothing is watched. See drift.Watch.
	FalseAlarms float64
	Interval    float64 // level of the intervals of propensities, above 0 and below 1; 0 = there are none
	Effects     bool    // scores carry the contribution of every feature
	Why         int     // reasons a score; negative = all, with the named terms
	GoalReasons bool    // scores have Why reasons of each goal too, and its lift
	// MinCount is the least number of labelled records of the value of a reason: one of fewer is left out, unless Why is
	// negative. 0 = none is.
	MinCount int
	Gate     float64
	Seed     uint64
	Work     int64 // budget of Fit in steps for each component; 0 = StageWork. See FitWork
	Workers  int   // goroutines that a fit or a comparison computes in at a time; 0 = as many as processors
	// Spelling has the texts of levels in states of an earlier build, for a replay of its work; nil = this build's.
	Spelling *Spelling
}

// Check says whether partitions can be made of the Spec: no two factories may have the same name, and no two components
// the same power.
func (s *Spec) Check() error {
	for i := range s.Components {
		for j := i + 1; j <= len(s.Components); j++ {
			if s.name(i) == s.name(j) {
				return fmt.Errorf("two components are named %q", s.name(i))
			}
		}
	}
	_, _, err := newComponents(s, NewLevels(s.Schema))
	return err
}

// name is the name of component i; the scorecard comes last.
func (s *Spec) name(i int) string {
	if i < len(s.Components) {
		return s.Components[i].Name()
	}
	return s.Scorecard.Name()
}

// carrier is component i, or the scorecard, as a Carrier; nil when it is none.
func (s *Spec) carrier(i int) Carrier {
	var f any = s.Scorecard
	if i < len(s.Components) {
		f = s.Components[i]
	}
	c, _ := f.(Carrier)
	return c
}

// Contribution says how component i contributes to scores.
func (s *Spec) Contribution(i int) Contribution {
	if c, ok := s.Components[i].(Contributor); ok {
		return c.Contribution()
	}
	return Contribution{Term: "(" + s.name(i) + ")"}
}

// terms are the names of the terms of the components.
func (s *Spec) terms() []string {
	names := make([]string, len(s.Components))
	for i := range names {
		names[i] = s.Contribution(i).Term
	}
	return names
}
