package propensity

import (
	"math"
)

// weights are the weights of the cards, in the tables, with the mixture that says how much each card counts.
type weights struct {
	inputs
	mix     mixture
	adopted uint64 // stamp of the last batch that weights moved to

	// Room to work.
	dirs       []float64 // margins: how they make up the log-odds of the target
	ref        []float64 // margins: direction of a feature's lifts
	perHorizon []float64 // half-lives that make inputs: how much each counts in ref
	moved      []float64 // cards x margins: the part of a feature
	samples    []sample  // half-lives that make inputs: their records of a feature's cell
	known      []known   // likewise
	xs         []float64 // cards x margins
	pull       []float64 // features x cards x margins: gradients; only where effects follow lifts
	bend       steps2
	quick      quickLifts
}

// deriveWeights computes everything that follows from the weights.
func (s *weights) deriveWeights() {
	s.dirs = make([]float64, s.classes)
	s.ref, s.perHorizon, s.samples = make([]float64, s.margins), make([]float64, s.horizons), make([]sample, s.horizons)
	s.known = make([]known, s.horizons)
	s.quick = newQuickLifts(len(s.features), s.horizons, len(s.half)*s.classes)
	s.moved, s.xs = make([]float64, s.margins*cards), make([]float64, s.margins*cards)
	if s.opt.Follow {
		s.pull = make([]float64, len(s.features)*cards*s.margins)
	}
	s.mix.derive()
}

// pack turns live weights into the pairs (G w, G), which add up over partitions; of weights that never learnt, (0, 0).
func pack(v []pair) {
	for i := range v {
		for k := range cards {
			if v[i].g[k] == 1 {
				v[i].w[k], v[i].g[k] = 0, 0
			}
			v[i].w[k] *= v[i].g[k]
		}
	}
}

// blend moves live weights to the mean over this and n other partitions, each weighted by its G. G itself, which sets
// the steps, stays the partition's own: with the others' added, a stream cut into partitions would learn more slowly
// than one that is not. A weight that never learnt here is the others' mean, its G theirs. The mean of equal weights
// moves nothing, so fits without news do no harm; sums of moves, the obvious alternative, overshoot.
func blend(live, others []pair, n float64) {
	for i := range others {
		v, o := &live[i], &others[i]
		for k := range cards {
			if !(o.g[k] > 0) {
				continue
			}
			if v.g[k] == 1 {
				v.w[k], v.g[k] = o.w[k]/o.g[k], max(o.g[k]/n, 1)
				continue
			}
			v.w[k] += o.g[k] / (v.g[k] + o.g[k]) * (o.w[k]/o.g[k] - v.w[k])
		}
	}
}

// unpack turns a share's pairs into live ones.
func unpack(live, share []pair) {
	for i := range share {
		for k := range cards {
			if g := share[i].g[k]; g > 0 {
				live[i].w[k], live[i].g[k] = share[i].w[k]/g, g
			}
		}
	}
}

// blend moves all weights towards the mean over the partitions.
func (s *weights) blend(others *tables, n float64) {
	blend(s.cur.in, others.in, n)
	blend(s.cur.own, others.own, n)
	for f := range others.feat {
		s.resize(&s.cur.feat[f], s.cellCount(&others.feat[f]), fresh)
		blend(s.cur.feat[f].pair, others.feat[f].pair, n)
	}
}

// restoreOrder brings weights that were put together from several partitions back into order.
func (s *weights) restoreOrder() {
	for i := range s.order {
		if s.order[i] != nil {
			s.project(i, false)
		}
	}
	s.projectLinear()
}

// steps2 holds the numbers of a record for a gradient step, by card: r^2, and the steps of cells and of the others
// times r.
type steps2 struct{ sq, cell, step [cards]float64 }

// bent returns the steps of the weights of feature i where effects follow lifts: those of all, but none of the cards
// whose gradient s.pull is 0.
func (s *weights) bent(i int, all *steps2) *steps2 {
	b := &s.bend
	*b = *all
	for k, g := range s.pull[i*cards : (i+1)*cards] {
		if g == 0 {
			b.sq[k], b.cell[k], b.step[k] = 0, 0, 0
		}
	}
	return b
}

// descend makes one AdaGrad step of the first use cards: G += (r x)^2, w -= step r x / sqrt(G), with sq = r^2 and
// step = step r.
func descend(p *pair, use int, x float64, sq, step *[cards]float64) {
	xx := x * x
	g0 := p.g[0] + sq[0]*xx
	p.g[0] = g0
	p.w[0] -= step[0] * x / math.Sqrt(g0)
	g1 := p.g[1] + sq[1]*xx
	p.g[1] = g1
	p.w[1] -= step[1] * x / math.Sqrt(g1)
	if use > 2 {
		g2 := p.g[2] + sq[2]*xx
		p.g[2] = g2
		p.w[2] -= step[2] * x / math.Sqrt(g2)
		if use > 3 {
			g3 := p.g[3] + sq[3]*xx
			p.g[3] = g3
			p.w[3] -= step[3] * x / math.Sqrt(g3)
		}
	}
}

func addOwn(w []pair, u float64, z []float64) {
	K := len(w)
	for c := range w {
		z[c] += w[c].w[0] * u
		z[K+c] += w[c].w[1] * u
		z[2*K+c] += w[c].w[2] * u
		z[3*K+c] += w[c].w[3] * u
	}
}

// pullOf returns the gradients by the part of feature i in the margins, r being those by the margins.
func (s *weights) pullOf(i int, r []float64) []float64 {
	if !s.opt.Follow {
		return r
	}
	n := cards * s.margins
	return s.pull[i*n : (i+1)*n]
}
