package propensity

import (
	"liftstream/model"
)

// counts are the class counts, over all records and by cell, with the clock by which they fade, and the moments of
// linear inputs. Log-lifts and base rates are made of them.
type counts struct {
	structure
	clock clock
	// prior is the pseudo-record that stands beside the count of each class, in units of evidence, faded like everything
	// else.
	prior  []float64
	mass   mass    // of the records that this partition has learnt
	others mass    // of the records in away
	lag    float64 // records that are learnt between the score and the label of a record, a fading mean

	unit    float64     // weight of one record's worth of evidence, model.Unit
	rates   []rate      // of each horizon, two classes
	base    []float64   // the same in the form of ratios, horizons x (class 0, class 1): pseudo-records
	times   []float64   // and 1, inverse base odds
	shares  []classRate // of each horizon and class, more classes
	wt      []float64   // half-lives: room to work, as the next two
	blended []float64   // half-lives x classes
	every   everyRecord // of the records so far
	iso     isotonic
}

// deriveCounts computes everything that follows from the counts but rates, which refresh does.
func (s *counts) deriveCounts() {
	s.rates, s.shares = make([]rate, s.horizons), make([]classRate, s.horizons*s.classes)
	s.every = newEveryRecord(s.horizons)
	s.base, s.times = make([]float64, 2*s.horizons), make([]float64, 2*s.horizons)
	s.wt, s.blended = make([]float64, len(s.half)), make([]float64, len(s.half)*s.classes)
	s.weigh(0, 1)
}

// mass is the sum of the weights of records and of their squares.
type mass struct{ weight, square float64 }

// add adds a record of weight w or, by sign -1, takes it out; where rounding is all that is left, nothing is.
func (m *mass) add(w, sign float64) {
	m.weight += sign * w
	m.square += sign * w * w
	if sign < 0 && !(m.weight > 1e-9*w && m.square > 1e-9*w*w) {
		*m = mass{}
	}
}

// rate holds the figures of the class counts that the log-lifts of one horizon need, two classes.
type rate struct {
	a, b  float64 // pseudo-records of class 1 and of class 0
	odds  float64 // inverse base odds
	logit float64 // base log-odds
}

// classRate is the base rate of a class over one horizon, and its logarithm.
type classRate struct{ p, log float64 }

// weigh notes the weight of a record that is learnt or, by sign -1, taken back.
func (s *counts) weigh(w, sign float64) {
	s.mass.add(w, sign)
	s.unit = model.Unit(s.mass.weight+s.others.weight, s.mass.square+s.others.square)
	s.every.known = false
}

// refresh recomputes the base rates that scores need from the class counts and the clock.
func (s *counts) refresh() {
	s.every.known = false
	if s.margins != 1 {
		C := s.classes
		for h := range s.rates {
			var sum float64
			t, r := s.cur.class[h*C:h*C+C], s.shares[h*C:h*C+C]
			for c, v := range t {
				r[c].p = v + s.pseudo(h)
				sum += r[c].p
			}
			for c := range r {
				r[c].p /= sum
				r[c].log = ln(r[c].p)
			}
		}
		return
	}
	for h := range s.rates {
		v := s.pseudo(h)
		n0, n1 := s.cur.class[2*h]+v, s.cur.class[2*h+1]+v
		m := s.opt.Prior * s.unit * s.clock.now[h] / (n0 + n1)
		r := rate{a: m * n1, b: m * n0, odds: n0 / n1, logit: ln(n1 / n0)}
		s.rates[h] = r
		s.base[2*h], s.base[2*h+1], s.times[2*h], s.times[2*h+1] = r.b, r.a, 1, r.odds
	}
}

// pseudo is the weight that stands beside the count of each class over horizon h: the rest of the pseudo-record, and
// the part that never fades.
func (s *counts) pseudo(h int) float64 { return (s.prior[h] + s.rateFloor*s.clock.now[h]) * s.unit }

// BaseRate is the never-forgetting rate of the class, with one pseudo-record of each class.
func (s *counts) BaseRate(class int32) float64 {
	n := s.cur.class[s.forever*s.classes : (s.forever+1)*s.classes]
	v := s.prior[s.forever] * s.unit
	var sum float64
	for _, x := range n {
		sum += x + v
	}
	return (n[class] + v) / sum
}

// count adds a record to the counts of its cells (s.cells) and moves the clock behind it.
func (s *counts) count(ex *model.Example) {
	if ex.Clock > s.clock.records || ex.Time > s.clock.time {
		s.clock.advance(s.half, ex.Clock, ex.Time, s.rescale)
	}
	s.addCounts(ex, 1)
	s.clock.advance(s.half, ex.Clock+1, ex.Time, s.rescale)
	s.refresh()
}

func (s *counts) rescale(h int, v float64) {
	s.plan.scale(s.cur, h, v)
	s.prior[h] *= v
	if s.away != nil {
		s.plan.scale(s.away, h, v)
	}
}

func (s *counts) addCounts(ex *model.Example, sign float64) {
	w := sign * min(ex.Weight, model.MaxWeight)
	y, n := int(ex.Class), s.classes
	for h := range s.wt {
		s.wt[h] = w * s.clock.weight(h, s.half[h], ex.Clock, ex.Time)
		s.cur.class[h*n+y] += s.wt[h]
	}
	if sign < 0 {
		floor(s.cur.class)
	}
	if s.axes == nil {
		return
	}
	for i := range s.features {
		s.addCell(i, s.cells[i], y, sign < 0)
		if k := s.far[i]; k >= 0 {
			s.addTo(s.cur.feat[i].further.at(k), y, sign < 0)
		}
		f := &s.features[i]
		if v := ex.Row[f.index]; f.linear >= 0 && f.number(v) {
			u := s.axes[i].unit(v)
			m := s.cur.mom[3*f.linear : 3*f.linear+3]
			m[0] += w
			m[1] += w * u
			m[2] += w * u * u
			if m[0] < 0 {
				clear(m)
			}
		}
	}
}

// addCell adds the weights s.wt to a cell.
func (s *counts) addCell(i, cell, y int, clamp bool) {
	if cell == noCell {
		return
	}
	n := len(s.wt) * s.classes
	s.addTo(s.cur.feat[i].count[cell*n:(cell+1)*n], y, clamp)
}

// addTo adds the weights s.wt to the counts of a cell.
func (s *counts) addTo(t []float64, y int, clamp bool) {
	for h, w := range s.wt {
		t[h*s.classes+y] += w
	}
	if clamp {
		floor(t)
	}
}

func floor(v []float64) {
	for i := range v {
		v[i] = max(v[i], 0)
	}
}

// relearn adds a record to the counts of the features whose cells changed.
func (s *counts) relearn(changed []int, ex *model.Example) {
	if len(changed) == 0 || !(ex.Weight > 0) || ex.Class < 0 || int(ex.Class) >= s.classes {
		return
	}
	w := min(ex.Weight, model.MaxWeight)
	for h := range s.wt {
		s.wt[h] = w * s.clock.weight(h, s.half[h], ex.Clock, ex.Time)
	}
	for _, i := range changed {
		s.addCell(i, s.axes[i].find(ex.Row[s.features[i].index]), int(ex.Class), false)
	}
}

// records is the number of labelled records, ever, that those of a cell are worth.
func (s *counts) records(i, cell int) float64 {
	if cell == noCell {
		return 0
	}
	return s.cellSum(i, cell, s.forever) / s.unit
}
