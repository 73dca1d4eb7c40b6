package lp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Sizes of the sifting. A programme of more rows than sampleRows starts from the answer of a quarter of them. A master
// holds at least masterRows rows, or warmRows where a vertex close to the optimum is known, and rowsEach a column. Up
// to exactRows rows every sum is computed anew.
const (
	sampleRows = 3000
	masterRows = 1500
	warmRows   = 350
	rowsEach   = 6
	exactRows  = 500
)

// disturbances of the right-hand side, in turn: each starts from the vertex of the one before.
var disturbances = [...]float64{1e-7, 1e-10, 0}

// tolerance bounds the distance of a final multiplier outside of its bounds. That distance over gamma shrinks the
// proved bound, so the tolerance must be small beside gamma; it cannot be below the rounding of a sum over all rows.
func tolerance(p *Problem) float64 {
	sum := 0.0
	for t := range p.rows() {
		sum += p.weight(t)
	}
	return max(min(1e-11, 1e-11*p.Gamma), 1e-16*sum, 1e-14)
}

// tight is the residual below which a row is taken to be basic at a warm start.
const tight = 1e-6

// sifter solves a Nonneg programme over few of its columns and rows at a time. The other columns have alpha = 0 and are
// priced by the dual: a group is missing when sum_{p in g} max(0, v_p - c_p) > gamma. The other rows keep the side of
// their hinge: violated ones with lambda = w are part of the cost, satisfied ones drop out.
type sifter struct {
	p       *Problem
	members [][]int32 // columns of each group
	inside  []bool    // by group
	cols    []int32   // columns of the master, in its order
	at      []int32   // position of each group's s, -1 when its size is 1
	worst   []float64 // largest multiplier that alpha_p >= 0 can have

	alpha       []float64
	r           []float64 // residuals of alpha
	lambda      []float64
	v           []float64 // lambda.a_p of every column
	held        []bool    // row t is in the master
	rows, fresh []int32   // of the last master, ascending; held since
	basis       []item    // of the last master, over basisCols
	basisCols   []int32
	top         []float64

	base       []float64 // of every column: the part of v from the rows that are not held
	exact      bool      // base and v are computed anew in each round
	heaviest   float64   // weight of a row
	rank       []float64
	few, share int // the first master has at least few rows, and one in share of all

	res *Result
}

func solveNonneg(ctx context.Context, p *Problem, from *Result) *Result {
	res := &Result{Upper: math.Inf(1), Lower: math.Inf(-1)}
	warm := make([]float64, len(p.Columns))
	if from != nil {
		copy(warm, from.Alpha)
	} else {
		if p.rows() > sampleRows {
			sub := solveSample(ctx, p)
			copy(warm, sub.Alpha)
			res.Iterations, res.Rounds = sub.Iterations, sub.Rounds
		}
	}
	s := newSifter(p, res, warm)
	s.exact = p.rows() <= exactRows
	if from != nil {
		s.few, s.share = warmRows, 50
	}
	s.run(ctx, disturbances[:])
	return res
}

func newSifter(p *Problem, res *Result, warm []float64) *sifter {
	n, t := len(p.Columns), p.rows()
	s := &sifter{
		p: p, res: res, few: masterRows, share: 20,
		members: make([][]int32, p.Groups), inside: make([]bool, p.Groups), at: make([]int32, p.Groups),
		top:   make([]float64, p.Groups),
		worst: make([]float64, n), alpha: make([]float64, n), v: make([]float64, n), base: make([]float64, n),
		r: make([]float64, t), lambda: make([]float64, t), held: make([]bool, t),
	}
	for k, g := range p.Group {
		s.members[g] = append(s.members[g], int32(k))
		s.worst[k] = -1
	}
	for i := range p.rows() {
		s.heaviest = max(s.heaviest, p.weight(i))
	}
	for k, a := range warm {
		if s.alpha[k] = max(a, 0); s.alpha[k] > 0 {
			s.inside[p.Group[k]] = true
		}
	}
	return s
}

// run sifts at each of the disturbances until nothing is missing and keeps the best point and the best bound.
func (s *sifter) run(ctx context.Context, levels []float64) {
	p := s.p
	p.residuals(s.alpha, s.r)
	s.incumbent()
	for t, r := range s.r {
		s.lambda[t] = 0
		if r > 0 {
			s.lambda[t] = p.weight(t)
		}
	}
	s.priceAll()
	s.bound()
	s.admit(0)
	copy(s.base, s.v)
	s.choose(s.first())
	level, best := 0, math.Inf(1)
	var m, last *master // m is nil when it must be built anew; last is of the columns of s.cols
	for {
		if s.done(ctx) {
			if s.res.Status == Optimal {
				s.polish(ctx, last)
			}
			s.certify()
			return
		}
		p.Work.Spend(4 * int64(len(p.Columns)) * int64(p.rows()))
		if m == nil {
			z := s.vertex()
			m = s.master()
			m.start(z, s.candidates(m), levels[level])
		} else {
			m.disturb(levels[level])
		}
		s.res.Iterations -= m.iterations
		end := m.minimise(ctx, tolerance(p), 50*m.n+10*len(m.items))
		s.res.Iterations += m.iterations
		s.res.Rounds++
		s.res.Rows = len(m.items) - m.n
		s.read(m)
		s.incumbent()
		if end == interrupted {
			s.price()
			s.bound()
			s.done(ctx)
			s.certify()
			return
		}
		grown := s.hold()
		// Far from the optimum the rows left out can pull without end.
		wider := end == stuck && s.choose(4*len(s.rows))
		grown = grown || wider
		s.price()
		s.bound()
		last = m
		if s.admit(1e-9) {
			grown = true
		}
		switch {
		case grown:
			m = nil
		case end == minimal:
			s.polish(ctx, m)
		}
		if grown && (end == minimal || wider) {
			continue
		}
		if gap := s.res.Gap(); level+1 == len(levels) || len(levels) == 1 {
			if end != minimal || gap >= best || !grown {
				s.finish()
				s.certify()
				return
			}
			best = gap
			continue
		}
		// The updated sums gather rounding, which may hold up the search.
		level++
		if !s.exact {
			s.exact, m = true, nil
		}
	}
}

// polishPivots bounds the pivots of a polish.
const polishPivots = 200

// polish takes the disturbance out of a master's vertex, which leaves a gap of rounding and weights of exactly 0.
func (s *sifter) polish(ctx context.Context, m *master) {
	if m == nil || m.eps == 0 {
		return
	}
	m.disturb(0)
	s.res.Iterations -= m.iterations
	end := m.minimise(ctx, tolerance(s.p), polishPivots)
	s.res.Iterations += m.iterations
	if end != minimal {
		return
	}
	changed := s.read(m)
	s.incumbent()
	if changed {
		s.price()
		s.bound()
	}
}

// certify recomputes the bound of the multipliers in plain arithmetic, since the updated sums gather rounding.
func (s *sifter) certify() {
	s.res.Lower = s.p.Bound(s.res.Lambda, nil)
	if s.res.Status == Optimal && s.res.Gap() > Tolerance {
		s.res.Status = Inexact
	}
}

// done reports whether the search is over, and sets the status.
func (s *sifter) done(ctx context.Context) bool {
	if s.res.Gap() <= Tolerance/10 {
		s.res.Status = Optimal
		return true
	}
	if s.p.ended(ctx) {
		s.res.Status = Stopped
		if s.res.Gap() <= Tolerance {
			s.res.Status = Optimal
		}
		return true
	}
	return false
}

func (s *sifter) finish() {
	s.res.Status = Inexact
	if s.res.Gap() <= Tolerance {
		s.res.Status = Optimal
	}
}

// incumbent keeps alpha when it is the best so far.
func (s *sifter) incumbent() {
	if f := s.p.objective(s.alpha, 0, s.r); f <= s.res.Upper {
		s.res.Upper = f
		s.res.Alpha = append(s.res.Alpha[:0], s.alpha...)
	}
}

// bound keeps lambda when it proves the best bound so far.
func (s *sifter) bound() {
	theta := s.p.shrink(s.v)
	if b := theta * floats.Sum(s.lambda); b > s.res.Lower {
		s.res.Lower = b
		s.res.Lambda = append(s.res.Lambda[:0], s.lambda...)
	}
}
