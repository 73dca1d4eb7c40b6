package evaluate

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model/drift"
)

// GroupCurve is a segment, and how it went over the stream.
type GroupCurve struct {
	Group
	Curve []GroupPoint `json:"curve"`
}

// GroupPoint has the figures of a segment in a window of the stream, of the windows of Curve.
type GroupPoint struct {
	Records int64  `json:"records"` // of the stream at the end of the window
	N       Number `json:"n"`       // of the segment in it
	Share   Number `json:"share"`
	Rate    Number `json:"rate"`
	Lift    Number `json:"lift"` // over the rate of the window
	Mean    Number `json:"mean_propensity"`
}

// GroupChange is a place of the stream where the share of a segment changed, or the rate of the class in it.
type GroupChange struct {
	Segment string `json:"segment"`
	What    string `json:"what"`   // share or rate
	At      int64  `json:"at"`     // records of the stream up to the alarm
	Since   int64  `json:"since"`  // records of the stream before the change, as far as it can be told
	Before  Number `json:"before"` // of the records since the change before
	After   Number `json:"after"`  // of the records up to the next change
}

// curve computes the points of a segment; a point of fewer than Least of its records has none of its figures.
func (m *groupMeter) curve(in []bool) []GroupPoint {
	points := []GroupPoint{}
	window := curveWindow(len(m.records))
	for a := 0; a < len(m.records); a += window {
		b := min(a+window, len(m.records))
		if a > 0 && b-a < window/2 {
			break
		}
		var s, all groupSums
		n := 0
		for i := a; i < b; i++ {
			r := &m.records[i]
			one := groupSums{weight: r.weight, p: r.weight * r.p}
			if r.positive {
				one.positive = r.weight
			}
			all.add(&one, 1)
			if in[i] {
				s.add(&one, 1)
				n++
			}
		}
		q := s.quotients(&all)
		p := GroupPoint{Records: m.records[b-1].index + 1, N: Number(n), Share: Number(q[ofShare]), Rate: Number(q[ofRate]),
			Lift: Number(q[ofLift]), Mean: Number(q[ofMean])}
		if n < m.o.Least {
			nan := Number(math.NaN())
			p.N, p.Share, p.Rate, p.Lift, p.Mean = nan, nan, nan, nan, nan
		}
		points = append(points, p)
	}
	return points
}

// changes gives membership of each segment, and the outcomes of its members, to an ADWIN each. Their Delta shares the
// usual one out, so that more segments give no more alarms by chance.
func (m *groupMeter) changes() []GroupChange {
	out := []GroupChange{}
	o := drift.DefaultADWIN()
	o.Delta /= float64(max(1, 2*len(m.segments)))
	for k, in := range m.segments {
		name := m.o.Segments[k].Name
		var every, members []int
		for i := range m.records {
			every = append(every, i)
			if in[i] {
				members = append(members, i)
			}
		}
		if len(members) < m.o.Least {
			continue
		}
		number := func(b bool) float64 {
			if b {
				return 1
			}
			return 0
		}
		out = append(out, m.found(GroupChange{Segment: name, What: "share"}, every, o,
			func(i int) float64 { return number(in[i]) })...)
		out = append(out, m.found(GroupChange{Segment: name, What: "rate"}, members, o,
			func(i int) float64 { return number(m.records[i].positive) })...)
	}
	slices.SortStableFunc(out, func(a, b GroupChange) int { return cmp.Compare(a.At, b.At) })
	return out
}

// found lists the changes of a number over records. Changes between which fewer than Least records lie have no mean
// there.
func (m *groupMeter) found(x GroupChange, records []int, o drift.ADWINOptions, number func(i int) float64,
) (out []GroupChange) {
	index := func(k int) int64 { return m.records[records[k]].index }
	of := func(k int) float64 { return number(records[k]) }
	for _, c := range changesOf(len(records), o, of, index, m.o.Least) {
		x.At, x.Since, x.Before, x.After = c.at, c.since, c.before, c.after
		out = append(out, x)
	}
	return out
}
