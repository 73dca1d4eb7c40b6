package groups

import (
	"math"
	"slices"

	"liftstream/model"
)

// Cuts are the quantiles of finite numbers that cut them into n cells, fewer where numbers are equal: cell k is
// (cut[k-1], cut[k]], the first and the last without an end. The numbers stay as they are.
func Cuts(numbers []float64, n int) (cuts []float64) {
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	for k := 1; k < n && len(sorted) > 0; k++ {
		if c := sorted[(len(sorted)-1)*k/n]; c < sorted[len(sorted)-1] {
			cuts = append(cuts, c)
		}
	}
	return slices.Compact(cuts)
}

// CellNames are the names of the cells of the cuts.
func CellNames(cuts []float64) (names []string) {
	number := func(v float64) string { return string(model.AppendNumber(nil, v, 64)) }
	for k := range len(cuts) + 1 {
		switch {
		case len(cuts) == 0:
			names = append(names, "(a value)")
		case k == 0:
			names = append(names, "up to "+number(cuts[0]))
		case k == len(cuts):
			names = append(names, "above "+number(cuts[k-1]))
		default:
			names = append(names, "("+number(cuts[k-1])+", "+number(cuts[k])+"]")
		}
	}
	return names
}

// CodeNames are the names of the special codes of a feature, which are cells of their own.
func CodeNames(f *model.Feature) (names []string) {
	for k := range f.Special {
		names = append(names, f.SpecialName(k))
	}
	return names
}

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
