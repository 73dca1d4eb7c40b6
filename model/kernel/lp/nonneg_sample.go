package lp

import (
	"context"
	"math"
	"slices"
)

// sample is every fourth row or so, spread evenly, with four times the weight.
func sample(p *Problem) *Problem {
	all := p.rows()
	n := max(all/4, 1)
	// Steps of the golden ratio spread any number of rows evenly, in any order.
	step := int(.6180339887498949*float64(all)) | 1
	for gcd(step, all) != 1 {
		step += 2
	}
	rows := make([]int, n)
	for i, t := 0, 0; i < n; i, t = i+1, (t+step)%all {
		rows[i] = t
	}
	slices.Sort(rows)
	q := *p
	q.Columns = make([][]float64, len(p.Columns))
	flat := make([]float64, n*len(p.Columns))
	for k, col := range p.Columns {
		q.Columns[k] = flat[k*n : (k+1)*n]
		for i, t := range rows {
			q.Columns[k][i] = col[t]
		}
	}
	q.Weight = make([]float64, n)
	for i, t := range rows {
		q.Weight[i] = p.weight(t) * float64(all) / float64(n)
	}
	return &q
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func solveSample(ctx context.Context, p *Problem) *Result {
	q := sample(p)
	res := &Result{Upper: math.Inf(1), Lower: math.Inf(-1)}
	var warm []float64
	if q.rows() > sampleRows {
		sub := solveSample(ctx, q)
		warm, res.Iterations, res.Rounds = sub.Alpha, sub.Iterations, sub.Rounds
	} else {
		warm = make([]float64, len(p.Columns))
	}
	newSifter(q, res, warm).run(ctx, disturbances[:1])
	return res
}
