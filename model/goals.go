package model

import (
	"context"
	"fmt"
)

// GoalScorer is a Component that has propensities of its own for the goals of a record: further labels of two classes
// each, of which a record can have several at once (MODEL.md 11). Its Learn and Retract move counts alone, those of the
// goals in Example.Outcomes.
type GoalScorer interface {
	Component
	// Goals is the number of goals.
	Goals() int
	// Classed is the number of learnt records whose class is known.
	Classed() float64
	// MemoryLen is the length of the memory of a score, in float64s.
	MemoryLen() int
	// ScoreGoals writes the propensity of class 1 of every goal into p and the memory for LearnGoals into memory.
	ScoreGoals(row Row, memory, p []float64)
	// AppendFitted appends of every goal whether it has a structure: without one its propensity is a base rate.
	AppendFitted(fitted []bool) []bool
	// ExplainGoals appends the lift and the reasons of every goal to out, of the row that ScoreGoals scored last. memory
	// and the last propensities of out are as that wrote them; Why and MinCount of o are obeyed.
	ExplainGoals(row Row, memory []float64, o *Options, out *Scores)
	// AppendGoalEffects appends the contributions of all features to the log-odds of every goal to out.GoalEffects, of
	// the row that ScoreGoals scored last into memory: NaN of a goal without a structure.
	AppendGoalEffects(row Row, memory []float64, out *Scores)
	// LearnGoals learns the goals in ex.Outcomes with the memory of the score, nil = it is computed now. counts says that
	// their counts alone are learnt.
	LearnGoals(ex *Example, memory []float64, counts bool)
}

// GoalsName is the name of the component of the goals.
const GoalsName = "goals"

// NewGoals returns the factory of a component that keeps a scorecard, with the components under it, for each goal, as a
// stage of that label alone would. Each Spec has the features of the stage and two classes; its Options have no effect.
// All of them share the coded row, the tail, the reservoir and the pending store of the partition, which hold a record
// once with its Outcomes.
func NewGoals(specs []*Spec) Factory { return &goalsFactory{specs} }

// goals is the number of goals of the stage.
func (s *Spec) goals() int {
	for _, f := range s.Components {
		if g := goalsOf(f); g != nil {
			return len(g.specs)
		}
	}
	return 0
}

// goalsOf is the factory of NewGoals in f, nil where there is none. A factory that stands around another says so by a
// method Unwrap.
func goalsOf(f Factory) *goalsFactory {
	for f != nil {
		if g, ok := f.(*goalsFactory); ok {
			return g
		}
		around, ok := f.(interface{ Unwrap() Factory })
		if !ok {
			break
		}
		f = around.Unwrap()
	}
	return nil
}

type goalsFactory struct{ specs []*Spec }

// Name returns GoalsName.
func (f *goalsFactory) Name() string { return GoalsName }

// New returns the goals of a partition without a structure: their propensities are base rates.
func (f *goalsFactory) New(levels *Levels) Component {
	g := &goals{specs: f.specs, all: make([]goal, len(f.specs))}
	for k, spec := range f.specs {
		components, scorecard, err := newComponents(spec, levels)
		if err != nil {
			panic("model: " + err.Error())
		}
		g.all[k].scorer = newScorer(spec, components, scorecard)
	}
	return g
}

// Fit fits each goal as a stage of that label alone would be, on the records of which it is known. A goal of fewer than
// two classes keeps its former part; before that it has none, and the part has the weights of its classes.
func (f *goalsFactory) Fit(ctx context.Context, ev *Evidence, previous []byte) ([]byte, error) {
	before, err := f.readPart(previous)
	if err != nil {
		return nil, fmt.Errorf("reading the previous part: %w", err)
	}
	out := make([]goalPart, len(f.specs))
	for k, spec := range f.specs {
		of := ev.ofGoal(k, spec.Schema)
		if of.oneClass() {
			if out[k].parts = before[k].parts; out[k].parts == nil {
				out[k].shares, err = f.sharesOf(ev, of, k)
			}
		} else {
			var last *Model
			if before[k].parts != nil {
				last = &Model{Parts: before[k].parts}
			}
			out[k].parts, err = fitParts(ctx, spec, of, f.statesOf(ev, k), last)
		}
		if err != nil {
			return nil, fmt.Errorf("goal %d: %w", k, err)
		}
	}
	return f.appendPart(out), nil
}

// sharesOf are the weights of the classes of a goal without a structure in each partition: those of its state, or those
// of the records of the goal where the partition has none. Partitions without such a record are left out.
func (f *goalsFactory) sharesOf(ev, of *Evidence, goal int) (shares []goalShare, err error) {
	for _, n := range ev.Parties() {
		share, found := goalShare{partition: n}, false
		if ev.States.of != nil {
			err := ev.States.Read(n, func(b []byte) (err error) {
				found, err = f.readSeen(b, goal, &share.seen)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("reading the state of partition %d: %w", n, err)
			}
		}
		for i := 0; !found && i < len(of.Class); i++ {
			if of.Partition[i] == n {
				share.seen[of.Class[i]] += of.Weight[i]
			}
		}
		if share.seen != [2]float64{} {
			shares = append(shares, share)
		}
	}
	return shares, nil
}

// renew brings the counts of a part up to date (see Renew): those of the scorecards, and of goals without a structure.
func (f *goalsFactory) renew(ctx context.Context, ev *Evidence, part []byte) ([]byte, error) {
	parts, err := f.readPart(part)
	if err != nil {
		return nil, err
	}
	for k, spec := range f.specs {
		of, own := ev.ofGoal(k, spec.Schema), parts[k].parts
		switch {
		case own == nil:
			parts[k].shares, err = f.sharesOf(ev, of, k)
		case !of.oneClass():
			name := spec.Scorecard.Name()
			own[name], err = fitScorecard(ctx, spec, *of, f.statesOf(ev, k), &Model{Parts: own}, own)
		}
		if err != nil {
			return nil, fmt.Errorf("goal %d: %w", k, err)
		}
	}
	return f.appendPart(parts), nil
}

// renewGoals brings the counts of the goals up to date where a model has them.
func renewGoals(
	ctx context.Context, spec *Spec, ev *Evidence, states States, m *Model, parts map[string][]byte,
) (map[string][]byte, error) {
	for _, x := range spec.Components {
		f, part := goalsOf(x), m.part(GoalsName)
		if f == nil || part == nil {
			continue
		}
		renewed, err := f.renew(ctx, (*ev).of(GoalsName, states), part)
		if err != nil {
			return nil, fmt.Errorf("renewing %s: %w", GoalsName, err)
		}
		parts[GoalsName] = renewed
	}
	return parts, nil
}

// goals are the goals of one partition.
type goals struct {
	specs []*Spec
	all   []goal
	ex    Example // of one goal
	// classed is the number of learnt records with a class.
	classed float64
}

// goal is the live state of one goal.
type goal struct {
	scorer
	structured bool
	// seen are the weights of the records of each class before there was a structure, and others those of the other
	// partitions in the serving model.
	seen, others [2]float64
	prob         [2]float64
}

// rate is the base rate of class 1 of a goal without a structure, with a pseudo-record of each class.
func (x *goal) rate() float64 {
	yes := x.seen[1] + x.others[1]
	return (yes + 1) / (x.seen[0] + x.others[0] + yes + 2)
}

var _ GoalScorer = (*goals)(nil)

// Classed is the number of learnt records with a class.
func (g *goals) Classed() float64 { return g.classed }

// Goals is the number of goals.
func (g *goals) Goals() int { return len(g.all) }

// MemoryLen is the sum of the memories of the scorecards.
func (g *goals) MemoryLen() (n int) {
	for k := range g.all {
		n += len(g.all[k].pending)
	}
	return n
}

// InputCount is 0: the goals offer nothing to the scorecard of the label.
func (g *goals) InputCount() int { return 0 }

// Inputs writes nothing.
func (g *goals) Inputs(Row, []float64) {}

// ScoreGoals writes the propensities; those of a goal without a structure are base rates.
func (g *goals) ScoreGoals(row Row, memory, p []float64) {
	for k := range g.all {
		x := &g.all[k]
		n := len(x.pending)
		if !x.structured {
			clear(memory[:n])
			p[k] = x.rate()
			memory = memory[n:]
			continue
		}
		x.fill(row)
		x.scorecard.Score(row, x.inputs, memory[:n:n], x.prob[:])
		p[k], memory = x.prob[1], memory[n:]
	}
}

// AppendFitted appends of every goal whether it has a structure.
func (g *goals) AppendFitted(fitted []bool) []bool {
	for k := range g.all {
		fitted = append(fitted, g.all[k].structured)
	}
	return fitted
}

// each calls do with every goal that is known of the record, and with the record as that goal's.
func (g *goals) each(ex *Example, do func(k int, x *goal, ex *Example)) {
	g.ex = *ex
	g.ex.Outcomes = 0
	for k := range g.all {
		if g.ex.Class = ex.Outcomes.Of(k); g.ex.Class >= 0 && ex.Weight > 0 {
			do(k, &g.all[k], &g.ex)
		}
	}
	g.ex.Row = nil
}

// LearnGoals learns the goals that are known of the record.
func (g *goals) LearnGoals(ex *Example, memory []float64, counts bool) {
	if ex.Class >= 0 {
		g.classed++
	}
	at, done := 0, 0
	g.each(ex, func(k int, x *goal, ex *Example) {
		if !x.structured {
			x.seen[ex.Class] += ex.Weight
			return
		}
		var own []float64
		if memory != nil {
			for ; done < k; done++ {
				at += len(g.all[done].pending)
			}
			own = memory[at : at+len(x.pending) : at+len(x.pending)]
		}
		x.learn(ex, own, counts)
	})
}

// Learn adds a record to the counts of its goals.
func (g *goals) Learn(ex *Example) {
	g.each(ex, func(_ int, x *goal, ex *Example) {
		if !x.structured {
			x.seen[ex.Class] += ex.Weight
			return
		}
		for _, c := range x.scorer.all() {
			c.Learn(ex)
		}
	})
}

// Retract takes a record out of the counts of its goals.
func (g *goals) Retract(ex *Example) {
	g.each(ex, func(_ int, x *goal, ex *Example) {
		if !x.structured {
			x.seen[ex.Class] = max(x.seen[ex.Class]-ex.Weight, 0)
			return
		}
		for _, c := range x.scorer.all() {
			c.Retract(ex)
		}
	})
}

// NotAfter takes back clocks that are ahead of t.
func (g *goals) NotAfter(t int64) {
	for k := range g.all {
		for _, c := range g.all[k].scorer.all() {
			if x, ok := c.(Timed); ok {
				x.NotAfter(t)
			}
		}
	}
}

// Rebase moves each goal that has a part to it. A goal without a structure takes the counts of the other partitions.
func (g *goals) Rebase(rb *Rebase) error {
	f := goalsFactory{g.specs}
	parts, err := f.readPart(rb.Part)
	if err != nil {
		return err
	}
	if rb.unknown {
		g.countSince(rb)
	}
	for k := range g.all {
		x := &g.all[k]
		if parts[k].parts == nil {
			x.rebaseCounts(parts[k].shares, rb)
			continue
		}
		for i, c := range x.scorer.all() {
			part, ok := parts[k].parts[x.spec.name(i)]
			if !ok {
				continue
			}
			own := *rb
			own.Part = part
			since := rb.Since
			if i == len(x.components) && rb.shares != nil {
				since, own.Ahead = rb.shares, rb.aheadOfShares
			}
			own.Since = func(yield func(ex *Example) bool) {
				since(func(ex *Example) bool {
					one := *ex
					one.Class, one.Outcomes = ex.Outcomes.Of(k), 0
					return one.Class < 0 || yield(&one)
				})
			}
			if err := c.Rebase(&own); err != nil {
				return fmt.Errorf("goal %d: rebasing %s: %w", k, x.spec.name(i), err)
			}
		}
		x.structured, x.others = true, [2]float64{}
		x.scorer = newScorer(x.spec, x.components, x.scorecard)
	}
	return nil
}

// countSince counts the goals without a structure anew, by the records that the model does not know. The counts that
// a model before it has brought go: they would count once more with each model that knows no record of the state.
func (g *goals) countSince(rb *Rebase) {
	for k := range g.all {
		if x := &g.all[k]; !x.structured {
			x.seen = [2]float64{}
		}
	}
	since := rb.Since
	if rb.shares != nil {
		since = rb.shares
	}
	since(func(ex *Example) bool {
		g.each(ex, func(_ int, x *goal, ex *Example) {
			if !x.structured {
				x.seen[ex.Class] += ex.Weight
			}
		})
		return true
	})
}

// rebaseCounts takes over the counts of a goal without a structure: those of the other partitions and,
// where the model knows no record of this one, its counts of this one. A part of format 1 has none.
func (x *goal) rebaseCounts(shares []goalShare, rb *Rebase) {
	if x.structured {
		return
	}
	x.others = [2]float64{}
	for i := range shares {
		to := &x.others
		switch own := shares[i].partition == rb.Self; {
		case own && !rb.unknown:
			continue
		case own:
			to = &x.seen
		}
		to[0], to[1] = to[0]+shares[i].seen[0], to[1]+shares[i].seen[1]
	}
}
