package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"liftstream/model"
	"liftstream/model/vector"
)

// start makes the basis: as many of the candidate rows, in their order, as are independent, and anchors at z for the
// rest. It disturbs the right-hand sides by up to eps against ties.
func (m *master) start(z []float64, candidates []int32, eps float64) {
	rows := len(m.items)
	m.b = make([]float64, rows)
	m.pos = make([]int32, rows)
	m.up = make([]bool, rows)
	m.r, m.g = make([]float64, rows), make([]float64, rows)
	m.inv = make([]float64, m.n*m.wide)
	m.norm, m.y, m.w = make([]float64, m.n), make([]float64, m.n), make([]float64, m.n)
	m.ct, m.d, m.x = make([]float64, m.wide), make([]float64, m.wide), make([]float64, m.width)
	m.z = append([]float64(nil), z...)
	copy(m.exact, z)
	m.factor(candidates)
	m.product(m.z, m.r)
	for j := range m.r {
		m.up[j] = m.exact[j]-m.r[j] > 0
	}
	m.disturb(eps)
}

// disturb sets b = exact + eps noise and moves the vertex accordingly.
func (m *master) disturb(eps float64) {
	m.eps = eps
	for j, v := range m.exact {
		m.b[j] = v
		it := m.items[j]
		if it.kind == anchored || eps == 0 {
			continue
		}
		noise := float64(model.Hash(uint64(it.kind), uint64(uint32(it.id)), uint64(uint8(it.sign)))>>11) / (1 << 53)
		if it.kind == hinge {
			m.b[j] += eps * (noise - .5)
		} else {
			m.b[j] -= eps * (1 + noise)
		}
	}
	m.resync()
}

// factor inverts the basic rows from scratch, by Gauss-Jordan steps with the largest pivot that each row offers. A row
// that depends on those before it is left out; an anchor at the present z stands in.
func (m *master) factor(basis []int32) {
	n := m.n
	m.work.Spend(int64(n) * int64(n) * int64(n))
	clear(m.inv)
	for j := range m.pos {
		m.pos[j] = -1
	}
	m.basis = m.basis[:0]
	for k := range n {
		m.inv[k*m.wide+k] = 1
		m.basis = append(m.basis, int32(k))
		m.pos[k] = int32(k)
	}
	for _, j := range basis {
		if int(j) < n || m.pos[j] >= 0 {
			continue
		}
		m.weigh(int(j))
		best, at, largest := 0.0, -1, 0.0
		for k, v := range m.w {
			v = math.Abs(v)
			largest = max(largest, v)
			if v > best && int(m.basis[k]) < n {
				best, at = v, k
			}
		}
		if at < 0 || best < 1e-9*max(1, largest) {
			continue
		}
		m.replace(at, int(j))
	}
	for k := range n {
		if m.pos[k] >= 0 {
			m.exact[k], m.b[k] = m.z[k], m.z[k]
		}
	}
	for k := range n {
		v := m.inv[k*m.wide : k*m.wide+n]
		m.norm[k] = vector.Dot(v, v)
	}
	m.since = 0
}

// weigh writes a_j.inv[k] for every k into w.
func (m *master) weigh(j int) {
	if j >= m.first {
		o := (j - m.first) * m.width
		vector.Product(m.w, m.inv, m.wide, m.dense[o:o+m.width])
		return
	}
	for k := range m.w {
		m.w[k] = m.dot(j, m.inv[k*m.wide:])
	}
}

// replace puts row j into position at of the basis, w being its weights. It updates inv, basis and pos only.
func (m *master) replace(at, j int) {
	col := m.inv[at*m.wide : (at+1)*m.wide]
	floats.Scale(1/m.w[at], col)
	for k, v := range m.w {
		if k != at && v != 0 {
			vector.AddScaled(m.inv[k*m.wide:(k+1)*m.wide], -v, col)
		}
	}
	m.pos[m.basis[at]] = -1
	m.basis[at] = int32(j)
	m.pos[j] = int32(at)
}

// resync computes z, residuals, states, ct and y from the basis. A residual within rounding keeps its row's state.
func (m *master) resync() {
	clear(m.z)
	for k, j := range m.basis {
		vector.AddScaled(m.z, m.b[j], m.inv[k*m.wide:])
	}
	m.product(m.z, m.r)
	copy(m.ct, m.c)
	for j, v := range m.r {
		m.r[j] = m.b[j] - v
		if m.pos[j] >= 0 {
			m.r[j], m.up[j] = 0, false
			continue
		}
		if m.r[j] > 1e-12 {
			m.up[j] = true
		} else if m.r[j] < -1e-12 {
			m.up[j] = false
		}
		if m.up[j] && m.u[j] > 0 {
			m.axpy(-m.u[j], j, m.ct)
		}
	}
	m.duals()
}

// duals solves for y and improves it once by its residual in ct: gamma may be small beside the multipliers.
func (m *master) duals() {
	n := m.n
	rest := m.d // free between pivots
	clear(m.y)
	copy(rest, m.ct)
	for range 2 {
		for k := range n {
			m.y[k] += vector.Dot(m.inv[k*m.wide:k*m.wide+n], rest)
		}
		copy(rest, m.ct)
		for k, j := range m.basis {
			if m.y[k] != 0 {
				m.axpy(-m.y[k], int(j), rest)
			}
		}
	}
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

// basicItems appends the names of the basic rows, the sparse ones first.
func (m *master) basicItems(dst []item) []item {
	for pass := 0; pass < 2; pass++ {
		for _, j := range m.basis {
			if int(j) >= m.n && (int(j) >= m.first) == (pass == 1) {
				dst = append(dst, m.items[j])
			}
		}
	}
	return dst
}
