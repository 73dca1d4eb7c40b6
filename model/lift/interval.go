package lift

import (
	"math"

	"liftstream/model/report"
)

// liftInterval is the 95 % interval of the lift (n_xy/n_x)/(n_y/n) of a class under a condition, on counts times scale
// as effective numbers of records (METHOD.md 1.3).
//
// With p the rate of the class under the condition, r that among the rest, and g = n_x/n, the lift is 1/(g + (1-g)
// r/p): the interval is that of the ratio of two independent rates by the score test (Koopman, Biometrics 40, 1984), so
// that the base rate is not taken as known. It exists at counts of zero: without a covered record it is [0, n/n_y],
// without a record of the rest [1, 1]. NaN when the class was not seen.
func liftInterval(nxy, nx, ny, n, scale float64) (low, high float64) {
	return scoreLiftInterval(nxy, nx, ny, n, scale, z95)
}

// z95 is the two-sided 95 % point of the normal distribution.
const z95 = report.Normal975

// scoreLiftInterval is liftInterval with another two-sided point of the normal distribution than z95.
func scoreLiftInterval(nxy, nx, ny, n, scale, z float64) (low, high float64) {
	switch {
	case !(ny > 0):
		return math.NaN(), math.NaN()
	case !(nx > 0):
		return 0, n / ny
	case n-nx <= n*tieTolerance:
		return 1, 1
	}
	nxy, ny = min(nxy, nx), max(ny, nxy)
	rest := n - nx
	of := min(max(ny-nxy, 0), rest)
	lift := nxy / nx * n / ny
	g := nx / n
	at := func(ratio float64) float64 { return 1 / (g + (1-g)*ratio) } // the lift when the rest's rate is ratio times p
	x1, n1, x2, n2 := of*scale, rest*scale, nxy*scale, nx*scale
	// bisect returns where the score passes z^2 between a ratio at which it is below and one at which not.
	bisect := func(in, out float64) float64 {
		for range 60 {
			mid := math.Sqrt(in * out)
			if ratioScore(x1, n1, x2, n2, mid) <= z*z {
				in = mid
			} else {
				out = mid
			}
		}
		return in
	}
	const least, most = 1e-9, 1e9
	best := min(max(of/rest*nx/nxy, least), most)
	if nxy == 0 {
		best = most
	}
	low, high = 0, max(1/g, lift)
	if nxy > 0 {
		low = min(at(bisect(best, most)), lift)
	}
	if of > 0 {
		high = max(at(bisect(best, least)), lift)
	}
	return low, high
}

// ratioScore is the score statistic, chi-square of one degree of freedom, for the ratio of the rates x1/n1 and x2/n2
// being t.
func ratioScore(x1, n1, x2, n2, t float64) float64 {
	a := (n1 + n2) * t
	b := t*n1 + x1 + n2 + t*x2
	p2 := 2 * (x1 + x2) / (b + math.Sqrt(max(b*b-4*a*(x1+x2), 0))) // the smaller root, without cancellation
	p1 := min(p2*t, 1)
	p2 = min(p2, 1)
	d := x1/n1 - t*x2/n2
	v := p1*(1-p1)/n1 + t*t*p2*(1-p2)/n2
	if !(v > 0) {
		if math.Abs(d) < 1e-12 {
			return 0
		}
		return math.Inf(1)
	}
	return d * d / v
}

// jointLiftInterval is the interval of the lift at 95 % for among lifts at once, each with a chance of at most
// .05/among to miss (Bonferroni): the wider at each end of scoreLiftInterval, in which the base rate has its error, and
// exactLiftInterval, which holds at small counts. Counts times scale are effective numbers. NaN as liftInterval.
func jointLiftInterval(nxy, nx, ny, n, scale float64, among int) (low, high float64) {
	alpha := .05 / float64(max(among, 1))
	low, high = scoreLiftInterval(nxy, nx, ny, n, scale, math.Sqrt2*math.Erfinv(1-alpha))
	l, h := exactLiftInterval(nxy, nx, ny, n, scale, alpha)
	return min(low, l), max(high, h)
}

// exactLiftInterval is the interval of the lift, with a chance of at most alpha to miss, by inverting Fisher's exact
// test of the odds ratio (Cornfield, 1956): given the margins n_x, n_y and n the count n_xy has the non-central
// hypergeometric distribution, and an end is the lift at the odds ratio under which the count that extreme has the
// chance alpha/2, with the margins as observed. It holds its level at counts of any size and at any alpha, where
// liftInterval is too narrow for small ones at small alpha. Counts times scale are effective numbers, rounded so that
// the interval is not narrower. NaN, [0, n/n_y] and [1, 1] as liftInterval.
func exactLiftInterval(nxy, nx, ny, n, scale, alpha float64) (low, high float64) {
	switch {
	case !(ny > 0):
		return math.NaN(), math.NaN()
	case !(nx > 0):
		return 0, n / ny
	case n-nx <= n*tieTolerance:
		return 1, 1
	}
	all, covered, class := math.Round(n*scale), math.Round(nx*scale), math.Round(ny*scale)
	covered, class = min(max(covered, 1), all-1), min(max(class, 1), all)
	least, most := max(covered+class-all, 0), min(covered, class)
	below := min(max(math.Floor(nxy*scale*(1+1e-9)), least), most)
	above := min(max(math.Ceil(nxy*scale*(1-1e-9)), least), most)
	g, h := covered/all, class/all
	// side bisects between the rate of no dependence on the far side and the extreme one for the rate p under the
	// condition at which tail(odds ratio) is alpha/2; tail rises from in to out.
	side := func(in, out float64, tail func(odds float64) float64) float64 {
		for range 50 {
			p := (in + out) / 2
			r := (h - g*p) / (1 - g)
			odds := p / (1 - p) * (1 - r) / r
			if tail(odds) <= alpha/2 {
				in = p
			} else {
				out = p
			}
		}
		return in / h
	}
	lowest, highest := max((h-(1-g))/g, 0), min(h/g, 1)
	low, high = lowest/h, highest/h
	if below > least {
		low = side(lowest, highest, func(odds float64) float64 {
			return hypergeometricTail(covered, class, all, odds, func(k float64) bool { return k >= below })
		})
	}
	if above < most {
		high = side(highest, lowest, func(odds float64) float64 {
			return hypergeometricTail(covered, class, all, odds, func(k float64) bool { return k <= above })
		})
	}
	return low, high
}

// hypergeometricTail is the chance that the number of the class among nx records, of n of which ny are of the class, is
// in a tail, when the odds of the class among the nx are so many times those among the rest (Fisher's non-central
// hypergeometric distribution). Terms are summed from the mode outwards until they no longer count.
func hypergeometricTail(nx, ny, n, odds float64, tail func(k float64) bool) float64 {
	least, most := max(nx+ny-n, 0), min(nx, ny)
	up := func(k float64) float64 { return odds * (ny - k) * (nx - k) / ((k + 1) * (n - ny - nx + k + 1)) } // t(k+1)/t(k)
	in, out := least, most
	for in < out { // the first k from which terms fall
		if mid := math.Floor((in + out) / 2); up(mid) > 1 {
			in = mid + 1
		} else {
			out = mid
		}
	}
	mode := in
	all, part := 0.0, 0.0
	add := func(k, t float64) bool {
		all += t
		if tail(k) {
			part += t
		}
		return t > 1e-17*all
	}
	t := 1.0
	for k := mode; k <= most && add(k, t); k++ {
		t *= up(k)
	}
	t = 1
	for k := mode - 1; k >= least; k-- {
		if t /= up(k); !add(k, t) {
			break
		}
	}
	return part / all
}
