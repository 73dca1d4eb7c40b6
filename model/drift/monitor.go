package drift

import (
	"math"
	"slices"
)

// Kind says how the values of a column are compared.
type Kind int

// Kinds of columns.
const (
	Numbers Kind = iota
	Levels
)

// Column is a column that a Monitor watches.
type Column struct {
	Name string
	Kind Kind
	// OfModel columns, such as a propensity or a loss, change with the model, at a fit and slowly while it learns. They
	// are compared with the Reference records just before the window, and only with those since the last Refit: an abrupt
	// change gives alarm, a slow one does not. The others are compared with the records before the fit.
	OfModel bool
}

// MonitorOptions say how a Monitor works; DefaultMonitor returns the usual ones.
type MonitorOptions struct {
	Reference int // records that are compared with, at least 1
	Window    int // newest records that are compared, a multiple of Step and at most Reference
	Step      int // records between comparisons, at least 1
	// FalseAlarms is the expected number of alarms in 100,000 records that are drawn alike and one by one, of all
	// columns together, between 0 and 1. It is shared out evenly over all comparisons.
	FalseAlarms float64
}

// DefaultMonitor returns windows of 500 records, compared with 2,000 after every 250, and one false alarm in ten
// million records. A change of all records of a column by a PSI of .3 or more is found within 750 records.
func DefaultMonitor() MonitorOptions {
	return MonitorOptions{Reference: 2000, Window: 500, Step: 250, FalseAlarms: .01}
}

const (
	monitorBins  = 10 // quantile bins of a number
	monitorLeast = 20 // expected records of a level in a window; rarer ones share a bin
	monitorFew   = 5  // records a bin, below which distributions are not compared
)

// Alarm says that the newest Window records differ from the reference.
type Alarm struct {
	Column string
	// Missing is true where the share of missing values differs, false where the present values do.
	Missing   bool
	Records   int64 // of the stream up to here
	PSI       float64
	Threshold float64
}

// Monitor compares the newest records of a stream with those of the last fit, column by column: the shares of missing
// values, and the distribution of the others in bins, of a number by the deciles of the reference, of levels those
// frequent enough and the rest. Before the first Refit the first Reference records stand for those of the fit. It keeps
// the newest records that it needs, 16 bytes a value. A column gives its next alarm after it has gone back below half
// its threshold.
type Monitor struct {
	o       MonitorOptions
	columns []watched
	records int64
	alarms  []Alarm
}

// value is a number, or the hash of a level.
type value struct {
	bits    uint64
	missing bool
}

// watched is a column.
type watched struct {
	Column
	ring   []value // the newest values: as many as the reference, of columns of the model with the window behind it
	held   int     // values in the ring
	at     int     // place of the next value
	since  int     // values since the reference was taken, at most those of a window
	cuts   []float64
	levels map[uint64]int
	ref    []float64  // present values by bin; nil = no reference yet
	gone   [2]float64 // present and missing ones
	raised [2]bool    // the values, missing
}

// NewMonitor returns a monitor that has seen nothing. It panics on options out of their bounds.
func NewMonitor(columns []Column, o MonitorOptions) *Monitor {
	if o.Reference < 1 || o.Step < 1 || o.Window < o.Step || o.Window%o.Step != 0 || o.Window > o.Reference ||
		!(o.FalseAlarms > 0 && o.FalseAlarms < 1) {
		panic("drift: MonitorOptions out of bounds")
	}
	m := &Monitor{o: o}
	for _, c := range columns {
		n := o.Reference
		if c.OfModel {
			n += o.Window
		}
		m.columns = append(m.columns, watched{Column: c, ring: make([]value, n)})
	}
	return m
}

// Number sets the value of column k of the next record; NaN and infinite numbers are missing.
func (m *Monitor) Number(k int, v float64) {
	m.columns[k].add(math.Float64bits(v), math.IsNaN(v) || math.IsInf(v, 0))
}

// Level sets the level of column k of the next record.
func (m *Monitor) Level(k int, text string, present bool) {
	h := uint64(0xcbf29ce484222325) // FNV-1a
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	m.columns[k].add(h, !present)
}

func (c *watched) add(bits uint64, missing bool) {
	c.ring[c.at] = value{bits, missing}
	c.at = (c.at + 1) % len(c.ring)
	c.held, c.since = min(c.held+1, len(c.ring)), c.since+1
}

// newest returns the place of the n-th newest value.
func (c *watched) newest(n int) int { return (c.at - n + len(c.ring)) % len(c.ring) }

// bin of a present value: of a number (cut[k-1], cut[k]], of a level its own or that of the rest, 0.
func (c *watched) bin(v uint64) int {
	if c.Kind == Levels {
		return c.levels[v]
	}
	k, _ := slices.BinarySearch(c.cuts, math.Float64frombits(v))
	return k
}

// Next ends a record, each column of which was set once, and returns the alarms that it gives; they are valid until the
// next call.
func (m *Monitor) Next() []Alarm {
	m.records++
	m.alarms = m.alarms[:0]
	if m.records%int64(m.o.Step) != 0 {
		return nil
	}
	for k := range m.columns {
		c := &m.columns[k]
		if c.held < len(c.ring) {
			continue
		}
		if c.OfModel || c.ref == nil {
			c.take(m.o)
		}
		if c.OfModel || c.since >= m.o.Window {
			m.compare(c)
		}
	}
	return m.alarms
}

// Refit makes the newest records the reference: a fit has seen them.
func (m *Monitor) Refit() {
	for k := range m.columns {
		c := &m.columns[k]
		c.raised = [2]bool{}
		switch {
		case c.OfModel:
			c.held = 0
		case c.held == len(c.ring):
			c.take(m.o)
		}
	}
}

// take makes the oldest values of the ring the reference.
func (c *watched) take(o MonitorOptions) {
	var present []uint64
	c.gone, c.since = [2]float64{}, 0
	for i := range o.Reference {
		if v := c.ring[(c.at+i)%len(c.ring)]; v.missing {
			c.gone[1]++
		} else {
			c.gone[0]++
			present = append(present, v.bits)
		}
	}
	bins := 1
	if c.Kind == Levels {
		counts := map[uint64]float64{}
		for _, v := range present {
			counts[v]++
		}
		c.levels = map[uint64]int{}
		least := float64(monitorLeast) * float64(o.Reference) / float64(o.Window)
		for _, v := range present { // in order of appearance
			if _, ok := c.levels[v]; !ok && counts[v] >= least {
				c.levels[v] = bins
				bins++
			}
		}
	} else {
		v := make([]float64, len(present))
		for i, x := range present {
			v[i] = math.Float64frombits(x)
		}
		slices.Sort(v)
		c.cuts = c.cuts[:0]
		for k := 1; k < monitorBins && len(v) > 0; k++ {
			c.cuts = append(c.cuts, v[(len(v)-1)*k/monitorBins])
		}
		c.cuts = slices.Compact(c.cuts)
		bins = len(c.cuts) + 1
	}
	c.ref = make([]float64, bins)
	for _, v := range present {
		c.ref[c.bin(v)]++
	}
}

// compare gives the alarms of one column.
func (m *Monitor) compare(c *watched) {
	// Two comparisons a column and step.
	tail := m.o.FalseAlarms * float64(m.o.Step) / 100_000 / float64(2*len(m.columns))
	now, gone := make([]float64, len(c.ref)), make([]float64, 2)
	for i := range m.o.Window {
		if v := c.ring[c.newest(i+1)]; v.missing {
			gone[1]++
		} else {
			gone[0]++
			now[c.bin(v.bits)]++
		}
	}
	for i, x := range []struct{ ref, now []float64 }{{c.ref, now}, {c.gone[:], gone}} {
		var n, w float64
		for k := range x.ref {
			n += x.ref[k]
			w += x.now[k]
		}
		if few := monitorFew * float64(len(x.ref)); n < few || w < few || len(x.ref) < 2 {
			continue
		}
		psi, threshold := PSI(x.ref, x.now), PSIThreshold(len(x.ref), n, w, tail)
		if psi > threshold && !c.raised[i] {
			m.alarms = append(m.alarms, Alarm{Column: c.Name, Missing: i == 1, Records: m.records, PSI: psi,
				Threshold: threshold})
		}
		c.raised[i] = psi > threshold || c.raised[i] && psi > threshold/2
	}
}
