package groups

import (
	"math"
	"testing"
)

// TestWilson has the interval of 15 of 50 by Wilson's equation, computed by hand, and its ends.
func TestWilson(t *testing.T) {
	low, high := Wilson(.3, 50)
	if math.Abs(low-.19103) > 1e-4 || math.Abs(high-.43751) > 1e-4 {
		t.Errorf("15 of 50: %v to %v", low, high)
	}
	if low, high = Wilson(0, 25); low != 0 || math.Abs(high-.13319) > 1e-4 {
		t.Errorf("0 of 25: %v to %v", low, high)
	}
	if low, high = Wilson(.5, 0); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("of none: %v to %v", low, high)
	}
}
