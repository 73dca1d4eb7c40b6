package lift

import (
	"math"
	"slices"
)

// WindowInterval is the 95 % interval of WindowEta for every window of as many feature sets at once, so that it holds
// of a window that was chosen as the best of all of them. The class rates p_x of the cells of one set lie, with
// probability of at least 1 - .05/sets, where
//
//	sum_x n_x KL(^p_x || p_x) <= r = sum_xy n_xy ln ^p(y|x) - ln mean_m prod_x DM(n_x; m h) + ln(sets/.05)
//
// with the observed rates ^p_x, and the Dirichlet-multinomial chance DM of the classes in a cell under m pseudo-records
// of the base rates (the m of EtaLeaveOneOut): by Markov's inequality, as the mean is the chance of the classes under
// some law, for any numbers of records in the cells. The ends are eta where the window's rates have gone as far as
// that allows, all in one proportion: at the low end towards the base rates, at the high end away from these, as ^p^t
// h^(1-t). The base rates and the shares of the cells are taken as known, and records as independent: on records whose
// rates drift the interval is too narrow. NaN as WindowEta.
func (s *Summary) WindowInterval(cells []int, sets int) (low, high float64) {
	if eta := s.WindowEta(cells); eta != eta {
		return math.NaN(), math.NaN()
	}
	scale := s.Effective / s.N
	h := make([]float64, s.Classes)
	for y, v := range s.NY {
		h[y] = v / s.N
	}
	gamma := func(v float64) float64 {
		g, _ := math.Lgamma(v)
		return g
	}
	var law [len(leftOutPriors)]float64 // log-chance under each of the priors
	plug := 0.0
	for x, nx := range s.NX {
		if !(nx > 0) {
			continue
		}
		for i, m := range leftOutPriors {
			law[i] += gamma(m) - gamma(m+nx*scale)
		}
		for y, v := range s.Count[x*s.Classes : (x+1)*s.Classes] {
			if v > 0 {
				plug += v * scale * math.Log(v/nx)
				for i, m := range leftOutPriors {
					law[i] += gamma(m*h[y]+v*scale) - gamma(m*h[y])
				}
			}
		}
	}
	top, sum := slices.Max(law[:]), 0.0
	for _, v := range law {
		sum += math.Exp(v - top)
	}
	budget := plug - top - math.Log(sum/float64(len(law))) + math.Log(float64(max(sets, 1))/.05)
	// at returns eta of the window with other rates, and how far these are from the observed ones.
	p := make([]float64, s.Classes)
	at := func(move func(v, h float64) float64) (eta, distance float64) {
		var a, b float64
		for _, x := range cells {
			total := 0.0
			count := s.Count[x*s.Classes : (x+1)*s.Classes]
			for y := range p {
				p[y] = 0
				if h[y] > 0 {
					p[y] = move(max(count[y], 0)/s.NX[x], h[y])
				}
				total += p[y]
			}
			for y, v := range count {
				if p[y] /= total; p[y] > 0 {
					a += s.NX[x] * p[y] * math.Log(p[y]/h[y])
					b -= s.NX[x] * p[y] * math.Log(h[y])
				}
				if v > 0 {
					distance += v * scale * math.Log(v/s.NX[x]/p[y])
				}
			}
		}
		return min(max(a, 0)/b, 1), distance
	}
	// furthest bisects for the eta of the furthest move that stays within the budget; move(0) is none.
	furthest := func(out float64, move func(t, v, h float64) float64) float64 {
		in, eta := 0., s.WindowEta(cells)
		for range 40 {
			mid := (in + out) / 2
			if e, d := at(func(v, h float64) float64 { return move(mid, v, h) }); d <= budget {
				in, eta = mid, e
			} else {
				out = mid
			}
		}
		return eta
	}
	if _, d := at(func(_, h float64) float64 { return h }); d > budget {
		low = furthest(1, func(t, v, h float64) float64 { return v + t*(h-v) })
	}
	high = furthest(16, func(t, v, h float64) float64 { return v * math.Pow(v/h, t) })
	return min(low, s.WindowEta(cells)), max(high, s.WindowEta(cells))
}
