package local

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// axis places the values of a feature on a histogram: bins at equal steps from low to high of a number or a rank, one
// bin a level of a nominal feature.
type axis struct {
	nominal   bool
	levels    int     // of an ordinal feature; codes from there on are missing
	low, high float64 // of the bins
	bins      int     // 0 = the feature is not used; nominal tables grow
	// zero and scale turn a value into units of the robust range: u = (x - zero) / scale.
	zero, scale float64
}

func (a *axis) same(b *axis) bool { return *a == *b }

// value is the place of a cell of a Row on the axis, clamped to it; ok is false for a missing value.
func (a *axis) value(v float64) (x float64, ok bool) {
	if v != v || a.levels > 0 && v >= float64(a.levels) {
		return 0, false
	}
	return min(max(v, a.low), a.high), true
}

// clean returns the cell of the row, NaN where the axis counts it as missing.
func (a *axis) clean(row model.Row, f int32) float64 {
	v := row[f]
	if a.levels > 0 && v >= float64(a.levels) {
		return math.NaN()
	}
	return v
}

// at is the place of bin i.
func (a *axis) at(i int) float64 {
	if a.bins < 2 {
		return a.low
	}
	return a.low + (a.high-a.low)*float64(i)/float64(a.bins-1)
}

// splitUnit is the step in which the weight of a value is split over two bins, so that sums of integer weights are
// exact and Retract undoes Learn.
const splitUnit = 1 << 16

// split returns the bin below x, which lies on the axis, and the share of the bin above it.
func (a *axis) split(x float64) (bin int, above float64) {
	if a.bins < 2 {
		return 0, 0
	}
	t := (x - a.low) / (a.high - a.low) * float64(a.bins-1)
	bin = min(int(t), a.bins-2)
	return bin, math.Round((t-float64(bin))*splitUnit) / splitUnit
}

// maxExponent bounds the growth of the weights of a decayed histogram before it is scaled back.
const maxExponent = 256

// memory is a half-life of histograms and the clock that it counts on (model/MODEL.md 3). The zero memory never
// forgets.
type memory struct {
	half  float64 // in labelled records, or in nanoseconds
	timed bool    // the clock is the time of the record
}

func newMemory(h model.HalfLife) memory {
	if h.Duration > 0 {
		return memory{float64(h.Duration), true}
	}
	return memory{max(0, h.Records), false}
}

// clock is the clock of a record of this Example.Clock and Example.Time.
func (m memory) clock(records float64, time int64) float64 {
	if m.timed {
		return float64(time)
	}
	return records
}

// notAfter takes back a base that a wild time has moved ahead of t: the counts so far are then of that time.
func (g *histogram) notAfter(t, half float64) { g.base = min(g.base, math.Floor(t/half)) }

// histogram counts the classes of records along an axis, by weight. With a half-life it decays by growing weights
// (model/MODEL.md 3): a record weighs 2^(clock / half - base). The base is a whole number.
type histogram struct {
	n       []float64 // bins x classes
	missing []float64 // by class: records without a value
	total   []float64 // by class: all records
	// squares holds the sum of the squared weights of each class. Over the sum of its weights this is the mean weight of a
	// record of the class. Evidence is counted in records of that weight, which is exact where weights depend on the class
	// alone.
	squares []float64
	base    float64 // half-lives divided out
}

// add counts a value in O(1), splitting its weight over two bins. A negative weight removes it again. half = 0 does not
// decay.
func (g *histogram) add(a *axis, classes int, v float64, class int32, weight, clock, half float64) {
	if a.bins == 0 && !a.nominal {
		return
	}
	if half > 0 {
		e := clock/half - g.base
		if e < -maxExponent && total(g.total) == 0 { // times before 1970
			g.base = math.Floor(clock / half)
			e = clock/half - g.base
		}
		if e > maxExponent {
			shift := math.Floor(e)
			by := -int(min(shift, 4096))
			for i := range g.n {
				g.n[i] = math.Ldexp(g.n[i], by)
			}
			for y := range g.squares {
				g.missing[y], g.total[y], g.squares[y] = math.Ldexp(g.missing[y], by), math.Ldexp(g.total[y], by),
					math.Ldexp(g.squares[y], 2*by)
			}
			g.base += shift
			e -= shift
		}
		weight *= math.Exp2(e)
	}
	g.total[class] += weight
	g.squares[class] += weight * math.Abs(weight)
	x, ok := a.value(v)
	if !ok {
		g.missing[class] += weight
		return
	}
	if a.nominal {
		at := int(v)*classes + int(class)
		if at >= len(g.n) {
			g.n = append(g.n, make([]float64, (int(v)+1)*classes-len(g.n))...)
		}
		g.n[at] += weight
		return
	}
	bin, above := a.split(x)
	at := bin*classes + int(class)
	g.n[at] += weight * (1 - above)
	if a.bins > 1 {
		g.n[at+classes] += weight * above
	}
}

func newHistogram(a *axis, classes int) *histogram {
	by := func() []float64 { return make([]float64, classes) }
	return &histogram{n: make([]float64, a.bins*classes), missing: by(), total: by(), squares: by()}
}

func (g *histogram) clone() *histogram {
	return &histogram{slices.Clone(g.n), slices.Clone(g.missing), slices.Clone(g.total), slices.Clone(g.squares), g.base}
}

// merge adds o, whose clock is the same.
func (g *histogram) merge(o *histogram) {
	// One that is empty has the base 0 of no record, which lies behind times before 1970.
	switch {
	case o.base > g.base && total(o.total) == 0:
		return
	case g.base > o.base && total(g.total) == 0:
		g.base = o.base
	}
	if len(g.n) < len(o.n) {
		g.n = append(g.n, make([]float64, len(o.n)-len(g.n))...)
	}
	from := 1.0
	if g.base < o.base {
		f := math.Exp2(g.base - o.base)
		for i := range g.n {
			g.n[i] *= f
		}
		for y := range g.squares {
			g.missing[y] *= f
			g.total[y] *= f
			g.squares[y] *= f * f
		}
		g.base = o.base
	} else {
		from = math.Exp2(o.base - g.base)
	}
	for i, v := range o.n {
		g.n[i] += v * from
	}
	for y := range o.squares {
		g.missing[y] += o.missing[y] * from
		g.total[y] += o.total[y] * from
		g.squares[y] += o.squares[y] * from * from
	}
}

// asOf returns the counts with a record of that many half-lives, or of the base where that is later, weighing 1, at the
// base 0.
func (g *histogram) asOf(halves float64) *histogram {
	o := g.clone()
	by := math.Exp2(min(0, g.base-halves))
	for i := range o.n {
		o.n[i] *= by
	}
	for y := range o.squares {
		o.missing[y], o.total[y], o.squares[y] = o.missing[y]*by, o.total[y]*by, o.squares[y]*by*by
	}
	o.base = 0
	return o
}

// recode renames the levels of a nominal histogram.
func (g *histogram) recode(r model.Recode, f, classes int) {
	if r == nil || r[f] == nil {
		return
	}
	out := &histogram{missing: g.missing, total: g.total, squares: g.squares, base: g.base}
	for c := 0; c*classes < len(g.n); c++ {
		to := int(r.Value(f, float64(c)))
		if need := (to + 1) * classes; need > len(out.n) {
			out.n = append(out.n, make([]float64, need-len(out.n))...)
		}
		for y := range classes {
			out.n[to*classes+y] += g.n[c*classes+y]
		}
	}
	*g = *out
}

// counts adds up the classes of the records that have a value.
func (g *histogram) counts(classes int) []float64 {
	out := make([]float64, classes)
	for i, v := range g.n {
		out[i%classes] += v
	}
	return out
}

// tidy returns a copy with 0 in the cells that decayed retractions leave below 0 by rounding.
func (g *histogram) tidy() *histogram {
	o := g.clone()
	for i := range o.n {
		o.n[i] = max(0, o.n[i])
	}
	for y := range o.squares {
		o.missing[y], o.total[y], o.squares[y] = max(0, o.missing[y]), max(0, o.total[y]), max(0, o.squares[y])
	}
	return o
}

// weights returns the mean weight of a record of each class, weighted by itself: sum w^2 / sum w; 0 where there is
// none.
func (g *histogram) weights() []float64 {
	out := make([]float64, len(g.total))
	for y := range out {
		out[y] = g.weight(y)
	}
	return out
}

func (g *histogram) weight(y int) float64 {
	if g.total[y] > 0 && g.squares[y] > 0 {
		return g.squares[y] / g.total[y]
	}
	return 0
}

// appendBinary writes the bins that are not all zero.
func (g *histogram) appendBinary(b []byte, classes int) []byte {
	b = wire.AppendFloat(b, g.base)
	for y := range classes {
		b = wire.AppendFloat(b, g.missing[y])
		b = wire.AppendFloat(b, g.total[y])
		b = wire.AppendFloat(b, g.squares[y])
	}
	used, last := 0, 0
	zero := func(i int) bool {
		for _, v := range g.n[i : i+classes] {
			if v != 0 {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(g.n); i += classes {
		if !zero(i) {
			used++
		}
	}
	b = wire.AppendUvarint(b, uint64(used))
	for i := 0; i < len(g.n); i += classes {
		if zero(i) {
			continue
		}
		b = wire.AppendUvarint(b, uint64(i/classes-last))
		last = i / classes
		for _, v := range g.n[i : i+classes] {
			b = wire.AppendFloat(b, v)
		}
	}
	return b
}

// decodeHistogram reads the form of appendBinary. The first format had neither missing values nor squared weights: then
// no missing values are counted, and records count as of weight 1.
func decodeHistogram(r *wire.Reader, a *axis, classes int, format uint64) *histogram {
	g := newHistogram(a, classes)
	if g.base = r.Float(); math.IsNaN(g.base) || math.IsInf(g.base, 0) {
		r.Fail(fmt.Errorf("histogram of base %v", g.base))
	}
	for y := 0; y < classes && format > 1; y++ {
		g.missing[y], g.total[y], g.squares[y] = finite(r), finite(r), finite(r)
	}
	limit := a.bins
	if a.nominal {
		limit = model.MaxLevels + 1
	}
	at := 0
	for n := r.Int(limit); n > 0 && r.Err() == nil; n-- {
		at += r.Int(limit)
		if at >= limit {
			r.Fail(fmt.Errorf("bin %d of %d", at, limit))
			break
		}
		if need := (at + 1) * classes; need > len(g.n) {
			g.n = append(g.n, make([]float64, need-len(g.n))...)
		}
		for y := range classes {
			v := r.Float()
			if math.IsNaN(v) || math.IsInf(v, 0) {
				r.Fail(fmt.Errorf("bin %d holds %v", at, v))
			}
			g.n[at*classes+y] = v
		}
	}
	if format == 1 {
		g.total, g.squares = g.counts(classes), g.counts(classes)
	}
	return g
}

// reach is the number of widths beyond which the kernel counts as 0; kappa there is 3.4e-4.
const reach = 4

// around returns M_c and the sum of w^2 kappa^2 at every bin of a numeric axis: the convolution of the histogram with
// the kernel of width h (in units of the scale) over four widths on either side. A level of a nominal feature stands
// alone. The mass of n records is off by at most n ((bin/h)^2 / 8 + .61 bin / (h splitUnit) + 3.4e-4), bin being the
// step in units of the scale. The squares take the weight of a record to be that of its class on average.
func (g *histogram) around(a *axis, classes int, h float64) (mass, squares []float64) {
	bins := len(g.n) / classes
	mass, squares = make([]float64, len(g.n)), make([]float64, bins)
	weights := g.weights()
	if a.nominal {
		copy(mass, g.n)
		for i, v := range g.n {
			squares[i/classes] += v * weights[i%classes]
		}
		return mass, squares
	}
	step := 0.0
	if bins > 1 && a.scale > 0 {
		step = (a.high - a.low) / float64(bins-1) / a.scale
	}
	kernel := []float64{1}
	for k := 1; k < bins && step > 0 && float64(k)*step <= reach*h; k++ {
		d := float64(k) * step / h
		kernel = append(kernel, math.Exp(-.5*d*d))
	}
	for i := range bins {
		n := g.n[i*classes : (i+1)*classes]
		if total(n) == 0 {
			continue
		}
		sum := 0.0
		for y, v := range n {
			sum += v * weights[y]
		}
		for j := max(0, i-len(kernel)+1); j < min(bins, i+len(kernel)); j++ {
			w := kernel[max(i-j, j-i)]
			squares[j] += sum * w * w
			for y, v := range n {
				mass[j*classes+y] += v * w
			}
		}
	}
	return mass, squares
}
