package evaluate

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
)

// intervalGroups is the number of groups of the records by their propensity, and intervalRecords the length of the
// blocks of the stream, in which rates are held against intervals.
const (
	intervalGroups  = 10
	intervalRecords = 1000
)

// Intervals holds the intervals of the propensities of the positive class against rates. An interval speaks of one
// record, whose true propensity no label tells. The mean propensity of many records is surer than one of them, so rates
// should lie within the mean interval in all groups and blocks, but for the chance of the labels.
type Intervals struct {
	Level  float64         `json:"level"`
	Width  Number          `json:"width"` // mean of the intervals
	Groups []IntervalGroup `json:"groups"`
	// Blocks are the blocks of 1,000 records of the stream, of which Inside have a rate within the mean interval, or no
	// farther outside than two standard errors of the rate.
	Blocks int `json:"blocks"`
	Inside int `json:"inside"`
}

// IntervalGroup is a tenth of the records by their propensity: the means, and the rate of the positive class.
type IntervalGroup struct {
	N          int    `json:"n"`
	Low        Number `json:"low"`
	High       Number `json:"high"`
	Propensity Number `json:"propensity"`
	Rate       Number `json:"rate"`
	RateError  Number `json:"rate_error"` // its standard error
}

// intervalRecord is a labelled record with an interval.
type intervalRecord struct {
	index        int64
	p, low, high float64
	weight       float64
	positive     bool
}

// intervalMeter gathers the records of a run.
type intervalMeter struct {
	positive int
	level    float64
	records  []intervalRecord
}

// add takes a labelled record that has an interval of the positive class.
func (m *intervalMeter) add(r *Record, s *model.Scores) {
	if m.positive < 0 || r.Row >= len(s.Intervals) || math.IsNaN(s.Intervals[r.Row].Low) || !(r.Weight > 0) {
		return
	}
	x := s.Intervals[r.Row]
	m.level = s.IntervalLevel
	m.records = append(m.records, intervalRecord{r.Index, s.P[r.Row*s.Classes+m.positive], x.Low, x.High, r.Weight,
		int(r.Class) == m.positive})
}

// result computes the figures; nil without records.
func (m *intervalMeter) result() *Intervals {
	if len(m.records) == 0 {
		return nil
	}
	u := &Intervals{Level: m.level, Groups: []IntervalGroup{}}
	slices.SortStableFunc(m.records, func(a, b intervalRecord) int { return cmp.Compare(a.index, b.index) })
	n := len(m.records)
	for from := 0; from+intervalRecords <= n; from += intervalRecords {
		g := intervalGroup(m.records[from : from+intervalRecords])
		u.Blocks++
		if by := 2 * g.RateError; g.Rate >= g.Low-by && g.Rate <= g.High+by {
			u.Inside++
		}
	}
	all := intervalGroup(m.records)
	u.Width = all.High - all.Low
	slices.SortStableFunc(m.records, func(a, b intervalRecord) int { return cmp.Compare(a.p, b.p) })
	for k := range intervalGroups {
		if of := m.records[k*n/intervalGroups : (k+1)*n/intervalGroups]; len(of) > 0 {
			u.Groups = append(u.Groups, intervalGroup(of))
		}
	}
	return u
}

// intervalGroup returns the weighted means of records. The error of their rate is that of independent labels at their
// propensities p: the root of sum w^2 p (1 - p), over sum w.
func intervalGroup(records []intervalRecord) IntervalGroup {
	g := IntervalGroup{N: len(records)}
	var weight, square float64
	for i := range records {
		x := &records[i]
		w := x.weight
		weight += w
		g.Low += Number(w * x.low)
		g.High += Number(w * x.high)
		g.Propensity += Number(w * x.p)
		if x.positive {
			g.Rate += Number(w)
		}
		square += w * w * x.p * (1 - x.p)
	}
	for _, v := range []*Number{&g.Low, &g.High, &g.Propensity, &g.Rate} {
		*v /= Number(weight)
	}
	g.RateError = Number(math.Sqrt(square) / weight)
	return g
}
