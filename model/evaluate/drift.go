package evaluate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"liftstream/model"
	"liftstream/model/drift"
)

// DriftRecords is the length of the windows whose distributions are compared.
const DriftRecords = 2000

// ShortDriftRecords is that of streams that have less than two windows of DriftRecords.
const ShortDriftRecords = 200

const (
	driftBins  = 10   // quantile bins of a number
	driftShare = 0.01 // levels rarer than this in the reference share one bin,
	driftLeast = 10   // and so do those of fewer records
	driftTail  = 0.05 // share of streams without drift in which some column exceeds its threshold
)

// Drift is how far the distribution of a column moved over the stream: the population stability index between the first
// N records and each later window of as many,
//
//	PSI = sum_k (q_k - p_k) ln(q_k / p_k),  p_k = (n_k + 1/2) / (n + K/2),
//
// over K bins: of a number the deciles of the reference, of levels those with at least 1 % and ten records of it and
// the rest, and one for missing values and special codes. By custom .1 is a shift and .25 a large one. Beside the
// features stand "(class)" and "(propensity)", the latter of the class that the figures speak of, or of the record's
// likeliest one where they are means over classes.
type Drift struct {
	Feature string `json:"feature"`
	PSI     Number `json:"psi"` // of the window where it is largest
	At      int64  `json:"at"`  // records of the stream at the end of that window
	Last    Number `json:"last"`
	// Expected and Threshold belong to PSI, the largest of W windows: its mean, and the value that it exceeds in 5 % of
	// streams in any of their columns, when the records of a stream are drawn alike and one by one. The PSI of one window
	// is then close to 2/N chi2_d, with d+1 bins that are not empty in the reference. With F the distribution of chi2_d,
	// Expected is 2/N times the integral of 1 - F(x)^W over x >= 0, as if windows had references of their own (a little
	// too much: they share one), and Threshold is 2/N F^-1(1 - .05 / (W columns)).
	Expected  Number `json:"expected"`
	Threshold Number `json:"threshold"`
	// Cells are those of the window of PSI, which is the sum of their parts.
	Cells []DriftCell `json:"cells"`
}

// Moved says that a column moved far, by custom, and further than by chance.
func (d *Drift) Moved() bool { return d.PSI >= .1 && d.PSI > d.Threshold }

// DriftMeter accumulates Drift over a stream in bounded memory. It counts records, not their weights.
type DriftMeter struct {
	schema  *model.Schema
	columns []driftColumn
	from    int64
	seen    int64
	records int64 // of a window
}

type driftColumn struct {
	name    string
	clock   bool      // it moves as the clock does (model.Feature.OfClock) and is left out
	records float64   // of a window
	numbers []float64 // the reference while it is being gathered
	cuts    []float64 // upper ends of the bins but the last
	levels  map[string]int
	names   []string // of levels in order of appearance, while the reference is being gathered
	counts  []float64
	ref     []float64
	labels  []string  // of the bins of levels, from the third on
	worst   []float64 // counts of the window of psi
	psi     float64
	at      int64
	last    float64
}

// NewDriftMeter watches the features of the schema except parts of the own date of a record (model.Feature.OfClock),
// the class, and a propensity, of the stream after its first from records, in windows of the given number of records.
func NewDriftMeter(s *model.Schema, from int64, records int) *DriftMeter {
	d := &DriftMeter{schema: s, from: from, records: int64(records)}
	for _, f := range s.Features {
		c := driftColumn{name: f.Name, clock: f.OfClock()}
		if f.Kind != model.Continuous {
			c.levels = map[string]int{}
		}
		d.columns = append(d.columns, c)
	}
	d.columns = append(d.columns, driftColumn{name: "(class)", levels: map[string]int{}},
		driftColumn{name: "(propensity)"})
	for k := range d.columns {
		d.columns[k].records = float64(records)
	}
	return d
}

// Add takes row i of the batch, the name of its class ("" = not known) and its propensity (NaN = not scored).
func (d *DriftMeter) Add(b *model.Batch, i int, class string, propensity float64) {
	n := len(d.columns)
	for f := range n - 2 {
		c, v := &d.columns[f], &b.Columns[f]
		if c.clock {
			continue
		}
		if c.levels == nil {
			c.number(d.schema.Features[f].Value(v.Float[i]))
		} else if code := v.Code[i]; code == model.MissingCode {
			c.level("", false)
		} else {
			c.level(v.Levels[code], true)
		}
	}
	d.columns[n-2].level(class, class != "")
	d.columns[n-1].number(propensity)
	d.seen++
	if d.seen%d.records == 0 {
		for k := range d.columns {
			if !d.columns[k].clock {
				d.columns[k].close(d.from + d.seen)
			}
		}
	}
}

func (c *driftColumn) number(v float64) {
	if math.IsInf(v, 0) {
		v = math.NaN()
	}
	if c.ref == nil {
		c.numbers = append(c.numbers, v)
		return
	}
	c.counts[c.bin(v)]++
}

// bin of a number: (cut[k-1], cut[k]], missing last.
func (c *driftColumn) bin(v float64) int {
	if math.IsNaN(v) {
		return len(c.counts) - 1
	}
	k, _ := slices.BinarySearch(c.cuts, v)
	return k
}

// level counts by text. While the reference is gathered each text has its own bin; names beyond it share bin 0.
func (c *driftColumn) level(text string, present bool) {
	if c.counts == nil {
		c.counts = make([]float64, 2) // the rest, missing
	}
	if !present {
		c.counts[1]++
		return
	}
	k, ok := c.levels[text]
	if !ok && c.ref == nil {
		k = len(c.counts)
		c.levels[text] = k
		c.names = append(c.names, text)
		c.counts = append(c.counts, 0)
	}
	c.counts[k]++
}

func (c *driftColumn) close(seen int64) {
	switch {
	case c.ref != nil:
		c.last = drift.PSI(c.ref, c.counts)
		if c.last > c.psi || c.at == 0 {
			c.psi, c.at = c.last, seen
			c.worst = append(c.worst[:0], c.counts...)
		}
	case c.levels == nil:
		v := slices.DeleteFunc(slices.Clone(c.numbers), math.IsNaN)
		slices.Sort(v)
		for k := 1; k < driftBins && len(v) > 0; k++ {
			c.cuts = append(c.cuts, v[(len(v)-1)*k/driftBins])
		}
		c.cuts = slices.Compact(c.cuts)
		c.counts = make([]float64, len(c.cuts)+2)
		for _, x := range c.numbers {
			c.counts[c.bin(x)]++
		}
		c.ref, c.numbers = slices.Clone(c.counts), nil
	default:
		merged := c.counts[:2:2]
		c.labels = make([]string, 2)
		for k, text := range c.names {
			if n := c.counts[k+2]; n >= max(driftLeast, driftShare*c.records) {
				c.levels[text] = len(merged)
				c.labels = append(c.labels, text)
				merged = append(merged, n)
			} else {
				delete(c.levels, text)
				merged[0] += n
			}
		}
		c.counts, c.names = merged, nil
		c.ref = slices.Clone(c.counts)
	}
	clear(c.counts)
}

// null returns Expected and Threshold of a column over w windows in a report of so many columns.
func (c *driftColumn) null(w, columns int64) (expected, threshold float64) {
	bins := 0
	for _, n := range c.ref {
		if n > 0 {
			bins++
		}
	}
	if bins < 2 {
		return 0, 0
	}
	half := float64(bins-1) / 2
	const steps = 4000
	quantile := func(tail float64) float64 { return 2 * mathext.GammaIncRegCompInv(half, tail) }
	// By trapezoids; beyond the end the integrand is below 1e-9.
	end := quantile(1e-9 / float64(w))
	for i := range steps + 1 {
		f := 1 - math.Pow(mathext.GammaIncReg(half, end*float64(i)/steps/2), float64(w))
		if i == 0 || i == steps {
			f /= 2
		}
		expected += f * end / steps
	}
	unit := 2 / c.records
	return unit * expected, unit * quantile(driftTail/float64(w*columns))
}

// Report lists every column, the largest drift first; it is empty before two windows have passed.
func (d *DriftMeter) Report() []Drift {
	report := []Drift{}
	watched := slices.DeleteFunc(slices.Clone(d.columns), func(c driftColumn) bool { return c.clock })
	for _, c := range watched {
		if c.at > 0 {
			expected, threshold := c.null(d.seen/d.records-1, int64(len(watched)))
			report = append(report, Drift{
				Feature: c.name, PSI: Number(c.psi), At: c.at, Last: Number(c.last),
				Expected: Number(expected), Threshold: Number(threshold),
				Cells: c.cells(),
			})
		}
	}
	slices.SortStableFunc(report, func(a, b Drift) int { return cmp.Compare(b.PSI, a.PSI) })
	return report
}
