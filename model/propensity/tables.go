package propensity

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// tables are the quantities of a scorecard that are put together over partitions: counts and moments add up, weights
// are averaged.
type tables struct {
	class []float64 // half-lives x classes: weight of each class
	feat  []cellTable
	in    []pair // shared inputs
	own   []pair // (constant, linear inputs) x margins
	// knot holds, for each card and margin, the weights of the class and of the rest (rest first) at each knot of the
	// calibration.
	knot []float64
	mom  []float64 // linear inputs x (weight, sum, sum of squares) of the value in units of its axis
}

// cellTable holds the counts and the residual weights of one feature's cells.
type cellTable struct {
	count   []float64 // cells x half-lives x classes
	pair    []pair    // cells x margins
	further *further  // nil before the first further level
}

func (p *layout) newTables() *tables {
	return &tables{
		class: make([]float64, len(p.half)*p.classes),
		feat:  make([]cellTable, len(p.features)),
		in:    make([]pair, p.slots),
		own:   make([]pair, (1+p.linear)*p.margins),
		knot:  make([]float64, cards*p.margins*p.knots*2),
		mom:   make([]float64, 3*p.linear),
	}
}

// resize makes room for n cells; new ones are empty and hold the pair with.
func (p *layout) resize(t *cellTable, n int, with pair) {
	for len(t.pair) < n*p.margins {
		t.pair = append(t.pair, with)
	}
	if k := n * len(p.half) * p.classes; len(t.count) < k {
		t.count = append(t.count, make([]float64, k-len(t.count))...)
	}
}

func (p *layout) cellCount(t *cellTable) int { return len(t.pair) / p.margins }

func (t *tables) clone() *tables {
	c := &tables{class: slices.Clone(t.class), feat: make([]cellTable, len(t.feat)), in: slices.Clone(t.in),
		own: slices.Clone(t.own), knot: slices.Clone(t.knot), mom: slices.Clone(t.mom)}
	for f := range t.feat {
		c.feat[f] = cellTable{slices.Clone(t.feat[f].count), slices.Clone(t.feat[f].pair), t.feat[f].further.clone()}
	}
	return c
}

// scale multiplies every count of half-life h by v.
func (p *layout) scale(t *tables, h int, v float64) {
	n, c := len(p.half), p.classes
	each := func(x []float64) {
		for i := h * c; i < len(x); i += n * c {
			for j := i; j < i+c; j++ {
				x[j] *= v
			}
		}
	}
	each(t.class)
	for f := range t.feat {
		each(t.feat[f].count)
		if x := t.feat[f].further; x != nil {
			each(x.count)
		}
	}
}

func addFloats(dst, src []float64, v float64) {
	for i, x := range src {
		dst[i] += v * x
	}
}

func addPairs(dst, src []pair) {
	for i := range src {
		for k := range cards {
			dst[i].w[k] += src[i].w[k]
			dst[i].g[k] += src[i].g[k]
		}
	}
}

// add adds shares: counts and pairs of src to dst, with growing tables. counts are multiplied by now of their
// half-life, those of the calibration by knot.
func (p *layout) add(dst, src *tables, now []float64, knot float64) {
	p.addCounts(dst.class, src.class, now)
	for f := range src.feat {
		p.addCells(&dst.feat[f], &src.feat[f], now)
	}
	addPairs(dst.in, src.in)
	addPairs(dst.own, src.own)
	addFloats(dst.knot, src.knot, knot)
	addFloats(dst.mom, src.mom, 1)
}

func (p *layout) addCells(dst, src *cellTable, now []float64) {
	p.resize(dst, p.cellCount(src), pair{})
	p.addCounts(dst.count, src.count, now)
	addPairs(dst.pair, src.pair)
	dst.addFurther(p, src.further, now)
}

func (p *layout) addCounts(dst, src, now []float64) {
	n := len(p.half) * p.classes
	for i, x := range src {
		dst[i] += x * now[i%n/p.classes]
	}
}

func appendPairs(b []byte, v []pair) []byte {
	b = wire.AppendUvarint(b, uint64(len(v)))
	for i := range v {
		for k := range cards {
			b = wire.AppendFloat(b, v[i].w[k])
			b = wire.AppendFloat(b, v[i].g[k])
		}
	}
	return b
}

func readPairs(r *wire.Reader, n int) []pair {
	if got := r.Uvarint(); r.Err() == nil && (got != uint64(n) || r.Rest() < n*16*cards) {
		r.Fail(fmt.Errorf("%d weights where %d should be", got, n))
	}
	if r.Err() != nil {
		return nil
	}
	v := make([]pair, n)
	for i := range v {
		for k := range cards {
			v[i].w[k], v[i].g[k] = r.Float(), r.Float()
			if !(math.Abs(v[i].w[k]) < 1e60) || !(v[i].g[k] >= 0 && v[i].g[k] < 1e60) {
				r.Fail(errNumber)
			}
		}
	}
	return v
}

var errNumber = fmt.Errorf("a number that no state can hold")

func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

func readFinite(r *wire.Reader, dst []float64) {
	r.FloatsInto(dst)
	for _, v := range dst {
		if !finite(v) {
			r.Fail(errNumber)
		}
	}
}

// readCounts reads finite numbers that are at least 0.
func readCounts(r *wire.Reader, dst []float64) {
	readFinite(r, dst)
	for _, v := range dst {
		if !(v >= 0 && v < 1e60) {
			r.Fail(errNumber)
		}
	}
}

func (p *layout) appendTables(b []byte, t *tables, weights, further bool) []byte {
	floats, pairs := len(t.class)+len(t.knot)+len(t.mom), len(t.in)+len(t.own)
	for f := range t.feat {
		floats, pairs = floats+len(t.feat[f].count)+1, pairs+len(t.feat[f].pair)+1
	}
	if !weights {
		pairs = 0
	}
	b = slices.Grow(b, 8*floats+16*cards*pairs) // many levels make it large, and growing would copy it several times
	b = wire.AppendFloats(b, t.class)
	for f := range t.feat {
		b = wire.AppendUvarint(b, uint64(p.cellCount(&t.feat[f])))
		b = wire.AppendFloats(b, t.feat[f].count)
		if weights {
			b = appendPairs(b, t.feat[f].pair)
		}
		if further && p.features[f].open() {
			b = t.feat[f].further.append(b)
		}
	}
	if weights {
		b = appendPairs(b, t.in)
		b = appendPairs(b, t.own)
	}
	b = wire.AppendFloats(b, t.knot)
	return wire.AppendFloats(b, t.mom)
}

// readTables reads the form of appendTables; axes bound the cells of continuous features.
func (p *layout) readTables(r *wire.Reader, axes []axis, weights, further bool) *tables {
	t := p.newTables()
	readCounts(r, t.class)
	for f := range t.feat {
		limit := cellLevels + p.levels
		if axes[f].cells > 0 {
			limit = axes[f].cells
		}
		n := r.Int(limit)
		if r.Rest() < n*8*len(p.half)*p.classes {
			r.Fail(wire.ErrTruncated)
		}
		if r.Err() != nil {
			return t
		}
		t.feat[f].count = make([]float64, n*len(p.half)*p.classes)
		readCounts(r, t.feat[f].count)
		if weights {
			t.feat[f].pair = readPairs(r, n*p.margins)
		} else {
			t.feat[f].pair = make([]pair, n*p.margins)
		}
		if further && p.features[f].open() {
			t.feat[f].further = readFurther(p, r)
		}
	}
	if weights {
		t.in = readPairs(r, p.slots)
		t.own = readPairs(r, (1+p.linear)*p.margins)
	}
	readCounts(r, t.knot)
	readFinite(r, t.mom)
	return t
}
