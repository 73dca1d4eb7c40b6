package gp

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/vector"
)

// exactLimit is the number of observations up to which a likelihood is computed from the whole covariance.
const exactLimit = 96

// residualShare is the trace of the residual of a low-rank factor, relative to the smallest noise variance: half of it
// is the error of the log-determinant in nats.
const residualShare = 1e-5

// terms are the parts of the log marginal likelihood -1/2 quad - 1/2 det - n/2 ln 2 pi: quad = r' Sigma^-1 r, det =
// ln|Sigma|, and minus, respectively plus, half their derivatives by ln l, ln sf, ln sn.
type terms struct {
	n                   int
	quad, det           float64
	slopeQuad, slopeDet [3]float64
	below, above        float64
}

func (t *terms) value() float64 {
	return -.5*t.quad - .5*t.det - .5*float64(t.n)*math.Log(2*math.Pi)
}

// Likelihood returns the log marginal likelihood of n observations. Above 96 of them it is that of the covariance L L'
// + noise, where L is a pivoted Cholesky factor of K_f of the smallest rank q that leaves a trace of at most 1e-5 of
// the smallest noise variance, in O(n q^2); the exact value lies in [value - below, value + above]: with E = K_f - L L'
// positive semidefinite of trace t, and D the noise, 0 <= ln|Sigma| - ln|Sigma^| <= t / min D and 0 <= r' (Sigma^^-1 -
// Sigma^-1) r <= t |Sigma^^-1 r|^2.
func Likelihood(p Params, mean float64, obs []Observation) (value, below, above float64, err error) {
	if err := p.check(); err != nil {
		return 0, 0, 0, err
	}
	for _, o := range obs {
		if err := o.check(); err != nil {
			return 0, 0, 0, err
		}
	}
	t, err := evaluate(p, mean, obs, false)
	if err != nil {
		return 0, 0, 0, err
	}
	return t.value(), t.below, t.above, nil
}

// evaluate computes the terms, without their slopes where they are not asked for and cost extra.
func evaluate(p Params, mean float64, obs []Observation, slopes bool) (terms, error) {
	if len(obs) > exactLimit {
		return lowRank(p, mean, obs, slopes), nil
	}
	r, err := New(p, mean, obs)
	if err != nil {
		return terms{}, err
	}
	if !slopes {
		t := terms{n: len(obs), quad: vector.Dot(r.white, r.white)}
		for i := range obs {
			t.det += 2 * math.Log(r.factor[i*(i+1)/2+i])
		}
		return t, nil
	}
	return r.terms(), nil
}

// factorise returns the columns of a pivoted Cholesky factor of K_f, the columns of K_f at the pivots, the pivots, and
// the trace that they leave out.
func factorise(p Params, obs []Observation, limit float64) (l, kernel [][]float64, pivots []int, trace float64) {
	n := len(obs)
	rest := make([]float64, n)
	for i := range rest {
		rest[i] = p.Signal * p.Signal
	}
	floor := 1e-15 * p.Signal * p.Signal
	for {
		at := 0
		trace = 0
		for i, v := range rest {
			trace += v
			if v > rest[at] {
				at = i
			}
		}
		if trace <= limit || rest[at] <= floor || len(l) == n {
			return l, kernel, pivots, trace
		}
		c := make([]float64, n)
		x := obs[at].X
		for i := range c {
			c[i] = p.covariance(obs[i].X, x)
		}
		kernel = append(kernel, slices.Clone(c))
		for _, s := range l {
			if w := s[at]; w != 0 {
				vector.AddScaled(c, -w, s)
			}
		}
		inv := 1 / math.Sqrt(rest[at])
		for i := range c {
			c[i] *= inv
			rest[i] = max(0, rest[i]-c[i]*c[i])
		}
		// The residual at a pivot is 0 in exact arithmetic, and later rows are 0 there.
		for _, q := range pivots {
			c[q] = 0
		}
		rest[at] = 0
		l, pivots = append(l, c), append(pivots, at)
	}
}

// capacitance returns the factor c of I + L' D^-1 L = c c', with weight = 1/D. It overwrites scaled, which has as many
// numbers.
func capacitance(l [][]float64, weight, scaled []float64) (c factor) {
	b := make([]float64, len(l))
	for i := range l {
		for k := range scaled {
			scaled[k] = l[i][k] * weight[k]
		}
		for j := range i + 1 {
			b[j] = vector.Dot(scaled, l[j])
		}
		b[i]++
		c = c.grow(b[:i+1], math.SmallestNonzeroFloat64)
	}
	return c
}

// lowRank computes the terms for K^ = L L' with the pivots held fixed: K^ = Z P^-1 Z', Z = K_f(A, pivots), P =
// K_f(pivots, pivots), so dK^ = dZ W + W' dZ' - W' dP W with W = P^-1 Z'.
func lowRank(p Params, mean float64, obs []Observation, slopes bool) terms {
	n := len(obs)
	weight := make([]float64, n) // 1 / D
	noise := math.Inf(1)
	res := make([]float64, n)
	t := terms{n: n}
	for i, o := range obs {
		d := p.Noise*p.Noise + o.Tau2
		noise = min(noise, d)
		weight[i] = 1 / d
		res[i] = o.Y - mean
		t.det += math.Log(d)
	}
	l, kernel, pivots, trace := factorise(p, obs, residualShare*noise)
	q := len(l)
	scaled := make([]float64, n)
	c := capacitance(l, weight, scaled)
	alpha := make([]float64, n)
	for k := range alpha {
		alpha[k] = res[k] * weight[k]
	}
	h := make([]float64, q)
	for i := range h {
		h[i] = vector.Dot(l[i], alpha)
	}
	c.solve(h)
	t.quad = vector.Dot(res, alpha) - vector.Dot(h, h)
	for i := range q {
		t.det += 2 * math.Log(c.at(i))
	}
	c.solveTransposed(h)
	for i := range q {
		for k := range alpha {
			alpha[k] -= l[i][k] * h[i] * weight[k]
		}
	}
	norm := vector.Dot(alpha, alpha)
	t.below, t.above = .5*trace/noise, .5*trace*norm
	if !slopes {
		return t
	}
	binv := c.inverse(q)
	// Signal: K^ scales with it.
	for i := range q {
		a := vector.Dot(l[i], alpha)
		t.slopeQuad[1] += a * a
		t.slopeDet[1] += 1 - binv[i][i]
	}
	// Noise: tr Sigma^^-1 = tr D^-1 - tr B^-1 L' D^-2 L.
	t.slopeQuad[2] = p.Noise * p.Noise * norm
	s := 0.0
	for _, w := range weight {
		s += w
	}
	for i := range q {
		for k := range scaled {
			scaled[k] = l[i][k] * weight[k] * weight[k]
		}
		for j := range i {
			s -= 2 * binv[i][j] * vector.Dot(scaled, l[j])
		}
		s -= binv[i][i] * vector.Dot(scaled, l[i])
	}
	t.slopeDet[2] = p.Noise * p.Noise * s
	// Length: F = B^-1 Lp^-1, Sigma^^-1 W' = D^-1 L F, W Sigma^^-1 W' = Lp^-T (I - B^-1) Lp^-1.
	lp := make(factor, 0, q*(q+1)/2)
	for i := range q {
		for j := range i + 1 {
			lp = append(lp, l[j][pivots[i]])
		}
	}
	lpInv := square(q)
	for j := range q {
		e := make([]float64, q)
		e[j] = 1
		lp.solve(e)
		for i := range q {
			lpInv[i][j] = e[i]
		}
	}
	wa := make([]float64, q) // W alpha = Lp^-T L' alpha
	for i := range wa {
		wa[i] = vector.Dot(l[i], alpha)
	}
	lp.solveTransposed(wa)
	rest := square(q) // (I - B^-1) Lp^-1
	for i := range q {
		for e := range q {
			for j := e; j < q; j++ {
				v := -binv[i][j]
				if i == j {
					v++
				}
				rest[i][e] += v * lpInv[j][e]
			}
		}
	}
	column := make([]float64, n)
	for a := range q {
		x := obs[pivots[a]].X
		clear(column)
		for i := range q {
			f := 0.0
			for j := a; j < q; j++ {
				f += binv[i][j] * lpInv[j][a]
			}
			vector.AddScaled(column, f, l[i])
		}
		for k := range column {
			d := (obs[k].X - x) / p.Length
			dz := d * d * kernel[a][k]
			t.slopeQuad[0] += alpha[k] * wa[a] * dz
			t.slopeDet[0] += weight[k] * column[k] * dz
		}
		for e := range q {
			d := (obs[pivots[e]].X - x) / p.Length
			dp := .5 * d * d * kernel[a][pivots[e]]
			t.slopeQuad[0] -= wa[a] * wa[e] * dp
			m := 0.0
			for i := a; i < q; i++ {
				m += lpInv[i][a] * rest[i][e]
			}
			t.slopeDet[0] -= m * dp
		}
	}
	return t
}

func square(n int) [][]float64 {
	m, all := make([][]float64, n), make([]float64, n*n)
	for i := range m {
		m[i] = all[i*n : (i+1)*n]
	}
	return m
}

// Bounds are the lowest and highest value of each hyperparameter.
type Bounds struct {
	Low, High Params
}

func (b Bounds) check() error {
	lo, hi := b.Low.logs(), b.High.logs()
	for i := range lo {
		if !(lo[i] < hi[i]) || math.IsInf(hi[i]-lo[i], 1) {
			return fmt.Errorf("%w: bounds %v to %v", ErrInput, b.Low, b.High)
		}
	}
	return nil
}

func (b Bounds) clamp(p Params) Params {
	return Params{min(max(p.Length, b.Low.Length), b.High.Length), min(max(p.Signal, b.Low.Signal), b.High.Signal),
		min(max(p.Noise, b.Low.Noise), b.High.Noise)}
}
