package lift

import "slices"

// covariance returns the covariance of the features of over the records complete on features.
func (s *setSearch) covariance(features, of []int32) []float64 {
	for _, f := range features {
		if s.missing[f] {
			return s.moments(features, of)
		}
	}
	// Every record counts, so that one matrix serves all such sets.
	var all []int32
	for _, f := range s.fields {
		if s.code[f] == nil && !s.missing[f] {
			all = append(all, f)
		}
	}
	if s.full == nil {
		s.full = s.moments(nil, all)
	}
	k := len(of)
	cov := make([]float64, k*k)
	for j, f := range of {
		fj, _ := slices.BinarySearch(all, f)
		for m, g := range of {
			gm, _ := slices.BinarySearch(all, g)
			cov[j*k+m] = s.full[fj*len(all)+gm]
		}
	}
	return cov
}

// moments returns the covariance about the mean of the features of over the records complete on features, with the
// divisor W - sum w^2/W of the total weight W, which is n - 1 for equal weights (METHOD.md 2.3).
func (s *setSearch) moments(features, of []int32) []float64 {
	k := len(of)
	mean, cov := make([]float64, k), make([]float64, k*k)
	var total, square float64
	for i := 0; i < s.n; i++ {
		if w := s.weight[i]; w > 0 && s.complete(features, i) {
			total += w
			square += w * w
			for j, f := range of {
				mean[j] += w * s.column[f][i]
			}
		}
	}
	for j := range mean {
		mean[j] /= total
	}
	x := make([]float64, k)
	for i := 0; i < s.n; i++ {
		if i%64 == 0 && s.ended != nil && s.ended() {
			break // nothing reads it any more
		}
		if w := s.weight[i]; w > 0 && s.complete(features, i) {
			for j, f := range of {
				x[j] = s.column[f][i] - mean[j]
				for m := 0; m <= j; m++ {
					cov[j*k+m] += w * x[j] * x[m]
				}
			}
		}
	}
	divisor := total - square/total
	for j := 0; j < k; j++ {
		for m := 0; m <= j; m++ {
			v := cov[j*k+m] / divisor
			if !finite(v) {
				v = 0
			}
			cov[j*k+m], cov[m*k+j] = v, v
		}
	}
	return cov
}
