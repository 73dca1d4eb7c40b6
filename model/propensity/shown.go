package propensity

import (
	"math"
	"slices"

	"liftstream/model"
)

// The lift that a reason shows beside its effect: the lift as the score used it, where it can be told from 1.

// chance is the share of the scores of values that tell nothing in which some feature shows a lift.
const chance = 0.05

// shownFrom is the number of standard deviations beyond which a change of log-odds is shown: the two-sided quantile of
// the normal distribution at chance over the number of features (Bonferroni), 2.94 of 15 features.
func shownFrom(features int) float64 {
	return math.Sqrt2 * math.Erfinv(1-chance/float64(max(features, 1)))
}

// sample is one horizon's knowledge of the record's cell of a feature, in effective records (model.Unit).
type sample struct {
	cell, side, all float64 // records of the cell, of the neighbouring cell that has a part in it, of all cells
	share           float64 // of all records: ((1-t) cell + t side)/all, t being the neighbour's part
	prior           float64 // pseudo-records of the base rate beside those of the cell
	weight          float64 // of a record of the cell in the mean log-lift
}

// shownLift is usedLift, NaN where it cannot be told from 1: where the change of the target's log-odds from its base
// rate p_0, or the change to first order in the rate (surely), is at most shownFrom of the standard deviations that it
// has where p_0 is the rate of the cell. The effect has no say in it. weight is the sum that towards returned of the
// feature.
func (s *weights) shownLift(i, target int, weight float64, dir []float64) float64 {
	if s.margins > 1 && !s.opt.Follow {
		lift, change, base := s.softLift(target, weight)
		if told, _ := shows(s, i, weight, change, base); told {
			return lift
		}
		return math.NaN()
	}
	change, z := changeOf(s, target, weight, dir)
	told, fall := shows(s, i, weight, change, 1/(1+z))
	if !told {
		return math.NaN()
	}
	return liftOf(fall, z)
}

// surely is the smaller of a change of log-odds from a rate p_0 to p and its first order, (p - p_0)/(p_0 (1 - p_0)).
// fall is exp(-change).
// Counts of a rare class are skewed: with none of 200 records where two are expected, which chance makes one time in
// seven, the log-odds go down by four, far more than their standard deviation of .7, and the first order by one.
func surely(change, fall, base float64) float64 {
	p := base / (base + (1-base)*fall)
	if first := (p - base) / (base * (1 - base)); math.Abs(first) < math.Abs(change) {
		return first
	}
	return change
}

// usedLift is the lift of the class target in the record's cell of a feature, as the score used it, p/p_0: the rate of
// the target where the feature alone moves it from the base rate, over the base rate. With l_c = X_c/sum_h W_h and b_c
// the mean of the base log-rates over the horizons, weighted alike,
//
//	p = softmax(b + l)_target,  p_0 = softmax(b)_target
//
// which for two classes is p = 1/(1 + exp(-b - l)) of the log-odds. X has the log-lifts as late labels draw them
// towards 0 (age), b has the rates as they are, as in the score: a cell that says nothing any more has lift 1.
//
// For more than two classes with Options.Follow the others count as the score of the record weighs them: l = dir
// X/sum_h W_h is a change of the target's log-odds, to the sign of which effects are bent. change is the change of the
// target's log-odds from p_0, base is p_0.
func (s *weights) usedLift(target int, weight float64, dir []float64) (lift, change, base float64) {
	if s.margins > 1 && !s.opt.Follow {
		return s.softLift(target, weight)
	}
	change, z := changeOf(s, target, weight, dir)
	return liftOf(math.Exp(-change), z), change, 1 / (1 + z)
}

// liftOf is the lift of a change of log-odds where the base rate is 1/(1 + z). fall is exp(-change).
func liftOf(fall, z float64) float64 { return (1 + z) / (1 + z*fall) }

// changeOf returns the change of the target's log-odds from the base rate p_0 of usedLift, and z = (1 - p_0)/p_0.
func changeOf(s *weights, target int, weight float64, dir []float64) (change, z float64) {
	var b float64
	for c, v := range s.ref {
		change += dir[c] * v
	}
	for h, w := range s.perHorizon {
		if s.margins == 1 {
			b += dir[0] * w * s.rates[h].logit
			continue
		}
		r := &s.shares[h*s.margins+target]
		b += w * (r.log - math.Log1p(-r.p))
	}
	return change / weight, math.Exp(-b / weight)
}

// softLift is usedLift for more than two classes. It does not depend on the other features of the record, and a class
// that no record has told of yet takes nothing from it but its base rate.
func (s *weights) softLift(target int, weight float64) (lift, change, base float64) {
	K := s.margins
	var rate, all, rateThere, allThere float64
	for c, v := range s.ref {
		var b float64
		for h, w := range s.perHorizon {
			b += w * s.shares[h*K+c].log
		}
		b, v = math.Exp(b/weight), math.Exp((b+v)/weight)
		all += b
		allThere += v
		if c == target {
			rate, rateThere = b, v
		}
	}
	base, there := rate/all, rateThere/allThere
	return there / base, math.Log(there/(1-there)) - math.Log(base/(1-base)), base
}

// spread is the variance of the change of the target's log-odds that usedLift returns, times p_0 (1 - p_0), were p_0
// the rate of the cell. The log-lift of horizon h is then, to first order, a sum over all records, of age weights a_h
// and outcomes y, with T_h the cell's records and the prior's, u the part of a record in the cell, 0 for others, and
// q_h the cell's share of the records:
//
//	x_h = sum a_h (u - q_h) (y - p_0) / (T_h p_0 (1 - p_0))
//
// so that the variance is sum_hh' g_h g_h' sum a_h a_h' (u - q_h)(u - q_h') / (T_h T_h'), with g_h = v_h W_h/sum W,
// v_h being the factor by which late labels shrink x_h (age). The sum a_h a_h' of a cell is its count over the
// half-life h h'/(h + h'), which lies between h/2 and h for the shorter: it is taken between the counts over the
// horizons on both sides, which is right for records that come evenly and for records that all came at once.
func (s *weights) spread(i int, weight float64) (sum float64) {
	t := s.parts[i]
	for h, w := range s.perHorizon {
		p := s.sampleOf(i, h)
		n := p.cell + t*(p.side-p.cell)
		p.share = n / p.all
		p.weight = w / weight / (n + p.prior)
		if s.lag > 0 && s.late > 0 {
			p.weight *= s.recent(h)
		}
		s.samples[h] = p
	}
	var none sample
	for h := range s.samples {
		p := &s.samples[h]
		if p.weight == 0 {
			continue
		}
		for j := range h + 1 {
			o, below := &s.samples[j], &none
			if j > 0 {
				below = &s.samples[j-1]
			}
			if o.weight == 0 {
				continue
			}
			cell, all := s.overlap(j, h, below.cell, o.cell, p.cell), s.overlap(j, h, below.all, o.all, p.all)
			once, twice := (1-t)*cell, (1-t)*(1-t)*cell
			if t > 0 {
				side := s.overlap(j, h, below.side, o.side, p.side)
				once, twice = once+t*side, twice+t*t*side
			}
			v := twice - (o.share+p.share)*once + o.share*p.share*all
			v *= o.weight * p.weight
			if j < h {
				v *= 2
			}
			sum += v
		}
	}
	return max(sum, 0)
}

// overlap is sum a_j a_h of records of which the shorter horizon j knows m, the next shorter one than j below, and
// horizon h knows n.
func (s *counts) overlap(j, h int, below, m, n float64) float64 {
	if h == s.forever {
		return m
	}
	if t := s.between[j*s.horizons+h]; t >= 0 {
		return below + t*(m-below)
	}
	if !(m > 0 && n > 0) {
		return 0
	}
	return m * n / (m + n)
}

// between returns for horizons j <= h where the half-life of the product of their age weights lies between the next
// shorter half-life than j, or 0, and that of j, 0 to 1; -1 where these are not three of records or three of time.
func between(half []model.HalfLife) []float64 {
	n := len(half)
	out := slices.Repeat([]float64{-1}, n*n)
	for j := range half {
		for h := j; h < n; h++ {
			var v [3]float64 // of the next shorter, of j, of h
			for k, x := range []int{j - 1, j, h} {
				switch {
				case x < 0: // none is shorter
				case half[j].Records > 0:
					v[k] = half[x].Records
				default:
					v[k] = float64(half[x].Duration)
				}
			}
			if (v[0] > 0 || j == 0) && v[1] > 0 && v[2] > 0 {
				if product := v[1] * v[2] / (v[1] + v[2]); v[1] > v[0] {
					out[j*n+h] = max(0, product-v[0]) / (v[1] - v[0])
				}
			}
		}
	}
	return out
}

// sampleOf returns the records that horizon h knows of the cell of feature i, or of the run of cells whose rates order
// has pooled with it.
func (s *counts) sampleOf(i, h int) (p sample) {
	unit := s.unit * s.clock.now[h]
	p.prior = s.opt.Prior
	for _, v := range s.cur.class[h*s.classes : (h+1)*s.classes] {
		p.all += v
	}
	p.all = (p.all + float64(s.classes)*s.pseudo(h)) / unit
	if s.order[i] != nil {
		if b, ok := s.pooled(i, s.cells[i], h); ok {
			p.prior = float64(b.n) * s.opt.Prior
			p.cell = max((b.a+b.b)/unit-p.prior, 0)
			return p
		}
	}
	p.cell = s.cellSum(i, s.cells[i], h) / unit
	if s.parts[i] > 0 {
		p.side = s.cellSum(i, s.sides[i], h) / unit
	}
	return p
}

// cellSum is the weight that a cell of feature i has over horizon h, of all classes: of the record's cell where its
// level has one among the further ones, that of this.
func (s *counts) cellSum(i, cell, h int) (n float64) {
	at, count := (cell*len(s.half)+h)*s.classes, s.cur.feat[i].count
	if k := s.far[i]; k >= 0 && cell == s.cells[i] {
		at, count = h*s.classes, s.cur.feat[i].further.at(k)
	}
	for _, v := range count[at : at+s.classes] {
		n += v
	}
	return n
}
