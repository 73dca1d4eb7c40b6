package model

import (
	"math"
	"slices"
	"testing"
)

// compared returns n records whose losses differ by shift and by a noise of deviation .3 that runs on: half of it is
// that of the record before.
func compared(seed uint64, n int, shift float64) []comparison {
	all := make([]comparison, n)
	last := 0.
	for i := range all {
		u := func(k uint64) float64 { return (float64(Hash(seed, uint64(i), k)>>12) + .5) / (1 << 52) }
		noise := math.Sqrt(-2*math.Log(u(1))) * math.Cos(2*math.Pi*u(2))
		last = last/2 + .3*math.Sqrt(.75)*noise
		old := -math.Log(u(3))
		all[i] = comparison{time: int64(i), weight: 1, old: old, new: old + shift + last}
	}
	return all
}

// decided returns the verdict on the records.
func decided(gate float64, all []comparison) Verdict {
	v := noVerdict(gate)
	v.decide(all)
	return v
}

// TestTheIntervalOfAVerdictCoversTheTruth: of many comparisons of dependent records about 95 % have the true difference
// in their interval, and a model that is as good as the serving one is called better in about 2.5 %.
func TestTheIntervalOfAVerdictCoversTheTruth(t *testing.T) {
	const n = 2000
	for _, shift := range []float64{-.05, 0, .05} {
		covered, better, worse := 0, 0, 0
		for seed := range uint64(n) {
			v := decided(0, compared(seed, 1000, shift))
			if v.Low <= shift && shift <= v.High {
				covered++
			}
			if v.Reason == Better {
				better++
			}
			if v.Low > 0 {
				worse++
			}
		}
		t.Logf("shift %v: %d of %d intervals cover it, %d lie below 0, %d above", shift, covered, n, better, worse)
		if covered < n*93/100 || covered > n*97/100 {
			t.Errorf("shift %v: %d of %d intervals cover it", shift, covered, n)
		}
		switch {
		case shift == 0 && (better > n*4/100 || worse > n*4/100):
			t.Errorf("no difference: %d of %d intervals lie below 0, %d above", better, n, worse)
		case shift < 0 && (better < n*75/100 || worse > 0), shift > 0 && (worse < n*75/100 || better > 0):
			t.Errorf("shift %v: %d of %d intervals lie below 0, %d above", shift, better, n, worse)
		}
	}
}

// TestAVerdictDoesNotFollowTheScaleOfWeights: only their proportions count, and a record of weight 100 counts as 100.
func TestAVerdictDoesNotFollowTheScaleOfWeights(t *testing.T) {
	all := compared(1, 1000, .01)
	for i := range all {
		all[i].weight = []float64{1, 2, 100}[i%3]
	}
	want := decided(.05, all)
	scaled := slices.Clone(all)
	var sum, weight float64
	for i := range scaled {
		sum += all[i].weight * (all[i].new - all[i].old)
		weight += all[i].weight
		scaled[i].weight *= 100
	}
	got := decided(.05, scaled)
	if got.Reason != want.Reason || math.Abs(want.Difference()-sum/weight) > 1e-12 {
		t.Errorf("%+v and %+v, a difference of %v", got, want, sum/weight)
	}
	for _, x := range [][2]float64{{got.New, want.New}, {got.Old, want.Old}, {got.Low, want.Low}, {got.High, want.High}} {
		if !(math.Abs(x[0]-x[1]) < 1e-12) {
			t.Errorf("weights times 100: %+v, want %+v", got, want)
		}
	}
}

// TestVerdictsOfEqualLosses: equal models pass at a gate of 0, and a difference of the gate itself passes.
func TestVerdictsOfEqualLosses(t *testing.T) {
	all := make([]comparison, 100)
	for i := range all {
		all[i] = comparison{weight: 1, new: .5, old: .5}
	}
	if v := decided(0, all); v.Reason != WithinGate || v.Low != 0 || v.High != 0 {
		t.Errorf("equal losses: %+v", v)
	}
	for i := range all {
		all[i].new = .75
	}
	if v := decided(.25, all); v.Reason != WithinGate {
		t.Errorf("a difference of the gate: %+v", v)
	}
	if v := decided(.2499, all); v.Reason != Worse {
		t.Errorf("a difference of more than the gate: %+v", v)
	}
	if v := decided(0, all[:2*batches-1]); v.Low == v.Low || v.High == v.High || v.Reason != Worse {
		t.Errorf("an interval of less than 2 records a batch: %+v", v)
	}
}
