package model

import (
	"slices"
	"testing"
)

// TestModelsOfTheColdStart come at numbers of records that grow by the square root of 2: twice as many at every second
// one, and a record more for the rounding up.
func TestModelsOfTheColdStart(t *testing.T) {
	var got []float64
	for n := 500.; n < 4000; n = AfterCold(n) {
		got = append(got, n)
	}
	if want := []float64{500, 708, 1002, 1418, 2006, 2837}; !slices.Equal(got, want) {
		t.Errorf("after a warm-up of 500: %v, want %v", got, want)
	}
	if AfterCold(1) != 2 || AfterCold(2) != 3 {
		t.Errorf("after 1 and 2 records: %v, %v", AfterCold(1), AfterCold(2))
	}
}
