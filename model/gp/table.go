package gp

import (
	"fmt"
	"math"
)

// margin is the number of length scales by which a table reaches beyond the range that it is asked for: there the
// posterior is the prior to 2e-8 of sf (METHOD.md 5.1).
const margin = 6

// Curve is a posterior tabulated at equal steps: a look-up of mean and latent variance at any input, linear between the
// points, the prior outside them.
type Curve struct {
	Params Params
	Prior  float64 // mean M of the prior
	// Low and High are the range of the inputs that the curve was made for; the table reaches further.
	Low, High float64
	Start     float64 // input of the first point
	Step      float64
	Mean      []float64
	Variance  []float64
	// MeanBound and VarianceBound are proved bounds of the error of a look-up within the table (METHOD.md 5):
	// sqrt(3)/8 (step/l)^2 sf |mu|_H with |mu|_H^2 = alpha' K_f alpha, and (1+sqrt(3))/4 sf^2 (step/l)^2.
	MeanBound, VarianceBound float64
}

// Norm returns |mu|_H, the norm of the posterior mean less the prior's in the space of K_f: (alpha' K_f alpha)^(1/2).
func (r *Regression) Norm() float64 {
	// K_f alpha = (y - M) - (sn^2 + tau^2) alpha, so no kernel is needed.
	s := 0.0
	for i, a := range r.Alpha() {
		o := r.pool[i]
		s += a * (o.Y - r.mean - (r.params.Noise*r.params.Noise+o.Tau2)*a)
	}
	return math.Sqrt(max(0, s))
}

// Tabulate makes the table of the posterior over [low, high] and six length scales on either side, with the largest
// step for which the proved bound of the mean is at most tolerance, but no more than points points (at least 2); the
// bounds that hold are in the Curve. A NaN or an empty range is an error.
func (r *Regression) Tabulate(low, high, tolerance float64, points int) (*Curve, error) {
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) || !(tolerance > 0) || points < 2 {
		return nil, fmt.Errorf("%w: a table of [%v, %v] to %v in %d points", ErrInput, low, high, tolerance, points)
	}
	p := r.params
	c := &Curve{Params: p, Prior: r.mean, Low: low, High: high, Start: low - margin*p.Length}
	width := high + margin*p.Length - c.Start
	norm := r.Norm()
	n := float64(points)
	if norm > 0 {
		step := p.Length * math.Sqrt(tolerance*8/(math.Sqrt(3)*p.Signal*norm))
		n = min(n, math.Ceil(width/step)+1)
	} else {
		n = min(n, math.Ceil(width/p.Length)+1)
	}
	n = max(n, 2)
	c.Step = width / (n - 1)
	c.Mean, c.Variance = make([]float64, int(n)), make([]float64, int(n))
	for i := range c.Mean {
		c.Mean[i], c.Variance[i] = r.At(c.Start + float64(i)*c.Step)
	}
	c.bound(norm)
	return c, nil
}

func (c *Curve) bound(norm float64) {
	q := c.Step / c.Params.Length
	c.MeanBound = math.Sqrt(3) / 8 * q * q * c.Params.Signal * norm
	c.VarianceBound = (1 + math.Sqrt(3)) / 4 * c.Params.Signal * c.Params.Signal * q * q
}

// At looks mean and latent variance up. Outside the table, and for NaN, it returns the prior. It does not allocate.
func (c *Curve) At(x float64) (mean, variance float64) {
	t := (x - c.Start) / c.Step
	if !(t >= 0) || t > float64(len(c.Mean)-1) {
		return c.Prior, c.Params.Signal * c.Params.Signal
	}
	i := min(int(t), len(c.Mean)-2)
	t -= float64(i)
	return c.Mean[i] + t*(c.Mean[i+1]-c.Mean[i]), c.Variance[i] + t*(c.Variance[i+1]-c.Variance[i])
}

// Inside reports whether x lies in the range of the inputs that the curve was made for; false for NaN.
func (c *Curve) Inside(x float64) bool { return x >= c.Low && x <= c.High }
