package lp

import "testing"

// TestGapIsRelativeToTheValue, and a bound of 0 leaves all of it.
func TestGapIsRelativeToTheValue(t *testing.T) {
	for _, c := range []struct{ upper, lower, want float64 }{{4, 3, .25}, {4, 4, 0}, {4, 0, 1}, {0, 0, 0}} {
		if got := (&Result{Upper: c.upper, Lower: c.lower}).Gap(); got != c.want {
			t.Errorf("value %v, bound %v: gap %v, want %v", c.upper, c.lower, got, c.want)
		}
	}
}
