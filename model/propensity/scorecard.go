// Package propensity joins the live log-lifts of all features, and the inputs of other components, into calibrated
// propensities (METHOD.md): a few scorecards over the same inputs, each before and after online calibration, mixed in
// log-odds. All of it learns record by record, and every score is a sum of contributions.
package propensity

import (
	"liftstream/model"
)

// Scorecard is the live state of one partition, layer upon layer: structure, counts, inputs of other components,
// weights with their mixture, and calibration. A layer uses those below it alone. It is used from one goroutine.
type Scorecard struct {
	weights
	cal calibration
	res residuals

	// Room to work: classes each.
	probs, prob, logits []float64

	// behind is the number of records that were learnt between the score and the label of the one that is being learnt, -1
	// where its score is not known any more.
	behind float64
}

var _ model.Scorecard = (*Scorecard)(nil)

func newScorecard(p *plan) *Scorecard {
	s := emptyScorecard(p)
	s.clock, s.prior, s.cal.weight, s.mix.own = newClock(len(p.half)), ones(len(p.half)), 1, evenly()
	s.cur, s.res = p.prior0(), p.newResiduals()
	s.derive()
	return s
}

// emptyScorecard returns a scorecard without tables and numbers, for LoadState to fill.
func emptyScorecard(p *plan) *Scorecard {
	s := &Scorecard{}
	s.plan, s.keys, s.since = p, make([]uint64, p.extern), make([]float64, p.extern)
	return s
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// prior0 returns the tables before any record.
func (p *plan) prior0() *tables {
	t := p.newTables()
	for i := range t.in {
		t.in[i] = p.prior(i)
	}
	for i := range t.own {
		t.own[i] = fresh
	}
	return t
}

// derive computes everything that follows from the state.
func (s *Scorecard) derive() {
	s.deriveStructure()
	s.deriveCounts()
	s.deriveInputs()
	s.deriveWeights()
	s.cal.derive(&s.opt.Calibration, s.bound)
	s.probs, s.prob = make([]float64, s.classes), make([]float64, s.classes)
	s.logits = make([]float64, s.classes)
	s.refresh()
}

// NotAfter takes back a clock that is ahead of t.
func (s *Scorecard) NotAfter(t int64) {
	s.clock.notAfter(s.half, t)
	s.refresh()
}

// InputCount is 0: the scorecard consumes inputs, it offers none.
func (s *Scorecard) InputCount() int { return 0 }

// Inputs writes nothing.
func (s *Scorecard) Inputs(model.Row, []float64) {}

// PendingLen is the length of a memory. It does not depend on the structure, and memories stay meaningful after a
// Rebase.
func (s *Scorecard) PendingLen() int { return s.memorySize() }

// Score writes the calibrated propensities; without a structure these are the base rates.
func (s *Scorecard) Score(row model.Row, inputs, pending, p []float64) {
	m := s.tmp
	if len(pending) == s.memorySize() {
		m = s.memoryOf(pending)
	}
	if s.axes == nil {
		m.clear()
		for c := range p {
			p[c] = s.BaseRate(int32(c))
		}
		return
	}
	s.locate(row)
	if s.margins == 1 {
		z := s.score2(row, inputs, m)
		p[1] = sigmoid(z)
		p[0] = 1 - p[1]
		return
	}
	s.scoreN(row, inputs, m, p)
}

// inputsOf writes inputs and margins of the row whose cells are in s.cells into m; p is room for a number a class.
func inputsOf(s *Scorecard, row model.Row, inputs []float64, m memory, p []float64) {
	if s.margins == 1 {
		s.score2(row, inputs, m)
	} else {
		s.scoreN(row, inputs, m, p)
	}
}

// LearnScored learns a labelled record: mixture, calibration, weights, then moments and counts. Records of weight 0
// change nothing. Without a structure only the class counts learn.
func (s *Scorecard) LearnScored(ex *model.Example, inputs, pending []float64) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	w := min(ex.Weight, model.MaxWeight)
	if s.axes == nil {
		s.weigh(w, 1)
	}
	if s.axes != nil {
		s.locate(ex.Row)
		m := s.tmp
		if s.Remembers(pending) {
			m = s.memoryOf(pending)
			s.behind = max(s.learnt-m.learnt[0], 0)
			s.lag += (s.behind - s.lag) / lagMemory
			m = s.current(m)
		} else {
			inputsOf(s, ex.Row, inputs, m, s.prob)
			if s.behind = -1; len(pending) == 0 || s.learnt == 0 {
				s.behind = 0
			}
		}
		s.weigh(w, 1)
		s.grow(ex.Row)
		if s.margins == 1 {
			s.learn2(int(ex.Class), w, m)
		} else {
			s.learnN(int(ex.Class), w, m)
		}
		s.learnt++
	}
	s.count(ex)
}

// Remembers reports whether pending holds inputs to learn from. A memory from before the first record was learnt says
// nothing: all log-lifts were 0, and the constant would learn the base rate that its own inputs carry from then
// on.
func (s *Scorecard) Remembers(pending []float64) bool {
	if len(pending) != s.memorySize() {
		return false
	}
	m := s.memoryOf(pending)
	return m.structured() && (m.learnt[0] > 0 || s.blindStart)
}

// Learn adds a labelled record to the counts and moments only: the second half of a correction, whose first is
// Retract. Weights are a path of gradient steps that cannot be taken back.
func (s *Scorecard) Learn(ex *model.Example) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	s.weigh(min(ex.Weight, model.MaxWeight), 1)
	if s.axes != nil {
		s.locate(ex.Row)
		s.grow(ex.Row)
		s.learnt++
	}
	s.count(ex)
}

// Retract takes a labelled record out of the counts and moments. The clock does not run back: counts grow with it, so
// that the weight of a record learnt now, in which all else is measured, would fade to nothing beside the rounding
// errors of the records taken back.
func (s *Scorecard) Retract(ex *model.Example) {
	if !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	s.weigh(min(ex.Weight, model.MaxWeight), -1)
	if s.axes != nil {
		s.locate(ex.Row)
		s.learnt++
	}
	s.addCounts(ex, -1)
	s.refresh()
}
