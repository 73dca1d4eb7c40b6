package lp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// pairCache bounds the bytes of kernel values of pairs that are kept between separations.
const pairCache = 256 << 20

// rounding is the part of the size of a mixture below which a broken dominance row counts as kept.
const rounding = 1e-13

// proofRounds bounds the masters that prove alpha = 0.
const proofRounds = 20

// maxRounds bounds the masters of one solve; in practice they are fewer than 30.
const maxRounds = 400

// cutter solves Ridge and Literal. It adds a dominance row where the vertex breaks it, with the signs of the mixture
// there. The master holds all hinges from the start or, at a warm start, the hinges near their kinks; the others keep
// their side, as in the sifter, and enter the master when they change it.
type cutter struct {
	p      *Problem
	pairs  []float64 // kernel values of every pair i < j, or nil
	cuts   []Cut
	rows   [][]float64     // coefficients of the cuts
	known  map[string]bool // point and signs of the cuts
	price  float64         // of a dominance row
	basis  []item
	at     []int32 // position of each group's s, -1 when its size is 1
	groups int
	size   []int
	gamma  float64 // of the masters
	held   []bool  // hinge t is in the master

	alpha  []float64
	rho    float64
	lambda []float64
	r      []float64
	h      []float64 // by point: sum_j |K_ij| - K_ii
	sums   []float64 // by point: sum_j sign K_ij, column by column
	res    *Result
}

func solveDominance(ctx context.Context, p *Problem, warm *Result) *Result {
	n := len(p.Columns)
	s := &cutter{
		p: p, gamma: p.Gamma,
		held: make([]bool, p.rows()), r: make([]float64, p.rows()), lambda: make([]float64, p.rows()),
		alpha: make([]float64, n),
		h:     make([]float64, p.Points), sums: make([]float64, p.Points*n),
		at: make([]int32, p.Groups), size: make([]int, p.Groups),
		known: map[string]bool{},
		res:   &Result{Upper: math.Inf(1), Lower: 0, Alpha: make([]float64, n), Lambda: make([]float64, p.rows())},
	}
	for _, g := range p.Group {
		s.size[g]++
	}
	at := int32(n)
	if p.Mode == Ridge {
		at++
	}
	for g, k := range s.size {
		s.at[g] = -1
		if k > 1 {
			s.at[g] = at
			at++
			s.groups++
		}
	}
	s.cache(ctx)
	s.run(ctx, warm)
	if floats.Norm(s.res.Alpha, math.Inf(1)) == 0 && s.res.Gap() > Tolerance/100 && !p.ended(ctx) {
		s.prove(ctx)
	}
	s.finish(ctx)
	return s.res
}

// cache keeps the kernel values of all pairs where they are few; not when ctx ends first.
func (s *cutter) cache(ctx context.Context) {
	p, n := s.p, len(s.p.Columns)
	size := int64(p.Points) * int64(p.Points-1) / 2 * int64(n) * 8
	if size > pairCache {
		return
	}
	pairs, x := make([]float64, size/8), 0
	for i := range p.Points {
		if ctx.Err() != nil {
			return
		}
		for j := i + 1; j < p.Points; j++ {
			p.Pair(i, j, pairs[x:x+n])
			x += n
		}
	}
	q := *p
	q.Pair = func(i, j int, dst []float64) {
		a, b := min(i, j), max(i, j)
		x := (a*(2*p.Points-a-1)/2 + b - a - 1) * n
		copy(dst, pairs[x:x+n])
	}
	s.p, s.pairs = &q, pairs
}

// prove sharpens the proof that alpha = 0 is optimal. Where this also holds at a somewhat smaller gamma, the
// multipliers found there are strictly feasible, and no rounding shrinks their bound.
func (s *cutter) prove(ctx context.Context) {
	s.gamma = .999 * s.p.Gamma
	for range proofRounds {
		s.p.Work.Spend(int64(len(s.alpha)) * (4*int64(s.p.rows()) + 3*int64(s.p.Points)*int64(s.p.Points)))
		m := s.master()
		m.start(s.vertex(), s.candidates(m), 0)
		end := m.minimise(ctx, tolerance(s.p), 50*m.n+10*len(m.items))
		s.res.Iterations += m.iterations
		s.res.Rounds++
		s.read(m)
		if end == interrupted {
			return
		}
		s.bound()
		if s.res.Gap() <= rounding {
			return
		}
		if !s.separate(ctx, s.alpha, true) {
			return
		}
		held := s.hold()
		if !s.add(s.alpha, rounding*s.scale(s.alpha)) && !held {
			return
		}
	}
}

// choose holds the hinges: all of them or, at a warm start, the ones of the smallest residuals at alpha.
func (s *cutter) choose(warm bool) {
	p := s.p
	p.residuals(s.alpha, s.r)
	far := math.Inf(1)
	if n := max(warmRows, len(s.r)/50); warm && n < len(s.r) {
		size := make([]float64, len(s.r))
		for t, r := range s.r {
			size[t] = math.Abs(r)
		}
		far = smallest(size, n)
	}
	for t, r := range s.r {
		if s.held[t] = math.Abs(r) <= far; !s.held[t] && r > 0 {
			s.lambda[t] = p.weight(t)
		}
	}
}

// all holds all hinges, and reports whether some were not held.
func (s *cutter) all() (grown bool) {
	for t, held := range s.held {
		grown = grown || !held
		s.held[t] = true
	}
	return grown
}

// hold holds the hinges that have changed sides at alpha, and reports whether there were any.
func (s *cutter) hold() bool {
	s.p.residuals(s.alpha, s.r)
	grown := false
	for t, r := range s.r {
		if !s.held[t] && (r > 0) != (s.lambda[t] > 0) {
			s.held[t], grown = true, true
		}
	}
	return grown
}

// resume begins at the optimum and with the cuts of an earlier programme.
func (s *cutter) resume(ctx context.Context, warm *Result) {
	p := s.p
	copy(s.alpha, warm.Alpha)
	// A solve whose time is over answers with these weights, so this one pass is made at any time.
	at := context.WithoutCancel(ctx)
	s.separate(at, s.alpha, true)
	s.repair(at)
	if p.Mode == Ridge {
		s.rho = max(floats.Max(s.h), 0)
	}
	row := make([]float64, len(s.alpha))
	for _, c := range warm.Cuts {
		if c.Point < p.Points && len(c.Sign) == p.Points {
			p.cutRow(&c, row)
			s.addCut(Cut{Point: c.Point, Sign: c.Sign}, row)
		}
	}
	s.add(s.alpha, -.01*s.scale(s.alpha))
}

func (s *cutter) run(ctx context.Context, warm *Result) {
	p, res, n := s.p, s.res, len(s.alpha)
	trace := 0.0
	for i := range p.Points {
		trace = max(trace, math.Abs(floats.Max(p.Diagonal[i])))
	}
	s.price = 10 * max(1, floats.Max(p.Cost)/max(trace, 1e-9))
	if p.Mode == Ridge {
		s.price = 1.001 * p.RidgeCost
	}
	s.begin(ctx)
	s.incumbent(s.alpha, 0) // alpha = 0
	if warm != nil {
		s.resume(ctx, warm)
	}
	s.choose(warm != nil)
	z := s.vertex()
	level, best, idle := 0, math.Inf(1), 0
	var m *master // nil when it must be built anew
	for range maxRounds {
		if s.done(ctx) {
			return
		}
		p.Work.Spend(int64(n) * (4*int64(p.rows()) + 3*int64(p.Points)*int64(p.Points)))
		if m == nil {
			m = s.master()
			m.start(z, s.candidates(m), disturbances[level])
		} else {
			m.disturb(disturbances[level])
		}
		res.Iterations -= m.iterations
		end := m.minimise(ctx, tolerance(p), 50*m.n+10*len(m.items))
		res.Iterations += m.iterations
		res.Rounds++
		res.Rows = len(m.items) - m.n
		s.read(m)
		if end != interrupted {
			s.bound()
		}
		if !s.separate(ctx, s.alpha, true) {
			return
		}
		s.repair(ctx)
		if end == interrupted {
			return
		}
		// A row that stands in the master may be broken by its disturbance.
		slack := 2.5*disturbances[level] + rounding*s.scale(s.alpha)
		held := s.hold()
		// Far from the optimum the hinges left out can pull without end.
		wider := end == stuck && s.all()
		grown := s.add(s.alpha, slack)
		if grown {
			// Midway between the vertex and the incumbent the signs are more often the signs of the optimum.
			mid := make([]float64, len(s.alpha))
			for k, a := range s.alpha {
				mid[k] = .5 * (a + res.Alpha[k])
			}
			if s.separate(ctx, mid, true) {
				s.add(mid, slack)
			}
		}
		grown = grown || held || wider
		broken := p.Mode == Literal && end == minimal && s.price < 1e12 && s.broken(m)
		if grown || broken {
			z, m = s.vertex(), nil
		}
		gap := res.Gap()
		if gap < best*(1-1e-6) {
			best, idle = gap, 0
		} else {
			idle++
		}
		if broken {
			// The multipliers of hard rows have no bound known beforehand.
			s.price *= 10
			continue
		}
		if grown && (end == minimal || wider) && idle < 10 {
			continue
		}
		if level+1 == len(disturbances) {
			if idle >= 3 || end != minimal {
				break
			}
			continue
		}
		level++
		idle = 0
	}
}

// done reports whether the search is over.
func (s *cutter) done(ctx context.Context) bool {
	return s.res.Gap() <= Tolerance/10 || s.p.ended(ctx)
}

// finish recomputes the bound of the multipliers in plain arithmetic and sets the status.
func (s *cutter) finish(ctx context.Context) {
	s.res.Lower = s.p.Bound(s.res.Lambda, s.res.Cuts)
	switch {
	case s.res.Gap() <= Tolerance:
		s.res.Status = Optimal
	case s.p.ended(ctx):
		s.res.Status = Stopped
	default:
		s.res.Status = Inexact
	}
}

// scale is the size of the mixture, to which dominance is compared.
func (s *cutter) scale(alpha []float64) float64 { return floats.Norm(alpha, 1) + 1e-12 }

func (s *cutter) incumbent(alpha []float64, rho float64) {
	s.p.residuals(alpha, s.r)
	if f := s.p.objective(alpha, rho, s.r); f < s.res.Upper {
		s.res.Upper, s.res.Rho = f, rho
		copy(s.res.Alpha, alpha)
	}
}

// bound keeps the multipliers if they prove the best bound so far.
func (s *cutter) bound() {
	p := s.p
	v := make([]float64, len(p.Columns))
	for k, col := range p.Columns {
		v[k] = floats.Dot(s.lambda, col)
	}
	sum := 0.0
	for i := range s.cuts {
		sum += s.cuts[i].Multiplier
	}
	shrink := 1.0
	if p.Mode == Ridge && sum > p.RidgeCost {
		shrink = p.RidgeCost / sum
	}
	for i := range s.cuts {
		if nu := s.cuts[i].Multiplier * shrink; nu > 0 {
			floats.AddScaled(v, nu, s.rows[i])
		}
	}
	b := p.towardsCentre(v) * floats.Sum(s.lambda)
	if b <= s.res.Lower {
		return
	}
	s.res.Lower = b
	copy(s.res.Lambda, s.lambda)
	s.res.Cuts = s.res.Cuts[:0]
	for _, c := range s.cuts {
		if c.Multiplier > 0 {
			s.res.Cuts = append(s.res.Cuts, c)
		}
	}
}
