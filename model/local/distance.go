package local

import "math"

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
