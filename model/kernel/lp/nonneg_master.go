package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// vertex lays out the columns of the next master and returns alpha and s there.
func (s *sifter) vertex() []float64 {
	s.cols = s.cols[:0]
	for g, in := range s.inside {
		if in {
			s.cols = append(s.cols, s.members[g]...)
		}
	}
	z := make([]float64, 0, 2*len(s.cols))
	for _, k := range s.cols {
		z = append(z, s.alpha[k])
	}
	for g, in := range s.inside {
		s.at[g] = -1
		if in && len(s.members[g]) > 1 {
			s.at[g] = int32(len(z))
			top := 0.0
			for _, k := range s.members[g] {
				top = max(top, s.alpha[k])
			}
			z = append(z, top)
		}
	}
	return z
}

// master builds the programme over the present columns and held rows.
func (s *sifter) master() *master {
	p := s.p
	nd := len(s.cols)
	groups := 0
	for _, at := range s.at {
		if at >= 0 {
			groups++
		}
	}
	m := newMaster(nd, groups, p.Work)
	s.rows = s.rows[:0]
	for t, held := range s.held {
		if held {
			s.rows = append(s.rows, int32(t))
		}
	}
	s.fresh = s.fresh[:0]
	switch {
	case len(s.rows) == len(s.r):
		clear(s.base)
	case s.exact:
		fixed := make([]float64, len(s.r))
		for t, l := range s.lambda {
			if !s.held[t] {
				fixed[t] = l
			}
		}
		for k, col := range p.Columns {
			s.base[k] = floats.Dot(fixed, col)
		}
	}
	for i, k := range s.cols {
		m.c[i] = p.Cost[k] - s.base[k]
		if s.worst[k] < 0 {
			// By Cauchy and Schwarz, this is at least the sum that the negative entries can add.
			col := p.Columns[k]
			s.worst[k] = p.Cost[k] + p.Gamma + s.heaviest*math.Sqrt(float64(len(col))*floats.Dot(col, col))
		}
		m.add(item{bounded, 1, k}, int32(i), 0, 0, s.worst[k])
	}
	for i, k := range s.cols {
		at := s.at[p.Group[k]]
		if at < 0 {
			m.c[i] += p.Gamma
			continue
		}
		m.c[at] = p.Gamma
		m.add(item{grouped, 1, k}, int32(i), at, 0, 2*p.Gamma)
	}
	m.dense = make([]float64, 0, len(s.rows)*m.width)
	for _, t := range s.rows {
		m.addDense(item{hinge, 1, t}, 1, p.weight(int(t)))
	}
	for i, k := range s.cols {
		col := p.Columns[k]
		for x, t := range s.rows {
			m.dense[x*m.width+i] = col[t]
		}
	}
	return m
}

// candidates lists the rows for the basis: the basic rows of the last master or, without one, the tight rows.
func (s *sifter) candidates(m *master) []int32 {
	var out []int32
	if s.basis == nil {
		for j := m.n; j < len(m.items); j++ {
			it := m.items[j]
			switch it.kind {
			case bounded:
				if s.alpha[it.id] == 0 {
					out = append(out, int32(j))
				}
			case grouped:
				g := s.p.Group[it.id]
				top := 0.0
				for _, k := range s.members[g] {
					top = max(top, s.alpha[k])
				}
				if top-s.alpha[it.id] < tight {
					out = append(out, int32(j))
				}
			case hinge:
				if math.Abs(s.r[it.id]) < tight {
					out = append(out, int32(j))
				}
			}
		}
		return out
	}
	want := make(map[item]bool, len(s.basis))
	known := make(map[int32]bool)
	for _, it := range s.basis {
		want[it] = true
	}
	for _, k := range s.basisCols {
		known[k] = true
	}
	for j := m.n; j < len(m.items); j++ {
		it := m.items[j]
		// A column that was not there has alpha = 0, and so has its group.
		if want[it] || it.kind < hinge && !known[it.id] {
			out = append(out, int32(j))
		}
	}
	return out
}

// read copies alpha, residuals, multipliers and basis from a master, and reports whether a multiplier changed.
func (s *sifter) read(m *master) (changed bool) {
	clear(s.alpha)
	largest := 0.0
	for i := range s.cols {
		largest = max(largest, m.z[i])
	}
	for i, k := range s.cols {
		if m.pos[m.n+i] < 0 && m.z[i] > rounding*largest { // its bound is not basic
			s.alpha[k] = m.z[i]
		}
	}
	s.p.residuals(s.alpha, s.r)
	for j := m.first; j < len(m.items); j++ {
		if l := m.multiplier(j); l != s.lambda[m.items[j].id] {
			s.lambda[m.items[j].id], changed = l, true
		}
	}
	s.basis = m.basicItems(s.basis[:0])
	s.basisCols = append(s.basisCols[:0], s.cols...)
	return changed
}
