package lift

import (
	"math"
	"slices"

	"liftstream/model"
)

// define cuts the continuous features of the set on its complete cases; the cuts of the serving definition stay where
// they still make cells of about the same masses.
func (s *setSearch) define(features []int32) *Set {
	parts := partsOf(s.schema, features, s.options.Joint)
	if len(parts) == 0 {
		return newSet(s.schema, features, s.options.Joint, nil)
	}
	var key []int32
	others := false // a feature with levels takes records away from the parts
	for _, f := range features {
		if s.code[f] == nil {
			key = append(key, f)
		} else {
			others = others || s.missing[f]
		}
	}
	serving := s.serving(features)
	single := len(parts) == 1
	if single && !others && slices.Equal(key, s.lastKey) {
		parts = s.lastPart
	} else {
		s.lastKey = nil
		for i := range parts {
			s.cut(features, &parts[i])
		}
		if single && !others {
			s.lastKey, s.lastPart = key, parts
			s.slots(&parts[0], s.lastSlot)
		}
	}
	if serving != nil {
		parts = slices.Clone(parts)
		for i := range parts {
			if s.adequate(features, &serving.parts[i], &parts[i]) {
				parts[i] = serving.parts[i]
			}
		}
	}
	return newSet(s.schema, features, s.options.Joint, parts)
}

// complete reports whether record i has all features.
func (s *sample) complete(features []int32, i int) bool {
	for _, f := range features {
		if s.missing[f] {
			if v := s.column[f][i]; v != v {
				return false
			}
		}
	}
	return true
}

// cut defines the cells of the part on the records that are complete on features.
func (s *setSearch) cut(features []int32, p *part) {
	if k := len(p.features); k > 1 {
		p.factor = factorise(s.covariance(features, p.features), k)
	}
	s.values = s.values[:0]
	for i, v := range s.numbers(p) {
		if s.weight[i] > 0 && finite(v) && s.complete(features, i) {
			s.values = append(s.values, weighted{v, s.weight[i]})
		}
	}
	p.cuts = quantileCuts(s.values, min(s.options.Quantiles, maxCells))
}

// numbers returns what the cuts of the part divide: the feature itself, or the distance of every record, valid until
// the next call; NaN where a feature is missing.
func (s *setSearch) numbers(p *part) []float64 {
	if p.factor == nil {
		return s.column[p.features[0]]
	}
	if slices.Equal(p.features, s.distanceOf.features) && slices.Equal(p.factor, s.distanceOf.factor) {
		return s.distances
	}
	if s.distances == nil {
		s.distances = make([]float64, s.n)
	}
	for i := range s.distances {
		for _, f := range p.features {
			s.row[f] = s.column[f][i]
		}
		s.distances[i] = p.distance(s.row)
	}
	s.distanceOf = part{features: p.features, factor: p.factor}
	return s.distances
}

// slots writes the part's cell of every record, -1 where a feature is missing.
func (s *setSearch) slots(p *part, dst []int32) {
	for i, v := range s.numbers(p) {
		if v == v {
			dst[i] = cellOf(p.cuts, v)
		} else {
			dst[i] = -1
		}
	}
}

// covariance returns that of the part's features over the records complete on features.
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

// adequate reports whether the cells of the serving part have masses about as equal as those of the fresh one.
func (s *setSearch) adequate(features []int32, serving, fresh *part) bool {
	entropy := func(p *part) (h float64) {
		mass := make([]float64, len(p.cuts)+1)
		total := 0.0
		for i, v := range s.numbers(p) {
			if s.complete(features, i) {
				mass[cellOf(p.cuts, v)] += s.weight[i]
				total += s.weight[i]
			}
		}
		for _, m := range mass {
			if m > 0 {
				h -= m / total * math.Log(m/total)
			}
		}
		return h
	}
	return entropy(serving) >= entropy(fresh)-cutTolerance
}

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

// offset returns how far the ranks of the cuts of a part are, at most, from the quantiles that they stand for: of each
// of the wanted quantiles the distance to the nearest of the cuts, or to the greatest value where that is as near, by
// the share of the complete records that lie below it. A value that many records share has all the ranks of its
// records.
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

// fill writes the cell of every record, -1 where the set has a missing feature. It gives what Set.Cell gives.
func (s *setSearch) fill(t *Set) {
	first := true
	for i := range t.parts {
		p := &t.parts[i]
		cached := len(t.parts) == 1 && s.lastKey != nil && slices.Equal(p.features, s.lastKey) &&
			slices.Equal(p.cuts, s.lastPart[0].cuts) && slices.Equal(p.factor, s.lastPart[0].factor)
		switch {
		case first && cached:
			copy(s.cells, s.lastSlot)
		case first:
			s.slots(p, s.cells)
		default:
			for r, v := range s.numbers(p) {
				if v != v {
					s.cells[r] = -1
				} else if s.cells[r] >= 0 {
					s.cells[r] += cellOf(p.cuts, v) * p.stride
				}
			}
		}
		first = false
	}
	for i := range t.levels {
		l := &t.levels[i]
		code := s.code[l.feature]
		if first {
			for r, c := range code {
				if s.cells[r] = -1; c >= 0 {
					s.cells[r] = min(c, l.cap-1) * l.stride
				}
			}
		} else {
			for r, c := range code {
				if c < 0 {
					s.cells[r] = -1
				} else if s.cells[r] >= 0 {
					s.cells[r] += min(c, l.cap-1) * l.stride
				}
			}
		}
		first = false
	}
}
