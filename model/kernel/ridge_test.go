package kernel

import (
	"math"
	"testing"
)

// TestAFunctionThatMisleadsHasTheScaleZero: held-out values that point away from the classes are left out, not turned
// round; values of zero too. Values that point to the classes keep their sign and lower the loss.
func TestAFunctionThatMisleadsHasTheScaleZero(t *testing.T) {
	class := []int32{0, 0, 0, 1, 1, 0, 1, 0, 0, 1}
	share := []float64{.6, .4}
	for _, c := range []struct {
		name string
		held func(y int32, i int) float64
		used bool
	}{
		{"towards the class", func(y int32, i int) float64 { return float64(2*y-1)*.3 + float64(i%3-1)*.5 }, true},
		{"away from it", func(y int32, i int) float64 { return float64(1-2*y)*.3 + float64(i%3-1)*.1 }, false},
		{"nothing", func(int32, int) float64 { return 0 }, false},
	} {
		r := &ridge{n: len(class), margins: 1, class: class, share: share}
		f := &ridgeFit{held: make([]float64, r.n), weights: make([]float64, r.n), losses: make([]float64, r.n)}
		for i, y := range class {
			f.held[i] = c.held(y, i)
			f.weights[i] = 1
		}
		r.scale(f)
		if s := f.weights[0]; (s > 0) != c.used || s < 0 {
			t.Errorf("%s: the scale is %v", c.name, s)
		}
		loss := func(s float64) (sum float64) {
			for i, y := range class {
				z := math.Log(share[1]/share[0]) + 2*s*f.held[i]
				sum += math.Log1p(math.Exp(-float64(2*y-1) * z))
			}
			return sum / float64(r.n)
		}
		if math.Abs(f.loss-loss(1)) > 1e-12 {
			t.Errorf("%s: loss %v, want %v", c.name, f.loss, loss(1))
		}
		if c.used && (loss(1) > loss(.5) || loss(1) > loss(0)) {
			t.Errorf("%s: loss %v, with half the scale %v, without %v", c.name, loss(1), loss(.5), loss(0))
		}
	}
}
