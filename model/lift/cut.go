package lift

import (
	"math"
	"slices"
)

// define cuts the continuous features of the set on its complete cases (METHOD.md 2). The cuts of the serving
// definition stay where they still make cells of about equal masses.
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

// serving returns the serving definition of the set, nil when there is none.
func (s *setSearch) serving(features []int32) *Set {
	for _, p := range s.previous {
		if slices.Equal(p.features, features) && p.joint == s.options.Joint {
			return p
		}
	}
	return nil
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

// numbers returns the values that the cuts of the part divide: the feature itself or, of several features, the distance
// of every record; NaN where a feature is missing. The slice is valid until the next call.
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

// fill writes the cell of every record into cells, as Set.Cell gives it: -1 where a feature of the set is missing.
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

// cutTolerance is how much lower, in nats, the entropy of the cell masses may be under the serving cuts than under
// fresh ones for the serving cuts to stay: five cells of which one is 29 % too heavy lose as much.
const cutTolerance = 0.01

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
