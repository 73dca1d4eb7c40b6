package lp

import (
	"context"
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/floats"
)

// begin adds the rows that hold for every sign: the diagonal is not negative, and all-plus and all-minus.
func (s *cutter) begin(ctx context.Context) {
	p := s.p
	n := len(p.Columns)
	zero := make([]float64, n)
	if !s.separate(ctx, zero, true) {
		return
	}
	varies := false
	for i := 1; i < p.Points; i++ {
		varies = varies || floats.Distance(p.Diagonal[i], p.Diagonal[0], math.Inf(1)) > 0
	}
	for i := range p.Points {
		if i == 0 || varies {
			s.addCut(Cut{Point: i, Sign: make([]int8, p.Points)}, p.Diagonal[i])
		}
	}
	row := make([]float64, n)
	for i := range p.Points {
		for _, sign := range []int8{1, -1} {
			signs := make([]int8, p.Points)
			for j := range signs {
				if j != i {
					signs[j] = sign
				}
			}
			copy(row, p.Diagonal[i])
			floats.AddScaled(row, -float64(sign), s.sums[i*n:i*n+n])
			s.addCut(Cut{Point: i, Sign: signs}, row)
		}
	}
}

// addCut appends a row and reports whether it is new. A vertex can break a row that stands in the master: by its
// disturbance, at its price, or by rounding. A second row like it would change nothing but the size of the master.
func (s *cutter) addCut(c Cut, row []float64) bool {
	key := make([]byte, 4, 4+len(c.Sign))
	binary.LittleEndian.PutUint32(key, uint32(c.Point))
	for _, sign := range c.Sign {
		key = append(key, byte(sign))
	}
	if s.known[string(key)] {
		return false
	}
	s.known[string(key)] = true
	s.cuts = append(s.cuts, c)
	s.rows = append(s.rows, append([]float64(nil), row...))
	return true
}

// separate computes h, and the sums of each point's row, at alpha. It reports whether it came to its end before ctx
// did: else they are not those of alpha.
func (s *cutter) separate(ctx context.Context, alpha []float64, sums bool) bool {
	p := s.p
	n := len(alpha)
	clear(s.h)
	if sums {
		clear(s.sums)
	}
	x := 0
	buf := make([]float64, n)
	for i := range p.Points {
		if ctx.Err() != nil {
			return false
		}
		for j := i + 1; j < p.Points; j++ {
			pair := buf
			if s.pairs != nil {
				pair = s.pairs[x : x+n]
				x += n
			} else {
				p.Pair(i, j, buf)
			}
			v := floats.Dot(pair, alpha)
			sign := 1.0
			if v < 0 {
				v, sign = -v, -1
			}
			s.h[i] += v
			s.h[j] += v
			if sums {
				floats.AddScaled(s.sums[i*n:i*n+n], sign, pair)
				floats.AddScaled(s.sums[j*n:j*n+n], sign, pair)
			}
		}
		s.h[i] -= floats.Dot(p.Diagonal[i], alpha)
	}
	return true
}

// add appends the rows with h above rho + slack, h being the result of separate at alpha, and reports whether one of
// them is new.
func (s *cutter) add(alpha []float64, slack float64) bool {
	p := s.p
	n := len(alpha)
	row, pair := make([]float64, n), make([]float64, n)
	any := false
	for i, h := range s.h {
		if h <= s.rho+slack {
			continue
		}
		signs := make([]int8, p.Points)
		for j := range signs {
			if j == i {
				continue
			}
			p.Pair(i, j, pair)
			if signs[j] = 1; floats.Dot(pair, alpha) < 0 {
				signs[j] = -1
			}
		}
		copy(row, p.Diagonal[i])
		floats.AddScaled(row, -1, s.sums[i*n:i*n+n])
		any = s.addCut(Cut{Point: i, Sign: signs}, row) || any
	}
	return any
}

// repair makes a feasible point of alpha, h being its separation, and keeps it if it is the best so far.
func (s *cutter) repair(ctx context.Context) {
	worst := floats.Max(s.h)
	if s.p.Mode == Ridge {
		s.incumbent(s.alpha, max(worst, 0))
		return
	}
	if worst <= rounding*s.scale(s.alpha) {
		s.incumbent(s.alpha, 0)
		return
	}
	// The feasible part of the way from the incumbent is an interval.
	try := make([]float64, len(s.alpha))
	at := func(x float64) {
		for k, a := range s.alpha {
			try[k] = s.res.Alpha[k] + x*(a-s.res.Alpha[k])
		}
	}
	lo, hi := 0.0, 1.0
	keep := append([]float64(nil), s.sums...)
	h := append([]float64(nil), s.h...)
	for range 40 {
		x := (lo + hi) / 2
		at(x)
		if !s.separate(ctx, try, false) {
			return
		}
		if floats.Max(s.h) <= 0 {
			lo = x
		} else {
			hi = x
		}
	}
	copy(s.sums, keep)
	copy(s.h, h)
	if lo > 0 {
		at(lo)
		s.incumbent(try, 0)
	}
}

// broken reports whether the vertex breaks a known row by more than the disturbance.
func (s *cutter) broken(m *master) bool {
	for j := m.first; j < len(m.items); j++ {
		if m.items[j].kind == cut && m.up[j] && m.pos[j] < 0 && m.r[j] > 1e-6*s.scale(s.alpha) {
			return true
		}
	}
	return false
}
