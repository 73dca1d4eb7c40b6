package drift

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

var kinds = []Column{{Name: "uniform"}, {Name: "normal"}, {Name: "tied"}, {Name: "gaps"}, {Name: "job", Kind: Levels},
	{Name: "ids", Kind: Levels}, {Name: "(propensity)", OfModel: true}, {Name: "hits", OfModel: true},
	{Name: "(labelled)", Kind: Levels}, {Name: "spikes"}, {Name: "constant"}, {Name: "rarely", Kind: Levels}}

// fill gives the monitor record i of a stream that does not change but for shift, which moves the column of that name.
func fill(m *Monitor, seed uint64, i int, moved string, shift float64) {
	u := func(k int) float64 { return uniform(seed, i, k) }
	by := func(name string) float64 {
		if name == moved {
			return shift
		}
		return 0
	}
	normal := math.Sqrt(-2*math.Log(1-u(1))) * math.Cos(2*math.Pi*u(2))
	m.Number(0, u(0)+by("uniform"))
	m.Number(1, normal+by("normal"))
	m.Number(2, math.Floor(4*u(3)*u(3)+by("tied")))
	if u(4) < .1+by("gaps") {
		m.Number(3, math.NaN())
	} else {
		m.Number(3, u(5))
	}
	m.Level(4, fmt.Sprint(math.Floor(8*u(6)*u(7)+by("job"))), u(8) > .002)
	m.Level(5, fmt.Sprint(i), true)
	p := .02 + .2*u(9)*u(9) + by("(propensity)")
	m.Number(6, p)
	loss := -math.Log(1 - p)
	if u(10) < p+by("hits") {
		loss = -math.Log(p)
	}
	m.Number(7, loss)
	m.Level(8, "yes", u(11) < .3+by("(labelled)"))
	m.Number(9, math.Exp(5*normal))
	m.Number(10, 7+by("constant"))
	m.Level(11, "x", u(12) < .001+by("rarely"))
}

// TestStableStreams: at most one alarm of any kind in 20 streams of 100,000 records, with re-fits in them.
func TestStableStreams(t *testing.T) {
	alarms := 0
	for seed := range uint64(20) {
		m := NewMonitor(kinds, DefaultMonitor())
		for i := range 100_000 {
			if i%30_000 == 29_999 {
				m.Refit()
			}
			fill(m, seed, i, "", 0)
			for _, a := range m.Next() {
				t.Logf("seed %d: %+v", seed, a)
				alarms++
			}
		}
	}
	if alarms > 1 {
		t.Errorf("%d alarms in 20 stable streams", alarms)
	}
}

// TestFalseAlarmRate: with a rate that gives some, they are about as many as it says, at most twice.
func TestFalseAlarmRate(t *testing.T) {
	o := DefaultMonitor()
	o.FalseAlarms, o.Step = .9, 500 // windows that do not overlap
	const streams, n = 10, 50_000
	alarms := 0
	for seed := range uint64(streams) {
		m := NewMonitor(kinds, o)
		for i := range n {
			fill(m, 50+seed, i, "", 0)
			alarms += len(m.Next())
		}
	}
	if alarms > 11 { // .9 * 5 = 4.5 on average; 12 or more in 1 of 300 runs
		t.Errorf("%d alarms in %d records, where %v are expected", alarms, streams*n, o.FalseAlarms*streams*n/100_000)
	}
	t.Logf("%d alarms", alarms)
}

// TestAbruptDrift: each column that changes at once gives alarm within 1,000 records, wherever the change is, and it
// alone.
func TestAbruptDrift(t *testing.T) {
	for k, c := range []struct {
		name    string
		shift   float64
		missing bool
	}{{"uniform", .3, false}, {"normal", .6, false}, {"tied", 1, false}, {"gaps", .15, true}, {"job", 1, false},
		{"(propensity)", .1, false}, {"hits", .4, false}, {"(labelled)", -.15, true}, {"rarely", .05, true},
		{"constant", 1, false}} {
		for _, at := range []int{6000, 6100, 6249} {
			m := NewMonitor(kinds, DefaultMonitor())
			found := 0
			for i := range at + 3000 {
				shift := 0.
				if i >= at {
					shift = c.shift
				}
				fill(m, uint64(900+k), i, c.name, shift)
				for _, a := range m.Next() {
					loss := c.name == "(propensity)" && a.Column == "hits" // they are those of the propensity
					if a.Column != c.name && !loss || a.Missing != c.missing || i < at {
						t.Errorf("%s at %d: %+v", c.name, at, a)
					} else if !loss {
						found++
						if a.Records > int64(at+1000) || !(a.PSI > a.Threshold) {
							t.Errorf("%s at %d: %+v", c.name, at, a)
						}
					}
				}
			}
			if found != 1 {
				t.Errorf("%s at %d: found %d times", c.name, at, found)
			}
		}
	}
}

// TestRefit: after a fit on the changed records they are the reference, and the way back is a change.
func TestRefit(t *testing.T) {
	m := NewMonitor(kinds, DefaultMonitor())
	var at []int64
	for i := range 20_000 {
		shift := 0.
		if i >= 5000 && i < 12_000 {
			shift = .3
		}
		if i == 9000 {
			m.Refit()
		}
		fill(m, 4, i, "uniform", shift)
		for _, a := range m.Next() {
			at = append(at, a.Records)
		}
	}
	if len(at) != 2 || at[0] < 5000 || at[0] > 6000 || at[1] < 12_000 || at[1] > 13_000 {
		t.Errorf("alarms at %v", at)
	}
}

// TestPSIByHand: the index of two bins, and thresholds by the quantiles of another implementation.
func TestPSIByHand(t *testing.T) {
	// 3 and 1 against 1 and 3: p = (3.5/5, 1.5/5), q reversed.
	if got, want := PSI([]float64{3, 1}, []float64{1, 3}), 2*.4*math.Log(.7/.3); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	for _, bins := range []int{2, 5, 11} {
		want := (1./300 + 1./500) * distuv.ChiSquared{K: float64(bins - 1)}.Quantile(.999)
		if got := PSIThreshold(bins, 300, 500, .001); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%d bins: %v, want %v", bins, got, want)
		}
	}
	if PSIThreshold(1, 300, 500, .01) != 0 {
		t.Error("one bin has a threshold")
	}
	for _, o := range []MonitorOptions{{}, {10, 20, 10, .1}, {10, 5, 2, .1},
		{10, 2, 4, .1}, {0, 2, 2, .1}, {10, 2, 2, 0}, {10, 2, 2, 1},
		{10, 2, 2, math.NaN()}} {
		panics(t, o, func() { NewMonitor(nil, o) })
	}
}

// TestSlowChangesOfTheModel: scores that move while the model learns give no alarm, a feature that moves so does, and
// so do scores that move at once.
func TestSlowChangesOfTheModel(t *testing.T) {
	m := NewMonitor([]Column{{Name: "slow", OfModel: true}, {Name: "feature"}, {Name: "abrupt", OfModel: true}},
		DefaultMonitor())
	found := map[string]int{}
	for i := range 60_000 {
		normal := math.Sqrt(-2*math.Log(1-uniform(8, i, 1))) * math.Cos(2*math.Pi*uniform(8, i, 2))
		m.Number(0, normal+float64(i)/60_000)
		m.Number(1, normal+float64(i)/60_000)
		m.Number(2, normal+math.Floor(float64(i)/40_000))
		for _, a := range m.Next() {
			found[a.Column]++
			if a.Column == "abrupt" && (a.Records < 40_000 || a.Records > 41_000) {
				t.Errorf("%+v", a)
			}
		}
	}
	if found["slow"] != 0 || found["feature"] == 0 || found["abrupt"] != 1 {
		t.Errorf("alarms %v", found)
	}
}
