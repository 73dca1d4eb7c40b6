package propensity

import (
	"math"
	"slices"

	"liftstream/model"
)

// shape returns the cells of a continuous feature for values of the given weights: its own cuts, else those of cut,
// joined until each has the least share where one is asked for. Behind them each special code has a cell, whether or
// not a record has it.
func (p fitter) shape(f *feature, values, weights []float64) axis {
	var a axis
	switch {
	case len(f.cuts) > 0:
		a = stepped(f.cuts)
	case f.least > 0:
		a = p.cut(values, weights, true)
		a = stepped(model.JoinCells(a.steps(values), values, weights, f.least))
	default:
		a = p.cut(values, weights, f.want != model.Free)
	}
	a.center, a.scale = moments(values, weights)
	a.special = f.special
	a.cells += a.special
	return a
}

// steps returns the axis's edges, and the largest value below each atom, as cuts.
func (a *axis) steps(values []float64) []float64 {
	below := make([]float64, len(a.edges))
	for i := range below {
		below[i] = math.Inf(-1)
	}
	for _, v := range values {
		for i, e := range a.edges {
			if v < e && v > below[i] && !math.IsInf(v, 0) {
				below[i] = v
			}
		}
	}
	var cuts []float64
	for i, e := range a.edges {
		if a.at[i] != a.gap[i] && !math.IsInf(below[i], 0) {
			cuts = append(cuts, below[i])
		}
		cuts = append(cuts, e)
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// stepped returns the axis of right-closed cells between cuts, in their order. Its values do not run from one to the
// next.
func stepped(cuts []float64) axis {
	a := axis{edges: slices.Clone(cuts), gap: []int32{cellFirst}, scale: 1, cells: cellFirst + len(cuts) + 1}
	for i := range cuts {
		a.at = append(a.at, a.gap[i])
		a.gap = append(a.gap, int32(cellFirst+i+1))
	}
	return a
}

// kept reports whether cells of before may stay though the evidence would have others cut anew as a: they are still
// adequate, and a has at most a quarter more. Own cuts stay only as they are.
func (p fitter) kept(f *feature, a, before *axis, values, weights []float64) bool {
	switch {
	case len(f.cuts) > 0:
		return a.same(before)
	case 4*a.cells >= 5*before.cells:
		return false
	case f.least > 0:
		return !before.smooth && slices.Equal(before.at, before.gap[:len(before.at)]) && // no atoms
			len(model.JoinCells(before.edges, values, weights, f.least)) == len(before.edges)
	}
	return p.adequate(before, values, weights)
}

// inTrend returns the cells of a continuous feature whose rates are to go one way (model.OptimalCuts).
func (p fitter) inTrend(f *feature, ev *evidence) axis {
	values := ev.Columns[f.index]
	a := stepped(model.OptimalCuts(values, ev.Weight, p.isPositive(ev), f.least, f.trend))
	a.center, a.scale = moments(values, ev.Weight)
	a.special = f.special
	a.cells += a.special
	return a
}

// trends reports whether the rates of cells of before still go one way.
func (p fitter) trends(f *feature, before *axis, ev *evidence) bool {
	return len(model.JoinCellsInTrend(before.edges, ev.Columns[f.index], ev.Weight, p.isPositive(ev), f.least,
		f.trend)) == len(before.edges)
}

// isPositive tells the records of the positive class, the second of two where none is configured.
func (p fitter) isPositive(ev *evidence) func(i int) bool {
	positive := int32(p.schema.Positive)
	if positive < 0 {
		positive = 1
	}
	return func(i int) bool { return ev.Class[i] == positive }
}
