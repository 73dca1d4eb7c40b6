package gp

import (
	"math"

	"liftstream/model/vector"
)

// factor is the lower Cholesky factor L of a positive definite matrix L L', its rows one behind the other, row i with
// i+1 numbers.
type factor []float64

// row returns row i.
func (l factor) row(i int) []float64 { return l[i*(i+1)/2 : (i+1)*(i+2)/2] }

// at returns diagonal entry i.
func (l factor) at(i int) float64 { return l[i*(i+1)/2+i] }

// grow appends row n of a factor of n rows, which is overwritten, a being that of the matrix up to the diagonal, in
// O(n^2). The Schur complement of the diagonal entry is taken to be at least the given number.
func (l factor) grow(a []float64, least float64) factor {
	n := len(a) - 1
	l.solve(a[:n])
	a[n] = math.Sqrt(max(a[n]-vector.Dot(a[:n], a[:n]), least))
	return append(l, a...)
}

// solve replaces b by L^-1 b.
func (l factor) solve(b []float64) {
	for i := range b {
		r := l.row(i)
		b[i] = (b[i] - vector.Dot(r[:i], b[:i])) / r[i]
	}
}

// solveTransposed replaces b by L^-T b.
func (l factor) solveTransposed(b []float64) {
	for i := len(b) - 1; i >= 0; i-- {
		r := l.row(i)
		b[i] /= r[i]
		vector.AddScaled(b[:i], -b[i], r)
	}
}

// inverse returns the n rows of (L L')^-1.
func (l factor) inverse(n int) [][]float64 {
	out := square(n)
	for j := range n {
		e := out[j]
		e[j] = 1
		l.solve(e)
		l.solveTransposed(e)
	}
	return out
}
