package local

import "math"

// Distances are sums of whole numbers: values are standardised (population sd, METHOD.md 4.1) and rounded to 1/16384
// sd, so that a distance does not depend on the order of the features and ties are exact. Values are held as float64,
// whose squares a processor computes twice as fast, sums as int64.
const (
	unit     = 1 << 14
	farthest = 1 << 18 // 16 sd, the largest standardised value
	absent   = math.MinInt32
	// noCap is beyond any squared difference.
	noCap = int64(1) << 40
	// weightUnit is the step of a relevance weight.
	weightUnit = 1 << 8
)

// nominalTerm is the squared difference of two different levels: the mean over two independent standardised numbers.
const nominalTerm = 2 * unit * unit

// levelStep keeps different levels further apart than nominalTerm.
const levelStep = 23171

// column is one feature of the prototypes.
type column struct {
	nominal  bool
	mean, sd float64
	at       []float64 // rounded values by prototype; any number where it is missing
	missing  []int32   // the prototypes that miss it
}

// set stores the values, absent ones among them.
func (c *column) set(values []int32) {
	c.at, c.missing = make([]float64, len(values)), nil
	stand := 0.0
	if c.nominal {
		stand = -levelStep // the place of no level
	}
	for k, v := range values {
		c.at[k] = float64(v)
		if v == absent {
			c.missing = append(c.missing, int32(k))
			c.at[k] = stand
		}
	}
}

// values returns the values that set stored.
func (c *column) values() []int32 {
	out := make([]int32, len(c.at))
	for k, v := range c.at {
		out[k] = int32(v)
	}
	for _, k := range c.missing {
		out[k] = absent
	}
	return out
}

// place rounds a cell of a Row; absent when it is missing or the column has no spread.
func (c *column) place(v float64) int32 {
	if v != v {
		return absent
	}
	if c.nominal {
		return int32(v) * levelStep
	}
	if !(c.sd > 0) {
		return absent
	}
	return int32(math.Round(min(max((v-c.mean)/c.sd*unit, -farthest), farthest)))
}

// expected is the mean term over pairs of prototypes that have the feature, 0 when none misses it.
func (c *column) expected(limit int64) int64 {
	if len(c.missing) == 0 {
		return 0
	}
	at := c.values()
	n := len(at)
	var sum, pairs int64
	for shift := 1; shift < n && shift <= 16; shift++ {
		for i, a := range at {
			if b := at[(i+shift)%n]; a != absent && b != absent {
				d := int64(a) - int64(b)
				sum += min(d*d, limit)
				pairs++
			}
		}
	}
	if pairs == 0 {
		return 0
	}
	return sum / pairs
}
