package paired

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

func add(t *testing.T, c *Comparison, first, second []float64, class int, w float64) {
	t.Helper()
	if err := c.Add(first, second, class, w); err != nil {
		t.Fatal(err)
	}
}

// shares draws a distribution over k classes, now and then a lopsided one.
func shares(r *rand.Rand, k int) []float64 {
	p, sum := make([]float64, k), 0.0
	for i := range p {
		p[i] = math.Exp(3 * r.NormFloat64())
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestCumulants: for any class shares exp(rate (x - mean) - cumulant) has an expectation of at most 1, at
// every rate and on both sides: the step on which the interval stands (METHOD.md 2).
func TestCumulants(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	worst := 0.0
	for range 3000 {
		k := 2 + r.Intn(3)
		a, b, truth, w := shares(r, k), shares(r, k), shares(r, k), math.Exp(r.NormFloat64())
		// The bound is for any truth: also for one that is next to certain of a class.
		if r.Intn(3) == 0 {
			truth = shares(r, k)
			truth[r.Intn(k)] += 100
			for i := range truth {
				truth[i] /= 101
			}
		}
		var expect [2][rates]float64
		mean := 0.0
		for y := range k {
			mean += truth[y] * w * math.Log(clip(b[y])/clip(a[y]))
		}
		for y := range k {
			c := New(k)
			c.unit = 1 // weights of all sizes
			add(t, c, a, b, y, w)
			for i := range rates {
				expect[0][i] += truth[y] * math.Exp(rate(i)*(c.sum-mean)-c.above[i])
				expect[1][i] += truth[y] * math.Exp(rate(i)*(mean-c.sum)-c.below[i])
			}
		}
		for side := range expect {
			for i, e := range expect[side] {
				worst = max(worst, e)
				if e > 1+1e-9 {
					t.Fatalf("first %v, second %v, shares %v, weight %v: %v at rate %v, side %d", a, b, truth, w, e, rate(i), side)
				}
			}
		}
	}
	if worst < 0.999 {
		t.Errorf("the largest expectation is %v: the cumulants are far too large", worst)
	}
}

// slow is METHOD.md 2 and 3 by the letter, record by record and rate by rate.
func slow(first, second [][]float64, class []int, w []float64, alpha float64) (low, high float64) {
	clipped := func(p float64) float64 { return math.Max(1e-6, math.Min(1-1e-6, p)) }
	var s, weight float64
	cost := map[int]map[float64]float64{1: {}, -1: {}}
	unit := math.Exp2(math.Round(math.Log2(w[0])))
	w = slices.Clone(w)
	for i := range class {
		w[i] /= unit
		var r []float64
		var q []float64
		total := 0.0
		for y := range first[i] {
			a, b := clipped(first[i][y]), clipped(second[i][y])
			r = append(r, w[i]*math.Log(b/a))
			q = append(q, math.Sqrt(a*b))
			total += math.Sqrt(a * b)
		}
		m, v, least, largest := 0.0, 0.0, math.Inf(1), math.Inf(-1)
		for y := range r {
			m += q[y] / total * r[y]
			least, largest = math.Min(least, r[y]), math.Max(largest, r[y])
		}
		for y := range r {
			v += q[y] / total * (r[y] - m) * (r[y] - m)
		}
		x := r[class[i]]
		s += x
		weight += w[i]
		for half := -24; half <= 16; half++ {
			l := math.Pow(2, float64(half)/2)
			for side, reach := range map[int]float64{1: m - least, -1: largest - m} {
				c := l * l * (largest - least) * (largest - least) / 8
				if l*reach <= .99 && reach > 0 {
					psi := (-math.Log(1-l*reach) - l*reach) / (reach * reach)
					if psi*v < c {
						c = psi * (x - m) * (x - m)
					}
				}
				cost[side][l] += c
			}
		}
	}
	bound := func(side int) float64 {
		u := 0.0
		for step := 1e6; step > 1e-13; step /= 2 {
			for {
				mixture := 0.0
				for l, c := range cost[side] {
					mixture += math.Exp(l*(u+step)-c) / 41
				}
				if mixture >= 2/alpha {
					break
				}
				u += step
			}
		}
		return u
	}
	return (s - bound(1)) / weight, (s + bound(-1)) / weight
}

// TestIntervalByTheLetter compares with a slow program, to 1e-8. The differences are far from 0, where the program's
// logarithms would cancel.
func TestIntervalByTheLetter(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, k := range []int{2, 3} {
		var a, b [][]float64
		var class []int
		var w []float64
		c := New(k)
		for i := range 150 {
			a, b, class, w = append(a, shares(r, k)), append(b, shares(r, k)), append(class, r.Intn(k)),
				append(w, .5+r.Float64())
			add(t, c, a[i], b[i], class[i], w[i])
		}
		for _, alpha := range []float64{.05, .3} {
			low, high := c.Interval(alpha)
			wantLow, wantHigh := slow(a, b, class, w, alpha)
			if math.Abs(low-wantLow) > 1e-8 || math.Abs(high-wantHigh) > 1e-8 {
				t.Errorf("%d classes, alpha %v: [%v, %v], want [%v, %v]", k, alpha, low, high, wantLow, wantHigh)
			}
		}
	}
}

func TestFigures(t *testing.T) {
	c := New(2)
	if low, high := c.Interval(.05); !math.IsInf(low, -1) || !math.IsInf(high, 1) || c.Verdict(.05) != Open {
		t.Errorf("without records: [%v, %v]", low, high)
	}
	add(t, c, []float64{.8, .2}, []float64{.6, .4}, 1, 2)
	add(t, c, []float64{1, 0}, []float64{.5, .5}, 0, 1)
	add(t, c, []float64{.3, .7}, []float64{.2, .8}, 1, 0) // without weight
	a, b := c.LogLoss()
	wantA, wantB := (-2*math.Log(.2)-math.Log(1-1e-6))/3, (-2*math.Log(.4)-math.Log(.5))/3
	if math.Abs(a-wantA) > 1e-12 || math.Abs(b-wantB) > 1e-12 || math.Abs(c.Difference()-(a-b)) > 1e-12 ||
		c.Records() != 2 {
		t.Errorf("log-losses %v %v of %d, difference %v, want %v %v", a, b, c.Records(), c.Difference(), wantA, wantB)
	}
	before := *c
	for _, bad := range []struct {
		name          string
		first, second []float64
		class         int
		w             float64
	}{
		{"too few", []float64{1}, []float64{.5, .5}, 0, 1}, {"NaN", []float64{math.NaN(), 1}, []float64{.5, .5}, 0, 1},
		{"above 1", []float64{.5, .5}, []float64{-.1, 1.1}, 0, 1}, {"class", []float64{.5, .5}, []float64{.5, .5}, 2, 1},
		{"no class", []float64{.5, .5}, []float64{.5, .5}, -1, 1}, {"weight", []float64{.5, .5}, []float64{.5, .5}, 0, -1},
		{"endless weight", []float64{.5, .5}, []float64{.5, .5}, 0, math.Inf(1)},
		{"no weight", []float64{.5, .5}, []float64{.5, .5}, 0, math.NaN()},
	} {
		if err := c.Add(bad.first, bad.second, bad.class, bad.w); err == nil || c.sum != before.sum ||
			c.above != before.above || c.n != before.n {
			t.Errorf("%s: %v", bad.name, err)
		}
	}
}

// TestEqualForecasters: of one forecaster compared with itself the interval is about 0, and shrinks.
func TestEqualForecasters(t *testing.T) {
	r, c := rand.New(rand.NewSource(4)), New(2)
	last := math.Inf(1)
	for range 5 {
		for range 100 {
			p := shares(r, 2)
			add(t, c, p, p, r.Intn(2), 1)
		}
		low, high := c.Interval(.05)
		if !(low < 0 && high > 0) || math.Abs(low+high) > 1e-12 || !(high < last) || high > 1 {
			t.Errorf("[%v, %v] after %d", low, high, c.Records())
		}
		last = high
	}
}

// TestOrderAndSides: the order of records does not matter but for rounding, and swapped forecasters mirror the
// interval.
func TestOrderAndSides(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	c, back, swapped := New(2), New(2), New(2)
	var a, b [][]float64
	var class []int
	for i := range 500 {
		a, b, class = append(a, shares(r, 2)), append(b, shares(r, 2)), append(class, r.Intn(2))
		add(t, c, a[i], b[i], class[i], 1)
		add(t, swapped, b[i], a[i], class[i], 1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		add(t, back, a[i], b[i], class[i], 1)
	}
	low, high := c.Interval(.05)
	if l, h := back.Interval(.05); math.Abs(l-low) > 1e-12 || math.Abs(h-high) > 1e-12 {
		t.Errorf("in the other order [%v, %v], want [%v, %v]", l, h, low, high)
	}
	if l, h := swapped.Interval(.05); math.Abs(l+high) > 1e-9 || math.Abs(h+low) > 1e-9 {
		t.Errorf("swapped [%v, %v], want [%v, %v]", l, h, -high, -low)
	}
}

// TestWideIntervals: an interval at a smaller error holds that at a larger one, also where propensities are 0 or 1.
func TestWideIntervals(t *testing.T) {
	c := New(2)
	add(t, c, []float64{1, 0}, []float64{0, 1}, 0, 1e6)
	add(t, c, []float64{1, 0}, []float64{0, 1}, 1, 1e-6)
	last := [2]float64{math.Inf(1), math.Inf(-1)}
	for _, alpha := range []float64{.5, .05, .001, 1e-12} {
		low, high := c.Interval(alpha)
		if !(low < last[0] && high > last[1]) || math.IsInf(low, 0) || math.IsInf(high, 0) {
			t.Errorf("alpha %v: [%v, %v], at more error [%v, %v]", alpha, low, high, last[0], last[1])
		}
		last = [2]float64{low, high}
	}
}

// TestTheUnitOfWeights makes no difference.
func TestTheUnitOfWeights(t *testing.T) {
	r, c, cents := rand.New(rand.NewSource(6)), New(2), New(2)
	for range 3000 {
		p, q, y, w := shares(r, 2), shares(r, 2), r.Intn(2), .5+r.Float64()
		add(t, c, p, q, y, w)
		add(t, cents, p, q, y, w*(1<<20))
	}
	low, high := c.Interval(.05)
	if l, h := cents.Interval(.05); l != low || h != high {
		t.Errorf("[%v, %v], in another unit [%v, %v]", low, high, l, h)
	}
}
