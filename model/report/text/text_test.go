package text

import (
	"math"
	"testing"
)

// TestLiftIsToldApartFromOne: a bound of a confirmed profile that lies just above 1 does not read as 1.
func TestLiftIsToldApartFromOne(t *testing.T) {
	for _, x := range []struct {
		lift     float64
		decimals int
		want     string
	}{
		{2.44, 1, "2.4"}, {1, 1, "1.0"}, {1, 2, "1.00"}, {0, 2, "0.00"},
		{1.04, 1, "1.04"}, {1.0041, 1, "1.004"}, {1.0041, 2, "1.004"}, {1.00049, 2, "1.0005"}, {1.05, 2, "1.05"},
		{0.96, 1, "0.96"}, {0.94, 1, "0.9"}, {0.9996, 2, "0.9996"},
		{1 + 1e-12, 2, "1.000000000"}, // a rounding error
		{math.NaN(), 2, "-"}, {math.Inf(1), 2, "-"},
	} {
		if got := Lift(x.lift, x.decimals); got != x.want {
			t.Errorf("%v with %d decimals is %s, want %s", x.lift, x.decimals, got, x.want)
		}
	}
}
