package evaluate

import (
	"cmp"
	"math"
	"slices"
)

// item is one record of a one-against-the-rest problem: weight is positive for a positive, negative for a negative.
type item struct{ score, weight float64 }

// step is the records of one distinct score.
type step struct{ score, pos, neg float64 }

// Ranking is a one-against-the-rest problem, sorted once: the distinct scores in ascending order with the weight of the
// positives and negatives that have them. Every measure is a pass over it, does not depend on the order in which the
// records came, and is NaN where it is not defined. The zero value is empty; Reset reuses its buffers.
type Ranking struct {
	items    []item
	steps    []step
	logit    []float64 // of the steps' scores, while recalibrating
	pos, neg float64
	unit     bool // every record weighs 1
}

// Reset replaces the content by n records and sorts them, in O(n log n). at gives the score, whether the record is a
// positive, and its weight (at least 0). Records of weight zero and records whose score is NaN are left out.
func (r *Ranking) Reset(n int, at func(i int) (score float64, positive bool, weight float64)) {
	r.items, r.steps, r.pos, r.neg, r.unit = r.items[:0], r.steps[:0], 0, 0, true
	for i := range n {
		s, y, w := at(i)
		if math.IsNaN(s) || !(w > 0) {
			continue
		}
		r.unit = r.unit && w == 1
		if !y {
			w = -w
		}
		r.items = append(r.items, item{s, w})
	}
	// Ties are ordered by weight, so that the rounding of the sums does not depend on the order of the input either.
	slices.SortFunc(r.items, func(a, b item) int {
		if c := cmp.Compare(a.score, b.score); c != 0 {
			return c
		}
		return cmp.Compare(a.weight, b.weight)
	})
	for _, it := range r.items {
		if k := len(r.steps); k == 0 || r.steps[k-1].score != it.score {
			r.steps = append(r.steps, step{score: it.score})
		}
		s := &r.steps[len(r.steps)-1]
		if it.weight > 0 {
			s.pos += it.weight
			r.pos += it.weight
		} else {
			s.neg -= it.weight
			r.neg -= it.weight
		}
	}
}

func (r *Ranking) oneSided() bool { return r.pos == 0 || r.neg == 0 }

// AUC is the chance that a positive scores higher than a negative, ties counted by half:
// sum over pairs w_i w_j ([s_i > s_j] + [s_i = s_j]/2) / (W+ W-). NaN when either side is empty.
func (r *Ranking) AUC() float64 {
	if r.oneSided() {
		return math.NaN()
	}
	var below, sum float64
	for _, s := range r.steps {
		sum += s.pos * (below + s.neg/2)
		below += s.neg
	}
	return sum / (r.pos * r.neg)
}

// AveragePrecision is sum_k (R_k - R_{k-1}) P_k over the distinct scores in descending order, with recall R and
// precision P of the records that score at least as high. NaN without positives.
func (r *Ranking) AveragePrecision() float64 {
	if r.pos == 0 {
		return math.NaN()
	}
	var tp, n, sum float64
	for k := len(r.steps) - 1; k >= 0; k-- {
		s := r.steps[k]
		tp += s.pos
		n += s.pos + s.neg
		sum += s.pos * tp / n
	}
	return sum / r.pos
}

// KS is the Kolmogorov-Smirnov distance max_s |F+(s) - F-(s)| of the scores of the two sides. NaN when either is empty.
func (r *Ranking) KS() float64 {
	if r.oneSided() {
		return math.NaN()
	}
	var p, n, best float64
	for _, s := range r.steps {
		p += s.pos
		n += s.neg
		best = max(best, math.Abs(p/r.pos-n/r.neg))
	}
	return best
}

// Top describes the records of the highest scores.
type Top struct {
	N         float64 // their weight
	Positives float64 // weight of the positives among them
	Score     float64 // their mean score
}

// Top is the given share of the weight, highest scores first; when every record weighs 1, that many whole records,
// rounded down but at least one. Of the records that tie at the edge, that share is taken which is needed, so the
// figures are those expected of a random choice among them. All zero when the Ranking is empty.
func (r *Ranking) Top(share float64) Top {
	want := share * (r.pos + r.neg)
	if r.unit {
		want = max(1, math.Floor(want+1e-9))
	}
	var t Top
	for k := len(r.steps) - 1; k >= 0 && t.N < want; k-- {
		s := r.steps[k]
		part := min(1, (want-t.N)/(s.pos+s.neg))
		t.N += part * (s.pos + s.neg)
		t.Positives += part * s.pos
		t.Score += part * (s.pos + s.neg) * s.score
	}
	if t.N > 0 {
		t.Score /= t.N
	}
	return t
}

// Lift is the rate of positives in the Top of the share over their rate in all. NaN without positives.
func (r *Ranking) Lift(share float64) float64 {
	if r.pos == 0 {
		return math.NaN()
	}
	t := r.Top(share)
	return t.Positives / t.N * (r.pos + r.neg) / r.pos
}

// CalibrationError is the expected calibration error sum_b W_b/W |mean score - rate of positives| over bins of equal
// mass. A distinct score lies wholly in the bin that holds the middle of its mass, so ties never straddle an edge. NaN
// when empty.
func (r *Ranking) CalibrationError(bins int) float64 {
	total := r.pos + r.neg
	if total == 0 {
		return math.NaN()
	}
	var seen, sum, score, pos float64
	last := 0
	for _, s := range r.steps {
		w := s.pos + s.neg
		b := min(bins-1, int(float64(bins)*((seen+w/2)/total)))
		if b != last {
			sum += math.Abs(score - pos)
			last, score, pos = b, 0, 0
		}
		score += w * s.score
		pos += s.pos
		seen += w
	}
	return (sum + math.Abs(score-pos)) / total
}

// Recalibrate fits ln(q/(1-q)) = intercept + slope ln(p/(1-p)) to the outcomes by maximum likelihood (Cox 1958; scores
// are propensities, clipped to [Clip, 1-Clip]) with Newton's method: 0 and 1 when the propensities are calibrated,
// slope below 1 when they are too extreme. Both NaN when the maximum does not exist: one side empty, all scores equal,
// or the sides separated.
func (r *Ranking) Recalibrate() (slope, intercept float64) {
	if r.oneSided() || len(r.steps) < 2 || r.separated() {
		return math.NaN(), math.NaN()
	}
	total := r.pos + r.neg
	r.logit = r.logit[:0]
	for _, s := range r.steps {
		r.logit = append(r.logit, logOdds(s.score))
	}
	// fit is the mean log-likelihood at (a, b), its gradient and its curvature.
	type fit struct{ ll, ga, gb, haa, hab, hbb float64 }
	at := func(a, b float64) (f fit) {
		for k, s := range r.steps {
			z, w := r.logit[k], s.pos+s.neg
			t := a + b*z
			e := math.Exp(-math.Abs(t)) // both tails from one exponential that cannot overflow
			q := 1 / (1 + e)
			if t < 0 {
				q = e / (1 + e)
			}
			f.ll += s.pos*min(t, 0) - s.neg*max(t, 0) - w*math.Log1p(e)
			d, v := s.pos-w*q, w*e/((1+e)*(1+e))
			f.ga += d
			f.gb += d * z
			f.haa += v
			f.hab += v * z
			f.hbb += v * z * z
		}
		return fit{f.ll / total, f.ga / total, f.gb / total, f.haa / total, f.hab / total, f.hbb / total}
	}
	slope = 1
	f := at(intercept, slope)
	for range 50 {
		det := f.haa*f.hbb - f.hab*f.hab
		if !(det > 0) {
			return math.NaN(), math.NaN()
		}
		da, db := (f.hbb*f.ga-f.hab*f.gb)/det, (f.haa*f.gb-f.hab*f.ga)/det
		gain := da*f.ga + db*f.gb // twice the gain of the quadratic model
		if gain < 1e-18 {
			// Convergence is quadratic: after this step the error is far below the rounding of the sums.
			return slope + db, intercept + da
		}
		t := 1.0
		g := at(intercept+da, slope+db)
		// Halving the step until the likelihood rises, up to the rounding of its sum, keeps Newton's method from
		// overshooting.
		for g.ll < f.ll-1e-12*(1-f.ll) && t > 1e-6 {
			t /= 2
			g = at(intercept+t*da, slope+t*db)
		}
		intercept, slope, f = intercept+t*da, slope+t*db, g
	}
	return slope, intercept
}

// separated reports whether some score has all positives on one side of it and all negatives on the other.
func (r *Ranking) separated() bool {
	minPos, maxPos, minNeg, maxNeg := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range r.steps {
		z := logOdds(s.score)
		if s.pos > 0 {
			minPos, maxPos = min(minPos, z), max(maxPos, z)
		}
		if s.neg > 0 {
			minNeg, maxNeg = min(minNeg, z), max(maxNeg, z)
		}
	}
	return minPos >= maxNeg || minNeg >= maxPos
}

func clip(p float64) float64 { return min(max(p, Clip), 1-Clip) }

func logOdds(p float64) float64 { p = clip(p); return math.Log(p / (1 - p)) }
