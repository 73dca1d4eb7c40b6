package model

import (
	"math"
	"testing"
)

// TestTheRatesBeforeTheFirstRecords are the given ones, and each record moves them by its share.
func TestTheRatesBeforeTheFirstRecords(t *testing.T) {
	pseudo := []float64{4.4, .6} // 5 records at .88 and .12
	n, prob := newClassCounts(2), make([]float64, 2)
	for i, want := range []float64{.12, (.6 + 1) / 6, (.6 + 2) / 7, (.6 + 3) / 8} {
		best := n.rates(pseudo, prob)
		if math.Abs(prob[1]-want) > 1e-15 || math.Abs(prob[0]+prob[1]-1) > 1e-15 || best != 0 {
			t.Errorf("after %d records of class 1 its rate is %v, want %v; best %d", i, prob[1], want, best)
		}
		n.add(1, 1)
	}
	// Of weighted records the pseudo-records weigh as much as these: all weights times 3 give the same rates.
	light, heavy, other := newClassCounts(2), newClassCounts(2), make([]float64, 2)
	for i := range 7 {
		light.add(int32(i%2), float64(1+i))
		heavy.add(int32(i%2), 3*float64(1+i))
	}
	light.rates(pseudo, prob)
	heavy.rates(pseudo, other)
	if math.Abs(prob[1]-other[1]) > 1e-15 {
		t.Errorf("rates %v, and of three times the weights %v", prob, other)
	}
}

// TestAPartitionWithoutAStructureScoresByTheGivenRates and says that it is untrained.
func TestAPartitionWithoutAStructureScoresByTheGivenRates(t *testing.T) {
	s := &Schema{Classes: []string{"no", "yes"}, Positive: 1}
	spec := &Spec{Schema: s, Options: Options{BaseRates: []float64{4.4, .6}}}
	var out Scores
	out.Reset(1, 2)
	counts := newClassCounts(2)
	scoreUntrained(spec, &counts, &out, 0)
	if math.Abs(out.P[1]-.12) > 1e-15 || out.Status[0] != StatusUntrained || out.BaseRate[0] != out.P[1] ||
		out.Lift[0] != 1 || out.Segment[0] != 0 || out.Target[0] != 1 {
		t.Errorf("%+v", out)
	}
}
