package propensity

import (
	"math"

	"liftstream/model/wire"
)

// calibration turns the raw log-odds of every card and margin into calibrated ones (METHOD.md 5): knots on the
// log-odds, each labelled record split linearly over its two knots, counts decayed, log-odds interpolated between
// knots, slope 1 beyond the outermost ones. Its counts stand in the tables: of each card and margin a table of knots x
// (rest, class).
type calibration struct {
	weight float64 // of the last record in the counts
	// The following is derived from the options and the structure.
	fade    float64 // growth of the weight with a record
	prior   float64 // pseudo-records of the identity at each knot
	ordered bool    // calibrated log-odds must not fall with raw ones
	z, p    []float64
	pools   isotonic // room to work
}

// derive computes everything that follows from the options and the structure.
func (c *calibration) derive(o *Calibration, ordered bool) {
	c.fade, c.prior, c.ordered = math.Exp2(1/o.HalfLife), o.Prior, ordered
	c.z, c.p = make([]float64, o.Knots), make([]float64, o.Knots)
	for i := range c.z {
		c.z[i] = -knotEdge + 2*knotEdge*float64(i)/float64(o.Knots-1)
		c.p[i] = sigmoid(c.z[i])
	}
}

// table returns table k (card x margins + margin) of the counts.
func (c *calibration) table(counts []float64, k int) []float64 {
	n := 2 * len(c.z)
	return counts[n*k : n*(k+1)]
}

// place returns the knot below log-odds z and the part of the way to the next one at which z lies.
func (c *calibration) place(z float64) (int, float64) {
	v := (clip(z, knotEdge) + knotEdge) / (2 * knotEdge) * (float64(len(c.z)) - 1.0001)
	b := int(v)
	return b, v - float64(b)
}

// calibrated returns the calibrated log-odds of raw ones by their table; unit is the weight of a record's worth of
// evidence.
func (c *calibration) calibrated(t []float64, z, unit float64) float64 {
	b, f := c.place(z)
	m := c.prior * unit * c.weight
	if c.ordered {
		return c.rising(t, b, f, m) + z - clip(z, knotEdge)
	}
	lo := ln((t[2*b+1] + m*c.p[b]) / (t[2*b] + m*(1-c.p[b])))
	hi := ln((t[2*b+3] + m*c.p[b+1]) / (t[2*b+2] + m*(1-c.p[b+1])))
	return (1-f)*lo + f*hi + z - clip(z, knotEdge)
}

// rising is the calibrated log-odds at fraction f between knots b and b+1 of a table, m being the weight of the prior,
// with the knots' log-odds made non-decreasing.
func (c *calibration) rising(t []float64, b int, f, m float64) float64 {
	c.pools = c.pools[:0]
	for j, p := range c.p {
		c.pools.add(block{t[2*j+1] + m*p, t[2*j] + m*(1-p), 1}, rateAbove)
	}
	lo, hi := c.pools.of(b), c.pools.of(b+1)
	l, h := math.Log(lo.a/lo.b), math.Log(hi.a/hi.b)
	return l + f*max(h-l, 0)
}

// next moves the weight on to that of the next record.
func (c *calibration) next() { c.weight *= c.fade }

// learn adds a record of class y (0 or 1) at raw log-odds z to a table.
func (c *calibration) learn(t []float64, z float64, y int, weight float64) {
	b, f := c.place(z)
	w := weight * c.weight
	t[2*b+y] += w * (1 - f)
	t[2*b+2+y] += w * f
}

// move makes of a record of raw log-odds z that was learnt as another class one of class y, with the weight of the last
// record: as much of it as the table still holds there.
func (c *calibration) move(t []float64, z float64, y int, weight float64) {
	b, f := c.place(z)
	w := weight * c.weight
	for j, v := range [2]float64{w * (1 - f), w * f} {
		at := t[2*(b+j) : 2*(b+j)+2]
		v = min(v, at[1-y])
		at[1-y] -= v
		at[y] += v
	}
}

// rescale makes weight and counts smaller when they have grown large: those of all tables, and of away, the part of
// them that other partitions contributed, nil for none.
func (c *calibration) rescale(counts []float64, away *tables) {
	if c.weight < 1<<maxGrowth {
		return
	}
	const v = 1. / (1 << maxGrowth)
	c.weight *= v
	for i := range counts {
		counts[i] *= v
	}
	if away != nil {
		for i := range away.knot {
			away.knot[i] *= v
		}
	}
}

// append appends the weight; the counts are part of the tables' form.
func (c *calibration) append(b []byte) []byte { return wire.AppendFloat(b, c.weight) }

// readCalibration reads the form of append; derive must follow.
func readCalibration(r *wire.Reader) calibration {
	c := calibration{weight: r.Float()}
	if !(c.weight >= 1 && c.weight <= 1<<(maxGrowth+1)) {
		r.Fail(errNumber)
	}
	return c
}
