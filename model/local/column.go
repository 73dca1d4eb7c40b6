package local

import (
	"math"

	"liftstream/model"
)

// nominalTerm is the squared difference of two different levels: that of two independent standardised numbers on
// average.
const nominalTerm = 2 * unit * unit

// levelStep keeps different levels further apart than nominalTerm.
const levelStep = 23171

// column is one feature of the prototypes.
type column struct {
	nominal  bool
	mean, sd float64
	at       []float64 // rounded values by prototype, whatever where it is missing
	missing  []int32   // the prototypes that miss it
}

// set takes values over, absent ones among them.
func (c *column) set(values []int32) {
	c.at, c.missing = make([]float64, len(values)), nil
	stand := 0.0
	if c.nominal {
		stand = -levelStep // no level's
	}
	for k, v := range values {
		c.at[k] = float64(v)
		if v == absent {
			c.missing = append(c.missing, int32(k))
			c.at[k] = stand
		}
	}
}

// values returns what set took over.
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

// place rounds a cell of a Row, absent when it is missing or the column says nothing.
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

// clean returns the cell of the row, NaN where the axis counts it as missing.
func (a *axis) clean(row model.Row, f int32) float64 {
	v := row[f]
	if a.levels > 0 && v >= float64(a.levels) {
		return math.NaN()
	}
	return v
}
