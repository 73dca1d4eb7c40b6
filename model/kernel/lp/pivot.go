package lp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// outcome is how minimise ended.
type outcome uint8

// minimise walks to the optimum. Multipliers within tol of their bounds count as inside.
func (m *master) minimise(ctx context.Context, tol float64, limit int) outcome {
	n := m.n
	retries, idle := 0, 0
	total := 1.0
	for _, u := range m.u[m.first:] {
		total += min(u, 1)
	}
	for it := 0; it < limit; it++ {
		if it&15 == 0 && ctx.Err() != nil {
			return interrupted
		}
		k, sign, slope := m.leaving(tol)
		if k < 0 {
			if m.since == 0 {
				return minimal
			}
			// What drift hides would be found by the next master only.
			m.refactor()
			continue
		}
		out := m.inv[k*n : k*n+n]
		for i, v := range out {
			m.d[i] = sign * v
		}
		m.product(m.d, m.g)
		e, flips := m.step(slope, math.Sqrt(m.norm[k]))
		if e < 0 {
			if retries++; retries > 3 {
				return stuck
			}
			m.refactor()
			continue
		}
		// Ties that the disturbance does not break can turn in a circle.
		if t := m.passed[e].t; -slope*t > 1e-15*total {
			idle = 0
		} else if idle++; idle > 3*n+100 {
			m.refactor()
			return stuck
		}
		m.pivot(k, sign, m.passed[e], e, flips)
		if m.since > 100+n/2 {
			m.refactor()
		}
	}
	return stuck
}

// leaving returns the position in the basis whose release lowers the objective fastest by length of its edge, in which
// direction, and the slope; -1 at the optimum.
func (m *master) leaving(tol float64) (at int, sign, slope float64) {
	at = -1
	best := 0.0
	for k, y := range m.y {
		s, s1 := y, 1.0
		if y > 0 {
			if s, s1 = m.u[m.basis[k]]-y, -1; s >= 0 {
				continue
			}
		}
		if -s <= tol {
			continue
		}
		if v := s * s / m.norm[k]; v > best {
			best, at, sign, slope = v, k, s1, s
		}
	}
	return at, sign, slope
}

// step searches along d, on which the objective has the given slope. passed is filled with the kinks in order up to the
// one at which the slope turns; it returns which of them enters the basis and how many are passed, -1 when the slope
// never turns.
func (m *master) step(slope, length float64) (enter, flips int) {
	tiny := 1e-11 * length
	m.kinks = m.kinks[:0]
	for j := m.n; j < len(m.g); j++ {
		g := m.g[j]
		if m.up[j] {
			if g > tiny {
				m.kinks = append(m.kinks, kink{max(m.r[j]/g, 0), int32(j)})
			}
		} else if g < -tiny && m.pos[j] < 0 && m.u[j] > 0 {
			m.kinks = append(m.kinks, kink{max(m.r[j]/g, 0), int32(j)})
		}
	}
	h := m.kinks
	heapify(h)
	m.passed = m.passed[:0]
	turn := -1
	for len(h) > 0 {
		b := h[0]
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		sift(h, 0)
		if turn >= 0 && b.t > m.passed[turn].t*(1+1e-12)+1e-13 {
			break
		}
		m.passed = append(m.passed, b)
		if turn < 0 {
			if slope += m.u[b.j] * math.Abs(m.g[b.j]); slope >= 0 {
				turn = len(m.passed) - 1
			}
		}
	}
	if turn < 0 {
		return -1, 0
	}
	// Of the kinks that coincide with the turn the steepest makes the safest pivot; where even that is flat, an earlier
	// one that is not: the slope is still negative there.
	pivot := func(i int) float64 { return math.Abs(m.g[m.passed[i].j]) }
	enter = turn
	near := m.passed[turn].t*(1-1e-12) - 1e-13
	low := turn
	for low > 0 && m.passed[low-1].t >= near {
		low--
	}
	for i := low; i < len(m.passed); i++ {
		if pivot(i) > pivot(enter) {
			enter = i
		}
	}
	flips = turn + 1
	if pivot(enter) < 1e-7*length {
		for i := low - 1; i >= 0; i-- {
			if pivot(i) > 1e-5*length {
				enter, flips = i, i
				break
			}
		}
	}
	return enter, flips
}

// pivot moves to kink e and exchanges the rows; the first flips kinks, e aside, have been passed.
func (m *master) pivot(k int, sign float64, e kink, at, flips int) {
	n := m.n
	for i := 0; i < flips; i++ {
		if i != at {
			m.flip(int(m.passed[i].j))
		}
	}
	in := int(e.j)
	if m.up[in] {
		m.axpy(m.u[in], in, m.ct)
		m.up[in] = false
	}
	out := int(m.basis[k])
	if m.up[out] = sign < 0 && m.u[out] > 0; m.up[out] {
		m.axpy(-m.u[out], out, m.ct)
	}
	floats.AddScaled(m.z, e.t, m.d)
	floats.AddScaled(m.r, -e.t, m.g)
	m.r[out], m.r[in] = -e.t*sign, 0
	m.weigh(in)
	drift := math.Abs(m.w[k]-sign*m.g[in]) > 1e-7*(1+math.Abs(m.w[k]))
	col := m.inv[k*n : k*n+n]
	floats.Scale(1/m.w[k], col)
	m.norm[k] = floats.Dot(col, col)
	along := floats.Dot(col, m.ct)
	for i, w := range m.w {
		v := m.inv[i*n : i*n+n]
		switch {
		case i == k:
			m.y[i] = along
		case w != 0:
			floats.AddScaled(v, -w, col)
			m.norm[i] = floats.Dot(v, v)
			m.y[i] = floats.Dot(v, m.ct)
		default:
			m.y[i] = floats.Dot(v, m.ct)
		}
	}
	m.pos[out] = -1
	m.basis[k] = int32(in)
	m.pos[in] = int32(k)
	m.iterations++
	if m.since++; drift {
		m.refactor()
	}
}

func (m *master) flip(j int) {
	u := m.u[j]
	if !m.up[j] {
		u = -u
	}
	m.up[j] = !m.up[j]
	m.axpy(u, j, m.ct)
}

// refactor inverts the basis anew and computes everything from it.
func (m *master) refactor() {
	order := make([]int32, 0, m.n)
	for pass := 0; pass < 2; pass++ { // the sparse rows first: they fill nothing in
		for _, j := range m.basis {
			if (int(j) >= m.first) == (pass == 1) {
				order = append(order, j)
			}
		}
	}
	m.factor(order)
	m.resync()
}

func heapify(h []kink) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sift(h, i)
	}
}

func sift(h []kink, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (a kink) before(b kink) bool { return a.t < b.t || a.t == b.t && a.j < b.j }

// kink is a row whose hinge is reached at step t.
type kink struct {
	t float64
	j int32
}
