package propensity

import (
	"math"
	"slices"
)

// A margin that must rise (or fall) with a feature is a sum of terms that do: log-lifts isotonic over the cells with
// weights of at least 0, isotonic cell weights, a linear weight of the right sign, and isotonic calibration. For more
// than two classes the terms of the other classes are all alike, so that only the positive class moves against them.

// lifted writes the log-lifts of an ordered cell, its rate pooled with its neighbours' as far as order demands; it
// reports whether the cell is ordered.
func (s *counts) lifted(i, cell int, dst []float64) bool {
	pos := s.positiveClass()
	C := s.classes
	for h := range s.horizons {
		b, ok := s.pooled(i, cell, h)
		if !ok {
			return false
		}
		rate, rest := s.rateOf(pos, h)
		if s.margins == 1 {
			dst[h] = ln(b.a/b.b) - ln(rate/rest)
			continue
		}
		p := b.a / (b.a + b.b)
		up, down := ln(p/rate), ln(b.b/(b.a+b.b)/rest)
		for c := range C {
			dst[h*C+c] = down
		}
		dst[h*C+pos] = up
	}
	return true
}

// positiveClass is the class whose margin ordered features move one way.
func (s *counts) positiveClass() int {
	if s.margins == 1 {
		return 1
	}
	return s.schema.Positive
}

// rateOf is the base rate of a class over horizon h, and that of all others.
func (s *counts) rateOf(class, h int) (rate, rest float64) {
	var n, others float64
	for c, v := range s.cur.class[h*s.classes : (h+1)*s.classes] {
		if v += s.pseudo(h); c == class {
			n = v
		} else {
			others += v
		}
	}
	return n / (n + others), others / (n + others)
}

// pooled returns the run of cells of feature i that order makes of an ordered cell over horizon h: the weights of the
// positive class and of the rest, the prior of each cell included. It reports whether the cell is ordered.
func (s *counts) pooled(i, cell, h int) (block, bool) {
	order := s.order[i]
	at := slices.Index(order, int32(cell))
	if at < 0 {
		return block{}, false
	}
	pos, rise, C := s.positiveClass(), s.axes[i].rise, s.classes
	rate, rest := s.rateOf(pos, h)
	m := s.opt.Prior * s.unit * s.clock.now[h]
	count := s.cur.feat[i].count
	s.iso = s.iso[:0]
	for j := range order {
		k := j
		if rise < 0 {
			k = len(order) - 1 - j
		}
		t := count[(int(order[k])*len(s.half)+h)*C:]
		b := block{a: m * rate, b: m * rest, n: 1}
		for c, v := range t[:C] {
			if c == pos {
				b.a += v
			} else {
				b.b += v
			}
		}
		s.iso.add(b, rateAbove)
	}
	if rise < 0 {
		at = len(order) - 1 - at
	}
	return s.iso.of(at), true
}

// project brings the weights of an ordered feature back into order: log-lift weights to 0 or above, cell weights to
// their isotonic regression, weighted by this partition's own G or evenly: the same for all partitions.
func (s *weights) project(i int, own bool) {
	H, K := s.horizons, s.margins
	for h := range H {
		w := &s.cur.in[i*H+h].w
		for k := range w {
			if w[k] < 0 {
				w[k] = 0
			}
		}
	}
	m, rise := s.positive(i)
	order, t := s.order[i], s.cur.feat[i].pair
	for k := range cards {
		s.iso = s.iso[:0]
		ok := true
		for j := range order {
			p := &t[int(order[j])*K+m]
			if j > 0 {
				ok = ok && rise*t[int(order[j-1])*K+m].w[k] <= rise*p.w[k]
			}
		}
		if ok {
			continue
		}
		for j := range order {
			p := &t[int(order[j])*K+m]
			g := 1.
			if own {
				g = p.g[k]
			}
			s.iso.add(block{g, g * p.w[k] * rise, 1}, meanAbove)
		}
		j, last := 0, math.Inf(-1)
		for _, b := range s.iso {
			last = max(last, b.b/b.a) // rounding must not undo the order
			for range b.n {
				t[int(order[j])*K+m].w[k] = rise * last
				j++
			}
		}
	}
}

// positive returns the margin of the positive class and the direction in which it must move with feature i.
func (s *weights) positive(i int) (margin int, rise float64) {
	if s.margins > 1 {
		margin = s.schema.Positive
	}
	return margin, float64(s.axes[i].rise)
}

// projectLinear gives the linear weights of ordered features the sign that they may have.
func (s *weights) projectLinear() {
	for i := range s.features {
		if f := &s.features[i]; s.order[i] != nil && f.linear >= 0 {
			m, rise := s.positive(i)
			w := &s.cur.own[(1+f.linear)*s.margins+m].w
			for k := range w {
				if rise*w[k] < 0 {
					w[k] = 0
				}
			}
		}
	}
}
