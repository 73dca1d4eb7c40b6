package propensity

import (
	"math"
	"unsafe"
)

// quickWidth is the number of features whose lifts are prepared at once.
const quickWidth = 4

// quickLifts are the figures of the lifts of all features in the record of the last Effects, two classes, where the
// processor has lanes: those of towards, changeOf and about, four features at a time as they are asked for.
type quickLifts struct {
	done []bool // of each four
	all  []quickFigures
	exps [][2 * quickWidth]float64 // of each four: z of changeOf, then exp(-change)
	room []float64                 // horizons x 4 figures x quickWidth
	none []float64                 // counts of no cell
}

// quickFigures are the figures of four features.
type quickFigures struct {
	ref    [quickWidth]float64 // X of towards
	base   [quickWidth]float64 // sum of the base log-odds of the target
	weight [quickWidth]float64 // of the horizons
	plus   [quickWidth]float64 // sums of about
	minus  [quickWidth]float64
}

// quickArgs are the arguments of quickLanes.
type quickArgs struct {
	cell, side [quickWidth]*float64 // counts, horizons x classes; where no neighbour has a part, the cell twice
	in         [quickWidth]*pair
	x          [quickWidth]*float64
	t          [quickWidth]float64
	part       *[cards]float64
	every      *everyHorizon
	both, way  *float64
	room       *float64
	horizons   int
	count      float64 // horizons
	prior      float64
	dir        float64
	quickFigures
}

// quickSize is the size of quickArgs by which quickLanes finds its fields.
const quickSize = 392

var _ [quickSize]struct{} = [unsafe.Sizeof(quickArgs{})]struct{}{}

func newQuickLifts(features, horizons, counts int) quickLifts {
	n := (features + quickWidth - 1) / quickWidth
	return quickLifts{done: make([]bool, n), all: make([]quickFigures, n),
		exps: make([][2 * quickWidth]float64, n),
		room: make([]float64, horizons*4*quickWidth), none: make([]float64, counts)}
}

// quickly reports whether there are quick figures of feature i.
func quickly(s *weights, i int) bool {
	return lanes && s.margins == 1 && s.way != nil && s.order[i] == nil && s.horizons > 0
}

// prepare fills the figures of the four features around i for the target of which dir tells.
func prepare(s *weights, i int, x []float64, dir float64) {
	g := i / quickWidth
	q, every := &s.quick, everyOf(&s.counts)
	H, n := s.horizons, len(s.half)*s.classes
	a := quickArgs{part: &s.mix.part, every: &every.horizons[0], both: &every.both[0], way: &s.way[0],
		room: &q.room[0], horizons: H, count: float64(H), prior: s.opt.Prior, dir: dir}
	for l := range quickWidth {
		f := min(g*quickWidth+l, len(s.features)-1)
		a.in[l], a.x[l] = &s.cur.in[f*H], &x[f*H]
		c := s.cells[f]
		if c == noCell {
			a.cell[l], a.side[l] = &q.none[0], &q.none[0]
			continue
		}
		count := s.cur.feat[f].count
		a.cell[l] = &count[c*n]
		if k := s.far[f]; k >= 0 {
			a.cell[l] = &s.cur.feat[f].further.at(k)[0]
		}
		a.side[l] = a.cell[l]
		if t := s.parts[f]; t > 0 {
			a.side[l], a.t[l] = &count[s.sides[f]*n], t
		}
	}
	quickLanes(&a)
	q.all[g], q.done[g] = a.quickFigures, true
	exps := &q.exps[g]
	for l, weight := range a.weight {
		exps[l], exps[quickWidth+l] = -a.base[l]/weight, -((0 + dir*a.ref[l]) / weight)
	}
	exponentials(exps[:])
}

// quickLift is shownLift of feature i by its quick figures.
func quickLift(s *weights, i int, x []float64, dir float64) float64 {
	if !s.quick.done[i/quickWidth] {
		prepare(s, i, x, dir)
	}
	q, exps, l := &s.quick.all[i/quickWidth], &s.quick.exps[i/quickWidth], i%quickWidth
	change, z, fall := (0+dir*q.ref[l])/q.weight[l], exps[l], exps[quickWidth+l]
	base, bound := 1/(1+z), s.told*s.told
	of := sums{q.plus[l], q.minus[l], true}
	if is, sure := beyond(change*change*base*(1-base), bound, of); sure && !is {
		return math.NaN() // nor does less tell
	}
	change = surely(change, fall, base)
	is, sure := beyond(change*change*base*(1-base), bound, of)
	if !sure {
		is = tells(s, i, s.towards(i, x), change, base, sums{})
	}
	if is {
		return liftOf(fall, z)
	}
	return math.NaN()
}
