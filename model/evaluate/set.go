// Package evaluate measures propensities against the labels: the figures of the command eval, and the protocols that
// produce the scores. The order of records matters for blocks, curves and intervals, and for nothing else.
//
// Begin at Prequential and Folds, the protocols, and at Method, which they score by; Set turns scores into figures.
package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Clip bounds a propensity away from 0 and 1 before its logarithm is taken.
const Clip = 1e-6

// BlockRecords is the length of the blocks of auc_blocks, and the largest length of the blocks of the bootstrap.
const BlockRecords = 1000

// CalibrationBins is the number of equal-mass bins of the calibration error.
const CalibrationBins = 20

// liftShares are the shares of lift_at.
var liftShares = [...]float64{0.01, 0.05, 0.1, 0.2}

// Set is a run of scored, labelled records of one method in stream order.
type Set struct {
	Classes int
	P       []float64 // N x Classes
	Class   []int32
	Weight  []float64
	// Index is the position of each record in the stream, ascending.
	Index []int64
	// Selected is the sum of the number of features selected for the records.
	Selected float64
	// Reasons counts the features among the reasons whose effect matters and that have a lift, Conflicts those of them
	// whose effect goes against their lift, Untold those whose effect matters and that have no lift.
	Reasons, Conflicts, Untold int64
}

// NewSet returns an empty set for propensities of the given number of classes.
func NewSet(classes int) *Set { return &Set{Classes: classes} }

// Len is the number of records.
func (s *Set) Len() int { return len(s.Class) }

// Add appends a record. It refuses propensities outside [0, 1], classes that do not exist and weights that are negative
// or not finite.
func (s *Set) Add(index int64, p []float64, class int32, weight float64) error {
	if len(p) != s.Classes {
		return fmt.Errorf("adding record %d: %d propensities for %d classes", index, len(p), s.Classes)
	}
	for c, v := range p {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("adding record %d: propensity %v of class %d", index, v, c)
		}
	}
	if class < 0 || int(class) >= s.Classes {
		return fmt.Errorf("adding record %d: class %d of %d", index, class, s.Classes)
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("adding record %d: weight %v", index, weight)
	}
	s.P = append(s.P, p...)
	s.Class = append(s.Class, class)
	s.Weight = append(s.Weight, weight)
	s.Index = append(s.Index, index)
	return nil
}

// Sort brings records that were added in another order, as by folds, into stream order.
func (s *Set) Sort() {
	if slices.IsSorted(s.Index) {
		return
	}
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(min(1, max(-1, s.Index[a]-s.Index[b]))) })
	t := &Set{Classes: s.Classes, Selected: s.Selected, Reasons: s.Reasons, Conflicts: s.Conflicts, Untold: s.Untold}
	for _, i := range order {
		t.P = append(t.P, s.P[i*s.Classes:(i+1)*s.Classes]...)
		t.Class = append(t.Class, s.Class[i])
		t.Weight = append(t.Weight, s.Weight[i])
		t.Index = append(t.Index, s.Index[i])
	}
	*s = *t
}

// slice is the records [a, b); it shares memory with s.
func (s *Set) slice(a, b int) *Set {
	return &Set{
		Classes: s.Classes,
		P:       s.P[a*s.Classes : b*s.Classes],
		Class:   s.Class[a:b],
		Weight:  s.Weight[a:b],
		Index:   s.Index[a:b],
	}
}

// rank sorts the records by the propensity of class c, one against the rest.
func (s *Set) rank(r *Ranking, c int) {
	r.Reset(s.Len(), func(i int) (float64, bool, float64) {
		return s.P[i*s.Classes+c], int(s.Class[i]) == c, s.Weight[i]
	})
}

func (s *Set) loss(i int) float64 { return lossOf(s.P[i*s.Classes:(i+1)*s.Classes], s.Class[i]) }

// LogLoss is -sum w ln p_y / sum w in nats, with p_y clipped to [Clip, 1-Clip]. NaN without weight.
func (s *Set) LogLoss() float64 {
	var sum, w float64
	for i := range s.Class {
		sum += s.Weight[i] * s.loss(i)
		w += s.Weight[i]
	}
	return sum / w
}

// Brier is the mean of (p_1 - y)^2 for two classes, of sum_c (p_c - [y = c])^2 for several. NaN without weight.
func (s *Set) Brier() float64 {
	var sum, w float64
	for i := range s.Class {
		sum += s.Weight[i] * s.square(i)
		w += s.Weight[i]
	}
	return sum / w
}

// Accuracy is the share of records whose class has the highest propensity; of equal ones the first class counts. NaN
// without weight. err is its standard error over records drawn alike: sqrt(a (1 - a) sum w^2) / sum w.
func (s *Set) Accuracy() (a, err float64) {
	var sum, w, square float64
	for i := range s.Class {
		sum += s.Weight[i] * s.right(i)
		w += s.Weight[i]
		square += s.Weight[i] * s.Weight[i]
	}
	a = sum / w
	return a, math.Sqrt(a*(1-a)*square) / w
}

func segment(p []float64) int {
	best := 0
	for c, v := range p {
		if v > p[best] {
			best = c
		}
	}
	return best
}

// AUC is Ranking.AUC of two classes, of several the mean over the classes, one against the rest, that have records on
// both sides.
func (s *Set) AUC() float64 { return s.auc(&Ranking{}) }

func (s *Set) auc(r *Ranking) float64 {
	if s.Classes == 2 {
		s.rank(r, 1)
		return r.AUC()
	}
	var m mean
	for c := range s.Classes {
		s.rank(r, c)
		m.add(r.AUC())
	}
	return m.value()
}

// AUCBlocks is the mean AUC inside consecutive blocks of BlockRecords records; blocks of one class are left out, and so
// is a last block that is not full, unless it is the only one. NaN when no block is left.
func (s *Set) AUCBlocks() float64 {
	var m mean
	r := &Ranking{}
	for a := 0; a == 0 || a+BlockRecords <= s.Len(); a += BlockRecords {
		m.add(s.slice(a, min(a+BlockRecords, s.Len())).auc(r))
	}
	return m.value()
}

// Metrics computes every figure of the set but those beyond baselines, with seed for the bootstrap. LogLoss,
// Brier, Accuracy, Kappa, AUC and AUCBlocks are those methods. The others look at one class against the rest: the
// positive one when it is not negative, else the second of two classes, else they are means over the classes for which
// they are defined.
func (s *Set) Metrics(positive int, seed uint64) *Metrics {
	m := figures(s, positive, seed)
	m.GiniInterval = giniInterval(s, positive, seed)
	return m
}

// figures is Metrics without the interval of Gini.
func figures(s *Set, positive int, seed uint64) *Metrics {
	m := &Metrics{
		LogLoss: Number(s.LogLoss()), AUCBlocks: Number(s.AUCBlocks()), Brier: Number(s.Brier()),
		LiftAt: map[string]Number{}, LogLossInterval: s.logLossInterval(seed),
		MeanSubspace: Number(s.Selected / float64(s.Len())),
		Kappa:        Number(s.Kappa()), KappaTemporal: Number(math.NaN()), KappaMajority: Number(math.NaN()),
		Reasons: s.Reasons, Conflicts: s.Conflicts, Untold: s.Untold,
	}
	a, err := s.Accuracy()
	m.Accuracy, m.AccuracyError = Number(a), Number(err)
	var auc, ap, ks, ece, slope, intercept mean
	var lift [len(liftShares)]mean
	r := &Ranking{}
	one := s.target(positive)
	for c := range s.Classes {
		if s.Classes == 2 && c != one {
			continue
		}
		s.rank(r, c)
		auc.add(r.AUC())
		if one >= 0 && c != one {
			continue
		}
		ap.add(r.AveragePrecision())
		ks.add(r.KS())
		ece.add(r.CalibrationError(CalibrationBins))
		b, a := r.Recalibrate()
		slope.add(b)
		intercept.add(a)
		for k, share := range liftShares {
			lift[k].add(r.Lift(share))
		}
	}
	m.Gini = 2*auc.number() - 1
	m.AUC, m.AveragePrecision, m.KS, m.CalibrationError = auc.number(), ap.number(), ks.number(), ece.number()
	m.CalibrationSlope, m.CalibrationIntercept = slope.number(), intercept.number()
	for k, share := range liftShares {
		m.LiftAt[strconv.FormatFloat(share, 'g', -1, 64)] = lift[k].number()
	}
	return m
}

// target is the class that one-against-the-rest figures speak of, -1 for the mean over all.
func (s *Set) target(positive int) int {
	if positive < 0 && s.Classes == 2 {
		return 1
	}
	return positive
}

// Gains is the gains table of the positive class (as in Metrics) at each twentieth of the records; empty when several
// classes are configured without a positive one, or there are no records.
func (s *Set) Gains(positive int) []Gain {
	gains := []Gain{}
	c := s.target(positive)
	if c < 0 || s.Len() == 0 {
		return gains
	}
	r := &Ranking{}
	s.rank(r, c)
	for k := 1; k <= 20; k++ {
		share := float64(k) / 20
		t := r.Top(share)
		gains = append(gains, Gain{
			Share: share, N: Number(t.N), Positives: Number(t.Positives), Capture: Number(t.Positives / r.pos),
			Lift: Number(r.Lift(share)), MeanPropensity: Number(t.Score),
		})
	}
	return gains
}

// Curve is the learning curve: AUC and log-loss, and both as Expected has them, in consecutive windows. Each has 1, 2
// or 5 times a power of ten records, the least that gives at most twenty points and at least 100 records a point. A
// last window counts from half its length.
func (s *Set) Curve() []CurvePoint {
	curve, windows := []CurvePoint{}, []*Set{}
	window := curveWindow(s.Len())
	r := &Ranking{}
	for a := 0; a < s.Len(); a += window {
		b := min(a+window, s.Len())
		if a > 0 && b-a < window/2 {
			break
		}
		w := s.slice(a, b)
		e := expect(w)
		curve = append(curve, CurvePoint{Records: w.Index[b-a-1] + 1, AUC: Number(w.auc(r)), LogLoss: Number(w.LogLoss()),
			ExpectedAUC: Number(e.AUC), ExpectedLogLoss: Number(e.LogLoss), ExpectedError: Number(e.Error)})
		windows = append(windows, w)
	}
	for k, w := range windows {
		curve[k].Parted = parted(w, partedTail/float64(len(windows)))
	}
	return curve
}

// curveWindow is the length of the windows of Curve for n records.
func curveWindow(n int) int {
	window := 100
	for lead := 1; (n+window-1)/window > 20; {
		switch lead {
		case 1:
			window, lead = window*2, 2
		case 2:
			window, lead = window/2*5, 5
		default:
			window, lead = window*2, 1
		}
	}
	return window
}

// mean averages numbers and leaves NaN out.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) {
	if !math.IsNaN(v) {
		m.sum += v
		m.n++
	}
}

// value is NaN when nothing was defined.
func (m *mean) value() float64 { return m.sum / float64(m.n) }
func (m *mean) number() Number { return Number(m.value()) }
