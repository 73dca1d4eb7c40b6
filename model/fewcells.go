package model

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"liftstream/model/wire"
)

// firstRecords is the number of records of which the cells of continuous features are cut.
const firstRecords = 256

// fewCells cuts features into a few cells each, in bounded memory: a continuous one at the quantiles of its values in
// the first records, an ordinal one by rank, a nominal one by the hash of its text, so that another numbering of
// levels changes nothing. The last cell of a feature is that of missing values. Where levels stand apart, the most
// frequent ones of the first records have a cell each, and every other one is in the cell of the nearest hash below
// its own.
type fewCells struct {
	schema *Schema
	apart  bool      // the levels of nominal features stand apart
	of     []int     // the features
	cells  int       // of each, at least 2
	first  []float64 // values of the first records, until cuts are made of them; len(of) to a record
	cuts   []float64 // cells-2 to each feature, one alone where that is none; empty until they are made
}

// meet takes note of the values of a record for the cuts.
func (c *fewCells) meet(row Row, levels *Levels) {
	if len(c.cuts) > 0 || len(c.of) == 0 {
		return
	}
	for _, f := range c.of {
		c.first = append(c.first, c.value(f, row, levels))
	}
	if len(c.first) >= firstRecords*len(c.of) {
		c.cut()
	}
}

// value is the value of a feature that is compared with its cuts: of a level that stands apart, a number from 0 to 1
// that its text alone makes.
func (c *fewCells) value(f int, row Row, levels *Levels) float64 {
	if !c.apart || c.schema.Features[f].Kind != Nominal || math.IsNaN(row[f]) {
		return row[f]
	}
	return float64(Hash(uint64(f), uint64(textHash(levels.Text(f, row[f]))))>>11) / (1 << 53)
}

func textHash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// frequentCuts are the cuts that give the most frequent of the sorted values a cell each, the least ones of those that
// are equally frequent; values are below 2, which stands for a cut that is not needed.
func frequentCuts(values []float64, inner int) []float64 {
	type run struct {
		value float64
		n     int
	}
	var runs []run
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			runs = append(runs, run{value: v})
		}
		runs[len(runs)-1].n++
	}
	slices.SortStableFunc(runs, func(a, b run) int { return b.n - a.n })
	runs = runs[:min(len(runs), inner+1)]
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.value, b.value) })
	cuts := make([]float64, inner)
	for k := range cuts {
		if cuts[k] = 2; k+1 < len(runs) {
			cuts[k] = runs[k+1].value
		}
	}
	return cuts
}

// cut makes cuts of the first values.
func (c *fewCells) cut() {
	inner := c.cells - 2 // n cuts make n+1 cells
	var values []float64
	for i := range c.of {
		values = values[:0]
		for k := i; k < len(c.first); k += len(c.of) {
			if !math.IsNaN(c.first[k]) {
				values = append(values, c.first[k])
			}
		}
		slices.Sort(values)
		if c.apart && c.schema.Features[c.of[i]].Kind == Nominal {
			c.cuts = append(c.cuts, frequentCuts(values, inner)...)
			continue
		}
		for k := range inner {
			cut := 0.
			if len(values) > 0 {
				cut = values[(k+1)*len(values)/(inner+1)]
			}
			c.cuts = append(c.cuts, cut)
		}
	}
	if inner == 0 {
		c.cuts = []float64{0} // none are needed
	}
	c.first = nil
}

// ready reports whether there are cells.
func (c *fewCells) ready() bool { return len(c.cuts) > 0 }

// cell is that of a row in feature of[i].
func (c *fewCells) cell(i int, row Row, levels *Levels) int {
	f := c.of[i]
	v, inner := c.value(f, row, levels), c.cells-2
	switch x := &c.schema.Features[f]; {
	case math.IsNaN(v):
		return c.cells - 1
	case x.Kind == Continuous, x.Kind == Nominal && c.apart:
		cell := 0
		for _, cut := range c.cuts[i*inner : (i+1)*inner] {
			if v >= cut {
				cell++
			}
		}
		return cell
	case x.Kind == Ordinal:
		return min(int(v)*(c.cells-1)/max(len(x.Levels), 1), inner)
	default:
		return int(Hash(uint64(f), uint64(textHash(levels.Text(f, v)))) % uint64(c.cells-1))
	}
}

func (c *fewCells) append(b []byte) []byte {
	return wire.AppendFloats(wire.AppendFloats(b, c.first), c.cuts)
}

// take replaces values and cuts by those of a state; an error leaves them as they were.
func (c *fewCells) take(first, cuts []float64) error {
	n, want := len(c.of), 0
	if len(cuts) > 0 {
		want = max(n*(c.cells-2), 1)
	}
	if len(cuts) != want || len(first) >= max(firstRecords*n, 1) || n > 0 && len(first)%n != 0 ||
		len(cuts) > 0 && len(first) > 0 {
		return fmt.Errorf("%d cuts and %d first values", len(cuts), len(first))
	}
	for _, v := range cuts {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("a cut is %v", v)
		}
	}
	c.first, c.cuts = first, cuts
	return nil
}
