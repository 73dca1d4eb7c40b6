package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// vertex is alpha, rho and s.
func (s *cutter) vertex() []float64 {
	z := append([]float64(nil), s.alpha...)
	if s.p.Mode == Ridge {
		z = append(z, s.rho)
	}
	return append(z, s.tops()...)
}

func (s *cutter) tops() []float64 {
	top := make([]float64, 0, s.groups)
	for range s.groups {
		top = append(top, 0)
	}
	for k, g := range s.p.Group {
		if at := s.at[g]; at >= 0 {
			i := int(at) - (len(s.alpha) + s.ridge())
			top[i] = max(top[i], math.Abs(s.alpha[k]))
		}
	}
	return top
}

func (s *cutter) ridge() int {
	if s.p.Mode == Ridge {
		return 1
	}
	return 0
}

// master builds the programme over all columns, all hinges and the cuts so far. A column that is alone in its group has
// gamma |alpha| as gamma alpha + 2 gamma max(0, -alpha).
func (s *cutter) master() *master {
	p := s.p
	n := len(s.alpha)
	m := newMaster(n+s.ridge(), s.groups, p.Work)
	for k, g := range p.Group {
		m.c[k] = p.Cost[k]
		if s.at[g] < 0 {
			m.c[k] += s.gamma
			m.add(item{bounded, 1, int32(k)}, int32(k), 0, 0, 2*s.gamma)
		}
	}
	if p.Mode == Ridge {
		m.c[n] = p.RidgeCost
		m.add(item{bounded, 1, int32(n)}, int32(n), 0, 0, 2*p.RidgeCost)
	}
	for k, g := range p.Group {
		if at := s.at[g]; at >= 0 {
			m.c[at] = s.gamma
			m.add(item{grouped, 1, int32(k)}, int32(k), at, 0, 2*s.gamma)
			m.add(item{grouped, -1, int32(k)}, int32(k), at, 0, 2*s.gamma)
		}
	}
	fixed := make([]float64, len(s.r))
	var rows []int32
	for t, held := range s.held {
		if held {
			rows = append(rows, int32(t))
			m.addDense(item{hinge, 1, int32(t)}, 1, p.weight(t))
		} else {
			fixed[t] = s.lambda[t]
		}
	}
	for k, col := range p.Columns {
		if len(rows) < len(s.r) {
			m.c[k] -= floats.Dot(fixed, col)
		}
		for x, t := range rows {
			m.dense[x*m.width+k] = col[t]
		}
	}
	for i, row := range s.rows {
		d := m.addDense(item{cut, 1, int32(i)}, 0, s.price)
		copy(d, row)
		if p.Mode == Ridge {
			d[n] = 1
		}
	}
	return m
}

// candidates lists the rows for the basis: the basic rows of the last master or, without one, the tight rows.
func (s *cutter) candidates(m *master) []int32 {
	var out []int32
	if s.basis != nil {
		want := make(map[item]bool, len(s.basis))
		for _, it := range s.basis {
			want[it] = true
		}
		for j := m.n; j < len(m.items); j++ {
			if want[m.items[j]] {
				out = append(out, int32(j))
			}
		}
		return out
	}
	z := s.vertex()
	for j := m.n; j < len(m.items); j++ {
		if d := m.dot(j, z) - m.exact[j]; math.Abs(d) < tight {
			if m.items[j].kind != cut || floats.Norm(s.alpha, 1) > 0 {
				out = append(out, int32(j))
			}
		}
	}
	return out
}

// read copies alpha, rho, multipliers and basis from a master.
func (s *cutter) read(m *master) {
	copy(s.alpha, m.z)
	s.rho = 0
	if s.p.Mode == Ridge {
		s.rho = max(m.z[len(s.alpha)], 0)
	}
	for j := m.first; j < len(m.items); j++ {
		it := m.items[j]
		if it.kind == hinge {
			s.lambda[it.id] = m.multiplier(j)
		} else {
			s.cuts[it.id].Multiplier = m.multiplier(j)
		}
	}
	s.basis = m.basicItems(s.basis[:0])
}
