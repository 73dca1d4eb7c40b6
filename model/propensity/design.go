package propensity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"liftstream/model"
)

// design holds the inputs that the batch is fitted on, and the state of the fit.
type design struct {
	*plan
	n      int
	class  []int32
	weight []float64
	lift   [][]float64 // features, then base rate: records x margins
	own    [][]float64 // constant and linear inputs: records
	places [][]place   // features: records
	z      []float64   // records x margins
	g, h   []float64   // gradient and curvature of the log-loss by z
	step   float64     // of a Newton step, as classes move against each other: (K-1)/K, 1 for two
	axes   []axis
	order  []int // features by name: weights are fitted in this order, under any order of the configuration
	// The weights of lift are drawn towards toward, with the ridge lifts; those of cells and of own towards 0, the
	// constant with the ridge base and linear inputs with line.
	toward                  []float64
	lifts, cell, line, base float64
	blank                   *batch // its weights, all 0
}

// place holds the cell of a feature in which a record lies, and the neighbouring one with its share.
type place struct {
	cell, side int32
	part       float64
}

// emptyDesign returns a design of no records with that many inputs of log-odds.
func (p fitter) emptyDesign(lifts int) *design {
	d := &design{plan: p.plan, step: 1, lift: make([][]float64, lifts), own: make([][]float64, 1+p.linear),
		places: make([][]place, len(p.features)),
		toward: make([]float64, lifts),
		lifts:  batchLift, cell: batchCell, line: batchOwn, base: batchOwn}
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
// was scored, so that no input knows more than was known then. live weighs the inputs of other components.
func (p fitter) newDesign(ctx context.Context, axes []axis, ev *evidence, live *tables, lag int) (*design, error) {
	K, H, F := p.margins, p.horizons, len(p.features)
	most := max(min(batchRecords, batchNumbers/(K*(F+1)+F+p.linear+1)), 1)
	if ev.most > 0 {
		most = min(most, ev.most)
	}
	stride := (ev.Len()-batchBurn)/most + 1
	d := p.emptyDesign(F + 1)
	d.axes = axes
	s := newScorecard(p.plan)
	s.axes = axes
	p.startCells(s.cur, axes)
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
		if i%p.pause() == 0 && ctx.Err() != nil {
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
			inputsOf(s, row, inputs, m, s.prob)
			for j := range d.lift {
				d.lift[j] = append(d.lift[j], m.input(j*H+H-1, K)...)
			}
			for j := range d.own {
				d.own[j] = append(d.own[j], m.own[j])
			}
			for f, c := range s.cells {
				d.places[f] = append(d.places[f], place{int32(c), int32(s.sides[f]), s.parts[f]})
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
	for i := range d.weight { // curvatures count records, not the records for which these stand
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

// start adds the terms of the batch's weights to z.
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
	for i, at := range d.places[f] {
		if at.cell == noCell {
			continue
		}
		if at.part < 1 {
			yield(i, at.cell, 1-at.part)
		}
		if at.part > 0 {
			yield(i, at.side, at.part)
		}
	}
}

// sums adds the gradients and curvatures of the cells of a feature to g and h. Two classes, the most frequent number,
// have loops without a call, here and in move: these are half the work of a fit.
func (d *design) sums(f int, g, h []float64) {
	if K := d.margins; K > 1 {
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				g[int(cell)*K+c] += share * d.g[i*K+c]
				h[int(cell)*K+c] += share * d.h[i*K+c]
			}
		})
		return
	}
	places := d.places[f]
	dg, dh := d.g[:len(places)], d.h[:len(places)]
	for i := range places {
		at := &places[i]
		if at.cell == noCell {
			continue
		}
		if at.part < 1 {
			g[at.cell] += (1 - at.part) * dg[i]
			h[at.cell] += (1 - at.part) * dh[i]
		}
		if at.part > 0 {
			g[at.side] += at.part * dg[i]
			h[at.side] += at.part * dh[i]
		}
	}
}

// move moves the weights of the cells of a feature by steps, and gradients and z with them.
func (d *design) move(f int, steps []float64) {
	if K := d.margins; K > 1 {
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				by := share * steps[int(cell)*K+c]
				d.g[i*K+c] += d.h[i*K+c] * by
				d.z[i*K+c] += by
			}
		})
		return
	}
	places := d.places[f]
	dg, dh, z := d.g[:len(places)], d.h[:len(places)], d.z[:len(places)]
	for i := range places {
		at := &places[i]
		if at.cell == noCell {
			continue
		}
		if at.part < 1 {
			by := (1 - at.part) * steps[at.cell]
			dg[i] += dh[i] * by
			z[i] += by
		}
		if at.part > 0 {
			by := at.part * steps[at.side]
			dg[i] += dh[i] * by
			z[i] += by
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
		// Neighbours share records: the curvature of a cell is that of its shares, a bound of the joint step of both.
		g, h := make([]float64, len(cells)), make([]float64, len(cells))
		d.sums(f, g, h)
		for c := range cells {
			if d.still(d.axes, f, c%K) {
				g[c] = 0
				continue
			}
			g[c] = d.newton(cells[c].w, 0, g[c], h[c], d.cell)
			cells[c] = point{cells[c].w + g[c], h[c]}
		}
		d.move(f, g)
	}
}
