package local

import "math"

// Measure is a distance between records.
type Measure struct {
	// Theta is the threshold of the subspace of the neighbours' distance; 0 = all features.
	Theta float64
	// Cap, in standard deviations, bounds the difference in one feature: all larger differences count alike, so that each
	// pair of records has its own subspace (METHOD.md 4.2). 0 = none: the Euclidean distance.
	Cap float64
	// Weighted multiplies each feature's term by its relevance at the record, sum_c P_c ln(P_c / p_c).
	Weighted bool
	// Close weighs the votes of neighbours by closeness. With squared distances d_1 <= .. <= d_K, v_k = (a + e) / (d_k -
	// d_1 + a + e), a = d_1 / 5, e = d_K / 50, scaled to sum to K. Without it every neighbour has one vote.
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

// limits are the bounds of a measure by column: the largest term, and the term of a prototype that misses the feature,
// by the Relief rule for missing values.
type limits struct{ cap, expected []int64 }

func (p *prototypes) limits(m Measure) (l limits) {
	for j := range p.columns {
		c := &p.columns[j]
		l.cap = append(l.cap, m.cap(c))
		l.expected = append(l.expected, c.expected(l.cap[j]))
	}
	return l
}

// distances fills sum with the distance of every prototype from the query of the terms, four columns at a time. Each
// kind of terms has the loop that does least work for it.
func distances(terms []queryTerm, sum []int64) {
	clear(sum)
	for ; len(terms) >= 4; terms = terms[4:] {
		t := (*[4]queryTerm)(terms)
		a, b, c, d := &t[0], &t[1], &t[2], &t[3]
		plain := a.weight == 1 && b.weight == 1 && c.weight == 1 && d.weight == 1
		alike := a.cap == b.cap && b.cap == c.cap && c.cap == d.cap
		switch {
		case !plain && (a.nominal || b.nominal || c.nominal || d.nominal):
			for i := range t {
				add1(&t[i], sum)
			}
		case plain && alike && a.cap == noCap:
			add4(t, sum)
		case plain && alike:
			addCapped4(t, sum)
		default:
			addWeighted4(t, sum)
		}
	}
	for i := range terms {
		add1(&terms[i], sum)
	}
}

// add4 adds four terms of weight 1 without a cap.
func add4(t *[4]queryTerm, sum []int64) {
	a, b, c, d := t[0].at[:len(sum)], t[1].at[:len(sum)], t[2].at[:len(sum)], t[3].at[:len(sum)]
	p, q, r, s := t[0].q, t[1].q, t[2].q, t[3].q
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += int64(w*w + x*x + (y*y + z*z))
	}
}

// addCapped4 adds four terms of weight 1 and the same cap.
func addCapped4(t *[4]queryTerm, sum []int64) {
	a, b, c, d := t[0].at[:len(sum)], t[1].at[:len(sum)], t[2].at[:len(sum)], t[3].at[:len(sum)]
	p, q, r, s := t[0].q, t[1].q, t[2].q, t[3].q
	limit := t[0].cap
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += min(int64(w*w), limit) + min(int64(x*x), limit) + min(int64(y*y), limit) + min(int64(z*z), limit)
	}
}

// addWeighted4 adds four terms of any weights and caps. It multiplies before it caps, where a product costs less: a
// square of numbers is at most 2^38, a weight at most 2^14. Levels are up to 2^27 apart, too far for that.
func addWeighted4(t *[4]queryTerm, sum []int64) {
	a, b, c, d := t[0].at[:len(sum)], t[1].at[:len(sum)], t[2].at[:len(sum)], t[3].at[:len(sum)]
	p, q, r, s := t[0].q, t[1].q, t[2].q, t[3].q
	pw, qw, rw, sw := float64(t[0].weight), float64(t[1].weight), float64(t[2].weight), float64(t[3].weight)
	pl, ql, rl, sl := t[0].cap*t[0].weight, t[1].cap*t[1].weight, t[2].cap*t[2].weight, t[3].cap*t[3].weight
	for k := range sum {
		w, x, y, z := a[k]-p, b[k]-q, c[k]-r, d[k]-s
		sum[k] += min(int64(w*w*pw), pl) + min(int64(x*x*qw), ql) + min(int64(y*y*rw), rl) + min(int64(z*z*sw), sl)
	}
}

// add1 adds one term of any weight and cap.
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
