package local

import (
	"math"
	"slices"
	"testing"
)

// TestHistogram: scores from histograms equal those of the records, to the stated bound of the masses.
func TestHistogram(t *testing.T) {
	columns, class := wdbc(t)
	n := float64(len(class))
	for _, j := range []int{0, 3, 10, 27} {
		a := axis{low: slices.Min(columns[j]), high: slices.Max(columns[j]), bins: 256}
		a.zero, a.scale = a.low, a.high-a.low
		g := newHistogram(&a, 2)
		u := make([]float64, len(class))
		for i, v := range columns[j] {
			g.add(&a, 2, v, class[i], 1, 0, 0)
			u[i] = (v - a.zero) / a.scale
		}
		if c := g.counts(2); c[0]+c[1] != n {
			t.Fatalf("feature %d: %v counted", j, c)
		}
		h := .05
		mass, squares := g.around(&a, 2, h)
		exact, square := masses(u, class, 2, h, false)
		bin := 1.0 / 255
		bound := n * (bin*bin/(8*h*h)*2 + .61*bin/(h*splitUnit) + 3.4e-4) // the look-up between bins costs the same again
		for i, v := range columns[j] {
			at, above := a.split(v)
			for y := range 2 {
				m := mass[at*2+y]
				if above > 0 {
					m += above * (mass[at*2+2+y] - m)
				}
				if math.Abs(m-exact[i*2+y]) > bound {
					t.Fatalf("feature %d: mass %v at %v, exact %v", j, m, v, exact[i*2+y])
				}
			}
			if s := squares[at] + above*(squares[min(at+1, 255)]-squares[at]); math.Abs(s-square[i]) > 4*bound {
				t.Fatalf("feature %d: squares %v, exact %v", j, s, square[i])
			}
		}
	}
}

// TestHistogramDecay: counts decay by their clock at any shift of the base, and can be retracted and merged.
func TestHistogramDecay(t *testing.T) {
	a := axis{high: 1, bins: 8, scale: 1}
	g, late := newHistogram(&a, 2), newHistogram(&a, 2)
	const half = 3.0
	want := make([]float64, 16)
	var all, missing, squares [2]float64
	for i := range 3000 {
		v, y := math.Mod(float64(i)*.37, 1), int32(i%2)
		to := g
		if i%5 == 0 {
			to = late
		}
		to.add(&a, 2, v, y, 1, float64(i), half)
		bin, above := a.split(v)
		w := math.Exp2(float64(i-2999) / half)
		want[bin*2+int(y)] += w * (1 - above)
		want[bin*2+2+int(y)] += w * above
		all[y] += w
		squares[y] += w * w
		if i%3 == 0 {
			to.add(&a, 2, math.NaN(), y, 2, float64(i), half)
			all[y] += 2 * w
			missing[y] += 2 * w
			squares[y] += 4 * w * w
		}
	}
	g.add(&a, 2, .4, 1, 5, 3000, half)
	g.add(&a, 2, .4, 1, -5, 3000, half)
	g.merge(late)
	scale := math.Exp2(2999/half - g.base)
	for i, w := range want {
		if v := g.n[i] / scale; math.Abs(v-w) > 1e-12*10 {
			t.Errorf("cell %d is %v, want %v", i, v, w)
		}
	}
	for y := range 2 {
		n, m, q := g.total[y]/scale, g.missing[y]/scale, g.squares[y]/scale/scale
		if math.Abs(n-all[y]) > 1e-11 || math.Abs(m-missing[y]) > 1e-11 || math.Abs(q-squares[y]) > 1e-11 {
			t.Errorf("class %d: %v records, %v missing, squares %v, want %v, %v, %v", y, n, m, q, all[y], missing[y], squares[y])
		}
	}
}

// TestRangeBeyondNumbers: where the distance of the ends overflows there is no axis, and no value is placed.
func TestRangeBeyondNumbers(t *testing.T) {
	column := []float64{-1.7e308, 1.7e308}
	for range 500 {
		column = append(column, -8e307, 8e307)
	}
	a := continuousAxis(column, 16)
	g := newHistogram(&a, 3)
	for _, v := range column {
		g.add(&a, 3, v, 1, 1, 0, 0)
	}
	for _, column := range [][]float64{{-math.MaxFloat64, 1}, {-8e307, 8e307}, {-1e306, 1e306}} {
		a := continuousAxis(column, 16)
		for i := range a.bins {
			if v := a.at(i); math.IsInf(v, 0) {
				t.Errorf("bin %d of [%v, %v] is %v", i, a.low, a.high, v)
			}
		}
		if column[1] == 1e306 && a.bins != 16 {
			t.Errorf("%+v", a)
		}
	}
}

// TestMergeOfAnyBase: of two histograms of different bases the sum does not depend on which is added to which.
func TestMergeOfAnyBase(t *testing.T) {
	a := axis{high: 1, bins: 2, scale: 1}
	made := func(base, weight float64) *histogram {
		g := newHistogram(&a, 2)
		for i := range 20 {
			g.add(&a, 2, float64(i%3)/2, int32(i%2), weight, 0, 0)
		}
		g.add(&a, 2, math.NaN(), 1, weight, 0, 0)
		g.base = base
		return g
	}
	older, newer := made(3, 2), made(5, 1)
	older.merge(made(5, 1))
	newer.merge(made(3, 2))
	if older.base != 5 || newer.base != 5 || !slices.Equal(older.n, newer.n) ||
		!slices.Equal(older.missing, newer.missing) || !slices.Equal(older.total, newer.total) ||
		!slices.Equal(older.squares, newer.squares) {
		t.Errorf("%+v, the other way round %+v", older, newer)
	}
	// Two half-lives are a quarter of the weight: ten records of 1 and ten of 2/4.
	if newer.total[0] != 10+10*.5 || newer.squares[0] != 10+10*.25 {
		t.Errorf("class 0: %v, squares %v", newer.total[0], newer.squares[0])
	}
}

// TestCountsAsOfARecord: each record weighs by its half-lives before the named one, its square by twice as many, and
// one of a base behind it keeps the base.
func TestCountsAsOfARecord(t *testing.T) {
	a := axis{nominal: true}
	g := newHistogram(&a, 2)
	g.base = 3
	const half = 10.
	var missing, total, squares [2]float64
	at := [2]float64{} // of the cells
	for i := range 8 {
		clock, weight, y := 30+float64(10*i), float64(1+i%3), int32(i%2)
		v, w := float64(i%4/2), weight*math.Exp2(clock/half-12)
		if i > 5 {
			v = math.NaN()
			missing[y] += w
		} else {
			at[i%4/2] += w
		}
		g.add(&a, 2, v, y, weight, clock, half)
		total[y], squares[y] = total[y]+w, squares[y]+w*w
	}
	for _, halves := range []float64{12, -5} {
		by := 1.
		if halves < g.base {
			by = math.Exp2(12 - g.base) // a record of the base weighs 1
		}
		o := g.asOf(halves)
		for y := range 2 {
			for name, v := range map[string][2]float64{"missing": {o.missing[y], missing[y] * by},
				"all": {o.total[y], total[y] * by}, "squares": {o.squares[y], squares[y] * by * by},
				"a cell": {o.n[2*y] + o.n[2*y+1], at[y] * by}} {
				if math.Abs(v[0]-v[1]) > 1e-12*v[1] {
					t.Errorf("as of %v half-lives, %s %d: %v, want %v", halves, name, y, v[0], v[1])
				}
			}
		}
		if o.base != 0 || g.base != 3 {
			t.Errorf("the bases are %v and %v", o.base, g.base)
		}
	}
}
