package report

import "math"

// Normal975 is the quantile of the normal distribution at .975.
const Normal975 = 1.959963984540054

// Wilson is the 95 % interval of a rate of n records of which the share p is positive (Wilson 1927), NaN where there is
// none.
func Wilson(p, n float64) (low, high float64) {
	if !(n > 0) || math.IsNaN(p) {
		return math.NaN(), math.NaN()
	}
	const z2 = Normal975 * Normal975
	p = min(1, max(0, p))
	middle, half := p+z2/(2*n), Normal975*math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return max(0, (middle-half)/(1+z2/n)), min(1, (middle+half)/(1+z2/n))
}
