package lift

import (
	"cmp"
	"math"
	"slices"
)

// compareValues orders values of a ranking, higher first, equal within the tolerance, NaN last.
func compareValues(a, b float64) int {
	switch an, bn := math.IsNaN(a), math.IsNaN(b); {
	case an && bn:
		return 0
	case an:
		return 1
	case bn:
		return -1
	}
	if math.Abs(a-b) <= tieTolerance*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	if a > b {
		return -1
	}
	return 1
}

// tieTolerance is the relative difference below which two values of a ranking are the same (METHOD.md 6).
const tieTolerance = 1e-12

// compareFeatures ranks fewer features first, then names in configuration order.
func compareFeatures(a, b []int32) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return slices.Compare(a, b)
}

// insertTop keeps the k best of a ranking, best first.
func insertTop[T any](top []T, v T, k int, compare func(a, b T) int) []T {
	if k < 1 || len(top) == k && compare(v, top[k-1]) >= 0 {
		return top
	}
	i, _ := slices.BinarySearchFunc(top, v, compare)
	if top = slices.Insert(top, i, v); len(top) > k {
		top = top[:k]
	}
	return top
}
