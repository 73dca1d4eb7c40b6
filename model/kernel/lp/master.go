package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"liftstream/model"
)

// itemKind says what a row of a master stands for, in terms that outlive the master.
type itemKind uint8

const (
	anchored itemKind = iota // z_k = value, price 0: a placeholder of a basis
	bounded                  // alpha_k >= 0, or rho >= 0
	grouped                  // s_g - sign alpha_k >= 0
	hinge                    // a_t.alpha >= 1
	cut                      // dominance row
)

// item names a row: id is a column (anchored: a variable), a row of the Problem, or a cut.
type item struct {
	kind itemKind
	sign int8
	id   int32
}

// master is the programme
//
//	min c.z + sum_j u_j max(0, b_j - a_j.z)
//
// in which every row is soft, its price u_j at least the largest multiplier that it can have. So any n independent rows
// are a valid start, and the optimum is that of the hard rows. Variables are alpha (the first nd, rho among them), then
// one s a group of several columns; hinges and cuts touch alpha only.
//
// A vertex is n basic rows. Releasing basic row k moves along column k of the inverse; the line search passes every
// kink at which the slope stays negative (long step). In the dual these are bound flips of a bounded simplex whose
// columns are the rows here.
type master struct {
	n, nd int
	c     []float64
	items []item
	// Rows are ordered: n anchors, bounds, groups (first from 'groups'), dense rows (first from 'first').
	groups, first int
	col, group    []int32   // variables of the sparse rows
	sign          []float64 // of alpha in a grouped row
	dense         []float64 // nd coefficients a dense row
	b, exact      []float64 // right-hand side, disturbed and true
	u             []float64
	eps           float64 // size of the disturbance

	pos   []int32 // position in the basis, or -1
	up    []bool  // not basic and violated
	basis []int32
	inv   []float64 // n x n, row k is column k of the inverse of the basic rows
	norm  []float64 // squared length of the rows of inv
	z, y  []float64
	r, g  []float64 // b - a.z; a.d
	ct    []float64 // c - sum of u a over the violated rows

	w, d       []float64
	kinks      []kink
	passed     []kink
	iterations int
	since      int // pivots since the last refactor
}

func newMaster(nd, groups int) *master {
	n := nd + groups
	m := &master{n: n, nd: nd, c: make([]float64, n)}
	for k := range n {
		m.add(item{anchored, 1, int32(k)}, int32(k), 0, 0, 0)
	}
	return m
}

// add appends a sparse row.
func (m *master) add(it item, col, group int32, b, u float64) {
	m.items = append(m.items, it)
	m.col = append(m.col, col)
	m.group = append(m.group, group)
	m.sign = append(m.sign, float64(it.sign))
	m.exact = append(m.exact, b)
	m.u = append(m.u, u)
	if it.kind < grouped {
		m.groups = len(m.items)
	}
	m.first = len(m.items)
}

// addDense appends a dense row and returns its coefficients for the caller to fill.
func (m *master) addDense(it item, b, u float64) []float64 {
	m.items = append(m.items, it)
	m.exact = append(m.exact, b)
	m.u = append(m.u, u)
	at := len(m.dense)
	if cap(m.dense) < at+m.nd {
		m.dense = append(make([]float64, 0, 2*(at+m.nd)), m.dense...)
	}
	m.dense = m.dense[:at+m.nd]
	return m.dense[at:]
}

func (m *master) row(j int) []float64 {
	o := (j - m.first) * m.nd
	return m.dense[o : o+m.nd]
}

// dot is a_j.d.
func (m *master) dot(j int, d []float64) float64 {
	switch {
	case j >= m.first:
		return floats.Dot(m.row(j), d[:m.nd])
	case j >= m.groups:
		return d[m.group[j]] - m.sign[j]*d[m.col[j]]
	}
	return d[m.col[j]]
}

// axpy adds t a_j to d.
func (m *master) axpy(t float64, j int, d []float64) {
	switch {
	case j >= m.first:
		floats.AddScaled(d[:m.nd], t, m.row(j))
	case j >= m.groups:
		d[m.group[j]] += t
		d[m.col[j]] -= t * m.sign[j]
	default:
		d[m.col[j]] += t
	}
}

// product writes a_j.d for every row.
func (m *master) product(d, out []float64) {
	for j := 0; j < m.groups; j++ {
		out[j] = d[m.col[j]]
	}
	for j := m.groups; j < m.first; j++ {
		out[j] = d[m.group[j]] - m.sign[j]*d[m.col[j]]
	}
	x := d[:m.nd]
	for j := m.first; j < len(m.items); j++ {
		out[j] = floats.Dot(m.row(j), x)
	}
}

// start makes the basis: of the candidate rows, in their order, as many as are independent, and anchors at z for the
// rest. The right-hand sides are disturbed by up to eps against ties.
func (m *master) start(z []float64, candidates []int32, eps float64) {
	rows := len(m.items)
	m.b = make([]float64, rows)
	m.pos = make([]int32, rows)
	m.up = make([]bool, rows)
	m.r, m.g = make([]float64, rows), make([]float64, rows)
	m.inv = make([]float64, m.n*m.n)
	m.norm, m.y, m.ct = make([]float64, m.n), make([]float64, m.n), make([]float64, m.n)
	m.w, m.d = make([]float64, m.n), make([]float64, m.n)
	m.z = append([]float64(nil), z...)
	copy(m.exact, z)
	m.factor(candidates)
	m.product(m.z, m.r)
	for j := range m.r {
		m.up[j] = m.exact[j]-m.r[j] > 0
	}
	m.disturb(eps)
}

// disturb sets b = exact + eps noise and follows with the vertex.
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
	clear(m.inv)
	for j := range m.pos {
		m.pos[j] = -1
	}
	m.basis = m.basis[:0]
	for k := range n {
		m.inv[k*n+k] = 1
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
		v := m.inv[k*n : k*n+n]
		m.norm[k] = floats.Dot(v, v)
	}
	m.since = 0
}

// weigh writes a_j.inv[k] for every k into w.
func (m *master) weigh(j int) {
	n := m.n
	if j >= m.first {
		row := m.row(j)
		for k := range n {
			m.w[k] = floats.Dot(row, m.inv[k*n:k*n+m.nd])
		}
		return
	}
	for k := range n {
		m.w[k] = m.dot(j, m.inv[k*n:k*n+n])
	}
}

// replace puts row j into position at of the basis, w being its weights; only inv, basis and pos follow.
func (m *master) replace(at, j int) {
	n := m.n
	col := m.inv[at*n : at*n+n]
	floats.Scale(1/m.w[at], col)
	for k, v := range m.w {
		if k != at && v != 0 {
			floats.AddScaled(m.inv[k*n:k*n+n], -v, col)
		}
	}
	m.pos[m.basis[at]] = -1
	m.basis[at] = int32(j)
	m.pos[j] = int32(at)
}

// resync computes z, residuals, states, ct and y from the basis. A residual within rounding keeps its row's state.
func (m *master) resync() {
	n := m.n
	clear(m.z)
	for k, j := range m.basis {
		floats.AddScaled(m.z, m.b[j], m.inv[k*n:k*n+n])
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

// duals solves for y and improves it once by what it leaves of ct: gamma may be small beside the multipliers.
func (m *master) duals() {
	n := m.n
	rest := m.d // free between pivots
	clear(m.y)
	copy(rest, m.ct)
	for range 2 {
		for k := range n {
			m.y[k] += floats.Dot(m.inv[k*n:k*n+n], rest)
		}
		copy(rest, m.ct)
		for k, j := range m.basis {
			if m.y[k] != 0 {
				m.axpy(-m.y[k], int(j), rest)
			}
		}
	}
}

const (
	minimal outcome = iota
	interrupted
	stuck
)

// multiplier is the dual value of row j.
func (m *master) multiplier(j int) float64 {
	if k := m.pos[j]; k >= 0 {
		return min(max(m.y[k], 0), m.u[j])
	}
	if m.up[j] {
		return m.u[j]
	}
	return 0
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
