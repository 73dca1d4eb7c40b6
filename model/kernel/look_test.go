package kernel

import "testing"

// TestLook: the entry of each code is the kernel at the distance of its cell, less that at distance 0; of a missing
// value, of a level and of a number at either end.
func TestLook(t *testing.T) {
	bases := []Weight{{Base: Base{Shape: Gaussian, Width: .7}, Alpha: .4},
		{Base: Base{Shape: Gaussian, Width: 9}, Alpha: 2}}
	for _, cells := range []int{1, 2, 7, productCells} {
		c := &productColumn{cells: cells, step: .03, bases: bases}
		c.newTable()
		for code := range cells + 1 {
			var got [256]float64
			c.look(uint8(code), &got)
			for i := range cells + 1 {
				want := 0.
				for _, b := range bases {
					k := b.Alpha * b.Base.between(0, 0)
					switch {
					case i == code:
					case i == 0 || code == 0:
						want -= k
					default:
						want += b.Alpha*b.Base.between(float64(i)*c.step, float64(code)*c.step) - k
					}
				}
				if d := got[i] - want; d > 1e-12 || d < -1e-12 {
					t.Errorf("%d cells: code %d from %d is %v, want %v", cells, i, code, got[i], want)
				}
			}
		}
	}
	c := &productColumn{levels: true, bases: bases[:1]}
	c.newTable()
	for _, code := range []uint8{0, 1, 200, elsewhere} {
		var got [256]float64
		c.look(code, &got)
		for i, v := range got {
			if want := -c.table[0]; v != want && i != int(code) || v != 0 && i == int(code) {
				t.Errorf("level %d from %d is %v", i, code, v)
			}
		}
	}
}
