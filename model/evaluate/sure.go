package evaluate

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
)

// sureGroups is the number of groups of the records by their propensity, and sureRecords the length of the blocks of
// the stream, in which rates are held against intervals.
const (
	sureGroups  = 10
	sureRecords = 1000
)

// Sure holds the intervals of the propensities of the positive class against rates. An interval speaks of one record,
// whose true propensity no label tells. The mean propensity of many records is surer than one of them, so rates should
// lie within the mean interval in all groups and blocks, but for the chance of the labels.
type Sure struct {
	Level  float64     `json:"level"`
	Width  Number      `json:"width"` // mean of the intervals
	Groups []SureGroup `json:"groups"`
	// Blocks are the blocks of 1,000 records of the stream, of which Inside have a rate within the mean interval, or no
	// farther outside than two standard errors of the rate.
	Blocks int `json:"blocks"`
	Inside int `json:"inside"`
}

// SureGroup is a tenth of the records by their propensity: the means, and the rate of the positive class.
type SureGroup struct {
	N          int    `json:"n"`
	Low        Number `json:"low"`
	High       Number `json:"high"`
	Propensity Number `json:"propensity"`
	Rate       Number `json:"rate"`
	RateError  Number `json:"rate_error"` // its standard error
}

// sureRecord is a labelled record with an interval.
type sureRecord struct {
	index        int64
	p, low, high float64
	weight       float64
	positive     bool
}

// sureMeter gathers the records of a run.
type sureMeter struct {
	positive int
	level    float64
	records  []sureRecord
}

// add takes a labelled record that has an interval of the positive class.
func (m *sureMeter) add(r *Record, s *model.Scores) {
	if m.positive < 0 || r.Row >= len(s.Sure) || math.IsNaN(s.Sure[r.Row].Low) || !(r.Weight > 0) {
		return
	}
	x := s.Sure[r.Row]
	m.level = s.SureLevel
	m.records = append(m.records, sureRecord{r.Index, s.P[r.Row*s.Classes+m.positive], x.Low, x.High, r.Weight,
		int(r.Class) == m.positive})
}

// result computes the figures; nil without records.
func (m *sureMeter) result() *Sure {
	if len(m.records) == 0 {
		return nil
	}
	u := &Sure{Level: m.level, Groups: []SureGroup{}}
	slices.SortStableFunc(m.records, func(a, b sureRecord) int { return cmp.Compare(a.index, b.index) })
	n := len(m.records)
	for from := 0; from+sureRecords <= n; from += sureRecords {
		g := sureGroup(m.records[from : from+sureRecords])
		u.Blocks++
		if by := 2 * g.RateError; g.Rate >= g.Low-by && g.Rate <= g.High+by {
			u.Inside++
		}
	}
	all := sureGroup(m.records)
	u.Width = all.High - all.Low
	slices.SortStableFunc(m.records, func(a, b sureRecord) int { return cmp.Compare(a.p, b.p) })
	for k := range sureGroups {
		if of := m.records[k*n/sureGroups : (k+1)*n/sureGroups]; len(of) > 0 {
			u.Groups = append(u.Groups, sureGroup(of))
		}
	}
	return u
}

// sureGroup returns the weighted means of records. The error of their rate is that of independent labels at their
// propensities p: the root of sum w^2 p (1 - p), over sum w.
func sureGroup(records []sureRecord) SureGroup {
	g := SureGroup{N: len(records)}
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
