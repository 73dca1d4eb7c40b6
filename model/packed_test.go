package model

import (
	"math"
	"slices"
	"testing"
)

// TestPackedNumbersKeepEveryBit: zeros of either sign, numbers without a value, and lengths about a word.
func TestPackedNumbersKeepEveryBit(t *testing.T) {
	some := []float64{0, 1, math.Copysign(0, -1), math.Float64frombits(0x7ff0000000000001), math.NaN(), math.Inf(-1),
		5e-324}
	var used packed
	for n := range 200 {
		for kind := range 3 {
			v := make([]float64, n)
			for i := range v {
				switch kind {
				case 1:
					v[i] = some[i%len(some)]
				case 2:
					v[i] = 1 + float64(i)
				}
			}
			p := pack(nil, v)
			if len(p) != packedLen(v) || cap(p) > len(p)+1 && cap(p) > 2*len(p) {
				t.Errorf("%d numbers of kind %d take %d words of %d, want %d", n, kind, len(p), cap(p), packedLen(v))
			}
			if used = pack(used, v); !slices.Equal(used, p) {
				t.Errorf("%d numbers of kind %d are packed otherwise into used memory", n, kind)
			}
			got := make([]float64, n)
			for i := range got {
				got[i] = 7
			}
			p.unpack(got)
			for i := range v {
				if math.Float64bits(got[i]) != math.Float64bits(v[i]) {
					t.Fatalf("number %d of %d, kind %d: %x, want %x", i, n, kind, math.Float64bits(got[i]), math.Float64bits(v[i]))
				}
			}
		}
	}
}
