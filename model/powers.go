package model

import "fmt"

// The optional powers of a Component, and of a Factory, stand together here; each is found by a type assertion. At most
// one component of a Spec may be a Profiler, a Selector, a Reasoner, an Observer or a GoalScorer: a score has one
// profile, one subspace, one reason, one unusual feature and one list of goals. Spec.Check refuses two.

// powers are the components that have a power of which a score has one.
type powers struct {
	profiler Profiler
	selector Selector
	reasoner Reasoner
	observer Observer
	goals    GoalScorer
	// attributors are the components that take their inputs apart: any number of them.
	attributors []attributor
}

// attributor is component i, whose first input is number first of all inputs.
type attributor struct {
	Attributor
	i, first, inputs int
}

func powersOf(spec *Spec, components []Component) (p powers, err error) {
	var of [5]int
	take := func(power, i int, what string) {
		if of[power] > 0 && err == nil {
			err = fmt.Errorf("components %q and %q both %s; a score has one", spec.name(of[power]-1), spec.name(i),
				what)
		}
		of[power] = i + 1
	}
	inputs := 0
	for i, c := range components {
		if x, ok := c.(Profiler); ok {
			take(0, i, "know profiles")
			p.profiler = x
		}
		if x, ok := c.(Selector); ok {
			take(1, i, "select features")
			p.selector = x
		}
		if x, ok := c.(Reasoner); ok {
			take(2, i, "give reasons")
			p.reasoner = x
		}
		if x, ok := c.(Observer); ok {
			take(3, i, "find unusual records")
			p.observer = x
		}
		if x, ok := c.(GoalScorer); ok {
			take(4, i, "score goals")
			p.goals = x
		}
		if x, ok := c.(Attributor); ok && c.InputCount() > 0 {
			p.attributors = append(p.attributors, attributor{x, i, inputs, c.InputCount()})
		}
		inputs += c.InputCount()
	}
	return p, err
}

// Corrector is a Scorecard that learns from corrections, beside the counts that Retract and Learn move.
type Corrector interface {
	// Correct takes note that a record that was learnt as class was is of class ex.Class. It is called between Retract and
	// Learn, with the inputs of the components as of now, which do not hold the record.
	Correct(ex *Example, was int32, inputs []float64)
}

// Excluder is a Component that can give the inputs of a record of its fit as they would be without the record,
// so that the weights of its inputs can be learnt from the same records.
type Excluder interface {
	// InputsWithout writes the inputs of the record of the example as they would be without it.
	InputsWithout(ex *Example, dst []float64)
}

// Attributor is a Component that can say how much of its inputs the features make up.
type Attributor interface {
	// Attribute adds to dst, input after input, feature after feature and classes innermost, the share of each feature in
	// the Inputs of the row. The rest of an input belongs to no feature. It is pure.
	Attribute(row Row, dst []float64)
}

// Apportioner is a Scorecard that can share out the contribution of an input.
type Apportioner interface {
	// Apportion returns the contribution that values, one a class, make in input j of all inputs of the components, to
	// the log-odds of the class of the last Effects; 0 where features must not get a share of it. It is linear in values.
	Apportion(j int, values []float64) float64
}

// Varied is a Scorecard that can say how sure a propensity is.
type Varied interface {
	// Variance returns the variance of the log-odds of the class target of the last Effects, of propensity p, that
	// comes of the number of the records: NaN where nothing is known. spread has the mean square of the contributions
	// of each feature, in the order of Effects.
	Variance(target int32, p float64, spread []float64) float64
}

// Keyed is a Component whose inputs have keys of their meaning. The inputs of others are known by their numbers.
type Keyed interface {
	// InputKeys appends a key for each input that the component offers, none below FirstKey but that of an input which was
	// known by its number before the component was Keyed: inputs of equal keys speak of the same thing, in every model,
	// partition, position and schema.
	InputKeys(dst []uint64) []uint64
}

// FirstKey is the lowest key of a meaning. Input j of a component that is not Keyed has key
// 1 + j.
const FirstKey = 1 << 32

// inputKeys returns the keys of the inputs that the components offer.
func inputKeys(components []Component) [][]uint64 {
	keys := make([][]uint64, len(components))
	for i, c := range components {
		if k, ok := c.(Keyed); ok {
			keys[i] = k.InputKeys(nil)
			continue
		}
		for j := range c.InputCount() {
			keys[i] = append(keys[i], uint64(1+j))
		}
	}
	return keys
}

// Profiler is a Component that knows profiles.
type Profiler interface {
	// Profile returns the best known profile for the class that the row meets and that records held back from its search
	// bear out, and its lift on these; "" when it meets none. The text belongs to the component and stays valid.
	Profile(row Row, class int32) (text string, lift float64)
}

// Selector is a Component that knows which features matter for a record.
type Selector interface {
	// Select appends the features of the row's subspace, the most relevant first, and their relevance in nats; nothing
	// when no feature tells about the class there.
	Select(row Row, features []int32, relevance []float32) ([]int32, []float32)
}

// Reasoner is a Component that can have nothing to say of a record.
type Reasoner interface {
	// Reason says why the component has nothing to say of the row, in a word of a closed set that begins with the
	// component's name; "" when it has.
	Reason(row Row) string
}

// Observer is a Component that knows which values are usual.
type Observer interface {
	// Unusual returns the feature whose value lies farthest outside the learnt ones, -1 where none does.
	Unusual(row Row) int32
}

// Contributor is a Factory whose components offer inputs to the scorecard. A factory that is none offers none.
type Contributor interface {
	Contribution() Contribution
}

// Contribution says how a component contributes to scores.
type Contribution struct {
	// Term is the name, in parentheses, under which scores list the contribution of its inputs; it is stable for ever.
	Term string
	// Inputs is the largest number of inputs that it ever offers.
	Inputs int
	// Fitted says that the inputs are log-odds which were fitted beside the single features: 1 is their natural weight.
	Fitted bool
}

// Remark is a note on a part.
type Remark struct {
	Outcome string // from a closed set, for metrics
	Text    string // for people
	Trouble bool   // somebody should know
}

// Remarker is a Factory that has something to say about the parts that its Fit returns.
type Remarker interface {
	// Remark is about a part, nil bytes excepted.
	Remark(part []byte) (Remark, error)
}

// Estimator is a ScorecardFactory that knows beforehand how many steps its Fit takes on so many records: a fit that
// must do all of its work or none is not begun where these are too many.
type Estimator interface{ Steps(records int) float64 }

// Mover is a component that can read a state faster where nothing but a Rebase or a fit is to follow.
type Mover interface {
	// LoadToRebase is LoadState for the methods Rebase and AppendState alone.
	LoadToRebase(b []byte) error
}

// loadToRebase loads a component that does not serve before its Rebase.
func loadToRebase(c Component, b []byte) error {
	if m, ok := c.(Mover); ok {
		return m.LoadToRebase(b)
	}
	return c.LoadState(b)
}

// Timed is a component whose counts fade by time. NotAfter takes back a clock that a record of a wild time has moved
// ahead of t.
type Timed interface{ NotAfter(t int64) }

// Carrier is a Factory that takes over states that were made under another schema and its own options.
type Carrier interface {
	// CarryState returns the state, which AppendState wrote under c.From, as one of c.To. It keeps each part that
	// mentions no removed feature, counts and numbers as they were. inputs[j] is the number that input j of the result
	// had before. Hostile bytes give an error.
	CarryState(c *Change, state []byte) (out []byte, inputs []int, err error)
}
