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

// matchPlain makes the bitmap of the codes that are the given one, 64 to a word. match does the same, by AVX2 where
// there is any.
func matchPlain(a []uint64, codes []uint8, code uint8) {
	for i := range a {
		w := uint64(0)
		for k, c := range codes[64*i : 64*i+64] {
			if c == code {
				w |= 1 << k
			}
		}
		a[i] = w
	}
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
