// Package lp solves the linear programme of kernel design (METHOD.md; Fung, Rosales and Rao, IJCAI 2007, formulations
// (3), (4) and (7)) to a certificate: every answer carries the value of a feasible point and a bound below the optimum,
// both evaluated in plain arithmetic from the data.
//
// Begin with Problem and Solve; Problem.Verify proves a Result from the data alone. Two searches share the master
// programme of master.go, a simplex method with long steps: nonneg.go sifts columns and rows, dominance.go adds rows of
// diagonal dominance.
package lp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"liftstream/model"
)

// Mode is the form of the programme.
type Mode uint8

const (
	// Nonneg asks for alpha >= 0 and for no diagonal dominance: a mixture of positive semidefinite kernels is one.
	Nonneg Mode = iota
	// Ridge leaves alpha free, asks for diagonal dominance at every point, and may add rho >= 0 to the diagonal.
	Ridge
	// Literal is Ridge without rho: the formulation as printed, which forces alpha = 0 on most data (METHOD.md 3).
	Literal
)

func (m Mode) String() string {
	switch m {
	case Nonneg:
		return "nonneg"
	case Ridge:
		return "ridge"
	case Literal:
		return "literal"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Problem is
//
//	min F(alpha, rho) = sum_t w_t max(0, 1 - a_t.alpha) + gamma sum_g max_{p in g} |alpha_p| + c.alpha + c_rho rho
//
// over alpha >= 0 (Nonneg, rho = 0), or over free alpha with, for every point i,
//
//	sum_{j != i} |sum_p alpha_p K_p(i,j)| <= sum_p alpha_p K_p(i,i) + rho        (Ridge: rho >= 0; Literal: rho = 0)
//
// where a_tp = K_p(i,j) - K_p(i,k) for the triple t = (i,j,k). All numbers are finite; weights, gamma and, for Nonneg,
// costs are at least 0. The Problem must not change while it is solved.
type Problem struct {
	Mode Mode
	// Columns[p][t] is a_tp: column by column, so that a sparse alpha reads its own columns only.
	Columns [][]float64
	// Weight holds w_t; nil = 1 for each.
	Weight []float64
	// Group[p] is the group of column p, from 0 to Groups-1. A group may be empty.
	Group  []int32
	Groups int
	Gamma  float64
	// Cost holds c_p, the price of one unit of alpha_p: gamma2 times the trace of K_p in (4) and (7).
	Cost []float64
	// RidgeCost is c_rho (METHOD.md 4.1): gamma2 times the number of points, plus gamma1 where rho is to be a group of its
	// own.
	RidgeCost float64

	// Points, Diagonal and Pair describe dominance; Nonneg does not read them. Diagonal[i][p] is K_p(i,i), and Pair writes
	// K_p(i,j) for every p into dst; it must be pure. With them Cost must be nu times the sum of Diagonal over the points,
	// and RidgeCost at least nu times Points, for one nu >= 0: otherwise the programme has no lower bound.
	Points   int
	Diagonal [][]float64
	Pair     func(i, j int, dst []float64)

	// Work is the budget of the searches of this programme, nil = no bound. A solve that has spent it ends as if its
	// context had ended: with the best answer so far, Stopped.
	Work *model.Work
}

// ended reports whether a search must stop.
func (p *Problem) ended(ctx context.Context) bool { return ctx.Err() != nil || p.Work.Spent() }

// ErrProblem is returned when a Problem breaks its own rules.
var ErrProblem = errors.New("malformed programme")

func (p *Problem) rows() int {
	if len(p.Columns) == 0 {
		return 0
	}
	return len(p.Columns[0])
}

func (p *Problem) weight(t int) float64 {
	if p.Weight == nil {
		return 1
	}
	return p.Weight[t]
}

func bad(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrProblem, fmt.Sprintf(format, a...))
}

func (p *Problem) check() error {
	n := len(p.Columns)
	switch {
	case n == 0 || p.rows() == 0:
		return bad("%d columns, %d rows", n, p.rows())
	case len(p.Group) != n || len(p.Cost) != n:
		return bad("%d columns, %d groups, %d costs", n, len(p.Group), len(p.Cost))
	case p.Weight != nil && len(p.Weight) != p.rows():
		return bad("%d weights for %d rows", len(p.Weight), p.rows())
	case !(p.Gamma >= 0) || math.IsInf(p.Gamma, 0):
		return bad("gamma %v", p.Gamma)
	case p.Mode > Literal:
		return bad("%v", p.Mode)
	}
	if err := p.checkColumns(); err != nil {
		return err
	}
	for t, w := range p.Weight {
		if !(w >= 0) || math.IsInf(w, 0) {
			return bad("weight %v of row %d", w, t)
		}
	}
	if p.Mode == Nonneg {
		return nil
	}
	if p.Points < 1 || len(p.Diagonal) != p.Points || p.Pair == nil {
		return bad("dominance over %d points with %d diagonals", p.Points, len(p.Diagonal))
	}
	if p.Mode == Ridge && (!(p.RidgeCost >= 0) || math.IsInf(p.RidgeCost, 0)) {
		return bad("ridge cost %v", p.RidgeCost)
	}
	for i := range p.Diagonal {
		if len(p.Diagonal[i]) != n {
			return bad("point %d has %d diagonal entries for %d columns", i, len(p.Diagonal[i]), n)
		}
	}
	return nil
}

// checkColumns refuses groups out of range, and costs and entries that are not finite.
func (p *Problem) checkColumns() error {
	for k, g := range p.Group {
		if g < 0 || int(g) >= p.Groups {
			return bad("column %d is of group %d of %d", k, g, p.Groups)
		}
		if math.IsNaN(p.Cost[k]) || math.IsInf(p.Cost[k], 0) || p.Mode == Nonneg && p.Cost[k] < 0 {
			return bad("cost %v of column %d", p.Cost[k], k)
		}
		if len(p.Columns[k]) != p.rows() {
			return bad("column %d has %d rows, not %d", k, len(p.Columns[k]), p.rows())
		}
		// A sum is finite only where each term is.
		if s := floats.Sum(p.Columns[k]); s-s == 0 {
			continue
		}
		for t, v := range p.Columns[k] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return bad("column %d row %d is %v", k, t, v)
			}
		}
	}
	return nil
}

// residuals writes 1 - a_t.alpha.
func (p *Problem) residuals(alpha, r []float64) {
	for t := range r {
		r[t] = 1
	}
	for k, a := range alpha {
		if a != 0 {
			floats.AddScaled(r, -a, p.Columns[k])
		}
	}
}

// Objective is F(alpha, rho) of any point, feasible or not.
func (p *Problem) Objective(alpha []float64, rho float64) float64 {
	r := make([]float64, p.rows())
	p.residuals(alpha, r)
	return p.objective(alpha, rho, r)
}

func (p *Problem) objective(alpha []float64, rho float64, r []float64) float64 {
	top := make([]float64, p.Groups)
	sum := 0.0
	for k, a := range alpha {
		top[p.Group[k]] = max(top[p.Group[k]], math.Abs(a))
		sum += p.Cost[k] * a
	}
	for _, v := range top {
		sum += p.Gamma * v
	}
	if p.Mode == Ridge {
		sum += p.RidgeCost * rho
	}
	for t, v := range r {
		if v > 0 {
			sum += p.weight(t) * v
		}
	}
	return sum
}

// Dominance is max_i (sum_{j != i} |K(i,j)| - K(i,i)) of the mixture alpha: the smallest rho that makes its matrix over
// the points diagonally dominant, negative when the dominance is strict. O(points^2 columns).
func (p *Problem) Dominance(alpha []float64) float64 {
	h := make([]float64, p.Points)
	pair := make([]float64, len(alpha))
	for i := range h {
		h[i] -= floats.Dot(p.Diagonal[i], alpha)
		for j := i + 1; j < p.Points; j++ {
			p.Pair(i, j, pair)
			v := math.Abs(floats.Dot(pair, alpha))
			h[i] += v
			h[j] += v
		}
	}
	return floats.Max(h)
}

// Cut is one dominance row with its multiplier: sum_{j != Point} Sign[j] K(Point,j) <= K(Point,Point) + rho. With all
// signs zero it states that the diagonal is not negative.
type Cut struct {
	Point      int
	Sign       []int8 // one a point; that of Point itself is 0
	Multiplier float64
}

// Bound is the value of the dual point (lambda, cuts) after it was shrunk until it is feasible: a lower bound of the
// optimum, up to the rounding of the sums. O(rows x columns + cuts x points x columns).
//
// lambda_t is clamped to [0, w_t]. With v_p = sum_t lambda_t a_tp + sum_cuts nu (K_p(i,i) - sum_j sigma_j K_p(i,j)) the
// dual asks sum_{p in g} |v_p - c_p| <= gamma for each group (Nonneg: max(0, v_p - c_p)) and sum nu <= c_rho; its value
// is sum_t lambda_t (METHOD.md 2).
func (p *Problem) Bound(lambda []float64, cuts []Cut) float64 {
	l := make([]float64, len(lambda))
	value := 0.0
	for t, v := range lambda {
		if v > 0 {
			l[t] = min(v, p.weight(t))
		}
		value += l[t]
	}
	v := make([]float64, len(p.Columns))
	for k, col := range p.Columns {
		v[k] = floats.Dot(l, col)
	}
	if p.Mode == Nonneg {
		return p.shrink(v) * value
	}
	nu := make([]float64, len(cuts))
	for i := range cuts {
		nu[i] = max(cuts[i].Multiplier, 0)
	}
	if p.Mode == Ridge {
		if sum := floats.Sum(nu); sum > p.RidgeCost {
			floats.Scale(p.RidgeCost/sum, nu)
		}
	}
	row := make([]float64, len(p.Columns))
	for i := range cuts {
		if nu[i] > 0 {
			p.cutRow(&cuts[i], row)
			floats.AddScaled(v, nu[i], row)
		}
	}
	return p.towardsCentre(v) * value
}

// towardsCentre is the factor by which a dual point of Ridge or Literal must be shrunk. The multipliers of "the
// diagonal is not negative" that make v = c are feasible with lambda = 0, so shrinking towards them shrinks every |v -
// c| alike.
func (p *Problem) towardsCentre(v []float64) float64 {
	norm := make([]float64, p.Groups)
	for k, g := range p.Group {
		norm[g] += math.Abs(v[k] - p.Cost[k])
	}
	theta := 1.0
	for _, s := range norm {
		if s > p.Gamma {
			theta = min(theta, p.Gamma/s)
		}
	}
	return theta
}

// shrink returns the largest theta in [0, 1] with sum_{p in g} max(0, theta v_p - c_p) <= gamma for every group.
func (p *Problem) shrink(v []float64) float64 {
	theta := 1.0
	sum, slope := make([]float64, p.Groups), make([]float64, p.Groups)
	for range 100 {
		clear(sum)
		clear(slope)
		for k, g := range p.Group {
			if e := theta*v[k] - p.Cost[k]; e > 0 {
				sum[g] += e
				slope[g] += v[k]
			}
		}
		next := theta
		for g := range sum {
			// Newton's step on a convex, piecewise linear function comes down to its root from the right.
			if sum[g] > p.Gamma {
				next = min(next, theta-(sum[g]-p.Gamma)/slope[g])
			}
		}
		if next >= theta {
			return theta
		}
		theta = max(next, 0)
	}
	return 0
}

// cutRow writes the coefficients of a cut in the form row.alpha + rho >= 0.
func (p *Problem) cutRow(c *Cut, row []float64) {
	copy(row, p.Diagonal[c.Point])
	pair := make([]float64, len(row))
	for j, s := range c.Sign {
		if s != 0 && j != c.Point {
			p.Pair(c.Point, j, pair)
			floats.AddScaled(row, -float64(s), pair)
		}
	}
}
