package lift

import (
	"cmp"
	"math"
	"slices"
)

// weighted is a value with the weight of its record.
type weighted struct{ value, weight float64 }

// quantileCuts returns the cut points of k cells of equal mass: the quantiles 1/k, ..., (k-1)/k of the values, equal
// ones once and none at or above the greatest value, so that no cell is empty (SPEC G.23). They are R's type 7; with
// unequal weights the interpolation between the order statistics j and j+1 runs over S_j = (j-1) w_j + (n-1) sum_{i<j}
// w_i in units of S_n (1-based), which is type 7 when the weights are equal. values is sorted in place. nil when values
// is empty or k < 2.
func quantileCuts(values []weighted, k int) []float64 {
	slices.SortFunc(values, func(a, b weighted) int {
		if c := cmp.Compare(a.value, b.value); c != 0 {
			return c
		}
		return cmp.Compare(a.weight, b.weight)
	})
	n := len(values)
	if n == 0 {
		return nil
	}
	equal, total := true, 0.0
	for _, v := range values {
		total += v.weight
		equal = equal && v.weight == values[0].weight
	}
	var cuts []float64
	add := func(j int, share float64) {
		c := values[j].value
		if share > 0 && j+1 < n {
			c += share * (values[j+1].value - c)
		}
		if c < values[n-1].value && (len(cuts) == 0 || c > cuts[len(cuts)-1]) {
			cuts = append(cuts, c)
		}
	}
	if equal {
		for i := 1; i < k; i++ {
			at := float64(n-1) * float64(i) / float64(k)
			j := int(at)
			add(j, at-float64(j))
		}
		return cuts
	}
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
		add(j, share)
	}
	return cuts
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
// share of a variance below which what the other features leave of it is noise.
const (
	ridge      = 1e-9
	degenerate = 1e-10
)

// factorise returns the rows of the Cholesky factor of the k x k covariance, with each diagonal entry replaced by its
// inverse (lower triangle, row by row). A covariance that is singular (a constant or a repeated feature) gets the ridge
// (SPEC B.3 v); one that is zero gets the identity.
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
				v -= ri[m] * rj[m]
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
