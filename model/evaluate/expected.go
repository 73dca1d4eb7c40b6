package evaluate

import "math"

// partedTail bounds the share of streams of calibrated propensities in which any window is marked as parted.
const partedTail = .05

// Expected is the quality that propensities promise of themselves, before any label is there: the estimate from
// calibrated probabilities (CBPE) that NannyML publishes. Each record stands for every class c with the chance q_c, its
// propensity clipped and scaled to a sum of 1. The estimate is right where the propensities are calibrated, which the
// labels tell later, and blind to a change of the outcome that the propensities do not follow.
type Expected struct {
	// LogLoss is sum w h / sum w with h = -sum_c q_c ln p_c, in nats.
	LogLoss float64
	// Error is the standard deviation of the log-loss of labels drawn by q:
	// sqrt(sum w^2 sum_c q_c (ln p_c + h)^2) / sum w.
	Error float64
	// AUC is that of Ranking.AUC where each record is a positive of weight w p_c and a negative of weight w (1 - p_c):
	// of two classes for the second, of several the mean over the classes.
	AUC float64
}

// outcomes fills in the loss of each class of record i, if it were the true one, and its chance q.
func outcomes(s *Set, i int, loss, q []float64) {
	total := 0.0
	for c, p := range s.P[i*s.Classes : (i+1)*s.Classes] {
		q[c] = clip(p)
		loss[c] = -math.Log(q[c])
		total += q[c]
	}
	for c := range q {
		q[c] /= total
	}
}

// expect computes Expected of the records of s without a look at their classes. NaN without weight.
func expect(s *Set) Expected {
	var sum, square, weight float64
	loss, q := make([]float64, s.Classes), make([]float64, s.Classes)
	for i, w := range s.Weight {
		outcomes(s, i, loss, q)
		var h, v float64
		for c := range q {
			h += q[c] * loss[c]
		}
		for c := range q {
			v += q[c] * (loss[c] - h) * (loss[c] - h)
		}
		sum, square, weight = sum+w*h, square+w*w*v, weight+w
	}
	var auc mean
	r, first := &Ranking{}, 0
	if s.Classes == 2 {
		first = 1
	}
	for c := first; c < s.Classes; c++ {
		r.Reset(s.Len(), func(i int) (float64, bool, float64) { return s.P[i*s.Classes+c], false, s.Weight[i] })
		auc.add(r.expectedAUC())
	}
	return Expected{LogLoss: sum / weight, Error: math.Sqrt(square) / weight, AUC: auc.value()}
}

// expectedAUC turns each step into positives and negatives by its score, and is then AUC.
func (r *Ranking) expectedAUC() float64 {
	total := r.pos + r.neg
	r.pos = 0
	for k := range r.steps {
		t := &r.steps[k]
		w := t.pos + t.neg
		t.pos = w * clip(t.score)
		t.neg = w - t.pos
		r.pos += t.pos
	}
	r.neg = total - r.pos
	return r.AUC()
}

// parted reports whether the log-loss of s lies so far from expect(s).LogLoss that labels drawn by q, one by one, would
// bring it there with a chance of at most tail. For the loss S = sum w l and its cumulants K the bound of Chernoff
// (Annals of Mathematical Statistics 23, 1952) is exp(K(t) - t S) for every t. Newton's method, which steps back where
// it went too far, looks for a good t. The bound holds for any number of records, and is several times the chance
// itself, so that fewer streams are marked than tail says.
func parted(s *Set, tail float64) bool {
	total := 0.0
	for i := range s.Class {
		total += s.Weight[i] * s.loss(i)
	}
	const rounds = 40
	enough, t, best := math.Log(2/tail), 0.0, 0.0
	_, slope, curve := cumulants(s, 0)
	step := (total - slope) / curve
	for range rounds {
		if !(math.Abs(step) > 1e-9*math.Abs(t)) || math.IsInf(step, 0) {
			return false
		}
		k, slope, curve := cumulants(s, t+step)
		now := (t+step)*total - k
		if now > enough {
			return true
		}
		if !(now > best) {
			step /= 4
			continue
		}
		t, best = t+step, now
		step = (total - slope) / curve
	}
	return false
}

// cumulants returns K(t) = sum_i ln sum_c q_c exp(t w l_c) and its first two derivatives.
func cumulants(s *Set, t float64) (k, slope, curve float64) {
	loss, q := make([]float64, s.Classes), make([]float64, s.Classes)
	for i, w := range s.Weight {
		outcomes(s, i, loss, q)
		top := math.Inf(-1)
		for c := range q {
			loss[c] *= w
			top = max(top, t*loss[c])
		}
		var z, m, m2 float64
		for c := range q {
			e := q[c] * math.Exp(t*loss[c]-top)
			z += e
			m += e * loss[c]
			m2 += e * loss[c] * loss[c]
		}
		k += top + math.Log(z)
		slope += m / z
		curve += max(0, m2/z-m/z*(m/z))
	}
	return k, slope, curve
}
