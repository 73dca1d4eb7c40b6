package propensity

import "math"

// shrunk is the part of the inverse mean square of a feature's contributions that counts as information about each of
// its cells: chosen on planted truths, see METHOD.md 11.
const shrunk = .25

// Variance returns the variance of the log-odds of the class of the last Effects that comes of the number of the
// records (METHOD.md 11): with p the propensity of that class, v = p(1-p), N the records ever learnt, n_f those of the
// record's cell of feature f, both effective (model.Unit), and c_f = shrunk / spread_f,
//
//	1/((N + 1) v) + sum_f [1/(n_f v + c_f) - 1/(N v + c_f)]
//
// spread has the mean square of the contributions of each feature, in the order of Effects. A scorecard without a
// structure knows nothing: NaN.
func (s *weights) Variance(p float64, spread []float64) float64 {
	if s.axes == nil || len(spread) < len(s.features) {
		return math.NaN()
	}
	v := p * (1 - p)
	var all float64
	for _, n := range s.cur.class[s.forever*s.classes : (s.forever+1)*s.classes] {
		all += n
	}
	all /= s.unit
	sum := 1 / ((all + 1) * v)
	for i := range s.features {
		if s.cells[i] == noCell {
			continue
		}
		n := s.cellSum(i, s.cells[i], s.forever) / s.unit
		if t := s.parts[i]; t > 0 {
			n += t * (s.cellSum(i, s.sides[i], s.forever)/s.unit - n)
		}
		c := shrunk / max(spread[i], leastSpread)
		sum += 1/(n*v+c) - 1/(max(all, n)*v+c)
	}
	return sum
}

// leastSpread bounds the mean square of a feature's contributions.
const leastSpread = 1e-6
