package report

import (
	"math"
	"testing"
)

// TestWilson compares with statsmodels' proportion_confint(method="wilson"), and with 15 of 50 and 0 of 25 by hand.
func TestWilson(t *testing.T) {
	for _, c := range []struct{ rate, n, low, high, within float64 }{
		{.8, 10, 0.4901624715366556, 0.943317848545625, 1e-6}, {1, 10, 0.7224672001371107, 1, 1e-6},
		{0, 10, 0, 0.2775327998628892, 1e-6}, {.5, 1000, 0.4690696003681042, 0.5309303996318958, 1e-6},
		{.3, 50, .19103, .43751, 1e-4}, {0, 25, 0, .13319, 1e-4},
	} {
		low, high := Wilson(c.rate, c.n)
		if math.Abs(low-c.low) > c.within || math.Abs(high-c.high) > c.within {
			t.Errorf("%v of %v: %v to %v, want %v to %v", c.rate, c.n, low, high, c.low, c.high)
		}
	}
	if low, high := Wilson(.5, 0); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("of none: %v to %v", low, high)
	}
}
