package lp

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Status is how a solve ended.
type Status uint8

const (
	// Optimal: the gap is at most Tolerance.
	Optimal Status = iota
	// Stopped: the context ended; the incumbent and its bound are valid, and the gap may be large.
	Stopped
	// Inexact: the numbers allowed no smaller gap.
	Inexact
)

func (s Status) String() string {
	switch s {
	case Optimal:
		return "optimal"
	case Stopped:
		return "stopped"
	case Inexact:
		return "inexact"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Tolerance is the relative gap at which a solve is done.
const Tolerance = 1e-9

// Result is an answer with its certificate.
type Result struct {
	Status Status
	Alpha  []float64
	Rho    float64 // Ridge only
	// Upper is F(Alpha, Rho), Lower a bound below the optimum; see Problem.Bound.
	Upper, Lower float64
	// Lambda and Cuts are the dual point that proves Lower.
	Lambda []float64
	Cuts   []Cut
	// Iterations counts pivots, Rounds masters, Rows the rows of the last master.
	Iterations, Rounds, Rows int
}

// Gap is (Upper - Lower) / Upper, 0 when Upper is.
func (r *Result) Gap() float64 {
	if r.Upper <= 0 {
		return 0
	}
	return (r.Upper - r.Lower) / r.Upper
}

// ErrCertificate is returned when an answer does not prove its value or its bound.
var ErrCertificate = errors.New("certificate does not hold")

// Verify recomputes in plain arithmetic, from the data alone, that the point is feasible (dominance to 1e-12 of the
// size of the mixture), that its value is Upper, and that the dual point proves Lower, both to 1e-9.
func (p *Problem) Verify(r *Result) error {
	if len(r.Alpha) != len(p.Columns) || len(r.Lambda) != p.rows() {
		return fmt.Errorf("%w: %d weights and %d multipliers for %d columns and %d rows", ErrCertificate, len(r.Alpha),
			len(r.Lambda), len(p.Columns), p.rows())
	}
	size := 0.0
	for k, a := range r.Alpha {
		if math.IsNaN(a) || math.IsInf(a, 0) || p.Mode == Nonneg && a < 0 {
			return fmt.Errorf("%w: weight %v of column %d", ErrCertificate, a, k)
		}
		size += math.Abs(a)
	}
	if !(r.Rho >= 0) {
		return fmt.Errorf("%w: rho %v", ErrCertificate, r.Rho)
	}
	if p.Mode != Nonneg {
		if h := p.Dominance(r.Alpha); h > r.Rho+1e-12*max(size, r.Rho) {
			return fmt.Errorf("%w: dominance misses %v at rho %v", ErrCertificate, h-r.Rho, r.Rho)
		}
	}
	if f := p.Objective(r.Alpha, r.Rho); !(math.Abs(f-r.Upper) <= 1e-9*max(f, 1e-9)) {
		return fmt.Errorf("%w: the value is %v, not %v", ErrCertificate, f, r.Upper)
	}
	if b := p.Bound(r.Lambda, r.Cuts); !(b >= r.Lower-1e-9*math.Abs(r.Lower)) {
		return fmt.Errorf("%w: the bound is %v, not %v", ErrCertificate, b, r.Lower)
	}
	if !(r.Lower <= r.Upper*(1+1e-9)+1e-9) {
		return fmt.Errorf("%w: bound %v above value %v", ErrCertificate, r.Lower, r.Upper)
	}
	return nil
}

// Solve minimises F. warm is nil or the answer to an earlier, similar programme of as many columns, and the search
// starts from its vertex. Its Alpha is enough; Cuts help where the points are the same. Solve does not change it.
//
// When ctx ends or the work is spent, Solve returns the best point so far with its bound, status Stopped: at worst
// alpha = 0, or the warm weights repaired, with a bound of 0. The only error is that of a malformed Problem. The result
// is a function of the Problem and warm alone unless ctx ends first.
func Solve(ctx context.Context, p *Problem, warm *Result) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("solving: %w", err)
	}
	if warm != nil {
		if len(warm.Alpha) != len(p.Columns) {
			return nil, fmt.Errorf("solving: %w: %d warm weights for %d columns", ErrProblem, len(warm.Alpha), len(p.Columns))
		}
		for k, a := range warm.Alpha {
			if math.IsNaN(a) || math.IsInf(a, 0) {
				return nil, fmt.Errorf("solving: %w: warm weight %v of column %d", ErrProblem, a, k)
			}
		}
	}
	if p.Mode == Nonneg {
		return solveNonneg(ctx, p, warm), nil
	}
	return solveDominance(ctx, p, warm), nil
}
