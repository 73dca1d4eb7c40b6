package lift

import "math/bits"

// ones counts the records of a bitmap.
func ones(a []uint64) int { return onesOf(a, a) }

// onesOfPlain counts the records in both of two bitmaps, b being at least as long as a. onesOf does the same, by AVX2
// where there is any.
func onesOfPlain(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i, v := range a {
		n += bits.OnesCount64(v & b[i])
	}
	return n
}

// overlap is the number of records in both of two masks over that of the records in either; 0 for empty ones.
func overlap(a, b []uint64) float64 {
	both := onesOf(a, b)
	either := ones(a) + ones(b) - both
	if either == 0 {
		return 0
	}
	return float64(both) / float64(either)
}
