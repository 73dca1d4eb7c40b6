package drift

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// PSI is the population stability index between two counts of the same bins,
//
//	sum_k (q_k - p_k) ln(q_k / p_k),  p_k = (n_k + 1/2) / (n + K/2),
//
// with q of now likewise. By custom .1 is a shift and .25 a large one, but see PSIThreshold.
func PSI(ref, now []float64) float64 {
	half := float64(len(ref)) / 2
	var nr, nn, sum float64
	for k := range ref {
		nr += ref[k]
		nn += now[k]
	}
	for k := range ref {
		p, q := (ref[k]+.5)/(nr+half), (now[k]+.5)/(nn+half)
		sum += (q - p) * math.Log(q/p)
	}
	return sum
}

// PSIThreshold is the value that the PSI of n and m records in so many bins, drawn alike and one by one, exceeds with
// about the chance tail: (1/n + 1/m) F^-1(1 - tail), with the distribution F of chi2 with bins - 1 degrees of freedom
// (Yurdakul, Statistical properties of population stability index, 2018). It is 0 below two bins.
func PSIThreshold(bins int, n, m, tail float64) float64 {
	if bins < 2 {
		return 0
	}
	return (1/n + 1/m) * quantile(bins, tail)
}

// quantile is F^-1(1 - tail) of PSIThreshold. It costs much more than a comparison.
func quantile(bins int, tail float64) float64 {
	return 2 * mathext.GammaIncRegCompInv(float64(bins-1)/2, tail)
}
