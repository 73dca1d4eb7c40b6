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
	// OfModel columns, such as a propensity, change with the model, at a fit and slowly while it learns. They are compared
	// with the Reference records just before the window, and only with those since the last Refit, and they give alarm
	// from a PSI of LeastOfModel on: an abrupt change gives alarm, a slow one does not. The others are compared with the
	// records before the fit.
	OfModel bool
	// OfClock columns, such as the hour of a record, move as the clock does, which is no drift: each value of them counts
	// as missing.
	OfClock bool
}

// LeastOfModel is the least PSI that gives alarm in a column of the model: twice a large shift by custom. A model that
// learns moves its scores, and no threshold of records drawn alike holds for them.
const LeastOfModel = .5

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

func (o *MonitorOptions) valid() bool {
	return o.Reference >= 1 && o.Step >= 1 && o.Window >= o.Step && o.Window%o.Step == 0 && o.Window <= o.Reference &&
		o.FalseAlarms > 0 && o.FalseAlarms < 1
}

// tail is the chance of a false alarm of one of so many comparisons a step.
func (o *MonitorOptions) tail(comparisons int) float64 {
	return o.FalseAlarms * float64(o.Step) / 100_000 / float64(comparisons)
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
// the newest Reference + Window records, 4 bytes a value: a number as a float32, the hash of a level. A column gives
// its next alarm after it has gone back below half its threshold, or after a Refit.
type Monitor struct {
	o       MonitorOptions
	columns []watched
	ring    []uint32 // rows of values
	row     []uint32 // of the next record
	at      int      // row of the ring that comes next
	held    int      // rows in the ring
	model   int      // rows since the last Refit, at most those of the ring
	since   int      // rows since the reference was taken, at most Window; -1 = there is none yet
	records int64
	alarms  []Alarm
	present []uint32        // room
	room    []uint32        // of sort
	of      map[int]float64 // quantiles by bins, as far as they were asked for
}

// threshold is PSIThreshold of one comparison.
func (m *Monitor) threshold(bins int, n, w float64) float64 {
	q, ok := m.of[bins]
	if !ok {
		q = quantile(bins, m.o.tail(2*len(m.columns)))
		m.of[bins] = q
	}
	return (1/n + 1/w) * q
}

// missing stands for no value: as a float32 it is NaN, and no level has that hash.
const missing = 0x7fc00000

// watched is a column.
type watched struct {
	Column
	cuts   []float32
	levels []uint32    // ascending; bins from 1 on, 0 is for the rest
	bins   int         // 0 = no reference yet
	ref    []float64   // present values by bin
	gone   [2]float64  // present and missing ones
	raised [2]bool     // the values, missing
	blocks [][]float64 // of the steps of a window but the newest: present values by bin, then missing ones; newest first
}

// NewMonitor returns a monitor that has seen nothing. It panics on options out of their bounds.
func NewMonitor(columns []Column, o MonitorOptions) *Monitor {
	if !o.valid() {
		panic("drift: MonitorOptions out of bounds")
	}
	m := &Monitor{o: o, row: make([]uint32, len(columns)), since: -1, of: map[int]float64{}}
	for _, c := range columns {
		m.columns = append(m.columns, watched{Column: c})
	}
	return m
}

// rows is the length of the ring once it is full. It grows up to then.
func (m *Monitor) rows() int { return m.o.Reference + m.o.Window }

// Number sets the value of column k of the next record, as the nearest float32; NaN and infinite numbers are missing.
func (m *Monitor) Number(k int, v float64) {
	if m.columns[k].OfClock || math.IsNaN(v) || math.IsInf(v, 0) {
		m.row[k] = missing
		return
	}
	m.row[k] = math.Float32bits(float32(min(max(v, -math.MaxFloat32), math.MaxFloat32)))
}

// Level sets the level of column k of the next record.
func (m *Monitor) Level(k int, text string, present bool) {
	if m.columns[k].OfClock || !present {
		m.row[k] = missing
		return
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	if h == missing {
		h++
	}
	m.row[k] = h
}

// value returns column k of the n-th newest row.
func (m *Monitor) value(k, n int) uint32 {
	i := m.at - n
	if i < 0 {
		i += m.rows()
	}
	return m.ring[i*len(m.columns)+k]
}

// bin of a present value: of a number (cut[k-1], cut[k]], of a level its own or that of the rest, 0.
func (c *watched) bin(v uint32) int {
	if c.Kind == Levels {
		for i, l := range c.levels {
			if l == v {
				return i + 1
			}
		}
		return 0
	}
	x, k := math.Float32frombits(v), 0
	for k < len(c.cuts) && c.cuts[k] < x {
		k++
	}
	return k
}

// Next ends a record, each column of which was set once, and returns the alarms that it gives; they are valid until the
// next call.
func (m *Monitor) Next() []Alarm {
	if m.held < m.rows() {
		m.ring = append(m.ring, m.row...)
		m.held++
	} else {
		copy(m.ring[m.at*len(m.row):], m.row)
	}
	m.at = (m.at + 1) % m.rows()
	m.model = min(m.model+1, m.rows())
	if m.since >= 0 {
		m.since = min(m.since+1, m.o.Window)
	}
	m.records++
	m.alarms = m.alarms[:0]
	if m.records%int64(m.o.Step) != 0 {
		return nil
	}
	if m.since < 0 && m.held >= m.o.Reference {
		m.reference()
	}
	for k := range m.columns {
		c := &m.columns[k]
		if c.OfModel {
			if m.model >= m.rows() {
				m.take(k, m.o.Window, c.bins == 0)
				m.compare(k)
			}
		} else if m.since >= m.o.Window {
			m.compare(k)
		}
	}
	return m.alarms
}

// Refit makes the newest records the reference: a fit has seen them. Raised alarms end.
func (m *Monitor) Refit() {
	for k := range m.columns {
		c := &m.columns[k]
		if c.raised = [2]bool{}; c.OfModel {
			c.bins = 0
		}
	}
	m.model = 0
	if m.held >= m.o.Reference {
		m.reference()
	}
}

// reference takes the reference of the columns that are not of the model.
func (m *Monitor) reference() {
	for k := range m.columns {
		if !m.columns[k].OfModel {
			m.take(k, 0, true)
		}
	}
	m.since = 0
}

// take makes the newest Reference rows but some the reference of column k, with bins of its own where anew says so.
func (m *Monitor) take(k, but int, anew bool) {
	c := &m.columns[k]
	c.gone, c.blocks = [2]float64{}, nil
	m.present = m.present[:0]
	for i := but + m.o.Reference; i > but; i-- {
		if v := m.value(k, i); v == missing {
			c.gone[1]++
		} else {
			c.gone[0]++
			m.present = append(m.present, v)
		}
	}
	if anew {
		m.bins(c, m.present)
	}
	c.ref = grow(c.ref, c.bins)
	for _, v := range m.present {
		c.ref[c.bin(v)]++
	}
}

// grow returns n zeros, in the memory of v where that suffices.
func grow(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// bins cuts the present values, which it orders, into the bins of column c.
func (m *Monitor) bins(c *watched, present []uint32) {
	m.sort(c, present)
	c.cuts, c.levels = c.cuts[:0], c.levels[:0]
	if c.Kind == Levels {
		least := monitorLeast * m.o.Reference / m.o.Window
		for i := 0; i < len(present); {
			j := i
			for ; j < len(present) && present[j] == present[i]; j++ {
			}
			if j-i >= least {
				c.levels = append(c.levels, present[i])
			}
			i = j
		}
		c.bins = len(c.levels) + 1
	} else {
		for i := 1; i < monitorBins && len(present) > 0; i++ {
			c.cuts = append(c.cuts, math.Float32frombits(present[(len(present)-1)*i/monitorBins]))
		}
		c.cuts = slices.Compact(c.cuts)
		c.bins = len(c.cuts) + 1
	}
}

// order compares two present values.
func (c *watched) order(a, b uint32) int {
	if c.Kind == Numbers {
		switch x, y := math.Float32frombits(a), math.Float32frombits(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// count counts the Step rows before the newest but rows of column k: present values by bin, then missing ones.
func (m *Monitor) count(k, but int) []float64 {
	c := &m.columns[k]
	n := make([]float64, c.bins+1)
	for i := but + 1; i <= but+m.o.Step; i++ {
		if v := m.value(k, i); v == missing {
			n[c.bins]++
		} else {
			n[c.bin(v)]++
		}
	}
	return n
}

// compare gives the alarms of one column. The counts of a window are those of its steps, each counted once.
func (m *Monitor) compare(k int) {
	c := &m.columns[k]
	steps := m.o.Window / m.o.Step
	for i := len(c.blocks) + 1; i < steps; i++ {
		c.blocks = append(c.blocks, m.count(k, i*m.o.Step))
	}
	c.blocks = slices.Insert(c.blocks, 0, m.count(k, 0))
	now, gone := make([]float64, c.bins), make([]float64, 2)
	for _, b := range c.blocks {
		for i := range now {
			now[i] += b[i]
			gone[0] += b[i]
		}
		gone[1] += b[c.bins]
	}
	c.blocks = c.blocks[:steps-1]
	for i, x := range []struct{ ref, now []float64 }{{c.ref, now}, {c.gone[:], gone}} {
		var n, w float64
		for k := range x.ref {
			n += x.ref[k]
			w += x.now[k]
		}
		if few := monitorFew * float64(len(x.ref)); n < few || w < few || len(x.ref) < 2 {
			continue
		}
		psi, threshold := PSI(x.ref, x.now), m.threshold(len(x.ref), n, w)
		if c.OfModel && i == 0 {
			threshold = max(threshold, LeastOfModel)
		}
		if psi > threshold && !c.raised[i] {
			m.alarms = append(m.alarms, Alarm{Column: c.Name, Missing: i == 1, Records: m.records, PSI: psi,
				Threshold: threshold})
		}
		c.raised[i] = psi > threshold || c.raised[i] && psi > threshold/2
	}
}
