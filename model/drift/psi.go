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
	nr, nn := total(ref), total(now)
	sum := 0.
	for k := range ref {
		sum += psiCell(ref[k], now[k], nr, nn, half).Part
	}
	return sum
}

// PSICell is the share of a bin in the reference, that of now, and its part of the PSI, of which the bins' sum is it.
type PSICell struct{ Expected, Actual, Part float64 }

// PSICells takes the PSI of two counts of the same bins apart.
func PSICells(ref, now []float64) []PSICell {
	half := float64(len(ref)) / 2
	nr, nn := total(ref), total(now)
	out := make([]PSICell, len(ref))
	for k := range ref {
		out[k] = psiCell(ref[k], now[k], nr, nn, half)
	}
	return out
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

func psiCell(ref, now, nr, nn, half float64) PSICell {
	p, q := (ref+.5)/(nr+half), (now+.5)/(nn+half)
	return PSICell{p, q, (q - p) * math.Log(q/p)}
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
