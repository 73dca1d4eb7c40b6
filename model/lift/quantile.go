package lift

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// weighted is a value with the weight of its record.
type weighted struct{ value, weight float64 }

// quantileCuts returns the cut points of k cells of equal mass: the quantiles 1/k, ..., (k-1)/k of the values, equal
// ones once and none at or above the greatest value, so that no cell is empty (METHOD.md 2.2). They are R's type 7;
// with unequal weights the interpolation between the order statistics j and j+1 runs over S_j = (j-1) w_j + (n-1)
// sum_{i<j} w_i in units of S_n (1-based), which is type 7 when the weights are equal. The order of values is not kept.
// nil when values is empty or k < 2.
func quantileCuts(values []weighted, k int) []float64 {
	n := len(values)
	if n == 0 || k < 2 {
		return nil
	}
	equal, total, highest := true, 0.0, values[0].value
	for _, v := range values {
		total += v.weight
		highest = max(highest, v.value)
		equal = equal && v.weight == values[0].weight
	}
	var cuts []float64
	add := func(low, high, share float64) {
		c := low
		if share > 0 {
			c += share * (high - low)
		}
		if c < highest && (len(cuts) == 0 || c > cuts[len(cuts)-1]) {
			cuts = append(cuts, c)
		}
	}
	if equal {
		v := make([]float64, n)
		for i := range values {
			v[i] = values[i].value
		}
		at := make([]float64, k-1)
		ranks := make([]int, 0, 2*k)
		for i := range at {
			at[i] = float64(n-1) * float64(i+1) / float64(k)
			j := int(at[i])
			ranks = append(ranks, j, min(j+1, n-1))
		}
		slices.Sort(ranks)
		selectRanks(v, 0, slices.Compact(ranks), 2*bits.Len(uint(n)))
		for _, a := range at {
			j := int(a)
			add(v[j], v[min(j+1, n-1)], a-float64(j))
		}
		return cuts
	}
	slices.SortFunc(values, func(a, b weighted) int {
		if c := cmp.Compare(a.value, b.value); c != 0 {
			return c
		}
		return cmp.Compare(a.weight, b.weight)
	})
	j, before := 0, 0.0
	at := func(j int, before float64) float64 { return float64(j)*values[j].weight + float64(n-1)*before }
	for i := 1; i < k; i++ {
		target := float64(n-1) * total * float64(i) / float64(k)
		for j+1 < n && at(j+1, before+values[j].weight) <= target {
			before += values[j].weight
			j++
		}
		share := 0.0
		if j+1 < n {
			low := at(j, before)
			if gap := at(j+1, before+values[j].weight) - low; gap > 0 {
				share = min(max((target-low)/gap, 0), 1)
			}
		}
		add(values[j].value, values[min(j+1, n-1)].value, share)
	}
	return cuts
}

// selectRanks reorders v so that the elements of the given ranks (ascending, counted from offset) stand where sorting
// would put them: quickselect with three-way partitions around the median of three, sorting the rest when depth
// partitions were not enough. v holds no NaN.
func selectRanks(v []float64, offset int, ranks []int, depth int) {
	for len(ranks) > 0 && len(v) > 1 {
		if len(v) <= 24 || depth == 0 {
			slices.Sort(v)
			return
		}
		depth--
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		low, high := 0, len(v)
		for i := 0; i < high; {
			switch x := v[i]; {
			case x < pivot:
				v[i], v[low] = v[low], x
				low++
				i++
			case x > pivot:
				high--
				v[i], v[high] = v[high], x
			default:
				i++
			}
		}
		first, _ := slices.BinarySearch(ranks, offset+low)
		last, _ := slices.BinarySearch(ranks, offset+high)
		selectRanks(v[:low], offset, ranks[:first], depth)
		v, offset, ranks = v[high:], offset+high, ranks[last:]
	}
}

// cellOf returns the right-closed cell of v: the number of cuts below it. cuts ascend.
func cellOf(cuts []float64, v float64) int32 {
	if len(cuts) <= 16 {
		var c int32
		for _, t := range cuts {
			if t < v {
				c++
			}
		}
		return c
	}
	i, _ := slices.BinarySearch(cuts, v)
	return int32(i)
}

// ridge is the share of the mean variance that is added to the diagonal of a degenerate covariance, and degenerate the
// share of a variance below which its residual on the other features is noise.
const (
	ridge      = 1e-9
	degenerate = 1e-10
)

// factorise returns the rows of the Cholesky factor of the k x k covariance, with each diagonal entry replaced by its
// inverse (lower triangle, row by row). A covariance that is singular (a constant or a repeated feature) gets the ridge
// (METHOD.md 2.4); one that is zero gets the identity.
func factorise(cov []float64, k int) []float64 {
	var trace float64
	for i := 0; i < k; i++ {
		trace += cov[i*k+i]
	}
	if !(trace > 0) {
		trace = 0
	}
	for _, add := range []float64{0, ridge * trace / float64(k), 1} {
		if l := cholesky(cov, k, add); l != nil {
			return l
		}
	}
	l := make([]float64, 0, k*(k+1)/2)
	for i := 0; i < k; i++ {
		l = append(append(l, make([]float64, i)...), 1)
	}
	return l
}

// cholesky is factorise for the covariance with add on its diagonal; nil when that is singular.
func cholesky(cov []float64, k int, add float64) []float64 {
	l := make([]float64, k*(k+1)/2)
	for i := 0; i < k; i++ {
		ri := l[i*(i+1)/2:]
		for j := 0; j <= i; j++ {
			rj := l[j*(j+1)/2:]
			v := cov[i*k+j]
			if i == j {
				v += add
			}
			full := v
			for m := 0; m < j; m++ {
				v -= float64(ri[m] * rj[m])
			}
			if i != j {
				ri[j] = v * rj[j]
				continue
			}
			tolerance := degenerate * full
			if add > 0 {
				tolerance = degenerate * add
			}
			if !(v > tolerance) || math.IsInf(v, 1) {
				return nil
			}
			ri[j] = 1 / math.Sqrt(v)
		}
	}
	return l
}
