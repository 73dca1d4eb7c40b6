package drift

import (
	"math"
	"slices"
	"testing"
)

// TestSortIsThatOfComparisons: a reference has the cuts that a sort by comparisons gives, to the bit.
func TestSortIsThatOfComparisons(t *testing.T) {
	draw := func(i int) uint32 { return uint32(uint64(i+1) * 0x9e3779b97f4a7c15 >> 32) }
	for name, value := range map[string]func(i int) float32{
		"any size":      func(i int) float32 { return math.Float32frombits(draw(i) &^ (1 << 23)) },
		"small numbers": func(i int) float32 { return float32(draw(i)%1000) - 500 },
		"one number":    func(int) float32 { return -3 },
		"minus zero":    func(i int) float32 { return float32(math.Copysign(float64(draw(i)%5), -1)) },
		"both zeros":    func(i int) float32 { return float32(math.Copysign(float64(draw(i)%3), float64(draw(i)%7)-3)) },
		"subnormal":     func(i int) float32 { return math.Float32frombits(draw(i) % 300) },
	} {
		for _, n := range []int{0, 1, fewValues, fewValues + 1, 2000} {
			for _, kind := range []Kind{Numbers, Levels} {
				c := &watched{Column: Column{Kind: kind}}
				var v []uint32
				for i := range n {
					v = append(v, math.Float32bits(value(i)))
				}
				want := slices.Clone(v)
				slices.SortFunc(want, c.order)
				m := &Monitor{}
				m.sort(c, v)
				if !slices.Equal(v, want) {
					t.Errorf("%s, %d values of kind %v: another order", name, n, kind)
				}
			}
		}
	}
}
