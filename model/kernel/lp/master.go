package lp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"liftstream/model"
	"liftstream/model/vector"
)

// itemKind is the kind of a row of a master; an item names the row in terms that outlive the master.
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
// Every row is soft: its price u_j is at least the largest multiplier that it can have. So any n independent rows are a
// valid start, and the optimum is that of the hard rows. The variables are alpha (the first nd, rho among them), then
// one s a group of several columns; hinges and cuts touch alpha only.
//
// A vertex is n basic rows. Releasing basic row k moves along column k of the inverse; the line search passes every
// kink at which the slope stays negative (long step). In the dual these are bound flips of a bounded simplex whose
// columns are the rows here.
type master struct {
	n, nd int
	// The dense rows are width numbers, the rows of inv wide, the least multiples of four; the numbers behind are 0.
	width, wide int
	c           []float64
	items       []item
	// Rows are ordered: n anchors, bounds, groups (first from 'groups'), dense rows (first from 'first').
	groups, first int
	col, group    []int32   // variables of the sparse rows
	sign          []float64 // of alpha in a grouped row
	dense         []float64 // width coefficients a dense row
	b, exact      []float64 // right-hand side, disturbed and true
	u             []float64
	eps           float64 // size of the disturbance

	pos   []int32 // position in the basis, or -1
	up    []bool  // not basic and violated
	basis []int32
	inv   []float64 // n x wide, row k is column k of the inverse of the basic rows
	norm  []float64 // squared length of the rows of inv
	z, y  []float64
	r, g  []float64 // b - a.z; a.d
	ct    []float64 // c - sum of u a over the violated rows; as wide

	w          []float64
	d, x       []float64 // a direction, as wide, and that of the dense rows, of the width
	kinks      []kink
	passed     []kink
	iterations int
	since      int // pivots since the last refactor
	work       *model.Work
}

func newMaster(nd, groups int, work *model.Work) *master {
	n := nd + groups
	m := &master{n: n, nd: nd, width: vector.Pad(nd), wide: vector.Pad(n), work: work, c: make([]float64, n)}
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
	if cap(m.dense) < at+m.width {
		m.dense = append(make([]float64, 0, 2*(at+m.width)), m.dense...)
	}
	m.dense = m.dense[:at+m.width]
	return m.dense[at : at+m.nd]
}

func (m *master) row(j int) []float64 {
	o := (j - m.first) * m.width
	return m.dense[o : o+m.nd]
}

// dot is a_j.d.
func (m *master) dot(j int, d []float64) float64 {
	switch {
	case j >= m.first:
		return vector.Dot(m.row(j), d)
	case j >= m.groups:
		return d[m.group[j]] - m.sign[j]*d[m.col[j]]
	}
	return d[m.col[j]]
}

// axpy adds t a_j to d.
func (m *master) axpy(t float64, j int, d []float64) {
	switch {
	case j >= m.first:
		vector.AddScaled(d[:m.nd], t, m.row(j))
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
	copy(m.x[:m.nd], d)
	vector.Product(out[m.first:len(m.items)], m.dense, m.width, m.x)
}

// outcome is the end of a minimise.
type outcome uint8

const (
	minimal outcome = iota
	interrupted
	stuck
)

// minimise walks to the optimum. Multipliers within tol of their bounds count as inside.
func (m *master) minimise(ctx context.Context, tol float64, limit int) outcome {
	n := m.n
	retries, idle := 0, 0
	total := 1.0
	for _, u := range m.u[m.first:] {
		total += min(u, 1)
	}
	for it := 0; it < limit; it++ {
		if it&15 == 0 && ctx.Err() != nil || !m.work.Spend(m.pivotSteps()) {
			return interrupted
		}
		k, sign, slope := m.leaving(tol)
		if k < 0 {
			if m.since == 0 {
				return minimal
			}
			// Only a fresh inverse shows a descent that drift hides.
			m.refactor()
			continue
		}
		out := m.inv[k*m.wide : (k+1)*m.wide]
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

// pivotSteps is the work of a pivot: the product with every row, the weights of the entering row, and the update of the
// inverse.
func (m *master) pivotSteps() int64 {
	n, nd := int64(m.n), int64(m.nd)
	return int64(len(m.items)-m.first)*nd + n*nd + 2*n*n
}

// leaving returns the position in the basis whose release lowers the objective fastest by length of its edge, the
// direction of the release, and the slope; -1 at the optimum.
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

// pivot moves to kink e and exchanges the rows; the first flips kinks, e aside, have been passed.
func (m *master) pivot(k int, sign float64, e kink, at, flips int) {
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
	vector.AddScaled(m.z, e.t, m.d)
	vector.AddScaled(m.r, -e.t, m.g)
	m.r[out], m.r[in] = -e.t*sign, 0
	m.weigh(in)
	drift := math.Abs(m.w[k]-sign*m.g[in]) > 1e-7*(1+math.Abs(m.w[k]))
	lo, hi := k*m.wide, (k+1)*m.wide
	col := m.inv[lo:hi]
	floats.Scale(1/m.w[k], col)
	m.norm[k] = vector.Dot(col, col)
	m.y[k] = vector.Dot(col, m.ct)
	vector.Update(m.inv[:lo], m.w[:k], col, m.ct, m.norm[:k], m.y[:k])
	vector.Update(m.inv[hi:], m.w[k+1:], col, m.ct, m.norm[k+1:], m.y[k+1:])
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
