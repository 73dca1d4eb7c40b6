package evaluate

import (
	"slices"
	"strconv"

	"liftstream/model/drift"
)

// DriftCell is a bin of a column and its part of the population stability index: with its share p in the reference and
// q in the window, as they stand in the formula of Drift, (q - p) ln(q/p). The parts of all bins sum to the index.
type DriftCell struct {
	// Cell is such as "(20, 31.5]", with cuts of six digits, a level, "(other)", or "(missing)", with the special codes.
	Cell     string `json:"cell"`
	Expected Number `json:"expected"`
	Actual   Number `json:"actual"`
	Part     Number `json:"part"`
}

// cells are those of the window where the index is largest, in the order of the numbers or, of levels, of their first
// records; then other levels, and missing values.
func (c *driftColumn) cells() []DriftCell {
	out := []DriftCell{}
	for k, x := range drift.PSICells(c.ref, c.worst) {
		out = append(out, DriftCell{c.label(k), Number(x.Expected), Number(x.Actual), Number(x.Part)})
	}
	if c.levels != nil { // the rest and missing values come last, as missing values do behind numbers
		out = slices.Concat(out[2:], out[:2])
	}
	return out
}

// label is the name of bin k.
func (c *driftColumn) label(k int) string {
	missing := len(c.ref) - 1
	if c.levels != nil {
		missing = 1
	}
	switch {
	case k == missing:
		return "(missing)"
	case c.levels != nil && k == 0:
		return "(other)"
	case c.levels != nil:
		return c.labels[k]
	}
	low, high := "(-inf, ", "inf)"
	if k > 0 {
		low = "(" + digits(c.cuts[k-1]) + ", "
	}
	if k < len(c.cuts) {
		high = digits(c.cuts[k]) + "]"
	}
	return low + high
}

// digits writes a cut to six digits.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
