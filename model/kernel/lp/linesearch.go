package lp

import "math"

// kink is a row whose hinge is reached at step t.
type kink struct {
	t float64
	j int32
}

// step searches along d, on which the objective has the given slope. It fills passed with the kinks in order, up to the
// one at which the slope turns. It returns the index of the entering kink and the number of passed ones; -1 when the
// slope never turns.
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
	// Of the kinks that coincide with the turn the steepest is the safest pivot. Where even that one is flat, an earlier
	// kink that is not flat enters: the slope is still negative there.
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
