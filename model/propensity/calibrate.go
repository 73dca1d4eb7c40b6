package propensity

// Online calibration (METHOD.md 5): knots on the log-odds, each labelled record split linearly over its two knots,
// counts decayed, log-odds interpolated between knots, slope 1 beyond the outermost ones.

// stand returns the knot below z and how far towards the next one z lies.
func (s *Scorecard) stand(z float64) (int, float64) {
	n := len(s.knotZ)
	v := (clip(z, knotEdge) + knotEdge) / (2 * knotEdge) * (float64(n) - 1.0001)
	b := int(v)
	return b, v - float64(b)
}

// calibrated returns the calibrated log-odds of a raw margin of table k (card x margins + margin).
func (s *Scorecard) calibrated(k int, z float64) float64 {
	n := len(s.knotZ)
	t := s.cur.knot[2*n*k : 2*n*(k+1)]
	b, f := s.stand(z)
	m := s.opt.Calibration.Prior * s.unit * s.knot
	if s.bound {
		return s.calibratedIso(t, b, f, m) + z - clip(z, knotEdge)
	}
	lo := ln((t[2*b+1] + m*s.knotP[b]) / (t[2*b] + m*(1-s.knotP[b])))
	hi := ln((t[2*b+3] + m*s.knotP[b+1]) / (t[2*b+2] + m*(1-s.knotP[b+1])))
	return (1-f)*lo + f*hi + z - clip(z, knotEdge)
}

// calibrate learns a record of class y (0 or 1) at margin z.
func (s *Scorecard) calibrate(k int, z float64, y int, weight float64) {
	n := len(s.knotZ)
	t := s.cur.knot[2*n*k : 2*n*(k+1)]
	b, f := s.stand(z)
	w := weight * s.knot
	t[2*b+y] += w * (1 - f)
	t[2*b+2+y] += w * f
}

// tame rescales the calibration counts when their weights have grown large.
func (s *Scorecard) tame() {
	if s.knot < 1<<maxGrowth {
		return
	}
	const v = 1. / (1 << maxGrowth)
	s.knot *= v
	for i := range s.cur.knot {
		s.cur.knot[i] *= v
	}
	if s.away != nil {
		for i := range s.away.knot {
			s.away.knot[i] *= v
		}
	}
}
