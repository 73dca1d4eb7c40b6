package lift

import (
	"cmp"
	"context"
	"slices"
)

// prepare cuts the features and keeps the enterFeatures of highest corrected eta.
func (e *entering) prepare(ctx context.Context) error {
	type ranked struct {
		feature int32
		eta     float64
	}
	var order []ranked
	fine, fineK := map[int32][]int32{}, map[int32]int{}
	cutsOf, aloneOf := map[int32][]float64{}, map[int32][]float64{}
	for _, f := range e.fields {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.schema.Directed(int(f)) { // the values of a set need not move one way
			continue
		}
		cell := make([]int32, len(e.rows))
		cells := 1
		if e.code[f] == nil {
			var values []weighted
			for _, r := range e.rows {
				if v := e.column[f][r]; finite(v) {
					values = append(values, weighted{v, e.weight[r]})
				}
			}
			coarse := quantileCuts(slices.Clone(values), enterCoarse)
			aloneOf[f] = atomCuts(slices.Clone(values), enterAlone)
			cuts := quantileCuts(values, enterFine)
			for i, r := range e.rows {
				if v := e.column[f][r]; v == v {
					cell[i] = 1 + cellOf(cuts, v)
				}
			}
			cells += len(cuts) + 1
			cutsOf[f] = coarse
		} else {
			for i, r := range e.rows {
				cell[i] = 1 + min(e.code[f][r], enterCells-2)
				cells = max(cells, int(cell[i])+1)
			}
		}
		t := Table{classes: e.classes}
		for i, r := range e.rows {
			t.add(int(cell[i]), int(e.class[r]), 1, e.weight[r])
		}
		eta := Summarise(t.n, e.classes, t.Effective()).EtaCorrected()
		if eta != eta {
			eta = 0
		}
		order = append(order, ranked{f, eta})
		fine[f], fineK[f] = cell, cells
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return compareValues(a.eta, b.eta) })
	order = order[:min(len(order), enterFeatures)]
	for _, o := range order {
		f := o.feature
		e.features = append(e.features, f)
		e.fine, e.fineK = append(e.fine, fine[f]), append(e.fineK, fineK[f])
		e.cuts = append(e.cuts, cutsOf[f])
		coarse, k := make([]int32, len(e.rows)), 1
		for i, r := range e.rows {
			if e.code[f] != nil {
				coarse[i] = min(e.code[f][r], enterCells-1)
				k = max(k, int(coarse[i])+1)
			} else if v := e.column[f][r]; v == v {
				coarse[i] = cellOf(cutsOf[f], v)
			} else {
				coarse[i] = -1
			}
		}
		var alone []int32
		if e.code[f] == nil {
			k = len(cutsOf[f]) + 1
			alone = make([]int32, len(e.rows))
			for i, r := range e.rows {
				if v := e.column[f][r]; v == v {
					alone[i] = cellOf(aloneOf[f], v)
				} else {
					alone[i] = -1
				}
			}
		}
		e.alone, e.aloneCut = append(e.alone, alone), append(e.aloneCut, aloneOf[f])
		e.coarse, e.coarseK = append(e.coarse, coarse), append(e.coarseK, k)
	}
	return nil
}

// atomCuts returns cut points that give a cell to every value that holds more than 1/(2k) of the weight, and cut the
// rest into k cells of equal weight.
func atomCuts(values []weighted, k int) []float64 {
	slices.SortFunc(values, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, v := range values {
		total += v.weight
	}
	var cuts []float64
	var rest []weighted
	for i := 0; i < len(values); {
		j, w := i, 0.0
		for j < len(values) && values[j].value == values[i].value {
			w += values[j].weight
			j++
		}
		if w > total/float64(2*k)*(1+1e-12) { // rounding must not decide
			if i > 0 {
				cuts = append(cuts, values[i-1].value)
			}
			cuts = append(cuts, values[i].value)
		} else {
			rest = append(rest, values[i:j]...)
		}
		i = j
	}
	cuts = append(cuts, quantileCuts(rest, k)...)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if n := len(cuts); n > 0 && cuts[n-1] >= values[len(values)-1].value {
		cuts = cuts[:n-1]
	}
	return cuts
}

// cell returns the cell of each record by the features at the positions, valid until the next call, and the number of
// cells.
func (e *entering) cell(at []int) (cell []int32, cells int) {
	if len(at) == 1 {
		return e.alone[at[0]], len(e.aloneCut[at[0]]) + 1
	}
	if e.joint == nil {
		e.joint = make([]int32, len(e.rows))
	}
	copy(e.joint, e.coarse[at[0]])
	cells = e.coarseK[at[0]]
	for _, p := range at[1:] {
		k := int32(e.coarseK[p])
		for i, c := range e.coarse[p] {
			if v := e.joint[i]; v < 0 || c < 0 {
				e.joint[i] = -1
			} else {
				e.joint[i] = v*k + c
			}
		}
		cells *= e.coarseK[p]
	}
	return e.joint, cells
}
