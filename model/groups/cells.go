package groups

import (
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
