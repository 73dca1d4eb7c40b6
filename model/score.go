package model

import (
	"math"
	"slices"
)

// scorer is the structure that serves, the components and their scorecard, with the buffers of one score.
type scorer struct {
	spec       *Spec
	components []Component
	scorecard  Scorecard
	powers     powers
	inputs     []float64 // of the components, for the last row
	pending    []float64 // the memory of the last score, of the scorecard
	aims       []float64 // likewise, of the goals: it lies behind pending in memory
	memory     []float64 // both
	earlier    []float64 // that of an earlier one
	reasons    []Reason
	order      ranking
	shares     []float64 // of the features in the inputs of an Attributor
}

// newScorer returns a scorer of components whose powers have been checked.
func newScorer(spec *Spec, components []Component, scorecard Scorecard) scorer {
	s := scorer{spec: spec, components: components, scorecard: scorecard}
	s.powers, _ = powersOf(spec, components)
	inputs := 0
	for _, c := range components {
		inputs += c.InputCount()
	}
	scorecard.SetInputs(inputKeys(components))
	s.inputs = make([]float64, inputs*len(spec.Schema.Classes))
	own := scorecard.PendingLen()
	goals := 0
	if g := s.powers.goals; g != nil {
		goals = g.MemoryLen()
	}
	s.memory = make([]float64, own+goals)
	s.pending, s.aims = s.memory[:own:own], s.memory[own:]
	return s
}

// all returns the components, and the scorecard at the end.
func (s *scorer) all() []Component { return append(slices.Clone(s.components), s.scorecard) }

// split returns the parts of a memory, both nil of none: that of the scorecard and that of the goals.
func (s *scorer) split(memory []float64) (own, goals []float64) {
	if len(memory) != len(s.memory) {
		return memory, nil
	}
	return memory[:len(s.pending)], memory[len(s.pending):]
}

// ofClass returns the components that learn the class of a record, all but the goals, and the scorecard at the end.
func (s *scorer) ofClass() []Component {
	return slices.DeleteFunc(s.all(), func(c Component) bool {
		_, goals := c.(GoalScorer)
		return goals
	})
}

// knowing returns the components that learn the record, the scorecard last: the goals alone where no class is known.
func (s *scorer) knowing(ex *Example) []Component {
	switch {
	case ex.Class >= 0:
		return s.all()
	case s.powers.goals == nil:
		return nil
	}
	return []Component{s.powers.goals}
}

// learn lets the components but the goals, and then the scorecard, learn a record with the memory of its score, nil =
// it is computed now. counts says that they learn its counts alone: weights would learn from inputs that know later
// records.
func (s *scorer) learn(ex *Example, pending []float64, counts bool) {
	if !counts && !s.scorecard.Remembers(pending) {
		s.fill(ex.Row)
	}
	for _, c := range s.components {
		if c != Component(s.powers.goals) {
			c.Learn(ex)
		}
	}
	if counts {
		s.scorecard.Learn(ex)
		return
	}
	s.scorecard.LearnScored(ex, s.inputs, pending)
}

// fill computes the components' inputs of a row.
func (s *scorer) fill(row Row) { inputsOf(s.components, len(s.spec.Schema.Classes), row, s.inputs) }

// usable returns the memory of an earlier score, nil when the score was given before there was a structure. The memory
// outlives a change of cells: inputs are log-lifts by feature and horizon, and not by cell.
// It is valid until the next call.
func (s *scorer) usable(w *waiting) []float64 {
	if int(w.numbers) != len(s.memory) {
		return nil
	}
	s.earlier = w.memory(s.earlier)
	return s.earlier
}

// propensities writes the propensity of each class for a row, and keeps its inputs and its memory.
func (s *scorer) propensities(row Row, prob []float64) {
	s.fill(row)
	s.scorecard.Score(row, s.inputs, s.pending, prob)
}

// scoreUntrained writes the score of a partition without a structure, its base rates, into entry i.
func scoreUntrained(spec *Spec, counts *classCounts, out *Scores, i int) {
	schema := spec.Schema
	classes := len(schema.Classes)
	prob := out.P[i*classes : (i+1)*classes]
	best := counts.rates(spec.Options.BaseRates, prob)
	out.Status[i], out.Segment[i], out.Target[i] = StatusUntrained, best, best
	if schema.Positive >= 0 {
		out.Target[i] = int32(schema.Positive)
	}
	out.BaseRate[i], out.Lift[i], out.ProfileLift[i] = prob[out.Target[i]], 1, math.NaN()
}

// score writes the score of a row into entry i. Its percentile is a rank among the scores in percent, which it joins.
func (s *scorer) score(row Row, percent *percentile, out *Scores, i int) {
	classes := len(s.spec.Schema.Classes)
	prob := out.P[i*classes : (i+1)*classes]
	s.propensities(row, prob)
	segment, target := s.best(prob)
	out.Segment[i], out.Target[i] = segment, target
	out.BaseRate[i] = s.scorecard.BaseRate(target)
	out.Lift[i] = prob[target] / out.BaseRate[i]
	out.Percentile[i] = percent.rank(target, prob[target])
	out.ProfileLift[i] = math.NaN()
	if s.powers.profiler != nil {
		if text, lift := s.powers.profiler.Profile(row, target); text != "" {
			out.Profile[i], out.ProfileLift[i] = text, lift
		}
	}
	s.explain(row, out, target)
	if allMissing(s.spec.Schema, row) {
		out.Status[i], out.Reason[i] = StatusDegraded, ReasonAllMissing
	} else if s.powers.reasoner != nil {
		if reason := s.powers.reasoner.Reason(row); reason != "" {
			out.Status[i], out.Reason[i] = StatusDegraded, reason
		}
	}
}

// best returns the class of the highest propensity, and the target: the positive class, else that of the highest lift.
func (s *scorer) best(prob []float64) (segment, target int32) {
	target, top := int32(s.spec.Schema.Positive), math.Inf(-1)
	for c := range prob {
		if prob[c] > prob[segment] {
			segment = int32(c)
		}
		if s.spec.Schema.Positive < 0 {
			if l := prob[c] / s.scorecard.BaseRate(int32(c)); l > top {
				target, top = int32(c), l
			}
		}
	}
	return segment, target
}

// minRelevance is the share of the largest contribution below which a feature is not part of the record's subspace
// where no component selects one.
const minRelevance = 0.2

// ReasonAllMissing is the reason of a degraded score of a record without a single value, before all other reasons.
// With the reasons of a Reasoner it is the closed set of reasons: those of the local part are its constants Reason....
const ReasonAllMissing = "all_missing"

func allMissing(schema *Schema, row Row) bool {
	for f, v := range row {
		if schema.Features[f].Use == UseScore && (!math.IsNaN(v) || SpecialOf(v) >= 0) {
			return false
		}
	}
	return true
}

// explain appends the record's reasons and its subspace: those of the Selector, which can be none. Where no component
// is one, it is the features whose lifts tell.
func (s *scorer) explain(row Row, out *Scores, target int32) {
	features, terms := s.contributions(row, target)
	if s.powers.selector != nil {
		out.Subspace, out.Relevance = s.powers.selector.Select(row, out.Subspace, out.Relevance)
	} else {
		s.appendTelling(out, features, target)
	}
	out.Why = s.appendWhy(out.Why, &s.spec.Options, features, terms, target)
}

// appendTelling appends the features whose lift can be told from 1 and whose contribution reaches minRelevance of the
// largest, those first whose lift tells most of the target: by the divergence of its rate there from its base rate.
func (s *scorer) appendTelling(out *Scores, features []Reason, target int32) {
	from, base := len(out.Subspace), s.scorecard.BaseRate(target)
	for k := range features {
		x := s.order.place(k)
		if x.size == 0 || x.size < minRelevance*s.order.place(0).size {
			break
		}
		lift := s.liftOf(k, target)
		if math.IsNaN(lift) {
			continue
		}
		told := float32(divergence(min(lift*base, 1), base))
		out.Subspace, out.Relevance = append(out.Subspace, features[x.at].Feature), append(out.Relevance, told)
		for i := len(out.Subspace) - 1; i > from && out.Relevance[i] > out.Relevance[i-1]; i-- {
			f, r := out.Subspace, out.Relevance
			f[i], f[i-1], r[i], r[i-1] = f[i-1], f[i], r[i-1], r[i]
		}
	}
}

// divergence is the Kullback-Leibler divergence of a chance p of one of two outcomes from the chance q, in nats.
func divergence(p, q float64) (sum float64) {
	for _, c := range [...]struct{ p, q float64 }{{p, q}, {1 - p, 1 - q}} {
		if c.p > 0 {
			sum += c.p * math.Log(c.p/c.q)
		}
	}
	return max(sum, 0)
}

// contributions returns the contributions to the target of the record that was scored last: those of the features,
// which it ranks by size in s.order, and those of the named terms.
func (s *scorer) contributions(row Row, target int32) (features, terms []Reason) {
	s.reasons = s.scorecard.Effects(row, s.pending, target, s.reasons[:0])
	s.attribute(row)
	features = s.reasons
	for n := len(features); n > 0 && features[n-1].Feature < 0; n-- {
		features = features[:n-1]
	}
	terms = s.reasons[len(features):]
	s.order.start(features)
	return features, terms
}

// appendWhy appends the largest of the contributions, as many as the options ask for.
func (s *scorer) appendWhy(dst []Reason, o *Options, features, terms []Reason, target int32) []Reason {
	why, least := len(features), 0.0
	if w := o.Why; w >= 0 {
		why, terms, least = min(w, why), nil, float64(o.MinCount)
	}
	for k := 0; why > 0 && k < len(features); k++ {
		x := s.order.place(k)
		reason := features[x.at]
		if reason.N < least {
			continue
		}
		why--
		reason.Value = s.spec.Schema.Features[reason.Feature].Number(reason.Value)
		reason.Lift = s.liftOf(k, target)
		dst = append(dst, reason)
	}
	return append(dst, terms...)
}

// liftOf returns the lift of the reason at place k of s.order, which is asked of the scorecard once.
func (s *scorer) liftOf(k int, target int32) float64 {
	x := &s.order.all[k]
	if !x.known {
		x.lift, x.known = s.scorecard.Lift(s.pending, target, int(x.at)), true
	}
	return x.lift
}

// attribute moves the features' shares in the inputs of components from their terms to the effects of the features.
func (s *scorer) attribute(row Row) {
	scorecard, able := s.scorecard.(Apportioner)
	if !able {
		return
	}
	classes := len(s.spec.Schema.Classes)
	for _, c := range s.powers.attributors {
		size := len(row) * classes
		s.shares = grow(s.shares, c.inputs*size)
		c.Attribute(row, s.shares)
		moved := 0.
		for r := range s.reasons {
			x := &s.reasons[r]
			if x.Feature < 0 {
				if x.Feature == TermOf(c.i) {
					x.Effect -= moved
				}
				continue
			}
			for j := range c.inputs {
				at := j*size + int(x.Feature)*classes
				e := scorecard.Apportion(c.first+j, s.shares[at:at+classes])
				x.Effect += e
				moved += e
			}
		}
	}
}

// ranking holds reasons by the size of their effects, the largest first and equal ones in configuration order. Of more
// than fewReasons only as many places are in order as were asked for: a score shows a few of its features.
type ranking struct {
	all     []ranked
	ordered int
}

// fewReasons is the number of reasons up to which all are put in order at once, by counts without a branch: a processor
// guesses half of the branches of a sort wrong.
const fewReasons = 32

// start takes the reasons of a score.
func (r *ranking) start(reasons []Reason) {
	n := len(reasons)
	r.all = grow(r.all, n)
	if n > fewReasons {
		r.ordered = 0
		for i := range reasons {
			r.all[i] = ranked{size: math.Abs(reasons[i].Effect), at: int32(i)}
		}
		return
	}
	var size [fewReasons]uint64 // bits of positive numbers have the order of the numbers
	var before [fewReasons]int  // reasons before each
	for j := range reasons {
		x := math.Float64bits(math.Abs(reasons[j].Effect))
		size[j] = x
		larger := 0
		for i, y := range size[:j] {
			less := 0
			if x > y {
				less = 1
			}
			before[i] += less
			larger += less
		}
		before[j] = j - larger
	}
	for i, k := range before[:n] {
		r.all[k] = ranked{size: math.Float64frombits(size[i]), at: int32(i)}
	}
	r.ordered = n
}

// place returns the reason at place k, until start.
func (r *ranking) place(k int) *ranked {
	for r.ordered <= k {
		rest := r.all[r.ordered:]
		best := 0
		for i := range rest {
			x, top := &rest[i], &rest[best]
			if x.size > top.size || x.size == top.size && x.at < top.at {
				best = i
			}
		}
		rest[0], rest[best] = rest[best], rest[0]
		r.ordered++
	}
	return &r.all[k]
}

// ranked is a reason's place by the size of its effect, with its lift where that is known.
type ranked struct {
	size  float64
	lift  float64
	at    int32
	known bool
}
