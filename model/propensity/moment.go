package propensity

// moment returns mean and variance of a linear input, in units of its axis, m being its sums. One pseudo-record stands
// beside them: at the centre of the axis with its variance or, as in the reference, at 0 with variance 1.
func (s *Scorecard) moment(i int, m []float64) (mean, variance float64) {
	a := &s.axes[i]
	u, v := 0., 1.
	if s.zeroPrior {
		u, v = a.unit(0), 1/(a.scale*a.scale)
	}
	n := m[0] + 1
	mean = (m[1] + u) / n
	variance = (m[2]+u*u+v)/n - mean*mean
	return mean, max(variance, 1e-12)
}
