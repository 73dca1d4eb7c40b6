package evaluate

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func setOf(t testing.TB, classes int, class []int32, p ...float64) *Set {
	t.Helper()
	s := NewSet(classes)
	for i, y := range class {
		row := p[i*classes : (i+1)*classes]
		if err := s.Add(int64(i), row, y, 1); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestUndefinedFiguresAreNull(t *testing.T) {
	one := setOf(t, 2, []int32{1, 1, 1}, .5, .5, .2, .8, .1, .9)
	weightless := NewSet(3)
	if err := weightless.Add(0, []float64{.2, .3, .5}, 1, 0); err != nil {
		t.Fatal(err)
	}
	certain := setOf(t, 2, []int32{0, 1}, 0, 1, 1, 0)
	for name, s := range map[string]*Set{
		"empty": NewSet(2), "one class": one, "no weight": weightless, "certain and wrong": certain,
	} {
		b, err := json.Marshal(struct {
			M *Metrics
			G []Gain
			C []CurvePoint
		}{s.Metrics(-1, 1), s.Gains(-1), s.Curve()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Contains(string(b), "NaN") || strings.Contains(string(b), "Inf") {
			t.Errorf("%s: %s", name, b)
		}
	}
	m := one.Metrics(1, 1)
	for what, v := range map[string]Number{
		"auc": m.AUC, "auc_blocks": m.AUCBlocks, "ks": m.KS, "slope": m.CalibrationSlope, "interval": m.LogLossInterval[0],
	} {
		if what != "interval" && !math.IsNaN(float64(v)) {
			t.Errorf("one class: %s = %v, want undefined", what, v)
		}
	}
	near(t, "one class: log_loss", m.LogLoss, Number(-(math.Log(.5)+math.Log(.8)+math.Log(.9))/3), 1e-15)
	near(t, "certain and wrong: log_loss", certain.Metrics(1, 1).LogLoss, Number(-math.Log(1e-6)), 1e-9)
}

func TestAddRefuses(t *testing.T) {
	for name, add := range map[string]func(s *Set) error{
		"NaN propensity":       func(s *Set) error { return s.Add(0, []float64{math.NaN(), 1}, 0, 1) },
		"propensity above 1":   func(s *Set) error { return s.Add(0, []float64{-.5, 1.5}, 0, 1) },
		"unlabelled":           func(s *Set) error { return s.Add(0, []float64{.5, .5}, -1, 1) },
		"class out of range":   func(s *Set) error { return s.Add(0, []float64{.5, .5}, 2, 1) },
		"infinite weight":      func(s *Set) error { return s.Add(0, []float64{.5, .5}, 1, math.Inf(1)) },
		"NaN weight":           func(s *Set) error { return s.Add(0, []float64{.5, .5}, 1, math.NaN()) },
		"too few propensities": func(s *Set) error { return s.Add(0, []float64{1}, 0, 1) },
	} {
		s := NewSet(2)
		if err := add(s); err == nil || s.Len() != 0 {
			t.Errorf("%s: error %v, %d records", name, err, s.Len())
		}
	}
}

func ranked(n int, at func(i int) (score float64, positive bool, weight float64)) *Ranking {
	r := &Ranking{}
	r.Reset(n, at)
	return r
}

// TestSeparatedIsNotCalibrated: the maximum of the likelihood does not exist.
func TestSeparatedIsNotCalibrated(t *testing.T) {
	for name, p := range map[string][]float64{
		"apart": {.1, .2, .8, .9}, "tie at the edge": {.1, .5, .5, .9}, "reversed": {.9, .8, .2, .1},
		"constant": {.5, .5, .5, .5},
	} {
		y := []bool{false, false, true, true}
		b, a := ranked(4, func(i int) (float64, bool, float64) { return p[i], y[i], 1 }).Recalibrate()
		if !math.IsNaN(a) || !math.IsNaN(b) {
			t.Errorf("%s: slope %v, intercept %v", name, b, a)
		}
	}
}

// TestOrderHasNoEffect: reversed input gives the very same bits of every ranking figure, under all ties and weights.
func TestOrderHasNoEffect(t *testing.T) {
	for _, c := range golden(t) {
		s := c.set(t)
		n := s.Len()
		at := func(i int) (float64, bool, float64) { return s.P[i*s.Classes+1], s.Class[i] == 1, s.Weight[i] }
		a, b := ranked(n, at), ranked(n, func(i int) (float64, bool, float64) { return at(n - 1 - i) })
		if !reflect.DeepEqual(a.steps, b.steps) || a.AUC() != b.AUC() || a.Lift(.07) != b.Lift(.07) ||
			a.CalibrationError(20) != b.CalibrationError(20) {
			t.Errorf("%s: the order of the records changes the ranking", c.Name)
		}
	}
}

// TestWeightIsRepetition: a record of weight 3 counts as three records.
func TestWeightIsRepetition(t *testing.T) {
	weighted, repeated := NewSet(2), NewSet(2)
	for i := range 500 {
		p := math.Floor(uniform(9, i, 1)*50) / 50
		y := int32(0)
		if uniform(9, i, 2) < p {
			y = 1
		}
		w := int(uniform(9, i, 3) * 4)
		if err := weighted.Add(int64(i), []float64{1 - p, p}, y, float64(w)); err != nil {
			t.Fatal(err)
		}
		for range w {
			if err := repeated.Add(int64(repeated.Len()), []float64{1 - p, p}, y, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := weighted.Metrics(1, 1), repeated.Metrics(1, 1)
	near(t, "log_loss", a.LogLoss, b.LogLoss, 1e-12)
	near(t, "auc", a.AUC, b.AUC, 1e-12)
	near(t, "average_precision", a.AveragePrecision, b.AveragePrecision, 1e-12)
	near(t, "ks", a.KS, b.KS, 1e-12)
	near(t, "calibration_error", a.CalibrationError, b.CalibrationError, 1e-12)
	near(t, "calibration_slope", a.CalibrationSlope, b.CalibrationSlope, 1e-10)
}

// TestBlocksIgnoreTheBaseRate: a score that only knows how the base rate moves looks good pooled and is worth nothing
// inside a block.
func TestBlocksIgnoreTheBaseRate(t *testing.T) {
	s := NewSet(2)
	for i := range 20500 {
		rate := .02
		if i/1000%2 == 1 {
			rate = .6
		}
		if i/1000 == 3 {
			rate = 0 // a block of one class
		}
		y := int32(0)
		if uniform(11, i, 1) < rate {
			y = 1
		}
		if err := s.Add(int64(i), []float64{1 - rate, rate}, y, 1); err != nil {
			t.Fatal(err)
		}
	}
	m := s.Metrics(1, 1)
	if m.AUC < .8 {
		t.Errorf("pooled AUC %v", m.AUC)
	}
	near(t, "auc_blocks", m.AUCBlocks, .5, 1e-12)
}

func TestCompareIsPairedAndDeterministic(t *testing.T) {
	a, b := NewSet(2), NewSet(2)
	for i := range 12345 {
		p := .05 + .9*uniform(13, i, 1)
		y := int32(0)
		if uniform(13, i, 2) < p {
			y = 1
		}
		for _, s := range []struct {
			set *Set
			p   float64
		}{{a, p}, {b, .5 + .95*(p-.5)}} {
			if err := s.set.Add(int64(i), []float64{1 - s.p, s.p}, y, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := a.Compare(b, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !(d.LogLoss < 0 && d.Interval[0] <= d.LogLoss && d.LogLoss <= d.Interval[1]) {
		t.Errorf("difference %v outside its interval %v", d.LogLoss, d.Interval)
	}
	own := a.Metrics(1, 3).LogLossInterval
	if d.Interval[1]-d.Interval[0] > (own[1]-own[0])/5 {
		t.Errorf("the paired interval %v is hardly narrower than the method's own %v", d.Interval, own)
	}
	if again, _ := a.Compare(b, 3); *again != *d {
		t.Errorf("second comparison %v, first %v", again, d)
	}
	if other, _ := a.Compare(b, 4); other.Interval == d.Interval {
		t.Error("another seed draws the same resamples")
	}
	b.Index[7]++
	if _, err := a.Compare(b, 3); err == nil {
		t.Error("sets over different records were compared")
	}
}

func TestCurve(t *testing.T) {
	for n, want := range map[int][]int64{
		44211: {6000, 11000, 16000, 21000, 26000, 31000, 36000, 41000, 45211}, 250: {1100, 1200, 1250}, 30: {1030}, 0: {},
	} {
		s := NewSet(2)
		for i := range n {
			if err := s.Add(int64(i+1000), []float64{.5, .5}, int32(i%2), 1); err != nil {
				t.Fatal(err)
			}
		}
		got := []int64{}
		for _, p := range s.Curve() {
			got = append(got, p.Records)
			near(t, "curve auc", p.AUC, .5, 0)
		}
		if !slices.Equal(got, want) {
			t.Errorf("curve over %d records: points at %v, want %v", n, got, want)
		}
	}
}

func TestSortRestoresStreamOrder(t *testing.T) {
	c := golden(t)[4]
	s, shuffled := c.set(t), NewSet(c.Classes)
	for k := range 7 {
		for i := k; i < s.Len(); i += 7 {
			if err := shuffled.Add(s.Index[i], s.P[i*3:i*3+3], s.Class[i], s.Weight[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	shuffled.Sort()
	if !reflect.DeepEqual(s, shuffled) {
		t.Error("Sort does not restore the order")
	}
}

func BenchmarkMetrics(b *testing.B) {
	for _, c := range []goldenCase{
		{N: 45211, Classes: 2, Grid: 1 << 30, Signal: 1, Seed: 1},
		{N: 581012, Classes: 7, Grid: 1 << 30, Signal: 1, Seed: 1},
	} {
		s := c.set(b)
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				s.Metrics(-1, 1)
			}
			b.ReportMetric(float64(c.N)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
