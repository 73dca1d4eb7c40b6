package trees

import "math"

// shrinkRounds is the number of rounds in which the factors of the additive model are chosen.
const shrinkRounds = 6

// shrunk writes the log-odds of a record: those of the class shares, and the parts of the additive model times their
// factors.
func (e *ensemble) shrunk(i int32, factors, z []float64) {
	copy(z, e.constant)
	for k, f := range factors {
		if f != 0 {
			for m, v := range e.part(k, i) {
				z[m] += f * v
			}
		}
	}
}

// begin puts every record where the trees begin: at the shrunken additive model.
func (e *ensemble) begin(factors []float64) {
	for i := range e.len() {
		e.shrunk(int32(i), factors, e.z[i*e.margins:(i+1)*e.margins])
	}
}

// total returns the log-odds of the record with the trees of the chosen rounds.
func (e *ensemble) total(i int32, factors []float64, rounds int, z []float64) {
	e.shrunk(i, factors, z)
	for _, t := range e.trees[:min(rounds*e.margins, len(e.trees))] {
		if t != nil {
			z[t.margin] += t.at(e.records, i)
		}
	}
}

// evenFactors are tried for all parts of the additive model together.
var evenFactors = [...]float64{1, .8, .6, .4, .2, 0}

// even chooses one factor for all parts of the additive model, that of the least log-loss on the records that each
// ensemble has not seen.
func even(es []*ensemble) []float64 {
	factors, best, least := make([]float64, len(es[0].parts)), 1., math.Inf(1)
	z := make([]float64, es[0].margins)
	for _, f := range evenFactors {
		sum := 0.
		for k := range factors {
			factors[k] = f
		}
		for _, e := range es {
			for _, i := range e.held {
				e.shrunk(i, factors, z)
				sum += e.weight[i] * loss(z, e.class[i])
			}
		}
		if sum < least {
			best, least = f, sum
		}
	}
	for k := range factors {
		factors[k] = best
	}
	return factors
}

// shrink chooses a factor from 0 to 1 for each part of the additive model, by Newton steps part after part on the
// records that each ensemble has not seen,
//
//	d = - sum w sum_m (p_m - y_m) c_m / sum w (sum_m p_m c_m^2 - (sum_m p_m c_m)^2),
//
// c being the part of the record; of one margin the curvature is w p (1 - p) c^2. An additive model that is too sure of
// itself, as of few records or in a stream that moves, is no measure of the scorecard, which learns how far to go.
// beside, if not nil, adds to the log-odds of record i of an ensemble.
func shrink(es []*ensemble, beside func(e *ensemble, i int32, z []float64)) []float64 {
	M := es[0].margins
	factors, z, at := make([]float64, len(es[0].parts)), make([][]float64, len(es)), make([]float64, M)
	for k := range factors {
		factors[k] = 1
	}
	for j, e := range es {
		z[j] = make([]float64, len(e.held)*M)
		for n, i := range e.held {
			own := z[j][n*M : (n+1)*M]
			e.shrunk(i, factors, own)
			if beside != nil {
				beside(e, i, own)
			}
		}
	}
	for range shrinkRounds {
		for k := range factors {
			g, h := 0., 0.
			for j, e := range es {
				for n, i := range e.held {
					copy(at, z[j][n*M:])
					a, b := slope(at, e.part(k, i), e.class[i])
					g += e.weight[i] * a
					h += e.weight[i] * b
				}
			}
			if !(h > 0) {
				continue
			}
			d := min(max(factors[k]-g/h, 0), 1) - factors[k]
			factors[k] += d
			for j, e := range es {
				for n, i := range e.held {
					for m, v := range e.part(k, i) {
						z[j][n*M+m] += d * v
					}
				}
			}
		}
	}
	return factors
}

// slope returns the first and second derivative of the log-loss at z in the direction of c. z is overwritten.
func slope(z, c []float64, class int32) (g, h float64) {
	if len(z) == 1 {
		p := sigmoid(z[0])
		return (p - float64(class)) * c[0], p * (1 - p) * c[0] * c[0]
	}
	softmax(z)
	mean := 0.
	for m, p := range z {
		g += p * c[m]
		mean += p * c[m]
		h += p * c[m] * c[m]
	}
	return g - c[class], h - mean*mean
}
