// Package gp is Gaussian process regression of one number on another: the squared exponential covariance with noise,
// its exact posterior and likelihood, the choice of few observations, and curves tabulated with a proved bound (Pichara
// and Soto, Intelligent Data Analysis 18(3), 2014; METHOD.md).
//
// Notation: observations (a_i, y_i), i < B; prior mean M; K_f(a, b) = sf^2 exp(-(a-b)^2 / (2 l^2)) (eq. 5);
// Sigma = K_f(A, A) + diag(sn^2 + tau_i^2), where tau_i^2 is the variance known of observation i itself.
package gp

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"liftstream/model/vector"
)

// ErrInput is returned when observations or hyperparameters are not numbers that a Gaussian process can have.
var ErrInput = errors.New("invalid input to a Gaussian process")

// Params are the hyperparameters of the covariance (eq. 5), all above 0: the length scale l in units of the input, and
// the standard deviations sf of the signal and sn of the noise in units of the output.
type Params struct {
	Length, Signal, Noise float64
}

func (p Params) check() error {
	for _, v := range []float64{p.Length, p.Signal, p.Noise} {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%w: length %v, signal %v, noise %v", ErrInput, p.Length, p.Signal, p.Noise)
		}
	}
	return nil
}

func (p Params) logs() [3]float64 {
	return [3]float64{math.Log(p.Length), math.Log(p.Signal), math.Log(p.Noise)}
}

func fromLogs(v [3]float64) Params { return Params{math.Exp(v[0]), math.Exp(v[1]), math.Exp(v[2])} }

// covariance is K_f without the noise.
func (p Params) covariance(a, b float64) float64 {
	d := (a - b) / p.Length
	return p.Signal * p.Signal * math.Exp(-.5*d*d)
}

// Observation is one value of the curve: Y at X, with the variance Tau2 (at least 0) that is known of Y itself.
type Observation struct {
	X, Y, Tau2 float64
}

func (o Observation) check() error {
	if math.IsNaN(o.X+o.Y+o.Tau2) || math.IsInf(o.X, 0) || math.IsInf(o.Y, 0) || math.IsInf(o.Tau2, 0) || o.Tau2 < 0 {
		return fmt.Errorf("%w: observation %v", ErrInput, o)
	}
	return nil
}

// Regression is the posterior given a pool of observations. The pool can grow; it is the same, to the bit, as
// one made of its observations at once. An empty pool is the prior.
// It is not safe for concurrent use while it changes.
type Regression struct {
	params Params
	mean   float64
	pool   []Observation
	factor factor    // of Sigma
	white  []float64 // u = L^-1 (y - M)
	alpha  []float64 // Sigma^-1 (y - M); nil until asked for
}

// New conditions a process of prior mean M on the observations, in O(B^3 / 6).
func New(p Params, mean float64, pool []Observation) (*Regression, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil, fmt.Errorf("%w: prior mean %v", ErrInput, mean)
	}
	r := &Regression{params: p, mean: mean}
	for _, o := range pool {
		if err := r.Append(o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Append adds an observation in O(B^2): one row of the factor.
func (r *Regression) Append(o Observation) error {
	if err := o.check(); err != nil {
		return err
	}
	b := len(r.pool)
	r.factor = slices.Grow(r.factor, b+1)
	l := r.factor[len(r.factor) : len(r.factor)+b+1]
	for i, x := range r.pool {
		l[i] = r.params.covariance(o.X, x.X)
	}
	noise := r.params.Noise*r.params.Noise + o.Tau2
	l[b] = r.params.Signal*r.params.Signal + noise
	r.factor = r.factor.grow(l, noise) // the Schur complement is at least the noise in exact arithmetic
	u := (o.Y - r.mean - vector.Dot(l[:b], r.white)) / l[b]
	r.white = append(r.white, u)
	r.pool = append(r.pool, o)
	r.alpha = nil
	return nil
}

// whiten returns L^-1 k(x).
func (r *Regression) whiten(x float64) []float64 {
	k := make([]float64, len(r.pool))
	for i, o := range r.pool {
		k[i] = r.params.covariance(x, o.X)
	}
	r.factor.solve(k)
	return k
}

// At returns the posterior mean (eq. 1) and the latent variance (eq. 2), which leaves out the noise, at x, in O(B^2).
// The variance is at least 0.
func (r *Regression) At(x float64) (mean, variance float64) {
	k := r.whiten(x)
	return r.mean + vector.Dot(k, r.white), max(0, r.params.Signal*r.params.Signal-vector.Dot(k, k))
}

// Alpha returns Sigma^-1 (y - M) in the order of the pool; the caller must not change it.
func (r *Regression) Alpha() []float64 {
	if r.alpha == nil {
		r.alpha = slices.Clone(r.white)
		r.factor.solveTransposed(r.alpha)
	}
	return r.alpha
}

// LogLikelihood is the log marginal likelihood of the pool (eq. 4), in nats; 0 of an empty pool.
func (r *Regression) LogLikelihood() float64 {
	l := -.5*vector.Dot(r.white, r.white) - .5*float64(len(r.pool))*math.Log(2*math.Pi)
	for i := range r.pool {
		l -= math.Log(r.factor.at(i))
	}
	return l
}

func (r *Regression) terms() terms {
	n := len(r.pool)
	alpha := r.Alpha()
	inverse := r.invert()
	p := r.params
	t := terms{n: n, quad: vector.Dot(r.white, r.white)}
	for i := range n {
		t.det += 2 * math.Log(r.factor.at(i))
		v := inverse.row(i)
		for j := range i {
			d := (r.pool[i].X - r.pool[j].X) / p.Length
			k := 2 * p.Signal * p.Signal * math.Exp(-.5*d*d)
			t.slopeQuad[0] += .5 * d * d * k * alpha[i] * alpha[j]
			t.slopeDet[0] += .5 * d * d * k * v[j]
			t.slopeQuad[1] += k * alpha[i] * alpha[j]
			t.slopeDet[1] += k * v[j]
		}
		t.slopeQuad[1] += p.Signal * p.Signal * alpha[i] * alpha[i]
		t.slopeDet[1] += p.Signal * p.Signal * v[i]
		t.slopeQuad[2] += p.Noise * p.Noise * alpha[i] * alpha[i]
		t.slopeDet[2] += p.Noise * p.Noise * v[i]
	}
	return t
}

// invert returns the lower half of Sigma^-1 = L^-T L^-1, packed like a factor.
func (r *Regression) invert() factor {
	n := len(r.pool)
	w := make([]float64, n*n) // w[j] is column j of L^-1, zero above the diagonal
	for i := range n {
		l := r.factor.row(i)
		for j := range i {
			w[j*n+i] = -vector.Dot(l[j:i], w[j*n+j:j*n+i]) / l[i]
		}
		w[i*n+i] = 1 / l[i]
	}
	out := make(factor, n*(n+1)/2)
	for i := range n {
		o := out.row(i)
		for j := range i + 1 {
			o[j] = vector.Dot(w[i*n+i:(i+1)*n], w[j*n+i:(j+1)*n])
		}
	}
	return out
}
