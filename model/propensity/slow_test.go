package propensity

import (
	"math"

	"liftstream/model"
)

// slow is the scorecard of METHOD.md 1 to 6 without any shortcut: it keeps every record, and counts, moments and
// calibration are sums over all of them, each weighed by its age. Only the cut points of the cells are those of the
// scorecard that it is compared with.
type slow struct {
	schema  *model.Schema
	axes    []axis
	half    []model.HalfLife // the last one forgets nothing
	opt     Options
	kept    []model.Example // counted
	learnt  int
	weighed []model.Example // that the calibration has learnt
	places  [][]float64     // their log-odds, cards x margins
	w, g    map[slot]*[cards]float64
	q       [experts]float64
	lag     float64
}

// slot names a weight: a shared input of a feature, a base rate, another component, a cell, or the constant and linear
// inputs, these two by margin.
type slot struct {
	kind           string
	at, of, margin int
}

// remembered is the slow form of a memory.
type remembered struct {
	shared     map[slot][]float64
	own        []float64
	raw        [cards][]float64
	calibrated [cards][]float64
	learnt     int
}

// The recipes of METHOD.md 6 as the product has them: start, step, step of cells, number of the longest horizons (0 =
// all), and the start of an entered set.
var recipesByHand = [cards][5]float64{{.3, .15, .05, 0, 0}, {.15, .02, .02, 0, 0}, {.05, .02, .02, 2, 1},
	{.15, .02, .1, 1, 1}}

func newSlow(schema *model.Schema, axes []axis, opt Options) *slow {
	s := &slow{schema: schema, axes: axes, half: opt.HalfLives, opt: opt,
		w: map[slot]*[cards]float64{}, g: map[slot]*[cards]float64{}}
	for e := range s.q {
		s.q[e] = 1. / experts
	}
	return s
}

func (s *slow) margins() int {
	if len(s.schema.Classes) == 2 {
		return 1
	}
	return len(s.schema.Classes)
}

// uses reports whether a card has the horizon, and among how many.
func (s *slow) uses(card, h int) (bool, float64) {
	n := int(recipesByHand[card][3])
	if n == 0 {
		n = len(s.half)
	}
	return h >= len(s.half)-n, float64(n)
}

func (s *slow) weight(at slot) (w, g *[cards]float64) {
	if s.w[at] == nil {
		w, g = &[cards]float64{}, &[cards]float64{1, 1, 1, 1}
		for k, r := range recipesByHand {
			use, n := s.uses(k, at.of)
			switch {
			case at.kind == "lift" && use:
				w[k] = r[0] / n
			case at.kind == "base" && use:
				w[k] = 1 / n
			case at.kind == "other" && s.opt.Blocks[at.at].Fitted:
				w[k] = r[4]
			}
		}
		s.w[at], s.g[at] = w, g
	}
	return s.w[at], s.g[at]
}

// unit is the weight of one record's worth of evidence: the sum of the squares of the weights over their sum.
func (s *slow) unit() float64 {
	var sum, square float64
	for _, ex := range s.kept {
		sum, square = sum+ex.Weight, square+ex.Weight*ex.Weight
	}
	if sum == 0 {
		return 1
	}
	return square / sum
}

// now is the clock of the next record and the newest time.
func (s *slow) now() (clock float64, newest int64) {
	for _, ex := range s.kept {
		clock, newest = max(clock, ex.Clock+1), max(newest, ex.Time)
	}
	return clock, newest
}

// age is the weight of a record, beside that of one that is learnt now, over horizon h.
func (s *slow) age(h int, clock float64, time int64) float64 {
	now, newest := s.now()
	switch {
	case s.half[h].Records > 0:
		return math.Exp2((clock - now) / s.half[h].Records)
	case s.half[h].Duration > 0:
		if time == 0 {
			time = newest
		}
		return math.Exp2(float64(time-newest) / float64(s.half[h].Duration))
	}
	return 1
}

// cellOf is the cell of a value of feature f, its neighbour and the neighbour's part.
func (s *slow) cellOf(f int, v float64) (cell, side int, part float64) {
	a := &s.axes[f]
	if s.schema.Features[f].Kind != model.Continuous {
		if v >= 0 {
			return 2 + int(v), 0, 0
		}
		return 0, 0, 0
	}
	if v != v {
		return 0, 0, 0
	}
	n := 0
	for n < len(a.edges) && a.edges[n] < v {
		n++
	}
	if n < len(a.edges) && a.edges[n] == v && a.at[n] != a.gap[n] {
		return int(a.at[n]), 0, 0
	}
	cell = int(a.gap[n])
	if !a.smooth {
		return cell, 0, 0
	}
	// The middle of the whole run of stretches of a cell, open at an end: its only edge.
	middle := func(cell int) float64 {
		lo, hi := math.Inf(-1), math.Inf(1)
		first := true
		for i, c := range a.gap {
			if int(c) != cell {
				continue
			}
			if first && i > 0 {
				lo = a.edges[i-1]
			}
			first, hi = false, math.Inf(1)
			if i < len(a.edges) {
				hi = a.edges[i]
			}
		}
		if math.IsInf(lo, 0) {
			return hi
		}
		if math.IsInf(hi, 0) {
			return lo
		}
		return (lo + hi) / 2
	}
	mid := middle(cell)
	next := cell + 1 // stretches are numbered along the axis
	if v < mid {
		next = cell - 1
	}
	if next < int(a.gap[0]) || next > int(a.gap[len(a.gap)-1]) {
		return cell, 0, 0
	}
	return cell, next, min((v-mid)/(middle(next)-mid), 1)
}

// counted sums the weights of each class over horizon h: of all records, or of those in a cell of a feature.
func (s *slow) counted(h, f, cell int) []float64 {
	out := make([]float64, len(s.schema.Classes))
	for _, ex := range s.kept {
		if f >= 0 {
			if c, _, _ := s.cellOf(f, ex.Row[f]); c != cell {
				continue
			}
		}
		out[ex.Class] += ex.Weight * s.age(h, ex.Clock, ex.Time)
	}
	return out
}

// rates are the base rates over horizon h, with a pseudo-record of each class that fades and a tenth that does not.
func (s *slow) rates(h int) []float64 {
	v := s.counted(h, -1, 0)
	first := s.firstTime()
	sum := 0.
	for c := range v {
		v[c] += (s.age(h, 0, first) + .1) * s.unit()
		sum += v[c]
	}
	for c := range v {
		v[c] /= sum
	}
	return v
}

func (s *slow) firstTime() int64 {
	if len(s.kept) == 0 {
		return 0
	}
	return s.kept[0].Time
}

// margin turns one number a class into one a margin: for two classes the second less the first.
func (s *slow) margin(v []float64) []float64 {
	if s.margins() == 1 {
		return []float64{v[1] - v[0]}
	}
	return v
}

// inputs computes all inputs of a row.
func (s *slow) inputs(row model.Row, others []float64) remembered {
	m := remembered{shared: map[slot][]float64{}, own: []float64{1}, learnt: s.learnt}
	C := len(s.schema.Classes)
	for h, half := range s.half {
		rate, logs := s.rates(h), make([]float64, C)
		for c := range logs {
			logs[c] = math.Log(rate[c])
		}
		m.shared[slot{"base", 0, h, 0}] = s.margin(logs)
		late := 1.
		if half.Records > 0 {
			late = 1 / (1 + s.lag/(30*half.Records))
		}
		for f := range s.axes {
			cell, side, part := s.cellOf(f, row[f])
			n, beside := s.counted(h, f, cell), s.counted(h, f, side)
			sum := 0.
			for c := range n {
				n[c] = (1-part)*n[c] + part*beside[c]
				sum += n[c]
			}
			lifts := make([]float64, C)
			for c := range n {
				lifts[c] = late * math.Log((n[c]+s.opt.Prior*s.unit()*rate[c])/((sum+s.opt.Prior*s.unit())*rate[c]))
			}
			m.shared[slot{"lift", f, h, 0}] = s.margin(lifts)
		}
	}
	at := 0
	for b, block := range s.opt.Blocks {
		for j := range block.Inputs {
			v := make([]float64, C)
			if len(others) > 0 {
				copy(v, others[at*C:])
			}
			v = s.margin(v)
			for k := range v {
				if v[k] = min(max(v[k], -50), 50); v[k] != v[k] {
					v[k] = 0
				}
			}
			m.shared[slot{"other", b, j, 0}] = v
			at++
		}
	}
	for f := range s.axes {
		if s.schema.Features[f].Kind != model.Nominal {
			m.own = append(m.own, s.standard(f, row[f]))
		}
	}
	return m
}

// standard is a linear input: standardised by all records, beside which one stands at the centre of the axis at its
// deviation.
func (s *slow) standard(f int, v float64) float64 {
	feature := &s.schema.Features[f]
	known := func(v float64) bool { return v == v && (len(feature.Levels) == 0 || v < float64(len(feature.Levels))) }
	if !known(v) {
		return 0
	}
	a := &s.axes[f]
	n, sum, square := s.unit(), s.unit()*a.center, s.unit()*(a.center*a.center+a.scale*a.scale)
	for _, ex := range s.kept {
		if x := ex.Row[f]; known(x) {
			n, sum, square = n+ex.Weight, sum+ex.Weight*x, square+ex.Weight*x*x
		}
	}
	mean := sum / n
	return min(max((v-mean)/math.Sqrt(square/n-mean*mean), -4), 4)
}

// raw are the margins of a card by the present weights.
func (s *slow) raw(card int, row model.Row, m *remembered) []float64 {
	z := make([]float64, s.margins())
	for at, v := range m.shared {
		w, _ := s.weight(at)
		for k := range z {
			z[k] += w[card] * v[k]
		}
	}
	s.each(row, m, func(at slot, u float64, _ bool) {
		w, _ := s.weight(at)
		z[at.margin] += w[card] * u
	})
	return z
}

// each yields the weights that each margin has of its own, and their inputs.
func (s *slow) each(row model.Row, m *remembered, yield func(at slot, u float64, cell bool)) {
	for k := range s.margins() {
		for j, u := range m.own {
			yield(slot{"own", j, 0, k}, u, false)
		}
		for f := range s.axes {
			cell, side, part := s.cellOf(f, row[f])
			yield(slot{"cell", f, cell, k}, 1-part, true)
			if part > 0 {
				yield(slot{"cell", f, side, k}, part, true)
			}
		}
	}
}

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-min(max(z, -12), 12))) }

// sharesOf returns the softmax of log-scores, each held to 12 below the largest.
func sharesOf(z []float64) []float64 {
	top, sum, p := math.Inf(-1), 0., make([]float64, len(z))
	for _, v := range z {
		top = max(top, v)
	}
	for k, v := range z {
		p[k] = math.Exp(max(v-top, -12))
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// against are the log-odds of each margin: those of class 1 of two, of each class against the rest of more.
func (s *slow) against(raw []float64) []float64 {
	if len(raw) == 1 {
		return raw
	}
	out := sharesOf(raw)
	for k, p := range out {
		p = min(max(p, 1e-6), 1-1e-6)
		out[k] = math.Log(p / (1 - p))
	}
	return out
}

// knots are where log-odds z lie: the knot below, of 25 from -6 to 6, and the part of the way to the next.
func knots(z float64) (int, float64) {
	v := (min(max(z, -6), 6) + 6) / 12 * (25 - 1.0001)
	return int(v), v - math.Floor(v)
}

// calibrated is the calibration of margin k of a card at log-odds z.
func (s *slow) calibrated(card, k int, z float64) float64 {
	var rest, hits [25]float64
	for b := range rest {
		p := logistic(-6 + .5*float64(b))
		hits[b], rest[b] = s.opt.Calibration.Prior*s.unit()*p, s.opt.Calibration.Prior*s.unit()*(1-p)
	}
	for i, ex := range s.weighed {
		b, part := knots(s.places[i][card*s.margins()+k])
		w := ex.Weight * math.Exp2(float64(i+1-len(s.weighed))/s.opt.Calibration.HalfLife)
		to := &rest
		if s.margins() == 1 && ex.Class == 1 || s.margins() > 1 && int(ex.Class) == k {
			to = &hits
		}
		to[b] += w * (1 - part)
		to[b+1] += w * part
	}
	b, part := knots(z)
	return (1-part)*math.Log(hits[b]/rest[b]) + part*math.Log(hits[b+1]/rest[b+1]) + z - min(max(z, -6), 6)
}

// score returns the propensities of a row and its memory.
func (s *slow) score(row model.Row, others []float64) ([]float64, remembered) {
	m := s.inputs(row, others)
	mixed := make([]float64, s.margins())
	for card := range cards {
		m.raw[card] = s.raw(card, row, &m)
		cal := make([]float64, s.margins())
		sum := 0.
		for k, z := range s.against(m.raw[card]) {
			cal[k] = s.calibrated(card, k, z)
			sum += logistic(cal[k])
		}
		for k := range cal {
			if s.margins() > 1 {
				cal[k] = math.Log(logistic(cal[k]) / sum)
			}
			mixed[k] += s.q[2*card]*m.raw[card][k] + s.q[2*card+1]*cal[k]
		}
		m.calibrated[card] = cal
	}
	if s.margins() > 1 {
		return sharesOf(mixed), m
	}
	p := logistic(mixed[0])
	return []float64{1 - p, p}, m
}
