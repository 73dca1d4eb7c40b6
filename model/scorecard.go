package model

import "context"

// ScorecardFactory makes the scorecards of a stage. Its methods are those of a Factory, but for Fit.
type ScorecardFactory interface {
	// Name keys the part in snapshots and models; it is stable for ever.
	Name() string
	// New returns an empty scorecard, which answers with base rates.
	New(levels *Levels) Scorecard
	// Fit is Factory.Fit over the evidence and the components of the new Model. in is nil when there are none.
	Fit(ctx context.Context, ev *Evidence, in *Offer, previous []byte) ([]byte, error)
}

// Offer is the inputs that the components of a new Model offer to its scorecard. A component learnt from the records of
// the evidence, so that its input of such a record repeats the record's class: weights are learnt from Without only.
// The functions write inputs as Component.Inputs does, component by component.
type Offer struct {
	Blocks []int      // number of inputs of each component
	Keys   [][]uint64 // of these inputs, see Keyed; nil when their numbers say it
	// Inputs writes the inputs of a row; nil when nothing is known of them.
	Inputs func(row Row, dst []float64)
	// Without writes the inputs of a record of the evidence as they would be without it, as an Excluder says; 0 for a
	// component that is none. It is nil unless Evidence.Whole.
	Without func(ex *Example, dst []float64)
	// Offset is Without, but with the inputs of the row for a component that is no Excluder; nil when nothing is known.
	Offset func(ex *Example, dst []float64)
}

// Scorecard joins the inputs of all components into calibrated propensities. It is a Component whose scores depend on
// the order in which it learns; the same rules hold.
type Scorecard interface {
	Component
	// SetInputs is told the keys of the inputs that each of the Spec's components offers, in their order (see Keyed),
	// whenever these may have changed: before the first Score and after every Rebase. The weights of an
	// input belong to its key.
	SetInputs(keys [][]uint64)
	// PendingLen is the length of the memory of a score, in float64s.
	PendingLen() int
	// Score writes the calibrated propensity of every class into p (sum 1, each in (0, 1)) and the memory for
	// LearnScored into pending. inputs holds the components' inputs, input by input, classes innermost. It changes
	// nothing.
	Score(row Row, inputs, pending, p []float64)
	// Remembers reports whether LearnScored can learn from pending alone, so that its inputs need not be there.
	Remembers(pending []float64) bool
	// LearnScored learns a record with the inputs as they were when it was scored. Where pending does not hold them they
	// are computed now, from inputs.
	LearnScored(ex *Example, inputs, pending []float64)
	// Effects appends the contributions to the calibrated log-odds of the class target, for the record for which pending
	// was filled and before another one is learnt: one Reason a feature, in schema order, then the named terms. They sum
	// to ln(p/(1-p)) to 1e-9. Their lifts are NaN: few reasons are published, and a lift costs more than an effect.
	Effects(row Row, pending []float64, target int32, dst []Reason) []Reason
	// Lift returns the Reason.Lift of the i-th reason, a feature's, of the last Effects, which had this pending and
	// target.
	Lift(pending []float64, target int32, i int) float64
	// BaseRate is the never-forgetting rate of the class.
	BaseRate(class int32) float64
}
