package paired

import "math"

// The grid of METHOD.md 3: rates from 2^-12 to 2^8 by steps of half a power of two.
const (
	rates     = 41
	firstRate = -12
	rateSteps = 2
)

// rate is the k-th rate of the grid.
func rate(k int) float64 { return math.Exp2(firstRate + float64(k)/rateSteps) }

// grid holds the rates, for they are the same for all records.
var grid = func() (g [rates]float64) {
	for k := range g {
		g[k] = rate(k)
	}
	return g
}()

// nearest is the largest product of rate and distance for which the cumulant of the empirical Bernstein bound is used;
// at 1 it is infinite.
const nearest = 0.99

// add counts the cumulant of a record whose difference is x. below is the largest distance by which a value may fall
// below the expected one, seen from the side that is bounded.
func (c *costs) add(below float64, s *spread, x float64) {
	d := x - s.expected
	square, width := d*d, s.lower+s.upper
	for k, l := range grid {
		range2 := l * l * width * width / 8 // Hoeffding
		if z := l * below; z <= nearest {
			if psi := l * l * bernstein(z); psi*s.variance < range2 {
				c[k] += psi * square
				continue
			}
		}
		c[k] += range2
	}
}

// bernstein is (-ln(1-z) - z) / z^2, the cumulant of METHOD.md 2 over the square of the rate; 1/2 at 0. 0 <= z < 1.
func bernstein(z float64) float64 {
	if z < 1e-4 {
		return 0.5 + z*(1.0/3+z/4)
	}
	return (-math.Log1p(-z) - z) / (z * z)
}

// bound is the u at which the mixture of METHOD.md 3, sum_k exp(rate_k u - cost_k) / rates, reaches 1/alpha. It is
// positive. The mixture grows with u, and one of its terms alone reaches 1/alpha at the upper end of the search.
func (c *costs) bound(alpha float64) float64 {
	need := math.Log(rates / alpha)
	low, high := 0.0, math.Inf(1)
	for k, l := range grid {
		high = min(high, (need+c[k])/l)
	}
	for range 200 {
		u := low + (high-low)/2
		if u <= low || u >= high {
			break
		}
		if c.mixture(u) < need {
			low = u
		} else {
			high = u
		}
	}
	return high
}

// mixture is ln sum_k exp(rate_k u - cost_k).
func (c *costs) mixture(u float64) float64 {
	top := math.Inf(-1)
	for k, l := range grid {
		top = max(top, l*u-c[k])
	}
	sum := 0.0
	for k, l := range grid {
		sum += math.Exp(l*u - c[k] - top)
	}
	return top + math.Log(sum)
}
