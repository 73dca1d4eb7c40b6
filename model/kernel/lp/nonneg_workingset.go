package lp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// priceAll computes v anew.
func (s *sifter) priceAll() {
	for k, col := range s.p.Columns {
		s.v[k] = floats.Dot(s.lambda, col)
	}
}

// price computes v: base for the rows that are not held, and a sum over the held ones.
func (s *sifter) price() {
	if s.exact {
		s.priceAll()
		return
	}
	for k, col := range s.p.Columns {
		sum := 0.0
		for _, rows := range [...][]int32{s.rows, s.fresh} {
			for _, t := range rows {
				sum += s.lambda[t] * col[t]
			}
		}
		s.v[k] = s.base[k] + sum
	}
}

// admit adds the missing groups with the largest price in lambda to the master, and reports whether there were any.
func (s *sifter) admit(slack float64) bool {
	p := s.p
	clear(s.top)
	for k, g := range p.Group {
		s.top[g] += max(s.v[k]-p.Cost[k], 0)
	}
	var missing []int32
	for g, w := range s.top {
		if !s.inside[g] && len(s.members[g]) > 0 && w > p.Gamma*(1+slack)+slack {
			missing = append(missing, int32(g))
		}
	}
	slices.SortFunc(missing, func(a, b int32) int {
		if s.top[a] != s.top[b] {
			if s.top[a] > s.top[b] {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
	limit := 10
	for _, in := range s.inside {
		if in {
			limit++
		}
	}
	if len(missing) > limit {
		missing = missing[:limit]
	}
	for _, g := range missing {
		s.inside[g] = true
	}
	return len(missing) > 0
}

// first is the number of rows that the first master holds.
func (s *sifter) first() int {
	cols := 0
	for g, in := range s.inside {
		if in {
			cols += len(s.members[g])
		}
	}
	return max(s.few, len(s.r)/s.share, rowsEach*cols)
}

// choose holds at least want rows, the ones of the smallest residual, and reports whether more rows are held than
// before.
func (s *sifter) choose(want int) bool {
	n := len(s.r)
	if len(s.rows)+len(s.fresh) == n {
		return false
	}
	if want >= n {
		for t, held := range s.held {
			if !held {
				s.held[t] = true
				s.fresh = append(s.fresh, int32(t))
			}
		}
		clear(s.base)
		return true
	}
	s.rank = s.rank[:0]
	for _, r := range s.r {
		s.rank = append(s.rank, math.Abs(r))
	}
	largest := smallest(s.rank, want)
	var rows []int32
	for t, r := range s.r {
		if math.Abs(r) <= largest && !s.held[t] {
			rows = append(rows, int32(t))
		}
	}
	s.take(rows)
	return len(rows) > 0
}

// take holds the rows from the next master on.
func (s *sifter) take(rows []int32) {
	s.fresh = append(s.fresh, rows...)
	for _, t := range rows {
		s.held[t] = true
	}
	for k, col := range s.p.Columns {
		sum := 0.0
		for _, t := range rows {
			sum += s.lambda[t] * col[t]
		}
		s.base[k] -= sum
	}
}

// hold holds the rows that have changed sides, and reports whether there were any.
func (s *sifter) hold() bool {
	var rows []int32
	for t, r := range s.r {
		if !s.held[t] && (r > 0) != (s.lambda[t] > 0) {
			rows = append(rows, int32(t))
		}
	}
	if len(rows) == 0 {
		return false
	}
	s.take(rows)
	return true
}

// smallest returns the element at index n of v in sorted order. It reorders v.
func smallest(v []float64, n int) float64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return v[n]
		}
	}
	return v[lo]
}
