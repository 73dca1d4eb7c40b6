package kernel

import (
	"math"

	"liftstream/model"
)

// The budget of a product. A record costs at most one look-up in a table for each prototype and feature, productCodes
// of them together, and for each prototype one exponential and one product a margin.
const (
	maxPrototypes = 512
	productCodes  = 1 << 16
)

// Codes of values: 0 is a missing value, 1 + c cell c of a number or level c. elsewhere is any further level.
const (
	productCells = 128
	elsewhere    = 255
)

// product is the input of a product of one-feature kernels (METHOD.md 6):
//
//	f_y(x) = sum_i c_iy exp(K(x, x_i) - K(x, x))
//
// over prototypes x_i, records of the fit, with the sum K of one-feature kernels. exp of a sum is a product, so that f,
// other than a sum of curves, is no sum of functions of one feature each. With two classes f is that of class 1. Under
// kernels over all features (mix) it is sum_i c_iy K(x, x_i), see whole.go.
type product struct {
	columns []productColumn
	margins int
	weights []float64 // c, prototype by prototype, margins innermost: log-lifts
	// held holds f of each prototype, like weights, as it would be had the prototype not been in the fit.
	held []float64
	key  []uint64 // of each prototype, see keyOf
	// ordered says that records stand in time. Then a key names one record; otherwise all records of the same values.
	ordered bool
	mix     []Weight // of kernels over all features; none for a product

	order []int32   // features by name
	sum   []float64 // of each prototype
}

// productColumn is one feature of a product.
type productColumn struct {
	feature int32
	levels  bool
	end     float64 // see levelsEnd
	lo, per float64 // cell = (v - lo) per, rounded
	step    float64 // of a cell, in standard deviations
	at      float64 // standardised value of cell 0; known to kernels over all features alone
	cells   int     // of a number
	bases   []Weight
	code    []uint8   // of each prototype
	table   []float64 // sum of alpha K at each distance in cells; of levels the one number of equal ones
	mirror  []float64 // of a number: the same less that of distance 0, from the cell farthest below to that above
}

// newTable fills the table from the bases.
func (c *productColumn) newTable() {
	c.table = make([]float64, max(c.cells, 1))
	for _, b := range c.bases {
		for d := range c.table {
			c.table[d] += b.Alpha * b.Base.between(0, float64(d)*c.step)
		}
	}
	c.mirror = make([]float64, max(2*c.cells-1, 0))
	for i := range c.mirror {
		d := i - (c.cells - 1)
		c.mirror[i] = c.table[max(d, -d)] - c.table[0]
	}
}

// codeOf returns the code of a value.
func (c *productColumn) codeOf(v float64) uint8 {
	if v-v != 0 || v >= c.end {
		return 0
	}
	if c.levels {
		if v >= 0 && v < elsewhere-1 {
			return uint8(v) + 1
		}
		return elsewhere
	}
	x := (v - c.lo) * c.per
	if !(x > 0) {
		return 1
	}
	return uint8(min(x+.5, float64(c.cells-1))) + 1
}

// look fills t with alpha K between the value of a code and that of each other code, less that of the value and itself.
// Codes that a number does not have stay as they are.
func (c *productColumn) look(code uint8, t *[256]float64) {
	self := c.table[0]
	if t[0] = -self; code > 0 && !c.levels {
		copy(t[1:c.cells+1], c.mirror[c.cells-int(code):])
		return
	}
	codes := t[:]
	if !c.levels {
		codes = t[:c.cells+1]
	}
	for i := range codes {
		codes[i] = -self
	}
	t[code] = 0
}

// closeness fills p.sum with K(x, x_i) - K(x, x) of each prototype. Under kernels over all features it is the squared
// distance or the dot product.
func (p *product) closeness(row model.Row) {
	sum := p.sum
	clear(sum)
	var a, b, c, d [256]float64
	columns := p.columns
	for ; len(columns) >= 4; columns = columns[4:] {
		for i, t := range [...]*[256]float64{&a, &b, &c, &d} {
			p.look(&columns[i], columns[i].codeOf(row[columns[i].feature]), t)
		}
		w, x, y, z := columns[0].code[:len(sum)], columns[1].code[:len(sum)], columns[2].code[:len(sum)],
			columns[3].code[:len(sum)]
		for i := range sum {
			sum[i] += a[w[i]] + b[x[i]] + (c[y[i]] + d[z[i]])
		}
	}
	for k := range columns {
		p.look(&columns[k], columns[k].codeOf(row[columns[k].feature]), &a)
		for i, code := range columns[k].code[:len(sum)] {
			sum[i] += a[code]
		}
	}
}

// inputs writes the log-lift of each class. It allocates nothing.
func (p *product) inputs(row model.Row, dst []float64) {
	p.closeness(row)
	clear(dst)
	f := dst[:p.margins]
	if p.margins == 1 {
		f = dst[1:2]
	}
	for i, v := range p.sum {
		v = p.similarity(v)
		for m, c := range p.weights[i*p.margins : (i+1)*p.margins] {
			f[m] += float64(c * v)
		}
	}
	p.lifts(f, dst)
}

// lifts writes margins as log-lifts: those of two classes are opposite.
func (p *product) lifts(f, dst []float64) {
	copy(dst[len(dst)-len(f):], f)
	if p.margins == 1 {
		dst[0] = -dst[1]
	}
	for y, v := range dst {
		dst[y] = min(max(v, -maxLift), maxLift)
	}
}

// maxLift bounds the input of a product, in nats.
const maxLift = 20

// inputsWithout is inputs, but that of a prototype as it would be had the fit not seen it.
func (p *product) inputsWithout(ex *model.Example, dst []float64) {
	key := p.keyOf(ex.Row, ex.Clock)
	for i, k := range p.key {
		if k == key {
			p.lifts(p.held[i*p.margins:(i+1)*p.margins], dst)
			return
		}
	}
	p.inputs(ex.Row, dst)
}

// keyOf hashes the values of a row, feature by feature in the order of their names, and its clock where records stand
// in time.
func (p *product) keyOf(row model.Row, clock float64) uint64 {
	var h uint64
	if p.ordered {
		h = model.Hash(h, math.Float64bits(clock))
	}
	for _, f := range p.order {
		v := row[f]
		if v != v {
			v = math.NaN()
		}
		h = model.Hash(h, math.Float64bits(v+0)) // -0 is 0
	}
	return h
}
