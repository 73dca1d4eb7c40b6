package local

import (
	"math"
)

// Redundancy is the summary of a feature's correlations with the selected ones.
type Redundancy uint8

const (
	Mean Redundancy = iota // mean |rho|: the paper's; a twin can enter once many others are in
	Max                    // largest |rho|: a twin never enters
)

// Divergence is the measure by which a feature's local Gaussian is compared with the reference (eq. 6).
type Divergence uint8

const (
	FromReference Divergence = iota // KL(F || F_ref): follows the mean
	ToReference                     // KL(F_ref || F): follows the certainty
	LowerBound                      // mean - sqrt(variance), at least 0
)

// floorVariance keeps divergences finite where observations are dense (METHOD.md 3.1).
const floorVariance = 1e-12

// reference is F_ref: a Gaussian of low mean and low deviation.
type reference struct{ mean, sd float64 }

// Divergence of N(mean, variance) from N(ref, sd^2), in nats, or the lower bound in units of the score.
func (d Divergence) of(mean, variance float64, ref reference) float64 {
	v, r := max(variance, floorVariance), ref.sd*ref.sd
	e := mean - ref.mean
	switch d {
	case ToReference:
		return .5 * (r/v + e*e/v - 1 - math.Log(r/v))
	case LowerBound:
		return max(0, mean-math.Sqrt(v))
	}
	return .5 * (v/r + e*e/r - 1 - math.Log(v/r))
}

// greedy selects features for one record (Algorithm 2). The next feature is the one of the largest rel_j - penalty_j,
// with rel_j = divergence_j / max_k divergence_k and penalty_j the mean or largest |rho_jk| over the features k
// selected so far. The selection ends when that is below theta (first failure, METHOD.md 3.3, so that a higher theta
// selects a subset). Ties within 1e-12 go to the lower feature. Features with a divergence of NaN are no candidates.
// Where no divergence is above 1e-12 nothing is selected (METHOD.md 3.4).
//
// penalty and rel are scratch of one number a feature. Features and their scores are appended.
func greedy(divergence []float64, rho *correlation, theta float64, how Redundancy, penalty, rel []float64,
	features []int32, scores []float32) ([]int32, []float32) {
	top := 1e-12
	for _, d := range divergence {
		if d > top {
			top = d
		}
	}
	if top <= 1e-12 {
		return features, scores
	}
	m := len(divergence)
	penalty, rel = penalty[:m], rel[:m]
	clear(penalty)
	for j, d := range divergence {
		rel[j] = d / top
	}
	for n := 0; ; n++ {
		best, at := math.Inf(-1), -1
		scale := 1.0
		if how == Mean && n > 0 {
			scale = 1 / float64(n)
		}
		for j, r := range rel {
			if s := r - penalty[j]*scale; s > best+1e-12 { // false for NaN
				best, at = s, j
			}
		}
		if at < 0 || best < theta {
			return features, scores
		}
		features, scores = append(features, int32(at)), append(scores, float32(best))
		rel[at] = math.NaN()
		for i, r := range rho.row(at) {
			j := rho.features[i]
			if how == Mean {
				penalty[j] += float64(r)
			} else if p := float64(r); p > penalty[j] {
				penalty[j] = p
			}
		}
	}
}

// correlations returns |rho_jk| of the columns that are not nil, over the records that have both (METHOD.md 3.5). It is
// 0 for constant ones, but 1 on the diagonal.
func correlations(all [][]float64) *correlation {
	var features []int32
	var columns [][]float64
	for j, c := range all {
		if c != nil {
			features, columns = append(features, int32(j)), append(columns, c)
		}
	}
	m, out := len(columns), newCorrelation(len(all), features)
	// Complete columns are centred once.
	whole := make([]bool, m)
	centred := make([][]float64, m)
	norm := make([]float64, m)
	for j, c := range columns {
		mean, n := 0.0, 0
		for _, v := range c {
			if v == v {
				mean += v
				n++
			}
		}
		whole[j] = n == len(c) && n > 0
		if !whole[j] {
			continue
		}
		mean /= float64(n)
		centred[j] = make([]float64, n)
		for i, v := range c {
			centred[j][i] = v - mean
			norm[j] += (v - mean) * (v - mean)
		}
	}
	for j := range columns {
		for k := range j {
			var r float64
			switch {
			case whole[j] && whole[k]:
				s := 0.0
				for i, v := range centred[j] {
					s += v * centred[k][i]
				}
				r = pearson(s, norm[j], norm[k])
			default:
				r = pairwise(columns[j], columns[k])
			}
			out.set(j, k, float32(r))
		}
	}
	return out
}

func pearson(sxy, sxx, syy float64) float64 {
	r := math.Abs(sxy) / (math.Sqrt(sxx) * math.Sqrt(syy))
	if !(r <= 1) {
		if r > 1 {
			return 1
		}
		return 0
	}
	return r
}

func pairwise(a, b []float64) float64 {
	var n, ma, mb float64
	for i, v := range a {
		if w := b[i]; v == v && w == w {
			n++
			ma += v
			mb += w
		}
	}
	if n < 2 {
		return 0
	}
	ma, mb = ma/n, mb/n
	var sab, saa, sbb float64
	for i, v := range a {
		if w := b[i]; v == v && w == w {
			sab += (v - ma) * (w - mb)
			saa += (v - ma) * (v - ma)
			sbb += (w - mb) * (w - mb)
		}
	}
	return pearson(sab, saa, sbb)
}
