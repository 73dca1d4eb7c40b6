package propensity

import (
	"math"

	"liftstream/model/wire"
)

// The last layer of the scorecard (METHOD.md 8).
const (
	residualInputs = 3    // half-lives of the means
	residualStart  = 4.   // of AdaGrad's sums of squared gradients
	residualStep   = .05  // of the weights of the means
	slopeStep      = .003 // of the slope
	slopeLeast     = .1   // of the slope: where the mixture's log-odds are larger, those of the score are
	residualLag    = 16.  // records over which the lag of labels is averaged
)

// residualHalf are the half-lives h, in labelled records. A mean keeps d = 2^(-1/h) of itself at each, and is
// multiplied by residualScale, sqrt((1+d)/(1-d)).
var residualHalf, residualKeep, residualScale = decays(1, 3, 14)

func decays(half ...float64) (h, keep, scale [residualInputs]float64) {
	for j, v := range half {
		d := math.Exp2(-1 / v)
		h[j], keep[j], scale[j] = v, d, math.Sqrt((1+d)/(1-d))
	}
	return h, keep, scale
}

// residualWeights are the slope of the mixture's log-scores, then a weight for each half-life, shared by the classes.
type residualWeights [1 + residualInputs]float64

// residuals corrects the scores of the mixture by its own recent residuals: the fading means of y - p, with the
// mixture's propensity p before the correction, are inputs of a last layer. It belongs to the partition alone and is
// no part of a Model: a file has no present whose residuals a later record would share. Without means it corrects
// nothing.
type residuals struct {
	mean []float64 // half-lives x margins
	w, g residualWeights
	// share is that of the corrected log-scores in the published ones, the rest is the mixture's: as far as they have had
	// the smaller recent log-losses, by the rule of the mixture itself.
	share float64
	lag   float64 // records that are learnt between the score and the label of a record, recently

	off, base []float64 // margins: room to work
}

func (p *layout) newResiduals() residuals {
	r := residuals{mean: make([]float64, p.residuals*p.margins), w: residualWeights{1}, share: .5}
	for j := range r.g {
		r.g[j] = residualStart
	}
	if p.residuals == 0 {
		r.share = 0
	}
	r.off, r.base = make([]float64, p.margins), make([]float64, p.margins)
	return r
}

// remember writes the inputs of the layer into the memory of a score, whose m.mixed are the mixture's log-scores: the
// means, in units in which residuals that do not depend on each other have variance p(1-p), and halved for each
// half-life that labels come late; then the corrected log-scores. The layer learns from them as they were then:
// labels that come late say how good the mixture was without them.
func (r *residuals) remember(m memory) {
	K := len(m.mixed)
	for j := range len(r.mean) / K {
		scale := residualScale[j]
		if r.lag > 0 {
			scale *= math.Exp2(-r.lag / residualHalf[j])
		}
		for k := range K {
			m.recent[j*K+k] = scale * r.mean[j*K+k]
		}
	}
	for k := range m.mixed {
		m.corrected[k] = r.corrected(m, k)
	}
}

// corrected returns the corrected log-score of margin k.
func (r *residuals) corrected(m memory, k int) float64 {
	K := len(m.mixed)
	z := r.w[0] * m.mixed[k]
	for j := range len(m.recent) / K {
		z += r.w[1+j] * m.recent[j*K+k]
	}
	return z
}

// published returns the log-score of margin k of a remembered score: the mixture's and the corrected one, mixed.
func (r *residuals) published(m memory, k int) float64 {
	return m.mixed[k] + r.share*(m.corrected[k]-m.mixed[k])
}

// effect returns the contribution of the means to a score whose margins count by dir.
func (r *residuals) effect(m memory, dir []float64) (e float64) {
	K := len(dir)
	for i, x := range m.recent {
		e += r.share * r.w[1+i/K] * dir[i%K] * x
	}
	return e
}

// knows reports whether the layer can learn from a memory: not from one of a former build.
func (r *residuals) knows(m memory) bool { return len(r.mean) > 0 && !math.IsNaN(m.mixed[0]) }

// learn2 learns a record of class y, 0 or 1 of two, whose memory is m. Its weight counts the records for which it
// stands; by lag, labels have come that many records late. A lag below 0 is that of a record that waited and is not
// remembered: nobody knows the residuals as they were at its score, so that it says nothing of the weights.
func (r *residuals) learn2(y int, weight, lag float64, m memory, t *tuning) {
	if !r.knows(m) {
		return
	}
	sign, target := float64(2*y-1), float64(y)
	p := [4]float64{m.mixed[0], r.corrected(m, 0), sign * m.mixed[0], sign * m.corrected[0]}
	sigmoids(p[:])
	r.base[0], r.off[0] = p[0]-target, p[1]-target
	if lag >= 0 {
		r.weigh(p[2], p[3], weight, t)
		r.descend(m, weight, lag)
	}
	r.take(weight)
}

// learnN is learn2 of more classes.
func (r *residuals) learnN(y int, weight, lag float64, m memory, t *tuning) {
	if !r.knows(m) {
		return
	}
	copy(r.off, m.corrected)
	softmax(r.off)
	then := r.off[y]
	copy(r.base, m.mixed)
	softmax(r.base)
	for c := range r.off {
		r.off[c] = r.corrected(m, c)
	}
	softmax(r.off)
	if lag >= 0 {
		r.weigh(r.base[y], then, weight, t)
	}
	r.base[y]--
	r.off[y]--
	if lag >= 0 {
		r.descend(m, weight, lag)
	}
	r.take(weight)
}

// weigh moves the share by the propensities that the score gave to the record's class, without and with the correction.
func (r *residuals) weigh(without, with, weight float64, t *tuning) {
	power := weight * t.rate
	a, b := (1-r.share)*math.Pow(without, power), r.share*math.Pow(with, power)
	r.share = b/(a+b)*(1-t.fixedShare) + t.fixedShare/2
}

// descend makes a gradient step by r.off, the corrected propensities less the outcome.
func (r *residuals) descend(m memory, weight, lag float64) {
	r.lag += (lag - r.lag) / residualLag
	r.step(m, weight)
}

// step makes the step itself.
func (r *residuals) step(m memory, weight float64) {
	K := len(r.off)
	for j := range r.w {
		in, step := m.mixed, slopeStep
		if j > 0 {
			in, step = m.recent[(j-1)*K:j*K], residualStep
		}
		d := 0.
		for k, v := range in {
			d += r.off[k] * v
		}
		d *= weight
		r.g[j] += d * d
		r.w[j] -= step * d / math.Sqrt(r.g[j])
	}
	r.w[0] = max(r.w[0], slopeLeast)
}

// take lets the means take in a record by r.base, the mixture's propensities less the outcome.
func (r *residuals) take(weight float64) {
	K := len(r.base)
	for j, h := range residualHalf {
		keep := residualKeep[j]
		if weight != 1 {
			keep = math.Exp2(-weight / h)
		}
		for k, v := range r.base {
			m := &r.mean[j*K+k]
			*m = keep**m - (1-keep)*v
		}
	}
}

// append appends the layer.
func (r *residuals) append(b []byte) []byte {
	b = wire.AppendFloats(b, r.mean)
	b = wire.AppendFloats(b, r.w[:])
	b = wire.AppendFloats(b, r.g[:])
	return wire.AppendFloat(wire.AppendFloat(b, r.share), r.lag)
}

// readResiduals reads the form of append.
func (p *layout) readResiduals(r *wire.Reader) residuals {
	x := p.newResiduals()
	readFinite(r, x.mean)
	readFinite(r, x.w[:])
	readFinite(r, x.g[:])
	x.share, x.lag = r.Float(), r.Float()
	if !(x.share > 1e-9 && x.share < 1 || p.residuals == 0) || !(x.lag >= 0 && x.lag < 1<<53) {
		r.Fail(errNumber)
	}
	for _, m := range x.mean {
		if !(math.Abs(m) <= 1) {
			r.Fail(errNumber)
		}
	}
	for j := range x.g {
		if !(x.g[j] >= residualStart) || !(math.Abs(x.w[j]) < 1e6) || !(x.w[0] >= slopeLeast) {
			r.Fail(errNumber)
		}
	}
	return x
}
