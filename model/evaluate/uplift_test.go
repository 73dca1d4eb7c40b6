package evaluate

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// planted makes n records whose treatment is at random and adds effect(x) to the rate .3; by ranks them.
func planted(n int, effect, by func(x, draw float64) float64) []upliftRecord {
	draw := func(i, what int) float64 { return float64(model.Hash(8, uint64(i), uint64(what))>>11) / (1 << 53) }
	var out []upliftRecord
	for i := range n {
		x := draw(i, 0)
		r := upliftRecord{index: int64(i), p: .3, weight: 1, uplift: by(x, draw(i, 1)), treated: draw(i, 2) < .4}
		rate := .3
		if r.treated {
			rate += effect(x, 0)
		}
		r.positive = draw(i, 3) < rate
		out = append(out, r)
	}
	return out
}

// slowQini is the coefficient after scikit-uplift (qini_auc_score of its metrics): cumulated counts at each threshold,
// each counted anew over all records.
func slowQini(records []upliftRecord) float64 {
	area := func(rank func(r upliftRecord) float64) (area, last, n float64) {
		var thresholds []float64
		for _, r := range records {
			thresholds = append(thresholds, rank(r))
		}
		slices.Sort(thresholds)
		thresholds = slices.Compact(thresholds)
		slices.Reverse(thresholds)
		x0, y0 := 0., 0.
		for _, at := range thresholds {
			var treated, control, yt, yc float64
			for _, r := range records {
				if rank(r) < at {
					continue
				}
				switch y := 0.; {
				case r.positive:
					y = 1
					fallthrough
				default:
					if r.treated {
						treated++
						yt += y
					} else {
						control++
						yc += y
					}
				}
			}
			y := yt
			if control > 0 {
				y -= yc * treated / control
			}
			area += (treated + control - x0) * (y + y0) / 2
			x0, y0 = treated+control, y
		}
		return area, y0, x0
	}
	actual, last, n := area(func(r upliftRecord) float64 { return r.uplift })
	best, _, _ := area(func(r upliftRecord) float64 {
		y, t := 0., 0.
		if r.positive {
			y = 1
		}
		if r.treated {
			t = 1
		}
		return y*t - y*(1-t)
	})
	return (actual - n*last/2) / (best - n*last/2)
}

// TestQini: against the slow program to 1e-12, with ties too; near 0 for a ranking at random, positive for the true
// one, its negative for the reverse, and 1 for the best.
func TestQini(t *testing.T) {
	effect := func(x, _ float64) float64 { return .4*x - .1 }
	x := func(x, _ float64) float64 { return x }
	for name, by := range map[string]func(x, draw float64) float64{"true": x,
		"ties":   func(x, _ float64) float64 { return math.Round(5 * x) },
		"random": func(_, draw float64) float64 { return draw }, "constant": func(_, _ float64) float64 { return 1 }} {
		records := planted(700, effect, by)
		if got, want := qini(records), slowQini(records); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	const n = 40_000
	good := qini(planted(n, effect, x))
	turned := qini(planted(n, effect, func(x, _ float64) float64 { return -x }))
	random := planted(n, effect, func(_, draw float64) float64 { return draw })
	if q, e := qini(random), qiniError(random); math.Abs(q) > 4*e || e > .01 || e <= 0 {
		t.Errorf("at random %v +- %v", q, e)
	}
	if good < .05 || turned > -.05 {
		t.Errorf("the true ranking has %v, turned round %v", good, turned)
	}
	best := planted(n, effect, x)
	for i := range best {
		best[i].uplift = 0
		if best[i].positive {
			best[i].uplift = -1
			if best[i].treated {
				best[i].uplift = 1
			}
		}
	}
	if q := qini(best); math.Abs(q-1) > 1e-12 {
		t.Errorf("the best ranking has %v", q)
	}
	none := planted(n, func(_, _ float64) float64 { return 0 }, x)
	if q, e := qini(none), qiniError(none); math.Abs(q) > 4*e {
		t.Errorf("without an effect %v +- %v", q, e)
	}
}

// TestPoliciesDoNotBendTheEffect: where those of high propensity are treated more often, the plain difference of rates
// is that of their propensities too, and that of balanced records is the effect; cells of one kind alone are left out.
func TestPoliciesDoNotBendTheEffect(t *testing.T) {
	draw := func(i, what int) float64 { return float64(model.Hash(9, uint64(i), uint64(what))>>11) / (1 << 53) }
	m := upliftMeter{positive: 1}
	const n, effect = 60_000, .05
	plain, kinds := [2]float64{}, [2]float64{}
	for i := range n {
		p := .05 + .6*draw(i, 0)
		treated := draw(i, 1) < p && p > .2
		k, rate := 0, p
		if treated {
			k, rate = 1, p+effect
		}
		positive := draw(i, 2) < rate
		kinds[k]++
		if positive {
			plain[k]++
		}
		m.records = append(m.records, upliftRecord{index: int64(n - i), p: p, weight: 1, uplift: draw(i, 3), treated: treated,
			positive: positive})
	}
	u := m.result()
	if d := plain[1]/kinds[1] - plain[0]/kinds[0]; d < .15 {
		t.Errorf("the plain difference is %v", d)
	}
	if math.Abs(float64(u.Effect)-effect) > .015 || u.LeftOut < n/5 || u.LeftOut > n*3/10 ||
		u.Treated+u.Untreated != n || math.Abs(float64(u.Qini)) > 4*float64(u.QiniError) {
		t.Errorf("%+v", u)
	}
	if first, last := u.Curve[0], u.Curve[10]; first.Gain != 0 || last.Gain != u.Effect {
		t.Errorf("the curve goes from %+v to %+v", first, last)
	}
}

// TestUpliftCountsRecords: those of a known treatment and estimate alone.
func TestUpliftCountsRecords(t *testing.T) {
	s := &model.Scores{Classes: 2, P: []float64{.7, .3, .6, .4}, Uplift: []model.Uplift{{Value: .1}, {Value: math.NaN()}}}
	m := upliftMeter{positive: 1}
	for _, r := range []Record{{Row: 0, treatment: model.Treated}, {Row: 0, treatment: model.TreatmentUnknown},
		{Row: 1, treatment: model.Treated}, {Row: 2, treatment: model.Untreated}} {
		r.Class, r.Weight = 1, 1
		m.add(&r, s)
	}
	if len(m.records) != 1 || m.records[0].p != .3 || m.records[0].uplift != .1 || !m.records[0].positive {
		t.Errorf("%+v", m.records)
	}
	if (&upliftMeter{}).result() != nil {
		t.Error("figures without a record")
	}
	if u := m.result(); u != nil {
		t.Errorf("of one record %+v", u)
	}
}
