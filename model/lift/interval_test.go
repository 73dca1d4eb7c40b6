package lift

import (
	"math"
	"testing"
)

// TestLiftInterval compares with the ratio intervals that maximising the likelihood numerically gives (scipy), turned
// into lifts; statsmodels' confint_proportions_2indep(22, 90, 8, 10, compare="ratio", method="score", correction=False)
// gives the first one, too.
func TestLiftInterval(t *testing.T) {
	for _, c := range []struct{ nxy, nx, ny, n, low, high float64 }{
		{8, 10, 30, 100, 1.6869256912184218, 3.6133318270206805},
		{20, 20, 120, 1000, 7.013223880881477, 9.715919343135175},
		{0, 15, 40, 400, 0, 1.9231318160020412},
		{15, 15, 15, 200, 10.659097347706881, 200.0 / 15},
		{3, 50, 300, 5000, 0.3442356959249225, 2.6739902814022094},
		{0, 0, 40, 400, 0, 10},
		{40, 400, 40, 400, 1, 1},
	} {
		low, high := liftInterval(c.nxy, c.nx, c.ny, c.n, 1)
		near(t, "low", low, c.low, 1e-6)
		near(t, "high", high, c.high, 1e-6)
		// Twice the counts at half the scale are the same data.
		low2, high2 := liftInterval(2*c.nxy, 2*c.nx, 2*c.ny, 2*c.n, .5)
		near(t, "low at half the scale", low2, low, 1e-9)
		near(t, "high at half the scale", high2, high, 1e-9)
	}
	// The lift is inside the interval, and more records make it narrower, for counts of every size.
	for seed := uint64(0); seed < 2000; seed++ {
		n := 2 + float64(mix(seed)%500)
		nx := math.Floor(n * float64(mix(seed+1)%100) / 100)
		nxy := math.Floor(nx * float64(mix(seed+2)%101) / 100)
		ny := nxy + math.Floor((n-nx)*float64(mix(seed+3)%101)/100)
		low, high := liftInterval(nxy, nx, ny, n, 1)
		if ny == 0 {
			if low == low || high == high {
				t.Fatalf("interval [%v, %v] of a class that was not seen", low, high)
			}
			continue
		}
		lift := nxy / nx * n / ny
		if !(low >= 0 && low <= high && !math.IsInf(high, 0)) || nx > 0 && (lift < low || lift > high) {
			t.Fatalf("n_xy %v n_x %v n_y %v n %v: lift %v, interval [%v, %v]", nxy, nx, ny, n, lift, low, high)
		}
		if nx > 0 && nx < n {
			l, h := liftInterval(nxy, nx, ny, n, 10)
			if l < low-1e-9 || h > high+1e-9 {
				t.Fatalf("n_xy %v n_x %v n_y %v n %v: [%v, %v], of ten times the records [%v, %v]", nxy, nx, ny, n, low, high, l, h)
			}
		}
	}
}
