package kernel

import (
	"math"
	"slices"

	"liftstream/model"
)

// maxNodes bounds the nodes of one curve. curveError is the error that the number of nodes aims at, as a share of a
// kernel's weight. Linear interpolation of exp(-w d^2) at spacing h is off by at most w h^2 / 4.
const (
	maxNodes   = 1024
	minNodes   = 32
	curveError = 5e-4
)

// farthest is the standardised value beyond which a curve stays at its last node.
const farthest = 8

// curve is the part of one feature in the input of every class:
//
//	beta sum_p alpha_p (mean over the class of K_p(x, .) - mean over all records of K_p(x, .))
//
// It is tabulated over the feature's values, classes innermost. Numbers are interpolated between nodes, and a value
// beyond an end has the input of that end. A level that the fit did not see adds 0.
type curve struct {
	feature int32
	levels  bool
	lo, per float64   // node = (v - lo) * per
	nodes   []float64 // of the levels, in the order of their codes, or of the nodes
	missing []float64 // one a class
	end     float64   // values from there on are missing: see levelsEnd
}

// add adds the curve at value v to dst.
func (c *curve) add(v float64, dst []float64) {
	n := len(dst)
	if v-v != 0 || v >= c.end {
		for y, x := range c.missing {
			dst[y] += x
		}
		return
	}
	last := len(c.nodes)/n - 1
	if c.levels {
		if v >= 0 && v <= float64(last) {
			at := int(v) * n
			for y := range dst {
				dst[y] += c.nodes[at+y]
			}
		}
		return
	}
	x := (v - c.lo) * c.per
	if !(x > 0) {
		x = 0
	}
	if x >= float64(last) {
		for y, v := range c.nodes[last*n:] {
			dst[y] += v
		}
		return
	}
	i := int(x)
	x -= float64(i)
	a := c.nodes[i*n : i*n+2*n]
	for y := range dst {
		dst[y] += a[y] + x*(a[y+n]-a[y])
	}
}

// tabulate makes the curve of one feature's bases, still without beta; alpha are their weights. For a number the
// records are spread linearly over the nodes, so that a curve costs nodes^2, not records x nodes. total holds the
// weight of each class.
func tabulate(ev *model.Evidence, f int32, a *axis, bases []Base, alpha, total []float64) *curve {
	classes := len(total)
	c := &curve{feature: f, levels: a.levels, missing: make([]float64, classes), per: 1, end: a.end}
	var count int
	if a.levels {
		count = ev.Levels.Count(int(f))
		if other := int(ev.Levels.Other(int(f))); a.hi >= float64(other) {
			count = other + 1
		}
	} else {
		lo, hi := max(a.at(a.lo), -farthest), min(a.at(a.hi), farthest)
		width := 0.0
		for _, b := range bases {
			width = max(width, b.Width)
		}
		count = int(min(max(math.Ceil((hi-lo)/math.Sqrt(4*curveError/width)), minNodes), maxNodes-1)) + 1
		c.lo = max((lo*a.sd+a.mean)*a.scale, -math.MaxFloat64)
		c.per = float64(count-1) / (hi - lo) / a.sd / a.scale
	}
	mass := make([]float64, count*classes)
	gone := make([]float64, classes)
	for i, v := range ev.Columns[f] {
		y := int(ev.Class[i])
		w := ev.Weight[i] / total[y]
		switch {
		case !(w > 0):
		case v-v != 0 || v >= a.end:
			gone[y] += w
		case a.levels:
			if v < float64(count) {
				mass[int(v)*classes+y] += w
			}
		default:
			x := min(max((v-c.lo)*c.per, 0), float64(count-1))
			n := min(int(x), count-2)
			x -= float64(n)
			mass[n*classes+y] += w * (1 - x)
			mass[(n+1)*classes+y] += w * x
		}
	}
	c.nodes = make([]float64, count*classes)
	sum := 0.0
	for _, v := range alpha {
		sum += v
	}
	for y, g := range gone {
		c.missing[y] = sum * g
	}
	if a.levels {
		for i, m := range mass {
			c.nodes[i] = sum * m
		}
		return c
	}
	// At equal steps the kernel of two nodes depends only on the number of nodes between them.
	step := (min(a.at(a.hi), farthest) - max(a.at(a.lo), -farthest)) / float64(count-1)
	at := make([]float64, count)
	for k := range bases {
		for d := range at {
			at[d] += alpha[k] * bases[k].between(0, float64(d)*step)
		}
	}
	for n := range count {
		out := c.nodes[n*classes : (n+1)*classes]
		for m := range count {
			k := at[max(n-m, m-n)]
			for y := range out {
				out[y] += k * mass[m*classes+y]
			}
		}
	}
	return c
}

// centre takes the mean over all records off each class; share holds the classes' shares of the weight.
func (c *curve) centre(share []float64) {
	n := len(share)
	for _, v := range [][]float64{c.nodes, c.missing} {
		for i := 0; i < len(v); i += n {
			mean := 0.0
			for y, s := range share {
				mean += s * v[i+y]
			}
			for y := range share {
				v[i+y] -= mean
			}
		}
	}
}

func (c *curve) scale(by float64) {
	for _, v := range [][]float64{c.nodes, c.missing} {
		for i := range v {
			v[i] *= by
		}
	}
}

// slopeRecords bounds the records on which the slope is fitted.
const slopeRecords = 20000

// slope fits beta so that ln share_y + beta s_y are log-odds of the classes, s being the sum of the curves. It
// maximises the likelihood by Newton's method, with one pseudo-record of curvature; records count by the effective
// number, see model.Unit. The record's own share of its class's mean is taken off: self is K(x, x) of the mixture. beta
// is at least 0, and 0 when the evidence does not determine it.
func slope(ev *model.Evidence, curves []*curve, total, share []float64, self float64) float64 {
	classes := len(total)
	n := ev.Len()
	step := max((n+slopeRecords-1)/slopeRecords, 1)
	var s, w []float64
	var class []int32
	for i := 0; i < n; i += step {
		y := int(ev.Class[i])
		if rest := total[y] - ev.Weight[i]; !(ev.Weight[i] > 0) || !(rest > 0) {
			continue
		}
		at := len(s)
		s = append(s, make([]float64, classes)...)
		for _, c := range curves {
			c.add(ev.Columns[c.feature][i], s[at:])
		}
		// Leaving the record out of a mean m of its class makes it m - (self - m) w / rest; the centre moves by its share.
		off := ev.Weight[i] / total[y] * self
		for k := range classes {
			s[at+k] += share[y] * off
		}
		s[at+y] -= off
		w = append(w, ev.Weight[i])
		class = append(class, ev.Class[i])
	}
	if len(w) == 0 {
		return 0
	}
	// The pseudo-record counts as one of the effective records, at any scale of the weights.
	var sum, square float64
	for _, v := range w {
		sum, square = sum+v, square+v*v
	}
	unit := model.Unit(sum, square)
	for i := range w {
		w[i] /= unit
	}
	p := make([]float64, classes)
	beta := 0.0
	for range 50 {
		var gradient, curvature, top float64
		for i, y := range class {
			row := s[i*classes : (i+1)*classes]
			norm, high := 0.0, math.Inf(-1)
			for k, v := range row {
				p[k] = beta * v
				if share[k] > 0 {
					p[k] += math.Log(share[k])
				} else {
					p[k] = math.Inf(-1)
				}
				high = max(high, p[k])
			}
			for k := range p {
				p[k] = math.Exp(p[k] - high)
				norm += p[k]
			}
			var mean, square float64
			for k, v := range row {
				mean += p[k] / norm * v
				square += p[k] / norm * v * v
				top = max(top, math.Abs(v))
			}
			gradient += w[i] * (row[y] - mean)
			curvature += w[i] * (square - mean*mean)
		}
		gradient -= beta * top * top / 4
		curvature += top * top / 4
		if !(curvature > 0) {
			return 0
		}
		d := gradient / curvature
		// A step may change the largest log-odds by 2 at most: Newton's method alone can run away.
		if limit := 2 / top; math.Abs(d) > limit {
			d = math.Copysign(limit, d)
		}
		beta += d
		if math.Abs(d)*top < 1e-10 {
			break
		}
	}
	if !(beta > 0) || math.IsInf(beta, 0) {
		return 0
	}
	return beta
}

// features lists the features of the dictionary whose kernels have weight, in the order of their first kernel.
func features(dictionary []Base, alpha []float64) []int32 {
	var out []int32
	for k, b := range dictionary {
		if alpha[k] != 0 && !slices.Contains(out, b.A) {
			out = append(out, b.A)
		}
	}
	return out
}
