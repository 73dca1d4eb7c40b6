package gp

import "math"

// DefaultTie is the width, relative to sf^2, within which variances count as equal (METHOD.md 3.2): variances far from
// the pool differ by less than rounding does.
const DefaultTie = 1e-9

// Pivots chooses observations among candidate inputs by the largest posterior variance, as an incremental pivoted
// Cholesky factorisation: O(n B^2) for B of n candidates, with the same choice and the same posterior as naive refits
// (METHOD.md 3.1). It keeps posterior mean and variance of every candidate up to date.
type Pivots struct {
	params  Params
	mean    float64
	tie     float64
	x       []float64
	means   []float64
	vars    []float64
	rows    [][]float64 // rows[t][c] = l_c,t
	chosen  []int
	taken   []bool
	blocked []bool
}

// NewPivots starts with an empty pool over the candidates x, which it keeps but does not change. tie is relative to
// sf^2; ties go to the lowest index.
func NewPivots(p Params, mean, tie float64, x []float64) *Pivots {
	v := &Pivots{params: p, mean: mean, tie: tie * p.Signal * p.Signal, x: x, means: make([]float64, len(x)),
		vars: make([]float64, len(x)), taken: make([]bool, len(x)), blocked: make([]bool, len(x))}
	for i := range x {
		v.means[i], v.vars[i] = mean, p.Signal*p.Signal
	}
	return v
}

// Block takes candidate i out of the choice; its posterior is kept up to date.
func (v *Pivots) Block(i int) { v.blocked[i] = true }

// Next returns the candidate of the largest latent variance that was neither observed nor blocked, and that variance;
// -1 when none is left.
func (v *Pivots) Next() (at int, variance float64) {
	top := math.Inf(-1)
	for i, s := range v.vars {
		if s > top && !v.taken[i] && !v.blocked[i] {
			top = s
		}
	}
	for i, s := range v.vars {
		if s >= top-v.tie && !v.taken[i] && !v.blocked[i] {
			return i, top
		}
	}
	return -1, 0
}

// Observe adds (x_at, y) with variance tau2 of its own to the pool, in O(n t) after t observations.
func (v *Pivots) Observe(at int, y, tau2 float64) {
	noise := v.params.Noise*v.params.Noise + tau2
	d := math.Sqrt(v.vars[at] + noise)
	u := (y - v.means[at]) / d
	r := make([]float64, len(v.x))
	for c := range r {
		r[c] = v.params.covariance(v.x[c], v.x[at])
	}
	for _, s := range v.rows {
		w := s[at]
		if w == 0 {
			continue
		}
		for c := range r {
			r[c] -= s[c] * w
		}
	}
	inv := 1 / d
	for c := range r {
		r[c] *= inv
		v.vars[c] = max(0, v.vars[c]-r[c]*r[c])
		v.means[c] += r[c] * u
	}
	v.rows = append(v.rows, r)
	v.chosen = append(v.chosen, at)
	v.taken[at] = true
}

// Chosen returns the candidates in the order in which they were observed; the caller must not change it.
func (v *Pivots) Chosen() []int { return v.chosen }

// At returns the posterior mean and latent variance at candidate i.
func (v *Pivots) At(i int) (mean, variance float64) { return v.means[i], v.vars[i] }
