package evaluate

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestIntervalsByHand: groups and blocks have the weighted means of their records; records without an interval, a label
// or a weight count nowhere.
func TestIntervalsByHand(t *testing.T) {
	m := intervalMeter{positive: 1}
	add := func(index int64, p, low, high float64, class int32, weight float64) {
		m.add(&Record{Index: index, Class: class, Weight: weight}, &model.Scores{Classes: 2, P: []float64{1 - p, p},
			Intervals: []model.Interval{{Low: low, High: high}}, IntervalLevel: .9})
	}
	for i := range int64(2000) {
		p, class := .1, int32(0)
		if i%2 == 1 {
			p = .3
		}
		if i%4 == 1 || i < 1000 && i%10 == 0 {
			class = 1
		}
		add(i, p, p-.05, p+.1, class, 1+float64(i%2))
	}
	add(9, .9, math.NaN(), math.NaN(), 1, 1)
	add(9, .9, .8, .95, 1, 0)
	u := m.result()
	// Of the odd half, which weighs 2, every second record is positive: .5, beyond .4 and two errors. Of the even half a
	// fifth in the first thousand. The rate is (250*2 + 100)/1500 = .4 in the first block, 1/3 in the second; the mean
	// interval .183 to .333.
	if u.Level != .9 || len(u.Groups) != 10 || u.Blocks != 2 || u.Inside != 1 || math.Abs(float64(u.Width)-.15) > 1e-9 {
		t.Errorf("%+v", u)
	}
	g := u.Groups[9]
	if g.N != 200 || math.Abs(float64(g.Propensity)-.3) > 1e-9 || math.Abs(float64(g.Rate)-.5) > 1e-9 ||
		math.Abs(float64(g.Low)-.25) > 1e-9 || math.Abs(float64(g.RateError)-math.Sqrt(.21/200)) > 1e-9 {
		t.Errorf("last group %+v", g)
	}
	none := intervalMeter{positive: 1}
	if none.result() != nil {
		t.Error("figures of nothing")
	}
	blind := intervalMeter{positive: -1}
	blind.add(&Record{Weight: 1}, &model.Scores{Classes: 2, P: []float64{.5, .5},
		Intervals: []model.Interval{{Low: .1, High: .9}}})
	if blind.result() != nil {
		t.Error("figures without a positive class")
	}
}
