package propensity

import (
	"cmp"
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
// by the weight, which is what the evidence knows of it, and the sum G of the squared gradients of all partitions,
// which is what their weights know together.
type point struct{ w, by float64 }

func (x point) pull(v *pair) { v.w[batchCard] += x.by * (x.w - v.w[batchCard]) }

// batched reports whether the plan has a card that is an additive model over the longest memory.
func (p *plan) batched() bool {
	return p.recipes[batchCard].horizons == 1 && p.forever == p.horizons-1
}

// adopt moves the live weights, which are those of all partitions on average, towards those of the batch, once for each
// evidence: the same way in every partition.
func (s *Scorecard) adopt(b *batch) {
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

// design is what the batch is fitted on, and the state of the fit.
type design struct {
	*plan
	n      int
	class  []int32
	weight []float64
	lift   [][]float64 // features, then base rate: records x margins
	own    [][]float64 // constant and linear inputs: records
	cells  []int32     // records x features x (cell, its neighbour)
	parts  []float64   // records x features: the neighbour's share
	z      []float64   // records x margins
	g, h   []float64   // gradient and curvature of the log-loss by z
	step   float64     // of a Newton step, as classes move against each other: (K-1)/K, 1 for two
	axes   []axis
	order  []int // features by name: that in which weights are fitted, whatever that of the configuration
	// The weights of lift are drawn towards toward, with the ridge lifts; those of cells and of own towards 0, the
	// constant with the ridge base and linear inputs with line.
	toward                  []float64
	lifts, cell, line, base float64
	blank                   *batch // its weights, all 0
}

// fitBatch fits the batch on all records of the evidence, from the weights that the shares have on average; the inputs
// of other components keep their weights. nil when there is no such card or too little to fit on.
func (p *plan) fitBatch(ctx context.Context, axes []axis, ev *evidence, shares []contribution) (*batch, error) {
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
	b := &batch{stamp: stampOf(ev), lift: make([]point, len(d.lift)), own: make([]point, len(d.own)*p.margins), cell: make([][]point, len(p.features))}
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

// emptyDesign returns a design of no records with that many inputs of log-odds.
func (p *plan) emptyDesign(lifts int) *design {
	d := &design{plan: p, step: 1, lift: make([][]float64, lifts), own: make([][]float64, 1+p.linear), toward: make([]float64, lifts),
		lifts: batchLift, cell: batchCell, line: batchOwn, base: batchOwn}
	if p.margins > 1 {
		d.step = float64(p.margins-1) / float64(p.margins)
	}
	for j := range d.toward {
		at := j*p.horizons + p.horizons - 1
		if F := len(p.features); j > F {
			at = (F+1)*p.horizons + j - F - 1
		}
		d.toward[j] = p.prior(at).w[batchCard]
	}
	for i := range p.features {
		d.order = append(d.order, i)
	}
	name := func(i int) string { return p.schema.Features[p.features[i].index].Name }
	slices.SortFunc(d.order, func(a, b int) int { return cmp.Compare(name(a), name(b)) })
	return d
}

// newDesign runs the evidence in its order through counts that start empty, each record counted lag records after it
// was scored, so that no input knows what was not known then. live weighs the inputs of other components.
func (p *plan) newDesign(ctx context.Context, axes []axis, ev *evidence, live *tables, lag int) (*design, error) {
	K, H, F := p.margins, p.horizons, len(p.features)
	most := max(min(batchRecords, batchNumbers/(K*(F+1)+F+p.linear+1)), 1)
	stride := (ev.Len()-batchBurn)/most + 1
	d := p.emptyDesign(F + 1)
	d.axes = axes
	s := newScorecard(p)
	s.axes = axes
	p.furnish(s.cur, axes)
	s.derive()
	s.SetBlocks(ev.Blocks)
	var inputs []float64
	for _, n := range ev.Blocks {
		inputs = append(inputs, make([]float64, n*p.classes)...)
	}
	extern, weighed := make([]float64, p.extern), false // the weights that this card gives them, and whether it gives any
	for j := range extern {
		e := (F+1)*H + j
		extern[j] = mean(&live.in[e], p.prior(e).w[batchCard])
		weighed = weighed || extern[j] != 0
	}
	var sum, square float64
	row, counted := make(model.Row, len(ev.Columns)), make(model.Row, len(ev.Columns))
	m := s.tmp
	for i := range ev.Class {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("fitting scorecard: %w", ctx.Err())
		}
		if y, w := ev.Class[i], ev.Weight[i]; i >= batchBurn && i%stride == 0 && w > 0 && y >= 0 && int(y) < p.classes {
			ev.Row(i, row)
			s.locate(row)
			s.grow(row)
			switch {
			case !weighed:
			case ev.Offset != nil:
				ev.Offset(&model.Example{Row: row, Class: y, Weight: w, Clock: at(ev.Clock, i), Time: at(ev.Time, i)}, inputs)
			case ev.Inputs != nil:
				ev.Inputs(row, inputs)
			}
			s.inputsOf(row, inputs, m, s.prob)
			for j := range d.lift {
				d.lift[j] = append(d.lift[j], m.input(j*H+H-1, K)...)
			}
			for j := range d.own {
				d.own[j] = append(d.own[j], m.own[j])
			}
			for f, c := range s.cells {
				d.cells = append(d.cells, int32(c), int32(s.sides[f]))
				d.parts = append(d.parts, s.parts[f])
			}
			for c := range K {
				z := 0.
				for j, w := range extern {
					z += w * m.input((F+1)*H+j, K)[c]
				}
				d.z = append(d.z, z)
			}
			d.class, d.weight = append(d.class, y), append(d.weight, w)
			sum, square = sum+w, square+w*w
		}
		if j := i - lag; j >= 0 && ev.Weight[j] > 0 && ev.Class[j] >= 0 && int(ev.Class[j]) < p.classes {
			ev.Row(j, counted)
			s.Learn(&model.Example{Row: counted, Class: ev.Class[j], Weight: ev.Weight[j], Clock: float64(j)})
		}
	}
	d.n = len(d.class)
	for i := range d.weight { // curvatures speak of the records that there are, not of those that they stand for
		d.weight[i] *= sum / square
	}
	for f := range p.features { // levels that no share knows yet
		p.resize(&live.feat[f], p.cellCount(&s.cur.feat[f]), pair{})
	}
	d.g, d.h = make([]float64, d.n*K), make([]float64, d.n*K)
	return d, nil
}

// at returns v[i], 0 of nothing.
func at[T any](v []T, i int) (x T) {
	if v != nil {
		x = v[i]
	}
	return x
}

// start adds what the weights of the batch say to z.
func (d *design) start(b *batch) {
	K := d.margins
	for j := range d.lift {
		for i, u := range d.lift[j] {
			d.z[i] += b.lift[j].w * u
		}
	}
	for j := range d.own {
		for i, u := range d.own[j] {
			for c := range K {
				d.z[i*K+c] += b.own[j*K+c].w * u
			}
		}
	}
	for f := range b.cell {
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				d.z[i*K+c] += share * b.cell[f][int(cell)*K+c].w
			}
		})
	}
}

// eachCell yields the cells of a feature with the record and their share in it.
func (d *design) eachCell(f int, yield func(i int, cell int32, share float64)) {
	F := len(d.features)
	for i := range d.n {
		at := i*F + f
		cell := d.cells[2*at]
		if cell == noCell {
			continue
		}
		part := d.parts[at]
		if part < 1 {
			yield(i, cell, 1-part)
		}
		if part > 0 {
			yield(i, d.cells[2*at+1], part)
		}
	}
}

// refresh computes gradients and curvatures anew.
func (d *design) refresh() {
	K := d.margins
	if K == 1 {
		for i, z := range d.z {
			p := sigmoid(z)
			d.g[i], d.h[i] = d.weight[i]*(p-float64(d.class[i])), d.weight[i]*p*(1-p)
		}
		return
	}
	p := make([]float64, K)
	for i, w := range d.weight {
		copy(p, d.z[i*K:])
		softmax(p)
		for c, v := range p {
			d.g[i*K+c], d.h[i*K+c] = w*v, w*v*(1-v)
		}
		d.g[i*K+int(d.class[i])] -= w
	}
}

// newton returns the step of a weight with the given sums of gradient and curvature, and the ridge towards to.
func (d *design) newton(w, to, gradient, curvature, ridge float64) float64 {
	return clip(-d.step*(gradient+ridge*(w-to))/(curvature+ridge), 1)
}

// round makes a Newton step of each weight in turn.
func (d *design) round(b *batch) {
	K := d.margins
	for at := range d.lift {
		j := at // the base rate first, then the features in order, then inputs of other components
		if at == 0 {
			j = len(d.order)
		} else if at <= len(d.order) {
			j = d.order[at-1]
		}
		x := d.lift[j]
		var g, h float64
		for i, u := range x {
			g += d.g[i] * u
			h += d.h[i] * u * u
		}
		by := d.newton(b.lift[j].w, d.toward[j], g, h, d.lifts)
		if j > len(d.order) { // another component's log-odds do not say their opposite
			by = max(by, -b.lift[j].w)
		}
		b.lift[j] = point{b.lift[j].w + by, h}
		for i, u := range x {
			d.g[i] += d.h[i] * by * u
			d.z[i] += by * u
		}
	}
	linear, of := []int{0}, make([]int, len(d.own)) // inputs, and the feature of each
	for _, i := range d.order {
		if l := d.features[i].linear; l >= 0 {
			linear, of[1+l] = append(linear, 1+l), i
		}
	}
	for _, j := range linear {
		x := d.own[j]
		for c := range K {
			if j > 0 && d.still(d.axes, of[j], c) {
				continue
			}
			var g, h float64
			for i, u := range x {
				g += d.g[i*K+c] * u
				h += d.h[i*K+c] * u * u
			}
			at := j*K + c
			ridge := d.line
			if j == 0 {
				ridge = d.base
			}
			by := d.newton(b.own[at].w, 0, g, h, ridge)
			b.own[at] = point{b.own[at].w + by, h}
			for i, u := range x {
				d.g[i*K+c] += d.h[i*K+c] * by * u
				d.z[i*K+c] += by * u
			}
		}
	}
	for _, f := range d.order {
		cells := b.cell[f]
		// Neighbours share records: the curvature of a cell is that of its shares, which bounds what both can do at once.
		g, h := make([]float64, len(cells)), make([]float64, len(cells))
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				g[int(cell)*K+c] += share * d.g[i*K+c]
				h[int(cell)*K+c] += share * d.h[i*K+c]
			}
		})
		for c := range cells {
			if d.still(d.axes, f, c%K) {
				g[c] = 0
				continue
			}
			g[c] = d.newton(cells[c].w, 0, g[c], h[c], d.cell)
			cells[c] = point{cells[c].w + g[c], h[c]}
		}
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				by := share * g[int(cell)*K+c]
				d.g[i*K+c] += d.h[i*K+c] * by
				d.z[i*K+c] += by
			}
		})
	}
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

// readBatch reads what appendBatch wrote; axes bound the cells of continuous features.
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
