package model

import (
	"cmp"
	"math"
	"slices"
)

// fineCells bounds the cells of which OptimalCuts joins neighbours.
const fineCells = 64

// OptimalCuts returns the cuts of JoinCellsInTrend among fine cells: at most 64, of about equal weight, each value one
// where there are no more.
func OptimalCuts(
	values, weights []float64, positive func(i int) bool, least float64, trend Direction,
) []float64 {
	return JoinCellsInTrend(fineCuts(values, weights), values, weights, positive, least, trend)
}

// JoinCellsInTrend leaves those cuts out for which the cells between the others have the largest information value
//
//	sum_x (p_x - q_x) ln(p_x / q_x)
//
// with the share p_x of the weight of the positive records in cell x, and q_x of the others, among all choices whose
// cells have the share least of the weight, records of both sides, and a rate of positive records that rises (Up) or
// falls (Down) from cell to cell; Auto takes the direction of the larger value, Up of equal ones. It is the objective
// and the rule of optimal binning (Navas-Palencia, G. (2020). Optimal binning: mathematical programming formulation.
// arXiv:2001.08025). cuts ascend, and stay as they are; values, weights and sides are those of all records, and NaN
// counts nowhere. Where no choice has two cells no cut is left.
//
// It is exact: f(i, k), the largest value of the cells up to cut k whose last one begins at cut i, is the value of that
// cell and the largest f(j, i) whose last cell has a lesser rate. Cells of equal rate are one cell of the same value.
func JoinCellsInTrend(
	cuts, values, weights []float64, positive func(i int) bool, least float64, trend Direction,
) []float64 {
	t := trendSums{one: make([]float64, len(cuts)+2), other: make([]float64, len(cuts)+2), least: least}
	for i, v := range values {
		if v != v {
			continue
		}
		side := t.other
		if positive(i) {
			side = t.one
		}
		side[CellOf(cuts, v)+1] += weights[i]
	}
	for k := range len(cuts) + 1 {
		t.one[k+1] += t.one[k]
		t.other[k+1] += t.other[k]
	}
	if trend != Auto {
		out, _ := t.best(cuts, trend == Down)
		return out
	}
	up, rising := t.best(cuts, false)
	down, falling := t.best(cuts, true)
	if falling > rising {
		return down
	}
	return up
}

// trendSums hold the weight of both sides below each cut: entry 0 is 0, and the last one all.
type trendSums struct {
	one, other []float64
	least      float64
}

// cell returns the weights of both sides between two cuts, and whether they may be a cell.
func (t *trendSums) cell(i, k int) (one, other float64, ok bool) {
	m := len(t.one) - 1
	one, other = t.one[k]-t.one[i], t.other[k]-t.other[i]
	return one, other, one > 0 && other > 0 && one+other >= t.least*(t.one[m]+t.other[m])*(1-1e-12)
}

// best returns the best cuts for rates that rise, or fall, and their information value.
func (t *trendSums) best(cuts []float64, falls bool) ([]float64, float64) {
	m := len(t.one) - 1
	value, before := make([][]float64, m), make([][]int, m) // by the first cut of the last cell and the one behind it
	for i := range m {
		value[i], before[i] = make([]float64, m+1), make([]int, m+1)
		for k := i + 1; k <= m; k++ {
			value[i][k], before[i][k] = math.Inf(-1), -1
			one, other, ok := t.cell(i, k)
			if !ok {
				continue
			}
			most := 0.
			if i > 0 {
				most = math.Inf(-1)
				for j := range i {
					a, b, _ := t.cell(j, i)
					if lesser := a*other < one*b; lesser != falls && a*other != one*b && value[j][i] > most {
						most, before[i][k] = value[j][i], j
					}
				}
			}
			p, q := one/t.one[m], other/t.other[m]
			value[i][k] = most + (p-q)*math.Log(p/q)
		}
	}
	at := 0
	for i := range m {
		if value[i][m] > value[at][m] {
			at = i
		}
	}
	most := value[at][m]
	var out []float64
	for k := m; at > 0; {
		out = append(out, cuts[at-1])
		at, k = before[at][k], at
	}
	slices.Reverse(out)
	return out, most
}

// fineCuts are the cuts of at most fineCells cells of about equal weight, each behind a value.
func fineCuts(values, weights []float64) []float64 {
	var order []int
	total := 0.
	for i, v := range values {
		if v == v && weights[i] > 0 {
			order = append(order, i)
			total += weights[i]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	step, distinct := total/fineCells, 0
	for k, i := range order {
		if k == 0 || values[order[k-1]] != values[i] {
			distinct++
		}
	}
	if distinct <= fineCells {
		step = 0
	}
	var cuts []float64
	sum, next := 0., step
	for k, i := range order {
		sum += weights[i]
		if k+1 < len(order) && values[order[k+1]] > values[i] && sum >= next {
			cuts = append(cuts, values[i])
			if step > 0 {
				next = (math.Floor(sum/step) + 1) * step
			}
		}
	}
	return cuts
}
