package propensity

import (
	"math"

	"liftstream/model"
)

// Explain takes the score of the record apart. It must be called before the next record is learnt, for it uses the
// weights that scored the record.
//
// For two classes the log-odds are sum_f of contributions, so nothing has to be shared out. For more, with u the mixed
// log-scores and pi_j = p_j/(1-p_t) for j != t, ln(p_t/(1-p_t)) = u_t - sum_j pi_j u_j + sum_j pi_j ln pi_j, which is
// linear in u: a feature's effect is its part of u_t less its mean part of the others, and the entropy belongs to the
// intercept. What the calibrated experts add to the raw ones, and what clipping takes away, is the calibration's.
func (s *Scorecard) Explain(row model.Row, pending []float64, target int32, dst []model.Reason) []model.Reason {
	trained := s.axes != nil && len(pending) == len(s.tmp) && pending[s.slots*s.margins] == 1
	if !trained {
		for i := range s.features {
			f := s.features[i].index
			dst = append(dst, model.Reason{Feature: int32(f), Value: row[f], Lift: math.NaN()})
		}
		p := s.BaseRate(target)
		return append(dst, model.Reason{Feature: model.TermIntercept, Value: math.NaN(), Effect: math.Log(p / (1 - p)), Lift: math.NaN()})
	}
	s.locate(row)
	var part [cards]float64 // share of each card, raw and calibrated together
	for k := range part {
		part[k] = s.q[2*k] + s.q[2*k+1]
	}
	K, H := s.margins, s.horizons
	dir := s.direct(pending, int(target))
	var total, sum float64
	if K == 1 {
		total = dir[0] * clip(s.mixed2(pending), maxLogit)
	} else {
		p := s.prob[:K]
		s.mixedN(pending, p)
		total = math.Log(p[target] / (1 - p[target]))
	}
	x := pending[:s.slots*K]
	own := pending[s.slots*K:]
	lift := func(i int) (e float64) { // of shared input i
		w := dot(&s.cur.in[i].w, &part)
		for k := range K {
			e += dir[k] * x[i*K+k]
		}
		return e * w
	}
	free := func(p []pair) (e float64) { // of per-class weights
		for k := range K {
			e += dir[k] * dot(&p[k].w, &part)
		}
		return e
	}
	base := s.observedRate(int(target))
	for i := range s.features {
		f := &s.features[i]
		var e float64
		for h := range H {
			e += lift(i*H + h)
		}
		c := s.cells[i]
		if c != noCell {
			p, t := s.cur.feat[i].pair, s.parts[i]
			e += (1 - t) * free(p[c*K:c*K+K])
			if t > 0 {
				e += t * free(p[s.sides[i]*K:s.sides[i]*K+K])
			}
		}
		if f.linear >= 0 {
			j := 1 + f.linear
			e += own[j] * free(s.cur.own[j*K:j*K+K])
		}
		l, n := s.cellLift(i, c, int(target), base)
		dst = append(dst, model.Reason{Feature: int32(f.index), Value: row[f.index], Effect: e, Lift: l, N: n})
		sum += e
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
		merged := false
		for _, was := range s.opt.Blocks[:b] {
			merged = merged || was.Term == block.Term
		}
		if merged {
			for j := range dst {
				if dst[j].Feature == block.Term {
					dst[j].Effect += e
					sum += e
					break
				}
			}
			continue
		}
		term(block.Term, e)
	}
	term(model.TermCalibration, total-sum)
	return dst
}

// direct writes the weights with which the margins make up the log-odds of the target.
func (s *Scorecard) direct(pending []float64, target int) []float64 {
	dir := s.dirs[:s.margins]
	if s.margins == 1 {
		dir[0] = float64(2*target - 1)
		return dir
	}
	s.mixedN(pending, dir)
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

// observedRate is the never-forgetting rate of the class without any prior, NaN before the first record.
func (s *Scorecard) observedRate(class int) float64 {
	all := s.cur.class[s.forever*s.classes : (s.forever+1)*s.classes]
	var n float64
	for _, v := range all {
		n += v
	}
	return all[class] / n
}

// cellLift is the never-forgetting lift of the class in a cell over its base rate, NaN where undefined, and the weight of
// the cell's records in units of evidence.
func (s *Scorecard) cellLift(i, cell, class int, base float64) (lift, n float64) {
	if cell == noCell {
		return math.NaN(), 0
	}
	at := (cell*len(s.half) + s.forever) * s.classes
	counts := s.cur.feat[i].count[at : at+s.classes]
	for _, v := range counts {
		n += v
	}
	if !(n > 0) || !(base > 0) {
		return math.NaN(), n / s.unit
	}
	return counts[class] / n / base, n / s.unit
}

// mixed2 is the mixture's log-odds of remembered margins.
func (s *Scorecard) mixed2(pending []float64) (sum float64) {
	raw := pending[s.slots+1+s.linear:]
	for k := range cards {
		sum += s.q[2*k]*raw[k] + s.q[2*k+1]*raw[cards+k]
	}
	return sum
}
