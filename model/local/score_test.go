package local

import (
	"math"
	"testing"

	"liftstream/model"
)

// masses returns M_c(u_i) of every record as n rows of classes numbers, without the record itself when leaveOut, and
// per record the sum of the squared kernel values: exactly, in O(n^2). u is in units of the range, h the
// width in the same.
func masses(u []float64, class []int32, classes int, h float64, leaveOut bool) (mass, squares []float64) {
	n := len(u)
	mass, squares = make([]float64, n*classes), make([]float64, n)
	for i := range n {
		m := mass[i*classes : (i+1)*classes]
		for k := range n {
			if leaveOut && i == k {
				continue
			}
			d := (u[i] - u[k]) / h
			w := math.Exp(-.5 * d * d)
			m[class[k]] += w
			squares[i] += w * w
		}
	}
	return mass, squares
}

// TestScoreInvariants: scores lie in [0, 1] and depend neither on the order of records, nor on the unit of the value,
// nor on the names of the classes. Copies of the label score 1, noise its neutral value.
func TestScoreInvariants(t *testing.T) {
	const n = 1000
	u, y := make([]float64, n), make([]int32, n)
	counts := make([]float64, 4)
	copied := make([]float64, n)
	balancedClass := make([]int32, n)
	for i := range u {
		u[i] = float64(model.Hash(1, uint64(i))>>11) / (1 << 53)
		r := float64(model.Hash(2, uint64(i))>>11) / (1 << 53)
		for _, edge := range []float64{.4, .7, .9} {
			if r > edge {
				y[i]++
			}
		}
		counts[y[i]]++
		balancedClass[i] = int32(i % 4)
		copied[i] = float64(i%4) / 3
	}
	mass, _ := masses(u, y, 4, .05, true)
	mean := map[Score]float64{}
	for i := range u {
		for _, s := range []Score{Hit, Balanced} {
			v := s.Record(mass[4*i:4*i+4], counts, y[i])
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%v score %v", s, v)
			}
			mean[s] += v / n
			if v := s.Location(mass[4*i:4*i+4], counts); !(v >= 0 && v <= 1) {
				t.Fatalf("%v score %v of a location", s, v)
			}
		}
	}
	if math.Abs(mean[Hit]-Hit.Neutral(counts)) > .02 || math.Abs(mean[Balanced]-.5) > .02 {
		t.Errorf("noise scores %v, neutral is %v and .5", mean, Hit.Neutral(counts))
	}
	same, _ := masses(copied, balancedClass, 4, .05, true)
	quarter := []float64{250, 250, 250, 250}
	for i := range copied {
		if s := Hit.Record(same[4*i:4*i+4], quarter, balancedClass[i]); s < 1-5e-10 {
			t.Fatalf("a copy of the label scores %v", s)
		}
		if s := Balanced.Record(same[4*i:4*i+4], quarter, balancedClass[i]); s < 1-2e-10 {
			t.Fatalf("a copy of the label scores %v, balanced", s)
		}
	}
	if s := Hit.Record([]float64{0, 0}, []float64{3, 1}, 0); s != .75 {
		t.Errorf("far from everything a record scores %v", s)
	}
	if s := Hit.Location([]float64{0, 0}, []float64{3, 1}); s != .625 {
		t.Errorf("far from everything a location scores %v", s)
	}
	if s := Balanced.Record([]float64{0, 2}, []float64{1, 3}, 0); s != .5 {
		t.Errorf("the one member of a class scores %v", s)
	}
}
