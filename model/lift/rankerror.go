package lift

import (
	"math"
	"slices"

	"liftstream/model"
)

// rankError is PartSet.RankError of a set that was cut on the evidence.
func (s *setSearch) rankError(t *Set, ev *model.Evidence) float64 {
	if len(t.parts) == 0 {
		return 0
	}
	off := 0.0
	for i := range t.parts {
		off = max(off, s.offset(t.features, &t.parts[i]))
	}
	return off + ev.RankError(func(i int) bool { return s.complete(t.features, i) }, rankDelta)
}

// offset returns the greatest distance of a wanted quantile from the rank of the nearest cut of a part, or of the
// greatest value where that is as near. Ranks are shares of the complete records. A value that many records share has
// all the ranks of its records.
func (s *setSearch) offset(features []int32, p *part) float64 {
	numbers := s.numbers(p)
	greatest := math.Inf(-1)
	for i, v := range numbers {
		if finite(v) && s.complete(features, i) {
			greatest = max(greatest, v)
		}
	}
	points := append(slices.Clone(p.cuts), greatest)
	mass, at := make([]float64, len(points)+1), make([]float64, len(points)) // between the points and on them
	total := 0.0
	for i, v := range numbers {
		if !finite(v) || !s.complete(features, i) {
			continue
		}
		x := cellOf(points, v)
		mass[x] += s.weight[i]
		if int(x) < len(points) && points[x] == v {
			at[x] += s.weight[i]
		}
		total += s.weight[i]
	}
	if !(total > 0) {
		return 0
	}
	k := min(s.options.Quantiles, maxCells)
	off := 0.0
	for q := 1; q < k; q++ {
		want, nearest, rank := float64(q)/float64(k), 1.0, 0.0
		for x := range points {
			rank += mass[x] / total
			nearest = min(nearest, max(want-rank, rank-at[x]/total-want, 0))
		}
		off = max(off, nearest)
	}
	return off
}

// rankDelta is the chance that RankError allows a cut point to be further off than it says.
const rankDelta = .001
