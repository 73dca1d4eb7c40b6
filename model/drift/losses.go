package drift

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Clip bounds a propensity away from 0 and 1 before its logarithm is taken.
const Clip = 1e-6

// Parted is the excess of the mean log-loss, in nats, that the propensities may have over their own promise, or lack,
// without an alarm: no calibration is perfect.
const Parted = .02

// Worse is the share by which the mean log-loss under a model may exceed its expectation without an alarm.
const Worse = .05

// tilts are the values of t of the bound of Chernoff, each twice the one before: small ones find small changes in many
// records, large ones large changes in few.
var tilts = [...]float64{.05, .1, .2, .4, .8}

// block holds the sums over Step labels.
type block struct {
	n, loss, square float64 // -ln p of the class, and its square
	expected        float64 // the loss that the propensities promise
	// Of the records that the serving model scored:
	own, ownLoss, ownSquare float64
	up, down                [len(tilts)]float64 // exponents, see losses
}

func (b *block) add(o *block) {
	b.n, b.loss, b.square, b.expected = b.n+o.n, b.loss+o.loss, b.square+o.square, b.expected+o.expected
	b.own, b.ownLoss, b.ownSquare = b.own+o.own, b.ownLoss+o.ownLoss, b.ownSquare+o.ownSquare
	for j := range tilts {
		b.up[j] += o.up[j]
		b.down[j] += o.down[j]
	}
}

// losses watches the log-loss of a stream of labels over the newest Window and the newest Reference of them
// (METHOD.md 3 and 4).
//
// Parted: each record promises to be of class c with the chance q_c, its propensity clipped and scaled to a sum of 1,
// so its loss l = -ln q_c has E exp(t l) = sum_c q_c^(1-t) while the propensities are calibrated, be the features as
// they may. So exp of
//
//	up_t = sum (t (l - Parted) - ln sum_c q_c^(1-t)),  down_t = sum (-t (l + Parted) - ln sum_c q_c^(1+t))
//
// has a mean of at most 1 over labels that are drawn one by one, and its mean over the tilts exceeds 1/tail with a
// chance of at most tail (Markov; Chernoff, Annals of Mathematical Statistics 23, 1952). No alarm of a model that
// learns: it is judged by its own word of the moment.
//
// Worse: the mean loss of records that the serving model has scored, against the expectation of that model: the mean of
// the newest Reference labels before it served, plus the difference that the gate found. It gives alarm above
//
//	(1 + Worse) expectation + z sqrt(s^2/n + s0^2/n0),  z the normal quantile of 1 - tail,
//
// with the variances s^2 of the records and s0^2 of the expectation's.
type losses struct {
	o        MonitorOptions
	filling  block
	closed   []block // the newest, oldest first: at most Reference / Step
	expect   float64 // NaN = nothing is expected yet
	variance float64 // of expect: s0^2/n0
	raised   [3]bool // parted up, parted down, worse
	q        []float64
}

func newLosses(o MonitorOptions) *losses { return &losses{o: o, expect: math.NaN()} }

// promise fills q with the clipped propensities, scaled, and returns the mean and the loss of a class.
func (l *losses) promise(p []float64, class int) (mean, loss float64) {
	l.q = l.q[:0]
	total := 0.
	for _, x := range p {
		x = min(max(x, Clip), 1-Clip)
		l.q = append(l.q, x)
		total += x
	}
	for c := range l.q {
		l.q[c] = math.Log(l.q[c] / total)
		mean -= math.Exp(l.q[c]) * l.q[c]
	}
	if class >= 0 {
		loss = -l.q[class]
	}
	return mean, loss
}

// add takes a label of a record with the propensities p; own says that the serving model gave them. At the end of a
// step it returns the alarms; comparisons is the number of comparisons that share the false alarms.
func (l *losses) add(p []float64, class int, own bool, comparisons int) []Found {
	mean, loss := l.promise(p, class)
	b := &l.filling
	b.n, b.loss, b.square, b.expected = b.n+1, b.loss+loss, b.square+loss*loss, b.expected+mean
	if own {
		b.own, b.ownLoss, b.ownSquare = b.own+1, b.ownLoss+loss, b.ownSquare+loss*loss
	}
	var up, down [len(tilts)]float64
	for _, q := range l.q {
		g := math.Exp(tilts[0] * q)
		p := math.Exp(q)
		for j := range tilts {
			up[j] += p / g
			down[j] += p * g
			g *= g // the next tilt
		}
	}
	for j, t := range tilts {
		b.up[j] += t*(loss-Parted) - math.Log(up[j])
		b.down[j] += -t*(loss+Parted) - math.Log(down[j])
	}
	if b.n < float64(l.o.Step) {
		return nil
	}
	if len(l.closed) == max(l.o.Reference/l.o.Step, 1) {
		l.closed = append(l.closed[:0], l.closed[1:]...)
	}
	l.closed = append(l.closed, *b)
	*b = block{}
	return l.compare(l.o.tail(comparisons))
}

// lossComparisons is the number of comparisons of losses at a step: two windows, each three ways.
const lossComparisons = 6

// newest returns the sums over the newest n labels, those of whole steps.
func (l *losses) newest(n int) (sum block) {
	for i := max(len(l.closed)-n/l.o.Step, 0); i < len(l.closed); i++ {
		sum.add(&l.closed[i])
	}
	return sum
}

// compare gives the alarms of a step.
func (l *losses) compare(tail float64) (found []Found) {
	short, long := l.newest(l.o.Window), l.newest(l.o.Reference)
	var excess [3]float64 // over the threshold, as a share of it: above 1 = alarm
	var at [3]Found
	for _, w := range []*block{&short, &long} {
		if w.n < float64(l.o.Window) {
			continue
		}
		note := func(i int, ratio float64, value, threshold float64) {
			if ratio >= excess[i] {
				excess[i], at[i] = ratio, Found{Value: value, Threshold: threshold}
			}
		}
		enough := math.Log(1 / tail)
		for i, e := range []*[len(tilts)]float64{&w.up, &w.down} {
			top, sum := math.Inf(-1), 0.
			for _, x := range e {
				top = max(top, x)
			}
			for _, x := range e {
				sum += math.Exp(x - top)
			}
			note(i, (top+math.Log(sum/float64(len(tilts))))/enough, w.loss/w.n, w.expected/w.n)
		}
		if w.own < float64(l.o.Window) || math.IsNaN(l.expect) {
			continue
		}
		mean := w.ownLoss / w.own
		s2 := max(w.ownSquare/w.own-mean*mean, 0)
		z := distuv.UnitNormal.Quantile(1 - tail)
		threshold := (1+Worse)*l.expect + z*math.Sqrt(s2/w.own+l.variance)
		note(2, (mean-l.expect)/(threshold-l.expect), mean, threshold)
	}
	for i := range excess {
		if excess[i] > 1 && !l.raised[i] {
			at[i].Kind = [...]AlarmKind{OverPromise, UnderPromise, OverExpectation}[i]
			at[i].Column = LossColumn
			found = append(found, at[i])
		}
		l.raised[i] = excess[i] > 1 || l.raised[i] && excess[i] > .5
	}
	return found
}

// refit begins the expectation of another model: the mean loss so far plus difference, that of the gate, NaN where it
// compared nothing. Raised alarms end.
func (l *losses) refit(difference float64) {
	l.raised = [3]bool{}
	w := l.newest(l.o.Reference)
	w.add(&l.filling)
	for i := range l.closed {
		l.closed[i].own, l.closed[i].ownLoss, l.closed[i].ownSquare = 0, 0, 0
	}
	l.filling.own, l.filling.ownLoss, l.filling.ownSquare = 0, 0, 0
	l.expect, l.variance = math.NaN(), 0
	if w.n < float64(l.o.Window) {
		return
	}
	mean := w.loss / w.n
	l.expect, l.variance = mean, max(w.square/w.n-mean*mean, 0)/w.n
	if !math.IsNaN(difference) {
		l.expect = max(mean+difference, 0)
	}
}
