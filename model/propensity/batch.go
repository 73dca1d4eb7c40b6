package propensity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// How all weights of a card are fitted on the evidence.
const (
	batchCard    = cards - 1 // that of the longest memory: one log-lift and one weight a cell, an additive model
	batchLeast   = 1000      // records of the evidence below which nothing is fitted
	batchBurn    = 500       // oldest records that are counted only
	batchRecords = 1 << 16   // that are fitted on, evenly thinned
	batchNumbers = 1 << 23   // of inputs that are held at once, 64 MiB
	batchRounds  = 10        // over all weights, gradients and curvatures new in each
	// Ridges of the weights of log-lifts, cells, and constant and linear inputs, in units of curvature: a record of even
	// odds has 1/4.
	batchLift, batchCell, batchOwn = 50., 4., 20.
)

// batch holds the weights of batchCard that suit the evidence best (METHOD.md 7): the penalised logistic regression of
// the class on the log-lifts over the longest memory, as they were when each record was scored, the cells, the constant
// and the linear inputs.
type batch struct {
	stamp uint64 // of the evidence
	lift  []point
	own   []point   // (constant, linear inputs) x margins
	cell  [][]point // by feature: cells x margins
}

// point is a weight, and how far live weights move towards it: h/(h+G) of the way, with the curvature h of the log-loss
// by the weight, the evidence's knowledge of it, and the sum G of the squared gradients of all partitions,
// the knowledge of their weights together.
type point struct{ w, by float64 }

func (x point) pull(v *pair) { v.w[batchCard] += x.by * (x.w - v.w[batchCard]) }

// batched reports whether the plan has a card that is an additive model over the longest memory.
func (p *plan) batched() bool {
	return p.recipes[batchCard].horizons == 1 && p.forever == p.horizons-1
}

// adopt moves the live weights, which are those of all partitions on average, towards those of the batch, once for each
// evidence: the same way in every partition.
func (s *weights) adopt(b *batch) {
	if b == nil || b.stamp == s.adopted {
		return
	}
	s.adopted = b.stamp
	s.learnt++
	H := s.horizons
	for i, x := range b.lift {
		x.pull(&s.cur.in[i*H+H-1])
	}
	K := s.margins
	for i, x := range b.own {
		if j := i / K; j == 0 || !s.still(s.axes, s.linearOf[j-1], i%K) {
			x.pull(&s.cur.own[i])
		}
	}
	for f, cells := range b.cell {
		live := s.cur.feat[f].pair
		for i, x := range cells[:min(len(cells), len(live))] {
			if !s.still(s.axes, f, i%K) {
				x.pull(&live[i])
			}
		}
	}
}

// still reports whether margin c may not move with feature f: of more than two classes, that of a class which is not
// the positive one, where the feature has a direction.
func (p *plan) still(axes []axis, f, c int) bool {
	return p.margins > 1 && axes[f].rise != 0 && c != p.schema.Positive
}

// fitBatch fits the batch on all records of the evidence, from the weights that the shares have on average; the inputs
// of other components keep their weights. nil when there is no such card or too little to fit on.
func (p fitter) fitBatch(ctx context.Context, axes []axis, ev *evidence, shares []contribution) (*batch, error) {
	if !p.batched() || ev.Len() < batchLeast {
		return nil, nil
	}
	live, lag := p.newTables(), 0.
	for i := range shares {
		t := shares[i].t
		lag += shares[i].lag // the records of the partitions come by turns
		addPairs(live.in, t.in)
		addPairs(live.own, t.own)
		for f := range t.feat {
			p.resize(&live.feat[f], p.cellCount(&t.feat[f]), pair{})
			addPairs(live.feat[f].pair, t.feat[f].pair)
		}
	}
	d, err := p.newDesign(ctx, axes, ev, live, min(int(lag), ev.Len()/4))
	if err != nil {
		return nil, err
	}
	b := &batch{stamp: stampOf(ev), cell: make([][]point, len(p.features)), lift: make([]point, len(d.lift)),
		own: make([]point, len(d.own)*p.margins)}
	H := p.horizons
	for j := range b.lift {
		b.lift[j].w = mean(&live.in[j*H+H-1], p.prior(j*H + H - 1).w[batchCard])
	}
	for j := range b.own {
		b.own[j].w = mean(&live.own[j], 0)
	}
	for f := range b.cell {
		b.cell[f] = make([]point, len(live.feat[f].pair))
		for c := range b.cell[f] {
			b.cell[f][c].w = mean(&live.feat[f].pair[c], 0)
		}
	}
	d.start(b)
	for range batchRounds {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fitting scorecard: %w", err)
		}
		d.refresh()
		d.round(b)
	}
	for j := range b.lift {
		b.lift[j].weigh(&live.in[j*H+H-1])
	}
	for j := range b.own {
		b.own[j].weigh(&live.own[j])
	}
	for f := range b.cell {
		for c := range b.cell[f] {
			b.cell[f][c].weigh(&live.feat[f].pair[c])
		}
	}
	return b, nil
}

// weigh turns the curvature, which by holds while the batch is fitted, into the way to go, v being the sum of the
// shares' pairs.
func (x *point) weigh(v *pair) {
	if x.by > 0 {
		x.by /= x.by + v.g[batchCard]
	}
}

// mean is the weight of batchCard of pairs (G w, G) that were added up, or none where nothing has learnt it.
func mean(v *pair, none float64) float64 {
	if g := v.g[batchCard]; g > 0 {
		return v.w[batchCard] / g
	}
	return none
}

// stampOf tells evidence from other evidence.
func stampOf(ev *evidence) uint64 {
	var weight, clock float64
	for i, w := range ev.Weight {
		weight += w
		if ev.Clock != nil {
			clock += ev.Clock[i]
		}
	}
	return model.Hash(ev.Seed, uint64(ev.Len()), math.Float64bits(weight), math.Float64bits(clock))
}

func (p *plan) appendBatch(out []byte, b *batch) []byte {
	out = wire.AppendBool(out, b != nil)
	if b == nil {
		return out
	}
	out = wire.AppendUvarint(out, b.stamp)
	points := func(x []point) {
		out = wire.AppendUvarint(out, uint64(len(x)))
		for _, v := range x {
			out = wire.AppendFloat(out, v.w)
			out = wire.AppendFloat(out, v.by)
		}
	}
	points(b.lift)
	points(b.own)
	for _, c := range b.cell {
		points(c)
	}
	return out
}

// readBatch reads the form of appendBatch; axes bound the cells of continuous features.
func (p *plan) readBatch(r *wire.Reader, axes []axis) *batch {
	if !r.Bool() {
		return nil
	}
	b := &batch{stamp: r.Uvarint(), cell: make([][]point, len(p.features))}
	points := func(most int) []point {
		n := r.Int(most)
		if r.Err() == nil && r.Rest() < 16*n {
			r.Fail(wire.ErrTruncated)
		}
		if r.Err() != nil {
			return nil
		}
		x := make([]point, n)
		for i := range x {
			x[i] = point{r.Float(), r.Float()}
			if !(math.Abs(x[i].w) < 1e60) || !(x[i].by >= 0 && x[i].by <= 1) {
				r.Fail(errNumber)
			}
		}
		return x
	}
	b.lift, b.own = points(len(p.features)+1), points((1+p.linear)*p.margins)
	for f := range b.cell {
		most := cellLevels + p.levels
		if axes[f].cells > 0 {
			most = axes[f].cells
		}
		b.cell[f] = points(most * p.margins)
	}
	return b
}

// within returns the batch without the cells of levels that have none in p.
func (b *batch) within(p *plan) *batch {
	n := *b
	n.cell = slices.Clone(b.cell)
	for f := range n.cell {
		if most := (cellLevels + p.levels) * p.margins; p.features[f].kind != model.Continuous && len(n.cell[f]) > most {
			n.cell[f] = n.cell[f][:most:most]
		}
	}
	return &n
}
