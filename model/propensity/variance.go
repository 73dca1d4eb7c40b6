package propensity

import "math"

// lasting is the number of records beyond which further ones make a propensity hardly surer: weights, calibration
// and mixture follow the newest records for ever. Chosen on planted truths, see METHOD.md 11.
const lasting = 5000.

// narrower is the factor by which the weights of a feature vary less than its contributions do: these have the errors
// of the weights in them. Chosen likewise.
const narrower = 1.5

// Variance returns the variance of the log-odds of the class target of the last Effects that comes of the number of the
// records (METHOD.md 11). Of p, the propensity of target, v = p(1-p); of r_f, the rate of target in the record's cell
// of feature f, v_f = min(v, r_f (1-r_f)); of the base rate h, v_0 = min(v, h(1-h)). With N records ever learnt, n_f
// of them in the cell, both effective (model.Unit) and both times M / (M + N), M = lasting, and c_f = narrower /
// spread_f it is
//
//	1/((N + 1) v_0) + sum_f max(1/(n_f v_f + c_f) - 1/(N v_0 + c_f), 0)
//
// spread has the mean square of the contributions of each feature, in the order of Effects. A scorecard without a
// structure knows nothing: NaN.
func (s *weights) Variance(target int32, p float64, spread []float64) float64 {
	if s.axes == nil || len(spread) < len(s.features) {
		return math.NaN()
	}
	var all float64
	class := s.cur.class[s.forever*s.classes : (s.forever+1)*s.classes]
	for _, n := range class {
		all += n
	}
	h := (class[target] + s.unit/2) / (all + s.unit)
	v := p * (1 - p)
	least := min(v, h*(1-h))
	kept := lasting / (lasting + all/s.unit) / s.unit
	all *= kept
	sum := 1 / ((all + 1) * least)
	for i := range s.features {
		if s.cells[i] == noCell {
			continue
		}
		n, of := classSum(&s.counts, i, s.cells[i], int(target))
		if t := s.parts[i]; t > 0 {
			side, ofSide := classSum(&s.counts, i, s.sides[i], int(target))
			n, of = n+t*(side-n), of+t*(ofSide-of)
		}
		m := s.opt.Prior * s.unit
		r := (of + m*h) / (n + m)
		c := narrower / max(spread[i], leastSpread)
		sum += max(1/(n*kept*min(v, r*(1-r))+c)-1/(max(all, n*kept)*least+c), 0)
	}
	return sum
}

// leastSpread bounds the mean square of a feature's contributions.
const leastSpread = 1e-6

// classSum is cellSum over all records ever learnt, and the part of it of one class.
func classSum(s *counts, i, cell, class int) (n, of float64) {
	at, count := (cell*len(s.half)+s.forever)*s.classes, s.cur.feat[i].count
	if k := s.far[i]; k >= 0 && cell == s.cells[i] {
		at, count = s.forever*s.classes, s.cur.feat[i].further.at(k)
	}
	for _, v := range count[at : at+s.classes] {
		n += v
	}
	return n, count[at+class]
}
