package model

import (
	"cmp"
	"slices"
)

// MaxCuts bounds Feature.Cuts.
const MaxCuts = 254

// CellOf returns the cell of a number among right-closed cells between ascending cuts: 0 is that up to the first cut,
// and len(cuts) that above the last one.
func CellOf(cuts []float64, v float64) int {
	i, _ := slices.BinarySearch(cuts, v)
	return i
}

// JoinCells leaves cuts out until each cell between them has the share least of the weight, or one cell is left: the
// lightest cell joins its lighter neighbour, of equal ones the lower. cuts ascend, and stay as they are; values and
// weights are those of all records, of which NaN counts nowhere. Without weight no cut is left.
func JoinCells(cuts, values, weights []float64, least float64) []float64 {
	mass, total := make([]float64, len(cuts)+1), 0.
	for i, v := range values {
		if v == v {
			mass[CellOf(cuts, v)] += weights[i]
			total += weights[i]
		}
	}
	cuts = slices.Clone(cuts)
	for len(cuts) > 0 {
		k := slices.Index(mass, slices.MinFunc(mass, cmp.Compare[float64]))
		if total > 0 && mass[k] >= least*total*(1-1e-12) {
			break
		}
		with := k + 1
		if k > 0 && (with == len(mass) || mass[k-1] <= mass[with]) {
			with = k - 1
		}
		low := min(k, with)
		mass[low] += mass[low+1]
		mass = slices.Delete(mass, low+1, low+2)
		cuts = slices.Delete(cuts, low, low+1)
	}
	return cuts
}
