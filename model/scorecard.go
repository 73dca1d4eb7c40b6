package model

// Scorecard joins the inputs of all components into calibrated propensities. It is a Component whose scores depend on
// the order in which it learns; the same rules hold.
type Scorecard interface {
	Component
	// SetInputs is told the keys of the inputs that each of the Spec's components offers, in their order (see Keyed),
	// whenever these may have changed: before the first Score and after every Rebase. What the scorecard has learnt of an
	// input belongs to its key.
	SetInputs(keys [][]uint64)
	// PendingLen is the length of what Score must remember of a record for its Learn, in float64s.
	PendingLen() int
	// Score writes the calibrated propensity of every class into p (sum 1, each in (0, 1)) and what LearnScored needs
	// into pending. inputs holds the components' inputs, input by input, classes innermost. It changes nothing.
	Score(row Row, inputs, pending, p []float64)
	// Remembers reports whether LearnScored can learn from pending alone, so that its inputs need not be there.
	Remembers(pending []float64) bool
	// LearnScored learns a record with the inputs as they were when it was scored. Where pending does not hold them they
	// are computed now, from inputs.
	LearnScored(ex *Example, inputs, pending []float64)
	// Explain appends the contributions to the calibrated log-odds of the class target, for the record for which pending
	// was filled: one Reason a feature, in schema order, then the named terms. They sum to ln(p/(1-p)) to 1e-9.
	Explain(row Row, pending []float64, target int32, dst []Reason) []Reason
	// BaseRate is the never-forgetting rate of the class.
	BaseRate(class int32) float64
}
