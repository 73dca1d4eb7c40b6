package propensity

import (
	"math"

	"liftstream/model"
)

// Correct makes good the effects of the class was beside the counts (METHOD.md 9): on the calibration, the mixture, the
// weights and the last layer. It learns the difference between a record of class ex.Class and one of class was, with
// the inputs of now. A weight that is not above 0, or a class outside the schema, changes nothing.
func (s *Scorecard) Correct(ex *model.Example, was int32, inputs []float64) {
	if !(ex.Weight > 0) || min(ex.Class, was) < 0 || int(max(ex.Class, was)) >= s.classes || s.axes == nil {
		return
	}
	s.locate(ex.Row)
	m := s.tmp
	inputsOf(s, ex.Row, inputs, m, s.prob)
	w, mass := min(ex.Weight, model.MaxWeight), s.mass
	s.weigh(w, 1) // as Learn will: steps are measured in the weight of all records, this one among them
	if s.margins == 1 {
		correct2(s, int(ex.Class), w, m)
	} else {
		correctN(s, int(ex.Class), int(was), w, m)
	}
	s.mass = mass
	s.weigh(0, 1)
	s.learnt++
}

// correct2 corrects a record to class y, 0 or 1 of two, whose memory is m and whose cells are in s.cells.
func correct2(s *Scorecard, y int, weight float64, m memory) {
	sign := float64(2*y - 1)
	var like [experts]float64
	var r [cards]float64
	for k := range cards {
		like[2*k], like[2*k+1] = odds(sign*m.raw[k]), odds(sign*m.calibrated[k])
		r[k] = -sign
		s.cal.move(s.cal.table(s.cur.knot, k), m.raw[k], y, weight)
	}
	weight /= s.unit
	if s.res.knows(m) {
		s.res.base[0], s.res.off[0] = -sign, -sign
		s.res.correct(sign*(m.corrected[0]-m.mixed[0]), weight, m, &s.tuning)
	}
	s.mix.learn(&like, weight*s.rate, s.fixedShare)
	descend2(&s.weights, &r, weight, m.shared, m.own)
}

// correctN corrects a record from class was to y, whose memory is m and whose cells are in s.cells.
func correctN(s *Scorecard, y, was int, weight float64, m memory) {
	K := s.margins
	var like [experts]float64
	r := s.xs
	clear(r)
	for k := range cards {
		z, c := m.raw[k*K:k*K+K], m.calibrated[k*K:k*K+K]
		like[2*k], like[2*k+1] = odds(z[y]-z[was]), odds(c[y]-c[was])
		restOdds(z, s.logits)
		s.cal.move(s.cal.table(s.cur.knot, k*K+y), s.logits[y], 1, weight)
		s.cal.move(s.cal.table(s.cur.knot, k*K+was), s.logits[was], 0, weight)
		r[k*K+y], r[k*K+was] = -weight/s.unit, weight/s.unit
	}
	weight /= s.unit
	if s.res.knows(m) {
		clear(s.res.base)
		s.res.base[y], s.res.base[was] = -1, 1
		copy(s.res.off, s.res.base)
		s.res.correct(m.corrected[y]-m.corrected[was]-m.mixed[y]+m.mixed[was], weight, m, &s.tuning)
	}
	s.mix.learn(&like, weight*s.rate, s.fixedShare)
	descendN(&s.weights, r, m.shared, m.own)
}

// maxPower bounds the logarithm of a ratio of likelihoods.
const maxPower = 500

// odds are those of log-odds z, clipped.
func odds(z float64) float64 { return math.Exp(clip(z, maxLogit)) }

// correct lets the layer learn the difference of two classes, which stands in r.base and r.off; gain is by how much the
// residuals raise the log-odds of the new class to the former one.
func (r *residuals) correct(gain, weight float64, m memory, t *tuning) {
	share := 1 / (1 + (1-r.share)/r.share*math.Exp(-clip(weight*t.rate*gain, maxPower)))
	r.share = share*(1-t.fixedShare) + t.fixedShare/2
	r.step(m, weight)
	K := len(r.base)
	for j, h := range residualHalf {
		keep := math.Exp2(-weight / h)
		for k, v := range r.base {
			r.mean[j*K+k] = clip(r.mean[j*K+k]-(1-keep)*v, 1)
		}
	}
}
