package local

import "math"

// Distances are sums of whole numbers: values are standardised (population sd, METHOD.md 4.1) and rounded to 1/16384
// sd, so that a distance does not depend on the order of the features and ties are exact. Values are held as float64,
// whose squares a processor computes twice as fast, sums as int64.
const (
	unit     = 1 << 14
	farthest = 1 << 18 // 16 sd; what is farther is as far
	absent   = math.MinInt32
	// noCap is beyond any squared difference.
	noCap = int64(1) << 40
	// weightUnit is the step of a relevance weight.
	weightUnit = 1 << 8
)

// Measure is a distance between records.
type Measure struct {
	// Theta is the threshold of the subspace in which neighbours are sought; 0 = all features.
	Theta float64
	// Cap, in standard deviations, is the difference beyond which a feature counts as not agreeing at all, whatever it
	// is: each pair of records then has its own subspace (METHOD.md 4.2). 0 = none: the Euclidean distance.
	Cap float64
	// Weighted multiplies each feature's term by its relevance at the record, sum_c P_c ln(P_c / p_c).
	Weighted bool
	// Close lets neighbours vote by how close they are instead of alike: with squared distances d_1 <= .. <= d_K,
	// v_k = (a + e) / (d_k - d_1 + a + e), a = d_1 / 5, e = d_K / 50, scaled to sum to K.
	Close bool
}

// cap is the largest term of a column.
func (m *Measure) cap(c *column) int64 {
	limit := noCap
	if m.Cap > 0 {
		limit = int64(math.Round(m.Cap * unit))
		limit *= limit
	}
	if c.nominal {
		limit = min(limit, nominalTerm)
	}
	return max(limit, 1)
}

// prototypes are labelled records, column by column.
type prototypes struct {
	class   []int32
	columns []column
	// prior is the share of each class among the prototypes.
	prior []float64
	// clock is Example.Clock of each; none in a part of the first format.
	clock []float64
	// beside holds, prototype by prototype, what each feature tells there beside the others, in nats.
	beside []float32

	places []int32 // of each prototype in all columns
	packs  []pack
	exact  []bool // whether the cells of a column hold one place each
}

// queryTerm is one feature of a distance from a record.
type queryTerm struct {
	feature  int32
	at       []float64
	missing  []int32
	nominal  bool
	q        float64
	cap      int64
	weight   int64 // 0 = the feature does not count
	expected int64 // the term of a prototype that misses the feature
}

// limits are what a measure makes of the columns: the largest term of each, and that of a prototype which misses the
// feature, by the Relief rule for missing values.
type limits struct{ cap, expected []int64 }

func (p *prototypes) limits(m Measure) (l limits) {
	for j := range p.columns {
		c := &p.columns[j]
		l.cap = append(l.cap, m.cap(c))
		l.expected = append(l.expected, c.expected(l.cap[j]))
	}
	return l
}

// distances fills sum with the distance of every prototype from the query whose terms are given, several columns at a
// time: each shape in the loop that does least for it.
func distances(terms []queryTerm, sum []int64) {
	clear(sum)
	for ; len(terms) >= 4; terms = terms[4:] {
		a, b, c, d := &terms[0], &terms[1], &terms[2], &terms[3]
		weight := a.weight == 1 && b.weight == 1 && c.weight == 1 && d.weight == 1
		alike := a.cap == b.cap && b.cap == c.cap && c.cap == d.cap
		switch {
		case !weight && (a.nominal || b.nominal || c.nominal || d.nominal):
			for i := range terms[:4] {
				add1(&terms[i], sum)
			}
		case weight && alike && a.cap == noCap:
			add4(a.at, b.at, c.at, d.at, a.q, b.q, c.q, d.q, sum)
		case weight && alike:
			addCapped4(a.at, b.at, c.at, d.at, a.q, b.q, c.q, d.q, a.cap, sum)
		default:
			addWeighted4(a.at, b.at, c.at, d.at, a.q, b.q, c.q, d.q, float64(a.weight), float64(b.weight), float64(c.weight), float64(d.weight),
				a.cap*a.weight, b.cap*b.weight, c.cap*c.weight, d.cap*d.weight, sum)
		}
	}
	for i := range terms {
		add1(&terms[i], sum)
	}
}

func add4(a, b, c, d []float64, p, q, r, s float64, sum []int64) {
	a, b, c, d = a[:len(sum)], b[:len(sum)], c[:len(sum)], d[:len(sum)]
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += int64(w*w + x*x + (y*y + z*z))
	}
}

func addCapped4(a, b, c, d []float64, p, q, r, s float64, limit int64, sum []int64) {
	a, b, c, d = a[:len(sum)], b[:len(sum)], c[:len(sum)], d[:len(sum)]
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += min(int64(w*w), limit) + min(int64(x*x), limit) + min(int64(y*y), limit) + min(int64(z*z), limit)
	}
}

// addWeighted4 multiplies before it caps, where a product costs less: a square of numbers is at most 2^38, a weight at
// most 2^14. Levels are up to 2^27 apart, too far for that.
func addWeighted4(a, b, c, d []float64, p, q, r, s, pw, qw, rw, sw float64, pl, ql, rl, sl int64, sum []int64) {
	a, b, c, d = a[:len(sum)], b[:len(sum)], c[:len(sum)], d[:len(sum)]
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += min(int64(w*w*pw), pl) + min(int64(x*x*qw), ql) + min(int64(y*y*rw), rl) + min(int64(z*z*sw), sl)
	}
}

func add1(t *queryTerm, sum []int64) {
	at, q, limit, weight := t.at[:len(sum)], t.q, t.cap, t.weight
	for k := range sum {
		x := at[k] - q
		sum[k] += min(int64(x*x), limit) * weight
	}
}

// correct puts the expected term where a prototype misses the feature.
func correct(terms []queryTerm, sum []int64) {
	for i := range terms {
		t := &terms[i]
		for _, k := range t.missing {
			d := t.at[k] - t.q
			sum[k] += (t.expected - min(int64(d*d), t.cap)) * t.weight
		}
	}
}

// neighbour is a prototype at a distance.
type neighbour struct {
	distance int64
	index    int32
}

// beyond is farther than any prototype: terms are below 2^52, as 2^38 times a weight of 2^14, and features below 2^10.
const beyond = int64(1) << 62

// place puts a prototype at distance d into the n nearest so far, at the end of those at the same distance.
func place(near []neighbour, n int, d int64, index int32) int {
	at := n
	if n < len(near) {
		n++
	} else {
		at--
	}
	for at > 0 && near[at-1].distance > d {
		near[at] = near[at-1]
		at--
	}
	near[at] = neighbour{d, index}
	return n
}

// nearest fills near, from its start, with the closest prototypes, nearest first, ties by the lower index; those beyond
// are left out. It returns how many there are.
func nearest(sum []int64, near []neighbour) int {
	n, worst := 0, beyond
	for k, d := range sum {
		if d < worst {
			if n = place(near, n, d, int32(k)); n == len(near) {
				worst = near[n-1].distance
			}
		}
	}
	return n
}

// block is the number of prototypes of which the closest stands for all at first.
const block = 8

// blocks fills low with the least of every block of sum, whose length is a multiple of theirs.
func blocks(sum, low []int64) {
	for b := range low {
		s := sum[b*block : b*block+block : b*block+block]
		low[b] = min(min(s[0], s[1], s[2], s[3]), min(s[4], s[5], s[6], s[7]))
	}
}

// find fills w.near with the prototypes closest by w.terms, nearest first, ties by the lower index, leaving out skip
// (negative = none), and w.tied with the classes of the others that are as far as the last of them. It returns how many
// there are in w.near. The sums of w.tables are at most those of the terms; exact says that they are the same.
func (w *scratch) find(exact bool, skip int) int {
	if w.ties > 0 {
		w.untie()
	}
	sum := w.sum[:w.prototypes]
	lookUp(w.tables, w.codes, sum)
	if skip >= 0 {
		sum[skip] = beyond
	}
	blocks(w.sum, w.low)
	// The K-th of the nearest is no farther than the farthest of K others.
	bound := beyond - 1
	if n := nearest(w.low, w.near); n == len(w.near) {
		bound = 0
		for _, x := range w.near {
			if exact {
				bound = x.distance
				continue
			}
			k := x.index * block
			for w.sum[k] != x.distance {
				k++
			}
			bound = max(bound, w.to(k, beyond))
		}
	}
	left := w.left[:0]
	for b, low := range w.low {
		if low > bound {
			continue
		}
		for k := b * block; k < b*block+block; k++ {
			if w.sum[k] <= bound {
				left = append(left, int32(k))
			}
		}
	}
	if !exact && len(left) > len(sum)/4 {
		distances(w.terms, sum)
		correct(w.terms, sum)
		if skip >= 0 {
			sum[skip] = beyond
		}
		n := nearest(sum, w.near)
		if n == len(w.near) {
			last := w.near[n-1].distance
			for k, d := range sum {
				if d == last {
					w.tie(int32(k), 1)
				}
			}
			for k := n - 1; k >= 0 && w.near[k].distance == last; k-- {
				w.tie(w.near[k].index, -1)
			}
		}
		return n
	}
	n, worst := 0, beyond
	for _, k := range left {
		d := w.sum[k]
		if d > worst {
			continue
		}
		if !exact {
			if d = w.to(k, worst+1); d > worst {
				continue
			}
		}
		if d == worst {
			w.tie(k, 1)
			continue
		}
		last := w.near[len(w.near)-1]
		full := n == len(w.near)
		if n = place(w.near, n, d, k); n < len(w.near) {
			continue
		}
		worst = w.near[n-1].distance
		switch {
		case !full:
		case worst == last.distance:
			w.tie(last.index, 1)
		case w.ties > 0:
			w.untie()
		}
	}
	return n
}

// tie counts a prototype that is as far as the last of the nearest.
func (w *scratch) tie(k int32, n int) {
	w.tied[w.class[k]] += float64(n)
	w.ties += n
}

// untie forgets those that were as far as one that was the last.
func (w *scratch) untie() {
	clear(w.tied)
	w.ties = 0
}

// to is the distance of a prototype, given up where it reaches limit.
func (w *scratch) to(k int32, limit int64) (d int64) {
	m := int32(len(w.all))
	places := w.places[k*m : k*m+m]
	for i := range w.terms {
		t := &w.terms[i]
		if v := places[t.feature]; v != absent {
			x := float64(v) - t.q
			d += min(int64(x*x), t.cap) * t.weight
		} else {
			d += t.expected * t.weight
		}
		if d >= limit {
			break
		}
	}
	return d
}
