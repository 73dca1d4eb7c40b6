package model

import (
	"math"
	"math/bits"
)

// packed holds the memory of a score, in which many numbers are 0: those of inputs that no component offers. Each 64
// numbers have a word with a bit for each that is not 0, and then these; every bit of a number is kept.
type packed []uint64

// packedLen is the number of words that numbers take.
func packedLen(numbers []float64) int {
	n := (len(numbers) + 63) / 64
	for _, v := range numbers {
		if math.Float64bits(v) != 0 {
			n++
		}
	}
	return n
}

// pack returns the numbers in the memory of dst, which must not be in use, where that suffices.
func pack(dst packed, numbers []float64) packed {
	if n := packedLen(numbers); cap(dst) < n {
		dst = make(packed, 0, n)
	}
	dst = dst[:0]
	for at := 0; at < len(numbers); at += 64 {
		word := len(dst)
		dst = append(dst, 0)
		for i, v := range numbers[at:min(at+64, len(numbers))] {
			if b := math.Float64bits(v); b != 0 {
				dst[word] |= 1 << i
				dst = append(dst, b)
			}
		}
	}
	return dst
}

// unpack writes the numbers, as many as there were.
func (p packed) unpack(numbers []float64) {
	clear(numbers)
	for at := 0; at < len(numbers); at += 64 {
		set := p[0]
		p = p[1:]
		for ; set != 0; set &= set - 1 {
			numbers[at+bits.TrailingZeros64(set)] = math.Float64frombits(p[0])
			p = p[1:]
		}
	}
}

// holds reports whether p is the form of so many numbers.
func (p packed) holds(numbers int) bool {
	for at := 0; at < numbers; at += 64 {
		if len(p) == 0 || numbers-at < 64 && p[0]>>(numbers-at) != 0 {
			return false
		}
		n := 1 + bits.OnesCount64(p[0])
		if n > len(p) {
			return false
		}
		p = p[n:]
	}
	return len(p) == 0
}
