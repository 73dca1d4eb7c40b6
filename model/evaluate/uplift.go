package evaluate

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
)

// upliftCells is the number of cells of the propensity, of equal mass, in which treated and untreated records are
// compared.
const upliftCells = 20

// leastCompared is the number of records of either kind that a cell needs to count.
const leastCompared = 10

// UpliftPoint is a point of the Qini curve.
type UpliftPoint struct {
	Share float64 `json:"share"` // of the records, those of the highest uplift
	Gain  Number  `json:"gain"`  // positives that their treatment has added, as a share of all records
}

// Uplift measures the estimated effect of the treatment. Its figures compare treated records with untreated ones of
// like propensity, see UpliftOf.
type Uplift struct {
	Treated   int    `json:"treated"`
	Untreated int    `json:"untreated"`
	LeftOut   int    `json:"left_out"` // records whose propensity is that of treated or of untreated ones alone
	Effect    Number `json:"effect"`   // of the treatment, on the rate of the positive class
	Mean      Number `json:"mean"`     // of the estimated effects
	// Qini is the area between the Qini curve and the line of a ranking at random, as a share of that of the best ranking:
	// 0 at random, 1 at best, below 0 when turned round.
	Qini      Number        `json:"qini"`
	QiniError Number        `json:"qini_error"` // its standard error
	Curve     []UpliftPoint `json:"curve"`
}

// upliftRecord is a record whose treatment and outcome are known.
type upliftRecord struct {
	index             int64
	p, uplift, weight float64
	treated, positive bool
}

// upliftMeter gathers the records of a run.
type upliftMeter struct {
	positive int
	records  []upliftRecord
}

// add takes a labelled record whose treatment is known, and that has an estimate.
func (m *upliftMeter) add(r *Record, s *model.Scores) {
	if m.positive < 0 || r.Row >= len(s.Uplift) || math.IsNaN(s.Uplift[r.Row].Value) {
		return
	}
	t := r.treatment
	if t == model.TreatmentUnknown {
		return
	}
	m.records = append(m.records, upliftRecord{index: r.Index, p: s.P[r.Row*s.Classes+m.positive],
		uplift: s.Uplift[r.Row].Value, weight: r.Weight, treated: t == model.Treated, positive: int(r.Class) == m.positive})
}

// result computes the figures, nil where no treated record can be compared with an untreated one.
func (m *upliftMeter) result() *Uplift {
	slices.SortStableFunc(m.records, func(a, b upliftRecord) int { return cmp.Compare(a.index, b.index) })
	u := &Uplift{Curve: []UpliftPoint{}}
	for i := range m.records {
		if m.records[i].treated {
			u.Treated++
		} else {
			u.Untreated++
		}
	}
	records := balance(m.records)
	u.LeftOut = len(m.records) - len(records)
	if len(records) == 0 {
		return nil
	}
	var mean, weight float64
	for i := range records {
		mean += records[i].weight * records[i].uplift
		weight += records[i].weight
	}
	u.Mean = Number(mean / weight)
	c := curveOf(records, func(r *upliftRecord) float64 { return r.uplift })
	u.Effect, u.Qini = Number(c.last()/c.total()), Number(qini(records))
	for k := range 11 {
		u.Curve = append(u.Curve, UpliftPoint{Share: float64(k) / 10, Gain: Number(c.at(float64(k)/10) / c.total())})
	}
	u.QiniError = Number(qiniError(records))
	return u
}

// balance gives treated and untreated records of each cell of the propensity the same total weight, that of the cell,
// so that a policy which goes by the scores does not favour one of them (post-stratification). Records of cells that
// have too few of either are left out. Records of one propensity share a cell.
func balance(records []upliftRecord) []upliftRecord {
	order := slices.Clone(records)
	slices.SortStableFunc(order, func(a, b upliftRecord) int { return cmp.Compare(a.p, b.p) })
	var out []upliftRecord
	for from, k := 0, 1; from < len(order); k++ {
		to := max(from+1, min(k*len(order)/upliftCells, len(order)))
		for to < len(order) && order[to].p == order[to-1].p {
			to++
		}
		cell := order[from:to]
		from = to
		var n [2]int
		var w [2]float64
		kind := func(r *upliftRecord) int {
			if r.treated {
				return 1
			}
			return 0
		}
		for i := range cell {
			n[kind(&cell[i])]++
			w[kind(&cell[i])] += cell[i].weight
		}
		if min(n[0], n[1]) < leastCompared || min(w[0], w[1]) <= 0 {
			continue
		}
		for i := range cell {
			r := cell[i]
			r.weight *= (w[0] + w[1]) / w[kind(&r)]
			out = append(out, r)
		}
	}
	return out
}

// qiniCurve is the Qini curve: after each run of records of one rank, their weight so far, and the gain
//
//	R_t - R_c N_t / N_c
//
// with the treated and untreated weights N and those of positive records R so far (Radcliffe, N. J. (2007). Using
// control groups to target on predicted lift. Direct Marketing Analytics Journal; Radcliffe, N. J., Surry, P. D.
// (2011). Real-world uplift modelling with significance-based uplift trees. Stochastic Solutions). It begins at 0.
type qiniCurve struct{ x, y []float64 }

// curveOf ranks the records by a number, the highest first.
func curveOf(records []upliftRecord, by func(r *upliftRecord) float64) *qiniCurve {
	order := make([]int, len(records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by(&records[b]), by(&records[a])) })
	c := &qiniCurve{x: []float64{0}, y: []float64{0}}
	var n, pos [2]float64
	for k, i := range order {
		r := &records[i]
		kind := 0
		if r.treated {
			kind = 1
		}
		n[kind] += r.weight
		if r.positive {
			pos[kind] += r.weight
		}
		if k+1 < len(order) && by(&records[order[k+1]]) == by(r) {
			continue
		}
		gain := pos[1]
		if n[0] > 0 {
			gain -= pos[0] * n[1] / n[0]
		}
		c.x, c.y = append(c.x, n[0]+n[1]), append(c.y, gain)
	}
	return c
}

func (c *qiniCurve) last() float64 { return c.y[len(c.y)-1] }

// total is the weight of the treated and untreated records halved: both weigh as much as all records do.
func (c *qiniCurve) total() float64 { return c.x[len(c.x)-1] / 2 }

// area is that under the curve, by trapezoids.
func (c *qiniCurve) area() (a float64) {
	for i := 1; i < len(c.x); i++ {
		a += (c.x[i] - c.x[i-1]) * (c.y[i] + c.y[i-1]) / 2
	}
	return a
}

// at is the gain at a share of the records, between two points on the line that joins them.
func (c *qiniCurve) at(share float64) float64 {
	x := share * c.x[len(c.x)-1]
	i, found := slices.BinarySearch(c.x, x)
	if found || i == 0 {
		return c.y[i]
	}
	if i == len(c.x) {
		return c.last()
	}
	return c.y[i-1] + (c.y[i]-c.y[i-1])*(x-c.x[i-1])/(c.x[i]-c.x[i-1])
}

// qini is the area between the curve and the line to its end, as a share of that of the best ranking, which puts
// treated positives first and untreated positives last. NaN without records, or where no ranking is better than
// another.
func qini(records []upliftRecord) float64 {
	c := curveOf(records, func(r *upliftRecord) float64 { return r.uplift })
	best := curveOf(records, func(r *upliftRecord) float64 {
		switch {
		case !r.positive:
			return 0
		case r.treated:
			return 1
		}
		return -1
	})
	line := c.x[len(c.x)-1] * c.last() / 2
	return (c.area() - line) / (best.area() - line)
}

// qiniError is the standard error of the coefficient, from ten parts of the records, each tenth one: the deviation of
// theirs over the root of ten.
func qiniError(records []upliftRecord) float64 {
	const parts = 10
	var sum, square float64
	for k := range parts {
		var part []upliftRecord
		for i := k; i < len(records); i += parts {
			part = append(part, records[i])
		}
		if len(part) == 0 {
			return math.NaN()
		}
		q := qini(part)
		sum += q
		square += q * q
	}
	mean := sum / parts
	return math.Sqrt(max(square/parts-mean*mean, 0) / (parts - 1))
}
