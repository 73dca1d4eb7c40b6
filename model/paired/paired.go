// Package paired compares two forecasters on the same records, for as long as there are more, and may be asked after
// each of them: its interval holds at all looks at once. METHOD.md has the formulas.
//
// Begin at New and Comparison.Add; Comparison.Interval is the answer, and Sample says more about the two.
package paired

import (
	"fmt"
	"math"
)

// Clip bounds a propensity away from 0 and 1 before its logarithm is taken.
const Clip = 1e-6

// Verdict says which forecaster has the lower log-loss.
type Verdict int

// The verdicts.
const (
	Open   Verdict = iota // the interval holds 0: none yet
	First                 // the first one is better
	Second                // the second one is better
)

// String is the verdict in a word.
func (v Verdict) String() string { return [...]string{"none yet", "first", "second"}[v] }

// Comparison adds up the losses of the records, and the cumulants of their differences, from which the interval is
// made. Its size does not depend on the number of records, nor its figures, but for rounding and the unit of weights,
// on their order. One goroutine may use it at a time.
type Comparison struct {
	classes int
	n       int64
	weight  float64
	unit    float64    // of weights, a power of two: that next to the first weight; 0 = there was none
	loss    [2]float64 // sums of weight times loss
	sum     float64    // of weight times difference
	above   costs      // of a mean that is lower than the sum says
	below   costs
	// Of a record, by class: its difference, and a guess at its share, not normed.
	ratio, guess []float64
}

// costs holds for each rate of the grid the cumulants of all records so far.
type costs [rates]float64

// New returns an empty comparison of forecasts over so many classes.
func New(classes int) *Comparison {
	return &Comparison{classes: classes, ratio: make([]float64, classes),
		guess: make([]float64, classes)}
}

// Add takes a record: the propensities of both forecasters, which it does not keep, the class, and the weight, which
// must be known before the class is. Propensities are clipped to [Clip, 1-Clip]. A weight of 0 adds nothing. It refuses
// propensities outside [0, 1], NaN, classes that do not exist, and weights that are negative or not finite, and then
// changes nothing.
func (c *Comparison) Add(first, second []float64, class int, weight float64) error {
	if len(first) != c.classes || len(second) != c.classes {
		return fmt.Errorf("comparing: %d and %d propensities for %d classes", len(first), len(second), c.classes)
	}
	if class < 0 || class >= c.classes {
		return fmt.Errorf("comparing: class %d of %d", class, c.classes)
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("comparing: weight %v", weight)
	}
	for k := range c.classes {
		for _, p := range [...]float64{first[k], second[k]} {
			if !(p >= 0 && p <= 1) {
				return fmt.Errorf("comparing: propensity %v of class %d", p, k)
			}
		}
	}
	if weight == 0 {
		return nil
	}
	if c.unit == 0 {
		c.unit = math.Exp2(math.Round(math.Log2(weight)))
	}
	weight /= c.unit
	s := c.spread(first, second)
	s.scale(weight)
	x := weight * c.ratio[class]
	c.n++
	c.weight += weight
	c.loss[0] -= weight * math.Log(clip(first[class]))
	c.loss[1] -= weight * math.Log(clip(second[class]))
	c.sum += x
	c.above.add(s.lower, &s, x)
	c.below.add(s.upper, &s, x)
	return nil
}

// spread tells of the difference of a record before its class is known, METHOD.md 2.
type spread struct {
	expected, variance float64 // under the guess
	lower, upper       float64 // distances of the least and the largest value from expected
}

func (s *spread) scale(w float64) {
	s.expected *= w
	s.variance *= w * w
	s.lower *= w
	s.upper *= w
}

// spread fills c.ratio with the difference of each class: ln second - ln first, the loss of the first less that of the
// second.
func (c *Comparison) spread(first, second []float64) spread {
	low, high, total := math.Inf(1), math.Inf(-1), 0.0
	var s spread
	for k := range c.ratio {
		a, b := clip(first[k]), clip(second[k])
		r := math.Log(b / a)
		c.ratio[k], c.guess[k] = r, math.Sqrt(a*b)
		low, high = min(low, r), max(high, r)
		s.expected += c.guess[k] * r
		total += c.guess[k]
	}
	s.expected = min(high, max(low, s.expected/total))
	for k, r := range c.ratio {
		s.variance += c.guess[k] / total * (r - s.expected) * (r - s.expected)
	}
	s.lower, s.upper = s.expected-low, high-s.expected
	return s
}

func clip(p float64) float64 { return min(1-Clip, max(Clip, p)) }

// Records is the number of records with weight.
func (c *Comparison) Records() int64 { return c.n }

// LogLoss returns the log-loss of each forecaster, sum w l / sum w in nats. NaN without weight.
func (c *Comparison) LogLoss() (first, second float64) {
	return c.loss[0] / c.weight, c.loss[1] / c.weight
}

// Difference is the log-loss of the first less that of the second, in nats: negative where the first is better. NaN
// without weight.
func (c *Comparison) Difference() float64 { return c.sum / c.weight }

// Interval holds the mean of the expected differences of the records, each given both forecasts and all before it, with
// probability 1 - alpha at all numbers of records at once: METHOD.md 3. It is never empty; without
// weight it is the whole line.
func (c *Comparison) Interval(alpha float64) (low, high float64) {
	if c.weight == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return (c.sum - c.above.bound(alpha/2)) / c.weight, (c.sum + c.below.bound(alpha/2)) / c.weight
}

// Verdict is the forecaster that Interval tells to be better.
func (c *Comparison) Verdict(alpha float64) Verdict {
	switch low, high := c.Interval(alpha); {
	case high < 0:
		return First
	case low > 0:
		return Second
	}
	return Open
}
