package propensity

// moment returns mean and variance of a linear input, in units of its axis.
func (s *Scorecard) moment(i int, m []float64) (mean, variance float64) {
	a := &s.axes[i]
	u0 := a.unit(0)
	n := m[0] + 1
	mean = (m[1] + u0) / n
	variance = (m[2]+u0*u0+1/(a.scale*a.scale))/n - mean*mean
	return mean, max(variance, 1e-12)
}
