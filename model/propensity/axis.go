package propensity

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// Cells of a feature by their local index.
const (
	cellMissing = 0
	cellOther   = 1 // of features with levels: levels without a cell of their own
	cellLevels  = 2 // of features with levels: the cell of code 0
	cellFirst   = 1 // of continuous features
	noCell      = -1
)

// axis is the structure of one feature. Edges are the cut points and the atoms of a continuous feature, ascending; the
// open stretch below edge i is cell gap[i], the edge itself cell at[i] (a cut belongs to the stretch below it), and the
// stretch above the last edge cell gap[len(edges)]. Features with levels have no edges: their cells are their codes.
type axis struct {
	edges []float64
	gap   []int32
	at    []int32
	cells int // including that of missing values; 0 for features with levels
	// special is the number of special codes, whose cells are the last ones. The schema tells it.
	special int
	// center and scale bring the values near 0 and 1 before their moments are summed.
	center, scale float64
	// smooth says that log-lifts and cell weights run linearly between the middles of neighbouring stretches.
	smooth bool
	// rise is +1 or -1 when the margin of the positive class must rise or fall with the feature, else 0.
	rise int
}

// find returns the cell of a number.
func (a *axis) find(v float64) int {
	c, _ := a.place(v)
	return c
}

// place returns the cell of a number and the index of the stretch in which it lies, -1 when it lies in none.
func (a *axis) place(v float64) (cell, stretch int) {
	if !(math.Abs(v) <= math.MaxFloat64) {
		if k := model.SpecialOf(v); k >= 0 && k < a.special {
			return a.cells - a.special + k, -1
		}
		return cellMissing, -1
	}
	n := below(a.edges, v)
	if n < len(a.edges) && a.edges[n] == v {
		if a.at[n] != a.gap[n] {
			return int(a.at[n]), -1
		}
	}
	return int(a.gap[n]), n
}

// neighbourhood tells of a stretch where its middle lies and which cells lie beside it, 0 for none, with the inverse
// distances to their middles. Middles whose inverse distance is no number are not beside each other.
type neighbourhood struct {
	mid, below, above float64
	lower, upper      int32
}

// neighbourhoods returns the neighbourhood of each stretch, nil when the axis is not smooth. The middle of an open
// stretch is its only edge.
func (a *axis) neighbourhoods() []neighbourhood {
	if !a.smooth || len(a.edges) == 0 {
		return nil
	}
	last := len(a.gap) - 1
	// runs of stretches of one cell: a cell goes on behind an atom that lies in it
	type run struct {
		cell  int32
		mid   float64
		first int
	}
	var runs []run
	for i := 0; i <= last; {
		j := i
		for j < last && a.gap[j+1] == a.gap[i] {
			j++
		}
		r := run{cell: a.gap[i], first: i}
		switch {
		case i == 0 && j == last:
			return nil
		case i == 0:
			r.mid = a.edges[j]
		case j == last:
			r.mid = a.edges[i-1]
		default:
			r.mid = a.edges[i-1]/2 + a.edges[j]/2
		}
		runs = append(runs, r)
		i = j + 1
	}
	out := make([]neighbourhood, len(a.gap))
	for k, r := range runs {
		h := neighbourhood{mid: r.mid}
		if k > 0 {
			if by := 1 / (r.mid - runs[k-1].mid); by > 0 && finite(by) {
				h.lower, h.below = runs[k-1].cell, by
			}
		}
		if k+1 < len(runs) {
			if by := 1 / (runs[k+1].mid - r.mid); by > 0 && finite(by) {
				h.upper, h.above = runs[k+1].cell, by
			}
		}
		end := len(a.gap)
		if k+1 < len(runs) {
			end = runs[k+1].first
		}
		for i := r.first; i < end; i++ {
			out[i] = h
		}
	}
	return out
}

// beside returns the cell on the side of the middle on which v lies, and its share of the value.
func (h *neighbourhood) beside(v float64) (cell int, part float64) {
	cell, part = int(h.upper), (v-h.mid)*h.above
	if v < h.mid {
		cell, part = int(h.lower), (h.mid-v)*h.below
	}
	if cell == cellMissing { // none: the distance may be no number
		return cellMissing, 0
	}
	return cell, min(part, 1)
}

// level returns the cell that a level has or is to get.
func (p *layout) level(f *feature, v float64) int {
	if !(v >= 0) {
		return cellMissing
	}
	limit := p.levels
	if f.fixed > 0 && f.fixed < limit {
		limit = f.fixed
	}
	if v >= float64(limit) {
		return cellOther
	}
	return cellLevels + int(v)
}

// open reports whether the levels of the feature are learnt from the stream.
func (f *feature) open() bool { return f.kind == model.Nominal && f.fixed == 0 }

// same reports whether counts under one axis are counts under the other.
func (a *axis) same(b *axis) bool {
	return a.cells == b.cells && a.special == b.special && a.smooth == b.smooth && slices.Equal(a.edges, b.edges) &&
		slices.Equal(a.gap, b.gap) && slices.Equal(a.at, b.at)
}

// number reports whether v can be a linear input: not missing, not beyond the levels.
func (f *feature) number(v float64) bool {
	return finite(v) && (f.kind == model.Continuous || v < float64(f.fixed))
}

// mostUnit is the largest number of scales from its centre at which a value is held.
const mostUnit = 1e6

// unit brings a value near 0 and 1 for the moments. Values absurdly far out are held at a million scales, so that one
// of them cannot drown all others for ever.
func (a *axis) unit(v float64) float64 {
	return clip((v-a.center)/a.scale, mostUnit)
}

// order appends the cells along the feature, for features whose cells must be ordered.
func (a *axis) order(f *feature, dst []int32) []int32 {
	if f.kind == model.Ordinal {
		for c := range f.fixed {
			dst = append(dst, int32(cellLevels+c))
		}
		return dst
	}
	last := int32(-1)
	for i, c := range a.gap {
		if c != last {
			dst, last = append(dst, c), c
		}
		if i < len(a.at) && a.at[i] != last {
			last = a.at[i]
			dst = append(dst, last)
		}
	}
	return dst
}

// cut builds the cells of one continuous feature (METHOD.md 3): a value that holds more
// than 1/(2q) of the weight is an atom; the rest is cut at its q-quantiles, interpolated between neighbours when all
// records weigh the same, and at fewer than q when that would leave cells with too few records. With split every
// stretch between two edges is a cell of its own, so that cells have an order. Unless it is split, an axis most of
// whose weight is not in atoms is smooth.
func (p fitter) cut(values, weights []float64, split bool) axis {
	q := p.opt.Cells
	a := axis{scale: 1}
	type point struct{ v, w float64 }
	pts := make([]point, 0, len(values))
	var total float64
	for i, v := range values {
		if math.Abs(v) <= math.MaxFloat64 && weights[i] > 0 {
			pts = append(pts, point{v, weights[i]})
			total += weights[i]
		}
	}
	slices.SortStableFunc(pts, func(a, b point) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	var atoms, rest, restW []float64
	even := true
	for i := 0; i < len(pts); {
		j, w := i, 0.
		for ; j < len(pts) && pts[j].v == pts[i].v; j++ {
			w += pts[j].w
			even = even && pts[j].w == pts[0].w
		}
		if w > total/float64(2*q)*(1+tie) {
			atoms = append(atoms, pts[i].v)
		} else {
			for _, x := range pts[i:j] {
				rest, restW = append(rest, x.v), append(restW, x.w)
			}
		}
		i = j
	}
	var loose float64
	for _, w := range restW {
		loose += w
	}
	a.smooth = p.smoothing && !split && loose > total/2
	var cuts []float64
	switch {
	case p.perCell > 0:
		cuts = slices.Compact(quantiles(rest, restW, even, min(q, len(rest)/p.perCell)))
	case len(rest) > 50:
		cuts = slices.Compact(quantiles(rest, restW, even, q))
	}
	a.center, a.scale = moments(values, weights)
	i, j, cell := 0, 0, int32(cellFirst)
	atom := int32(cellFirst + len(cuts) + 1)
	a.gap = append(a.gap, cell)
	next := cell
	for i < len(cuts) || j < len(atoms) {
		switch {
		case j == len(atoms) || i < len(cuts) && cuts[i] < atoms[j]:
			a.edges = append(a.edges, cuts[i])
			a.at = append(a.at, a.gap[len(a.gap)-1])
			next++
			cell = next
			i++
		default:
			if i < len(cuts) && cuts[i] == atoms[j] { // the cut ends at the atom
				i++
				next++
			}
			a.edges = append(a.edges, atoms[j])
			a.at = append(a.at, atom)
			atom++
			j++
			cell = next
		}
		a.gap = append(a.gap, cell)
	}
	a.cells = int(atom)
	if split {
		n := int32(cellFirst)
		for k := range a.gap {
			was := a.gap[k]
			a.gap[k] = n
			n++
			if k < len(a.at) {
				if a.at[k] == was {
					a.at[k] = a.gap[k]
				} else {
					a.at[k] = n
					n++
				}
			}
		}
		a.cells = int(n)
	}
	return a
}

// tie is the relative difference below which two sums of weights are equal: rounding must not decide where a cut lies.
const tie = 1e-12

// quantiles returns the q-1 inner q-quantiles of ascending values.
func quantiles(v, w []float64, even bool, q int) []float64 {
	out := make([]float64, 0, max(q-1, 0))
	if even {
		for i := 1; i < q; i++ {
			h := float64(len(v)-1) * (float64(i) / float64(q))
			k := int(h)
			x := v[k]
			if k+1 < len(v) {
				if y := lerp(v[k], v[k+1], h-float64(k)); finite(y) {
					x = y
				}
			}
			out = append(out, x)
		}
		return out
	}
	var total, sum float64
	for _, x := range w {
		total += x
	}
	k := 0
	for i := 1; i < q; i++ {
		for k < len(v)-1 && sum+w[k] < total*float64(i)/float64(q)*(1-tie) {
			sum += w[k]
			k++
		}
		out = append(out, v[k])
	}
	return out
}

// lerp interpolates as numpy does: from the nearer end.
func lerp(a, b, t float64) float64 {
	d := b - a
	if t >= .5 {
		return b - d*(1-t)
	}
	return a + d*t
}

// moments returns the weighted mean and standard deviation; the latter is 1 where it is not positive and finite.
func moments(values, weights []float64) (mean, sd float64) {
	var n, m2 float64
	for i, v := range values {
		if math.Abs(v) <= math.MaxFloat64 && weights[i] > 0 {
			n += weights[i]
			e := v - mean
			mean += e * weights[i] / n
			m2 += e * (v - mean) * weights[i]
		}
	}
	sd = math.Sqrt(m2 / n)
	if !(math.Abs(mean) <= math.MaxFloat64) {
		mean = 0
	}
	if !(sd > 0) || math.IsInf(sd, 0) {
		sd = 1
	}
	return mean, sd
}

func (a *axis) append(b []byte) []byte {
	b = wire.AppendFloats(b, a.edges)
	b = wire.AppendInts(b, a.gap)
	b = wire.AppendInts(b, a.at)
	b = wire.AppendUvarint(b, uint64(a.cells))
	b = wire.AppendFloat(b, a.center)
	b = wire.AppendFloat(b, a.scale)
	b = wire.AppendBool(b, a.smooth)
	return wire.AppendVarint(b, int64(a.rise))
}

func readAxis(r *wire.Reader, f *feature) (a axis) {
	a.edges = r.Floats()
	a.gap = wire.Ints[int32](r)
	a.at = wire.Ints[int32](r)
	a.cells = r.Int(1 << 16)
	a.center, a.scale = r.Float(), r.Float()
	a.smooth = r.Bool()
	a.rise = int(r.Varint())
	if r.Err() != nil {
		return axis{}
	}
	bad := func(what string) axis {
		r.Fail(fmt.Errorf("cells of feature %d: %s", f.index, what))
		return axis{}
	}
	if a.rise < -1 || a.rise > 1 {
		return bad("direction out of range")
	}
	if !(a.scale > 0) || math.IsInf(a.scale, 0) || !(math.Abs(a.center) <= math.MaxFloat64) {
		return bad("no usable scale")
	}
	if a.smooth && a.rise != 0 {
		return bad("smooth and ordered")
	}
	if f.kind != model.Continuous {
		if a.smooth || a.cells != 0 || len(a.edges)+len(a.gap)+len(a.at) != 0 {
			return bad("edges of a feature with levels")
		}
		return a
	}
	if len(a.gap) != len(a.edges)+1 || len(a.at) != len(a.edges) {
		return bad("edges and cells do not fit")
	}
	for i, e := range a.edges {
		if !(math.Abs(e) <= math.MaxFloat64) || i > 0 && !(a.edges[i-1] < e) {
			return bad("edges not ascending")
		}
	}
	a.special = f.special
	for _, c := range slices.Concat(a.gap, a.at) {
		if c < cellFirst || int(c) >= a.cells-a.special {
			return bad("cell out of range")
		}
	}
	return a
}
