package propensity

import (
	"math"

	"liftstream/model"
)

// Effects takes the score of the record apart. It must be called before the next record is learnt, for it uses the
// weights that scored the record.
//
// For two classes the log-odds are sum_f of contributions, so nothing has to be shared out. For more, with u the mixed
// log-scores and pi_j = p_j/(1-p_t) for j != t, ln(p_t/(1-p_t)) = u_t - sum_j pi_j u_j + sum_j pi_j ln pi_j, which is
// linear in u: a feature's effect is its part of u_t less its mean part of the others, and the entropy belongs to the
// intercept. With Options.Follow no effect has another sign than its lift. The share of the calibrated experts beyond
// that of the raw ones is the calibration's, and so are the slope of the last layer and the loss by clipping.
func (s *Scorecard) Effects(row model.Row, pending []float64, target int32, dst []model.Reason) []model.Reason {
	var m memory
	if s.axes != nil && len(pending) == s.memorySize() {
		m = s.memoryOf(pending)
	}
	if !m.structured() {
		for i := range s.features {
			f := s.features[i].index
			dst = append(dst, model.Reason{Feature: int32(f), Value: row[f], Lift: math.NaN()})
		}
		p := s.BaseRate(target)
		odds := math.Log(p / (1 - p))
		return append(dst, model.Reason{Feature: model.TermIntercept, Value: math.NaN(), Effect: odds, Lift: math.NaN()})
	}
	s.locate(row)
	clear(s.quick.done)
	part := s.mix.part
	K, H := s.margins, s.horizons
	dir := s.direct(m, int(target))
	var total, sum float64
	if K == 1 {
		total = dir[0] * clip(s.res.published(m, 0), maxLogit)
	} else {
		p := s.prob[:K]
		s.published(m, p)
		total = math.Log(p[target] / (1 - p[target]))
	}
	lift := func(i int) (e float64) { // of shared input i
		w := dot(&s.cur.in[i].w, &part)
		for k, v := range m.input(i, K) {
			e += dir[k] * v
		}
		return e * w
	}
	free := func(p []pair) (e float64) { // of per-class weights
		for k := range K {
			e += dir[k] * dot(&p[k].w, &part)
		}
		return e
	}
	if K == 1 && !s.opt.Follow {
		dst, sum = effects2(s, row, m, dir[0], dst)
	} else {
		for i := range s.features {
			s.moves(i, m.shared, m.own)
			if s.opt.Follow {
				s.towards(i, m.shared)
				s.straight()
			}
			var e float64
			for k := range cards {
				for c, d := range dir {
					e += part[k] * d * s.moved[k*K+c]
				}
			}
			dst = append(dst, reasonOf(s, i, row, e))
			sum += e
		}
	}
	term := func(f int32, e float64) {
		dst = append(dst, model.Reason{Feature: f, Value: math.NaN(), Effect: e, Lift: math.NaN()})
		sum += e
	}
	at := len(s.features) * H
	intercept := free(s.cur.own[:K])
	for h := range H {
		intercept += lift(at + h)
	}
	if K > 1 {
		for k, d := range dir {
			if k != int(target) && d < 0 {
				intercept -= d * math.Log(-d)
			}
		}
	}
	term(model.TermIntercept, intercept)
	at += H
	for b, block := range s.opt.Blocks {
		var e float64
		for i := range block.Inputs {
			e += lift(at + i)
		}
		at += block.Inputs
		term(model.TermOf(b), e)
	}
	if s.plan.residuals > 0 {
		term(model.TermRecent, s.res.effect(m, dir))
	}
	term(model.TermCalibration, total-sum)
	return dst
}

// reasonOf is that of feature i with the effect e, without its lift.
func reasonOf(s *Scorecard, i int, row model.Row, e float64) model.Reason {
	f := s.features[i].index
	return model.Reason{Feature: int32(f), Value: row[f], Effect: e, Lift: math.NaN(), N: s.records(i, s.cells[i])}
}

// Lift returns the lift of feature i in the record of the last Effects as the score used it (usedLift), NaN where it
// cannot be told from 1 (shownLift) or has no records.
func (s *Scorecard) Lift(pending []float64, target int32, i int) float64 {
	if s.axes == nil || len(pending) != s.memorySize() {
		return math.NaN()
	}
	at := s.slots * s.margins
	shared, structured := pending[:at], pending[at] == 1
	if !structured || !(s.records(i, s.cells[i]) > 0) {
		return math.NaN()
	}
	if quickly(&s.weights, i) {
		return quickLift(&s.weights, i, shared, s.dirs[0])
	}
	return s.shownLift(i, int(target), s.towards(i, shared), s.dirs[:s.margins])
}

// Apportion returns the contribution of values, one a class, in input j of the other components to the log-odds of the
// target of the last Effects. With Options.Follow it is 0: a feature's effect then has the sign of its lift.
func (s *weights) Apportion(j int, values []float64) (e float64) {
	if s.axes == nil || s.opt.Follow || j >= len(s.ext) || s.ext[j] < 0 {
		return 0
	}
	dir := s.dirs[:s.margins]
	if s.margins == 1 {
		e = dir[0] * (values[1] - values[0])
	} else {
		for k, d := range dir {
			e += d * values[k]
		}
	}
	return e * dot(&s.cur.in[s.ext[j]].w, &s.mix.part)
}

// direct writes the weights with which the margins make up the log-odds of the target.
func (s *Scorecard) direct(m memory, target int) []float64 {
	dir := s.dirs[:s.margins]
	if s.margins == 1 {
		dir[0] = float64(2*target - 1)
		return dir
	}
	s.published(m, dir)
	rest := 1 - dir[target]
	for k := range dir {
		dir[k] = -dir[k] / rest
	}
	dir[target] = 1
	return dir
}

func dot(a, b *[cards]float64) (v float64) {
	for k := range a {
		v += a[k] * b[k]
	}
	return v
}

// mixed2 is the mixture's log-odds of remembered margins.
func (s *weights) mixed2(m memory) (sum float64) {
	for k := range cards {
		sum += s.mix.q[2*k]*m.raw[k] + s.mix.q[2*k+1]*m.calibrated[k]
	}
	return sum
}
