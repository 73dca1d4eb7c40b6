package trees

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Name is the factory's name: the key of its part in models and of its section in snapshots.
const Name = "trees"

// Options choose the trees.
type Options struct {
	Rounds   int     // largest number of trees that each record adds up, a class
	Leaves   int     // of a tree, at most
	Rate     float64 // factor of the values of leaves
	Gate     float64 // standard errors by which the log-loss out of fold must fall; below 0 all are kept, useful or not
	HalfLife float64 // of the counts of leaves, in labelled records; 0 = for ever
}

// Default returns the options of the default configuration.
func Default() Options { return Options{Rounds: 120, Leaves: 16, Rate: .15, Gate: 3} }

// Factory makes the tree component of a schema.
type Factory struct {
	options Options
	schema  *model.Schema
}

// New returns the factory for the schema.
func New(o Options, s *model.Schema) *Factory { return &Factory{options: o, schema: s} }

var _ model.Factory = (*Factory)(nil)

// Name is "trees".
func (f *Factory) Name() string { return Name }

// Contribution describes the sum of the trees: one input under the term "(trees)".
func (f *Factory) Contribution() model.Contribution {
	return model.Contribution{Term: "(trees)", Inputs: 1, Fitted: true}
}

// New returns an empty component, which offers nothing until its first Rebase.
func (f *Factory) New(*model.Levels) model.Component { return &Component{schema: f.schema} }

// Limits of a fit (METHOD.md 5).
const (
	Widest      = 128     // features
	mostRecords = 1 << 15 // the newest
	mostTrees   = 256     // of an ensemble
	mostClasses = 32
	mostWork    = 1 << 32 // steps, where the budget has more
	least       = 20      // records of a leaf
	curvature   = 1e-3    // of a leaf, at least
	ridge       = 10.
)

// steps estimates the work of a fit: the additive models and the trees of all folds, of the older and of all records.
// Of a tree each record is counted, split off and looked up about stages times in all.
func (f *Factory) steps(features, records int) float64 {
	n, x := float64(records)*float64(marginsOf(f.schema)), float64(features)
	stages := 1.5 + math.Log2(float64(f.options.Leaves))/2
	fits := folds*(1-1./folds) + 1 + (1 - newest)
	return fits * n * ((baseRounds*4+shrinkRounds*2)*(x+1) + float64(f.rounds())*(stages*(x+4)+60))
}

// rounds is the largest number of rounds.
func (f *Factory) rounds() int {
	return max(min(f.options.Rounds, mostTrees/marginsOf(f.schema)), 1)
}

// Fit grows trees on the residuals of an additive model of the newest records, and keeps them where they lower the
// log-loss of records that they have not seen by Options.Gate standard errors. It starts from nothing: previous is read
// for its errors only. The counts of leaves of a partition that has the same trees stay.
func (f *Factory) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if previous != nil {
		if _, err := DecodePart(f.schema, previous); err != nil {
			return nil, fmt.Errorf("reading the previous part: %w", err)
		}
	}
	p := &Part{structure: structure{run: 1, halfLife: f.options.HalfLife}}
	r, err := f.sample(ctx, ev)
	if err != nil {
		return nil, err
	}
	if r != nil {
		if err := f.fit(ctx, p, r); err != nil {
			return nil, fmt.Errorf("growing trees: %w", err)
		}
	}
	if err := f.shares(ev, p); err != nil {
		return nil, err
	}
	return p.appendBinary(nil), nil
}

// sample codes the newest records that the fit can afford; nil where there is nothing to learn.
func (f *Factory) sample(ctx context.Context, ev *model.Evidence) (*records, error) {
	features := use(f.schema)
	if len(features) == 0 {
		return nil, nil
	}
	if len(f.schema.Classes) > mostClasses {
		ev.LeavesOut(fmt.Sprintf("has no trees above %d classes", mostClasses))
		return nil, nil
	}
	var rows []int32
	for i := range ev.Class {
		if ev.Weight[i] > 0 {
			rows = append(rows, int32(i))
		}
	}
	e := *ev
	if !e.Strict && (e.Work <= 0 || e.Work > mostWork) {
		e.Work = mostWork
	}
	wanted := min(len(rows), mostRecords)
	if len(features) > Widest {
		kept, err := ev.Strongest(ctx, features, Widest)
		if err != nil {
			return nil, err
		}
		features = sorted(f.schema, kept)
	}
	n, err := e.Afford(max(wanted, 1), func(n int) float64 { return f.steps(len(features), n) })
	if err != nil {
		return nil, err
	}
	if n < len(rows) {
		ev.LeavesOut(fmt.Sprintf("looks at the newest %d of %d records", n, len(rows)))
		rows = rows[len(rows)-n:]
	}
	seen := map[int32]bool{}
	for _, i := range rows {
		seen[ev.Class[i]] = true
	}
	if len(seen) < 2 || len(rows) < leastRecords {
		return nil, nil
	}
	slices.SortStableFunc(rows, func(a, b int32) int { // they may have been read in any order
		return cmp.Or(cmp.Compare(ev.Clock[a], ev.Clock[b]), cmp.Compare(ev.Partition[a], ev.Partition[b]))
	})
	return code(ev, features, rows), nil
}

// leastRecords of a fit: fewer leave too little out of fold.
const leastRecords = 200

// Several classes share the trees of a part, so that many leave each other few rounds. Below enough of them the rate
// grows as they become fewer, up to largestRate: the values of the leaves add up to as much.
const (
	enough      = 160. / 3
	largestRate = .5
)

// rate is that of the options, and a larger one where classes leave fewer rounds than the options ask for.
func (f *Factory) rate() float64 {
	rate, n := f.options.Rate, float64(f.rounds())
	if f.rounds() >= f.options.Rounds || n >= enough {
		return rate
	}
	return max(rate, min(rate*enough/n, largestRate))
}

func (f *Factory) fit(ctx context.Context, p *Part, r *records) error {
	p.info.records = r.len()
	if len(r.columns) == 0 {
		return nil
	}
	s := shape{leaves: f.options.Leaves, least: least, curvature: curvature, ridge: ridge, rate: f.rate()}
	es, out, err := boost(ctx, r, s, f.rounds())
	if err != nil {
		return err
	}
	if f.options.Gate < 0 && out.rounds == 0 {
		out.rounds = f.rounds()
	}
	p.info.outcome = out
	if kept, err := f.keeps(ctx, r, s, out); err != nil || !kept {
		return err
	}
	all := newEnsemble(r, -1)
	if err := all.additive(ctx); err != nil {
		return err
	}
	all.begin(out.start)
	x := newGrower(all, s)
	for range out.rounds {
		if _, err := x.round(ctx); err != nil {
			return err
		}
	}
	p.trees = all.serving(f.schema, out.rounds)
	if len(p.trees) == 0 {
		return nil
	}
	for _, e := range es {
		p.folds = append(p.folds, e.serving(f.schema, out.rounds))
	}
	p.base = make([]float64, r.margins)
	total := 0.
	for i, y := range r.class {
		total += r.weight[i]
		for m := range p.base {
			if is(y, m, r.margins) {
				p.base[m] += r.weight[i]
			}
		}
	}
	for m := range p.base {
		p.base[m] = (p.base[m] + .5) / (total + 1)
	}
	p.run = r.run
	p.stamp = p.hash()
	return nil
}

// leastMoving is the number of records from which on trees may be kept in a stream that moves: a few hundred records
// tell nothing of those to come.
const leastMoving = 2000

// keeps is the gate (METHOD.md 4).
func (f *Factory) keeps(ctx context.Context, r *records, s shape, o outcome) (bool, error) {
	if f.options.Gate < 0 {
		return true, nil
	}
	if o.rounds == 0 || !(o.gain > f.options.Gate*o.stderr) {
		return false, nil
	}
	if r.run == 0 {
		return true, nil // the records of a file have no order
	}
	if o.moves && r.len() < leastMoving {
		return false, nil
	}
	gain, err := ahead(ctx, r, s, o)
	return gain > 0, err
}

// serving returns the trees of the first rounds.
func (e *ensemble) serving(s *model.Schema, rounds int) []tree {
	var out []tree
	for _, t := range e.trees[:min(rounds*e.margins, len(e.trees))] {
		if t != nil {
			out = append(out, t.serving(e.records, s))
		}
	}
	return out
}

// shares takes over the counts of the partitions whose trees are these.
func (f *Factory) shares(ev *model.Evidence, p *Part) error {
	return model.Visit(ev, func() *Component { return &Component{schema: f.schema} }, func(n int32, c *Component) error {
		if c.structure != nil && c.structure.stamp == p.stamp && len(p.trees) > 0 {
			p.shares = append(p.shares, share{n, c.counts})
		}
		return nil
	})
}

// hash tells the trees from others.
func (s *structure) hash() uint64 {
	b := s.appendTrees(nil)
	h := model.Hash(uint64(len(b)))
	var word [8]byte
	for len(b) > 0 {
		n := copy(word[:], b)
		clear(word[n:])
		h, b = model.Hash(h, binary.LittleEndian.Uint64(word[:])), b[n:]
	}
	return h
}
