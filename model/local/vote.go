package local

import "math"

// vote writes the votes of the neighbours by class: of each one, or by closeness. Those as far as the last share their
// votes with the others that are as far, tied by class: c closer ones and T as far as the last leave each of these (K -
// c) / T of a vote, whichever came first. A trace of the distance ranks classes of equal votes by the smaller mean
// distance, then by the lower class (METHOD.md 4.1).
func vote(near []neighbour, tied []float64, class []int32, close bool, votes, far []float64) {
	clear(votes)
	if len(near) == 0 {
		return
	}
	// far counts those as far as the last, by class, each at its share of a vote.
	last, others := near[len(near)-1].distance, total(tied)
	closer, share := len(near), 1.0
	if others > 0 {
		for closer > 0 && near[closer-1].distance == last {
			closer--
		}
		copy(far, tied)
		for _, n := range near[closer:] {
			far[class[n.index]]++
		}
		share = float64(len(near)-closer) / (float64(len(near)-closer) + others)
	} else {
		clear(far)
	}
	if close {
		first, end := float64(near[0].distance), float64(last)
		s, sum := first/5+end/50, 0.0
		weight := func(d float64) float64 {
			if d -= first; d > 0 {
				return s / (d + s)
			}
			return 1
		}
		for _, n := range near[:closer] {
			v := weight(float64(n.distance))
			votes[class[n.index]] += v
			sum += v
		}
		v := weight(end) * share
		for y, n := range far {
			if n > 0 {
				votes[y] += v * n
				sum += v * n
			}
		}
		for y := range votes {
			votes[y] *= float64(len(near)) / sum
		}
		return
	}
	all := 0.0
	d := math.Sqrt(float64(last))
	for y, n := range far {
		votes[y] = n * share
		far[y] = votes[y] * d
		all += far[y]
	}
	for _, n := range near[:closer] {
		d := math.Sqrt(float64(n.distance))
		votes[class[n.index]]++
		far[class[n.index]] += d
		all += d
	}
	for y, v := range votes {
		if v > 0 && all > 0 {
			votes[y] += 1e-3 * (1 - far[y]/all)
		}
	}
}

// relevanceOf is sum_c P_c ln(P_c / p_c) of smoothed shares, in nats: 0 where the shares are the base rates.
func relevanceOf(mass, counts []float64, squares float64) float64 {
	gamma, n := total(mass), total(counts)
	if !(gamma > 0) || !(squares > 0) {
		return 0
	}
	eff := gamma * gamma / squares
	sum := 0.0
	for c, m := range mass {
		p := counts[c] / n
		if q := (eff*m/gamma + p) / (eff + 1); q > 0 && p > 0 {
			sum += q * math.Log(q/p)
		}
	}
	return max(0, sum)
}
