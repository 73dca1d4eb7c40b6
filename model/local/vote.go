package local

import "math"

// tied returns how many of the neighbours are closer than the last, and the part of each prototype at the distance of
// the last, ties being those outside of near: with c closer neighbours of K and T prototypes at the last distance each
// of the T counts as (K - c) / T, in any order of the prototypes.
func tied(near []neighbour, ties []int32) (closer int, share float64) {
	closer = len(near)
	if len(ties) == 0 {
		return closer, 1
	}
	for closer > 0 && near[closer-1].distance == near[len(near)-1].distance {
		closer--
	}
	last := float64(len(near) - closer)
	return closer, last / (last + float64(len(ties)))
}

// vote writes the votes of the neighbours by class: one each, or by closeness. The neighbours at the distance of the
// last share their votes with the others at that distance, as tied has it. A trace of the distance ranks classes of
// equal votes by the smaller mean distance, then by the lower class (METHOD.md 4.1).
func vote(near []neighbour, ties []int32, class []int32, close bool, votes, far []float64) {
	clear(votes)
	if len(near) == 0 {
		return
	}
	// far counts the prototypes at the last distance by class, each at its share of a vote.
	last := near[len(near)-1].distance
	closer, share := tied(near, ties)
	clear(far)
	for _, n := range near[closer:] {
		far[class[n.index]]++
	}
	for _, k := range ties {
		far[class[k]]++
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

// pseudo is the weight of the prior among the neighbours' votes.
const pseudo = 1.0

// smooth returns the share of pseudo in the votes for class y: the class share q_c of the prototypes when votes go by
// closeness. When every neighbour has one vote, and votes can be equal, every class with prototypes has the same share,
// so that the nearer of equal classes stays ahead.
func (p *prototypes) smooth(m *Measure, y int) float64 {
	if m.Close {
		return pseudo * p.prior[y]
	}
	n := 0.0
	for _, q := range p.prior {
		if q > 0 {
			n++
		}
	}
	return pseudo / n
}

// shares turns w.votes of n neighbours into class shares: (votes + smooth) / (n + pseudo) among the prototypes, whose
// class shares are q_c, then times p_c / q_c for the stream's base rates p_c, normalised. lifts are ln(share / p_c), 0
// for a class without records.
func (s *structure) shares(n int, w *scratch, lifts []float64) {
	if n == 0 {
		clear(lifts)
		return
	}
	votes := total(w.votes)
	sum := 0.0
	for y, v := range w.votes {
		q := s.prototypes.prior[y]
		lifts[y] = 0
		if q > 0 && s.base[y] > 0 {
			lifts[y] = (v + s.prototypes.smooth(&s.measure, y)) / (votes + pseudo) / q
			sum += lifts[y] * s.base[y]
		}
	}
	for y, l := range lifts {
		if l > 0 {
			lifts[y] = math.Log(l / sum)
		}
	}
}
