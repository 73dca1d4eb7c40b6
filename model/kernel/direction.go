package kernel

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// maxDirections bounds the directions that are added to a dictionary. shrinkage is the share of the mean variance that
// is added to the scatter of the pairs, against directions that fit few points.
const (
	maxDirections = 3
	shrinkage     = .1
)

// direction is a weighted sum of standardised features.
type direction struct {
	features []int32
	weights  []float64
}

// directions finds the sums u.x of the features along which the points of a triple that belong together differ least
// and the third differs most: the leading solutions of B u = lambda W u with
//
//	W = sum_t (x_i - x_j)(x_i - x_j)'    B = sum_t (x_i - x_k)(x_i - x_k)' + (x_j - x_k)(x_j - x_k)'
//
// over the triples, Fisher's discriminants drawn from comparisons alone. Missing values count as the mean. There are
// none below two features, or where the scatter has no inverse.
func directions(p *points, features []int32, triples [][3]int32) []direction {
	n := len(features)
	if n < 2 {
		return nil
	}
	at := func(i int32, f int) float64 {
		if v := p.z[features[f]][i]; v == v {
			return v
		}
		return 0
	}
	w, b := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	d := mat.NewVecDense(n, nil)
	add := func(s *mat.SymDense, i, j int32) {
		for f := range n {
			d.SetVec(f, at(i, f)-at(j, f))
		}
		s.SymRankOne(s, 1, d)
	}
	for _, c := range triples {
		add(w, c[0], c[1])
		add(b, c[0], c[2])
		add(b, c[1], c[2])
	}
	ridge := shrinkage * mat.Trace(w) / float64(n)
	for f := range n {
		w.SetSym(f, f, w.At(f, f)+ridge)
	}
	var chol mat.Cholesky
	if !chol.Factorize(w) {
		return nil
	}
	var l mat.TriDense
	chol.LTo(&l)
	var half, full mat.Dense // L^-1 B, L^-1 B L^-T
	if half.Solve(&l, b) != nil || full.Solve(&l, half.T()) != nil {
		return nil
	}
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var out []direction
	for x := n - 1; x >= max(0, n-maxDirections); x-- {
		var u mat.VecDense
		if u.SolveVec(l.T(), vectors.ColView(x)) != nil {
			return out
		}
		weights := make([]float64, n)
		top, sign := 0.0, 1.0
		for f := range weights {
			weights[f] = u.AtVec(f)
			if a := math.Abs(weights[f]); a > top {
				top, sign = a, math.Copysign(1, weights[f])
			}
		}
		for f := range weights {
			weights[f] *= sign
		}
		out = append(out, direction{features, weights})
	}
	return out
}

// project appends the direction to the points as one more number, with standard deviation 1 over the rows, and returns
// its index there; -1 when it does not vary.
func (p *points) project(d *direction, rows []int32) int32 {
	z := make([]float64, p.n)
	for i := range z {
		for x, f := range d.features {
			if v := p.z[f][i]; v == v {
				z[i] += d.weights[x] * v
			}
		}
	}
	var mean, square float64
	for _, i := range rows {
		mean += z[i] / float64(len(rows))
	}
	for _, i := range rows {
		square += (z[i] - mean) * (z[i] - mean) / float64(len(rows))
	}
	if !(square > 0) {
		return -1
	}
	for i := range z {
		z[i] /= math.Sqrt(square)
	}
	p.z = append(p.z, z)
	return int32(len(p.z) - 1)
}
