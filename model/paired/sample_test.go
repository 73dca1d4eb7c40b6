package paired

import (
	"math"
	"math/rand"
	"reflect"
	"testing"
)

// TestSampleFigures: twenty records by hand. The second forecaster turns the order of the first round but for the two
// best.
func TestSampleFigures(t *testing.T) {
	s := NewSample(0)
	for i := range 20 {
		p := Pair{First: float64(i) / 20, Second: float64(17-i) / 20, Known: i != 0, Is: i%2 == 1, Weight: 1}
		if i >= 18 {
			p.Second = p.First
		}
		s.Add(p, 1, uint64(i))
	}
	top := s.Top()
	if top.Records != 2 || top.Both != 2 || top.Share != 1 || math.Abs(top.Lift.First-.5/(10./19)) > 1e-12 {
		t.Errorf("top %+v", top)
	}
	c := s.Calibration(false)
	if len(c) != 10 || c[0].Records != 1 || c[9].Records != 2 || math.Abs(c[9].Mean-18.5/20) > 1e-12 || c[9].Share != .5 {
		t.Errorf("tenths %+v", c)
	}
	// By the second forecaster, record 17 is the lowest one.
	if c := s.Calibration(true); c[0].Mean != 0 || c[0].Share != 1 {
		t.Errorf("tenths of the second %+v", c)
	}
}

// TestSampleIsBounded: more records than have room leave those of the least hashes, in any order, and
// the sample looks like all of them.
func TestSampleIsBounded(t *testing.T) {
	a, b := NewSample(1000), NewSample(1000)
	r := rand.New(rand.NewSource(1))
	pairs := make([]Pair, 30000)
	for i := range pairs {
		p := r.Float64()
		pairs[i] = Pair{First: p, Second: r.Float64(), Known: r.Intn(4) > 0, Is: r.Float64() < p, Weight: 1}
	}
	for i := range pairs {
		a.Add(pairs[i], uint64(i))
		b.Add(pairs[len(pairs)-1-i], uint64(len(pairs)-1-i))
		if len(a.pairs) > 2000 || cap(a.pairs) > 4000 {
			t.Fatalf("%d records are held", len(a.pairs))
		}
	}
	if a.Len() != 1000 || a.All() != 30000 || !reflect.DeepEqual(a.Calibration(false), b.Calibration(false)) ||
		a.Top() != b.Top() {
		t.Errorf("%d of %d: %+v and %+v", a.Len(), a.All(), a.Top(), b.Top())
	}
	for i, x := range a.Calibration(false) {
		// 75 records a tenth: four standard errors.
		if math.Abs(x.Share-(float64(i)+.5)/10) > .24 {
			t.Errorf("tenth %d: %+v", i, x)
		}
	}
	if top := a.Top(); top.Records != 100 || top.Share > .25 || math.Abs(top.Lift.First-1.9) > .4 {
		t.Errorf("top %+v", top)
	}
}

func TestEmptySample(t *testing.T) {
	s := NewSample(0)
	s.Add(Pair{First: .5, Second: .5, Weight: 1}, 0)
	if c, top := s.Calibration(false), s.Top(); c != nil || top.Records != 0 || !math.IsNaN(top.Share) ||
		!math.IsNaN(top.Lift.First) {
		t.Errorf("%+v, %+v", c, top)
	}
	for i := range 30 { // equal propensities: the same records are first for both
		s.Add(Pair{First: .5, Second: .7, Weight: 1}, 1, uint64(i))
	}
	if top := s.Top(); top.Records != 3 || top.Both != 3 {
		t.Errorf("%+v", top)
	}
}
