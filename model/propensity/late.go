package propensity

// recent is the share of the evidence in the counts of horizon h of a cell that still holds now, when labels come lag
// records behind their scores: 1/(1 + lag/(late h)) of a half-life of h records, 1 of a half-life that is a time, for
// ever, or without a lag.
func (s *counts) recent(h int) float64 {
	if n := s.half[h].Records; n > 0 {
		return 1 / (1 + s.lag/(s.late*n))
	}
	return 1
}

// age draws the log-lifts of horizons that are shorter than the lag of labels towards 0; base log-odds stay, for an old
// rate is better than none. x begins with the log-lifts of all features, horizon by horizon.
func (s *counts) age(x []float64) {
	if s.lag == 0 || s.late == 0 {
		return
	}
	K, H := s.margins, s.horizons
	end := len(s.features) * H * K
	for h := range H {
		v := s.recent(h)
		if v == 1 {
			continue
		}
		for i := h * K; i < end; i += H * K {
			for c := range K {
				x[i+c] *= v
			}
		}
	}
}
