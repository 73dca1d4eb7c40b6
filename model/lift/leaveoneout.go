package lift

import "math"

// EtaLeaveOneOut is Eta on records that are left out of the counts: each record is predicted by the counts of the
// others in its cell, with m pseudo-records of the base rates,
//
//	q(y|x) = (n_xy - 1 + m h_y)/(n_x - 1 + m),  eta = max_m sum_xy n_xy ln(q(y|x)/h_y) / sum_xy n_xy ln(1/h_y)
//
// for the best m of 1, 4, 16 to 1,024, and at least 0. A record weighs, and is left out, as n_eff/n of its weight.
//
// A set that tells nothing gains some nats in all by chance, however many cells it has, where Eta gains
// (K_x-1)(K_y-1)/2. EtaCorrected takes that off, which is too little where most cells hold a few records.
// EtaLeaveOneOut is at most Eta. NaN as Eta.
func (s *Summary) EtaLeaveOneOut() float64 { return s.leaveOneOut().rank() }

// leftOutPriors are the pseudo-records of the base rates among which a set chooses for its cells, falling. With more of
// them than any cell has records a set tells nothing, and is worth 0.
var leftOutPriors = [...]float64{1024, 256, 64, 16, 4, 1}

// leaveOneOut returns the summary with the gains of EtaLeaveOneOut under the best prior; all 0 where no prior has a
// positive sum of gains.
func (s *Summary) leaveOneOut() *Summary {
	out := *s
	out.gain = make([]float64, len(s.A))
	if s.Seen < 2 {
		return &out
	}
	scale := s.Effective / s.N
	try := make([]float64, len(s.A))
	best := 0.0
	for _, m := range leftOutPriors {
		sum := 0.0
		for x := range try {
			try[x] = 0
			if !(s.NX[x] > 0) {
				continue
			}
			for y, v := range s.Count[x*s.Classes : (x+1)*s.Classes] {
				if v > 0 {
					one := min(v*scale, 1)
					h := s.NY[y] / s.N
					try[x] += v * math.Log((v*scale-one+m*h)/((s.NX[x]*scale-one+m)*h))
				}
			}
			sum += try[x]
		}
		if sum > best {
			best = sum
			out.gain, try = try, out.gain
		} else if best > 0 {
			break // the sum has one top, nearly always
		}
	}
	if best == 0 {
		clear(out.gain)
	}
	return &out
}
