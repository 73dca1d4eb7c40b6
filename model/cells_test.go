package model

import (
	"math"
	"slices"
	"testing"
)

func TestJoinCells(t *testing.T) {
	values := []float64{1, 1, 2, 3, 3, 3, 4, 5, 5, math.NaN()}
	weights := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 90}
	for _, x := range []struct {
		least float64
		want  []float64
	}{
		{0, []float64{1, 2, 3, 4}},       // weights 2 1 3 1 2
		{1. / 9, []float64{1, 2, 3, 4}},  // none is lighter
		{1. / 9 * 1.01, []float64{2, 3}}, // 2 joins 1, and then 4 joins 5
		{3. / 9, []float64{2, 3}},        // weights 3 3 3
		{3. / 9 * 1.01, nil},             // 6 3, and a third is too light
		{1, nil},
	} {
		got := JoinCells([]float64{1, 2, 3, 4}, values, weights, x.least)
		if !slices.Equal(got, x.want) {
			t.Errorf("least %v: cuts %v, want %v", x.least, got, x.want)
		}
	}
	if got := JoinCells([]float64{1}, nil, nil, .1); len(got) != 0 {
		t.Errorf("cuts %v of nothing", got)
	}
}

func TestCellOf(t *testing.T) {
	for v, want := range map[float64]int{-5: 0, 18: 0, 18.5: 1, 25: 1, 65: 2, 66: 3} {
		if got := CellOf([]float64{18, 25, 65}, v); got != want {
			t.Errorf("%v lies in cell %d, want %d", v, got, want)
		}
	}
}
