package propensity

import "math"

// The sums, sigmoids and edges of the two-class path, four numbers at once where the processor can (lanes). The plain
// loops give the same bits on the same processor. math.Exp has others where it cannot fuse.

// everyCard is the mask of a weight that all cards use.
var everyCard = maskOf(cards)

// maskOf has all bits set of the first use cards.
func maskOf(use int) (m [cards]uint64) {
	for k := range use {
		m[k] = ^uint64(0)
	}
	return m
}

// logs replaces each number by its natural logarithm, as ln.
func logs(x []float64) {
	for len(x) > 0 {
		if lanes && len(x) >= 4 {
			x = x[logLanes(&x[0], len(x), &logTable):]
		}
		n := min(len(x), 4) // the end, or a four with a number that is not normal
		for i, v := range x[:n] {
			x[i] = ln(v)
		}
		x = x[n:]
	}
}

// ratios writes into dst, by horizon, the odds of class 1 in a cell, (n_1 + base_1) times_1 / (n_0 + base_0), of counts
// (n_0, n_1) by horizon. side holds those of a neighbouring cell that has a part in it, and is empty without one.
// times_0 is 1.
func ratios(dst, cell, side []float64, part float64, base, times []float64) {
	n := len(dst)
	cell, base, times = cell[:2*n], base[:2*n], times[:2*n]
	if n == 0 {
		return
	}
	if len(side) > 0 {
		side = side[:2*n]
	}
	if lanes {
		var beside *float64
		if len(side) > 0 {
			beside = &side[0]
		}
		ratioLanes(&dst[0], &cell[0], beside, part, &base[0], &times[0], n)
		return
	}
	for h := range dst {
		n0, n1 := cell[2*h], cell[2*h+1]
		if len(side) > 0 {
			n0, n1 = n0+part*(side[2*h]-n0), n1+part*(side[2*h+1]-n1)
		}
		dst[h] = (n1 + base[2*h+1]) * times[2*h+1] / (n0 + base[2*h])
	}
}

// addAll adds the weights of each card times x to z.
func addAll(z *[cards]float64, w []pair, x []float64) {
	x = x[:len(w)]
	if len(w) == 0 {
		return
	}
	if lanes {
		sumLanes(z, &w[0], &x[0], len(w))
		return
	}
	z0, z1, z2, z3 := z[0], z[1], z[2], z[3]
	for i := range w {
		p, u := &w[i].w, x[i]
		z0 += p[0] * u
		z1 += p[1] * u
		z2 += p[2] * u
		z3 += p[3] * u
	}
	*z = [cards]float64{z0, z1, z2, z3}
}

// descendAll makes one AdaGrad step (descend) of weights by their inputs x. using has the number of cards that use each
// weight, and masks say the same.
func descendAll(w []pair, x []float64, using []int, masks [][cards]uint64, sq, step *[cards]float64) {
	x, using, masks = x[:len(w)], using[:len(w)], masks[:len(w)]
	if len(w) == 0 {
		return
	}
	if lanes {
		stepLanes(&w[0], &x[0], &masks[0], len(w), sq, step)
		return
	}
	for i := range w {
		descend(&w[i], using[i], x[i], sq, step)
	}
}

// descendOne is descendAll of one weight that all cards use.
func descendOne(w *pair, x float64, sq, step *[cards]float64) {
	if lanes {
		stepLanes(w, &x, &everyCard, 1, sq, step)
		return
	}
	descend(w, cards, x, sq, step)
}

// addFeature adds a feature's part in the margin of each card to z: weights w of its log-lifts x, and its cell, of
// which the neighbouring cell side has the part t. side is nil without one.
func addFeature(z *[cards]float64, w []pair, x []float64, cell, side *pair, t float64) {
	x = x[:len(w)]
	if lanes && len(w) > 0 {
		featureLanes(z, &w[0], &x[0], len(w), cell, side, t)
		return
	}
	addAll(z, w, x)
	p := &cell.w
	if side == nil {
		z[0] += p[0]
		z[1] += p[1]
		z[2] += p[2]
		z[3] += p[3]
		return
	}
	q := &side.w
	z[0] += p[0] + t*(q[0]-p[0])
	z[1] += p[1] + t*(q[1]-p[1])
	z[2] += p[2] + t*(q[2]-p[2])
	z[3] += p[3] + t*(q[3]-p[3])
}

// featureEffect is the sum over the cards of part times the part of a feature in their margins: weights w of its
// log-lifts x, its cell and its neighbour side, which has the part t of the cell, and its linear input u by the weights
// line. Without a part they are nil.
func featureEffect(
	part *[cards]float64, w []pair, x []float64, cell, side *pair, t float64, line *pair, u float64,
) float64 {
	x = x[:len(w)]
	if lanes && len(w) > 0 {
		return effectLanes(part, &w[0], &x[0], len(w), cell, side, t, line, u)
	}
	var z [cards]float64
	addAll(&z, w, x)
	if cell != nil {
		addPart(&z, &cell.w, 1-t)
		if side != nil {
			addPart(&z, &side.w, t)
		}
	}
	if line != nil {
		addPart(&z, &line.w, u)
	}
	return 0 + part[0]*z[0] + part[1]*z[1] + part[2]*z[2] + part[3]*z[3] // 0 + -0 is 0
}

func addPart(z, w *[cards]float64, x float64) {
	z[0] += w[0] * x
	z[1] += w[1] * x
	z[2] += w[2] * x
	z[3] += w[3] * x
}

// sigmoids replaces each number by its sigmoid.
func sigmoids(x []float64) {
	if fused && len(x) >= 4 {
		sigmoidLanes(&x[0], len(x))
		x = x[len(x)&^3:]
	}
	for i, z := range x {
		x[i] = sigmoid(z)
	}
}

// exponentials replaces each number by its exponential.
func exponentials(x []float64) {
	some := fused && len(x) >= 4
	for _, v := range x {
		some = some && math.Abs(v) < 700
	}
	if some {
		expLanes(&x[0], len(x))
		x = x[len(x)&^3:]
	}
	for i, v := range x {
		x[i] = math.Exp(v)
	}
}

// below is the number of edges below v.
func below(edges []float64, v float64) (n int) {
	if lanes && len(edges) > 0 {
		return belowLanes(&edges[0], len(edges), v)
	}
	for _, e := range edges {
		if e < v {
			n++
		}
	}
	return n
}
