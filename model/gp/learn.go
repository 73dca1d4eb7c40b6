package gp

import (
	"context"
	"fmt"
	"math"
)

// Options are those of Learn (Algorithm 1).
type Options struct {
	Fit FitOptions
	// Observations bounds the pool; 0 = 64.
	Observations int
	// Rounds bounds the alternation of choice and fit; 0 = 10. It has no proof of convergence: another pool has another
	// likelihood, so it need not rise from round to round.
	Rounds int
	// Improve is the share of the best hold-out error by which a new best must be below it, Patience the number of
	// observations for which none need be, AtLeast the size of pool before which there is no stop; 0 = .005, 10, 25.
	Improve           float64
	Patience, AtLeast int
	// Holdout reports whether candidate i is held out. nil = none is: then the pool is as large as it may be.
	Holdout func(i int) bool
	// Start are the hyperparameters of the first choice.
	Start Params
}

// Learnt is the result of Learn.
type Learnt struct {
	*Regression
	// Chosen are the candidates in the pool, in the order of choice.
	Chosen []int
	// Likelihood is the log marginal likelihood of the pool.
	Likelihood float64
	// Error is the mean squared error on the hold-out, NaN when there is none.
	Error  float64
	Rounds int
	// Settled says that the hyperparameters moved by less than .05 in the logarithm in the last round.
	Settled bool
}

// Learn chooses observations among the candidates, whose values it knows, and fits the hyperparameters to them, in turn
// (Algorithm 1): candidates by largest variance until the error on the hold-out no longer falls, cut back to the best
// prefix; hyperparameters by Fit, from the last ones. The last pool is kept with the hyperparameters fitted to it
// (METHOD.md 4). No candidate at all gives the prior under Start.
func Learn(ctx context.Context, candidates []Observation, mean float64, opt Options) (*Learnt, error) {
	for _, o := range candidates {
		if err := o.check(); err != nil {
			return nil, err
		}
	}
	if err := opt.Fit.Bounds.check(); err != nil {
		return nil, err
	}
	set(&opt.Observations, 64)
	set(&opt.Rounds, 10)
	set(&opt.Patience, 10)
	set(&opt.AtLeast, 25)
	if opt.Improve == 0 {
		opt.Improve = .005
	}
	out := &Learnt{Error: math.NaN()}
	p := opt.Fit.Bounds.clamp(opt.Start)
	if err := p.check(); err != nil {
		return nil, err
	}
	x := make([]float64, len(candidates))
	for i, o := range candidates {
		x[i] = o.X
	}
	var pool []Observation
	for len(candidates) > 0 && out.Rounds < opt.Rounds && !out.Settled {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("learning a curve: %w", err)
		}
		out.Rounds++
		out.Chosen, out.Error = choose(p, mean, x, candidates, &opt)
		pool = pool[:0]
		for _, c := range out.Chosen {
			pool = append(pool, candidates[c])
		}
		fit := opt.Fit
		fit.Starts = []Params{p}
		if out.Rounds == 1 {
			fit.Starts = append(fit.Starts, opt.Fit.Starts...)
		}
		next, _, err := Fit(pool, mean, fit)
		if err != nil {
			return nil, err
		}
		a, b := p.logs(), next.logs()
		out.Settled = true
		for i := range a {
			out.Settled = out.Settled && math.Abs(a[i]-b[i]) < .05
		}
		p = next
	}
	r, err := New(p, mean, pool)
	if err != nil {
		return nil, err
	}
	out.Regression, out.Likelihood = r, r.LogLikelihood()
	return out, nil
}

func set(v *int, to int) {
	if *v == 0 {
		*v = to
	}
}

// choose returns the best prefix of the greedy choice and its error on the hold-out.
func choose(p Params, mean float64, x []float64, candidates []Observation, opt *Options) ([]int, float64) {
	v := NewPivots(p, mean, DefaultTie, x)
	var hold []int
	if opt.Holdout != nil {
		for i := range x {
			if opt.Holdout(i) {
				v.Block(i)
				hold = append(hold, i)
			}
		}
	}
	best, prefix := math.NaN(), 0
	for n := 1; n <= opt.Observations; n++ {
		at, _ := v.Next()
		if at < 0 {
			break
		}
		v.Observe(at, candidates[at].Y, candidates[at].Tau2)
		if len(hold) == 0 {
			prefix = n
			continue
		}
		mse := 0.0
		for _, i := range hold {
			m, _ := v.At(i)
			mse += (m - candidates[i].Y) * (m - candidates[i].Y)
		}
		mse /= float64(len(hold))
		if n == 1 || mse < best*(1-opt.Improve) {
			best, prefix = mse, n
		} else if n >= opt.AtLeast && n-prefix >= opt.Patience {
			break
		}
	}
	return v.Chosen()[:prefix], best
}
