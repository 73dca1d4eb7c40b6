package propensity

import (
	"math"

	"liftstream/model"
)

// The path of two classes: one margin, that of class 1 against class 0, the four cards side by side in every loop.

// score2 computes inputs and margins of the row whose cells are in s.cells into the memory m and returns the
// mixture's log-odds.
func (s *Scorecard) score2(row model.Row, inputs []float64, m memory) float64 {
	H := s.horizons
	x := m.shared
	lifts2(&s.counts, x[:len(s.features)*H])
	at := len(s.features) * H
	for h := range s.rates {
		x[at] = s.rates[h].logit
		at++
	}
	s.age(x[:at])
	clear(x[at:])
	for j, slot := range s.ext {
		if slot >= 0 && 2*j+1 < len(inputs) {
			x[slot] = safe(inputs[2*j+1] - inputs[2*j])
		}
	}
	m.own[0] = 1
	s.standardise(row, m.own[1:])

	z := s.margins2(x, m.own)
	copy(m.raw, z[:])
	for k := range cards {
		m.calibrated[k] = s.cal.calibrated(s.cal.table(s.cur.knot, k), z[k], s.unit)
	}
	m.learnt[0] = s.learnt
	m.mixed[0] = s.mixed2(m)
	s.res.remember(m)
	return s.res.published(m, 0)
}

// lifts2 writes the log-lifts of the cells in s.cells, features x horizons, as no late label draws them. The logarithms
// are taken of all at once; those of cells that have other sums follow.
func lifts2(s *counts, x []float64) {
	H, stride := s.horizons, 2*len(s.half)
	some := false
	for i := range s.features {
		dst := x[i*H : i*H+H]
		c := s.cells[i]
		if c == noCell || s.order[i] != nil || s.far[i] >= 0 {
			some = true
			for h := range dst {
				dst[h] = 1
			}
			continue
		}
		count, t := s.cur.feat[i].count, s.parts[i]
		var side []float64
		if t > 0 {
			side = count[s.sides[i]*stride : (s.sides[i]+1)*stride]
		}
		ratios(dst, count[c*stride:(c+1)*stride], side, t, s.base, s.times)
	}
	logs(x)
	if !some {
		return
	}
	for i := range s.features {
		dst := x[i*H : i*H+H]
		c := s.cells[i]
		if c == noCell {
			clear(dst)
			continue
		}
		if s.order[i] == nil && s.far[i] < 0 || s.order[i] != nil && s.lifted(i, c, dst) {
			continue
		}
		n := s.cur.feat[i].count[c*stride : (c+1)*stride]
		if k := s.far[i]; k >= 0 {
			s.further2(s.cur.feat[i].further.at(k), n, dst)
			continue
		}
		ratios(dst, n, nil, 0, s.base, s.times) // an ordered axis is not smooth
		logs(dst)
	}
}

// further2 writes the inputs of a further level with the counts n. Its pseudo-records are not of the base rate but of
// the other levels, in whose counts it is.
func (s *counts) further2(n, others, dst []float64) {
	for h := range dst {
		r := &s.rates[h]
		no, yes := others[2*h]+r.b, others[2*h+1]+r.a
		m := (r.a + r.b) / (no + yes)
		dst[h] = ln((n[2*h+1] + m*yes) * r.odds / (n[2*h] + m*no))
	}
}

func safe(v float64) float64 {
	if v != v {
		return 0
	}
	return clip(v, 50)
}

// standardise writes the linear inputs of a row.
func (s *counts) standardise(row model.Row, dst []float64) {
	for i := range s.features {
		f := &s.features[i]
		if f.linear < 0 {
			continue
		}
		v := row[f.index]
		if !f.number(v) {
			dst[f.linear] = 0
			continue
		}
		m := s.cur.mom[3*f.linear : 3*f.linear+3]
		mean, sq := s.moment(i, m)
		dst[f.linear] = clip((s.axes[i].unit(v)-mean)/math.Sqrt(sq), 4)
	}
}

// moment returns mean and variance of a linear input, in units of its axis, m being its sums. One pseudo-record stands
// beside them: at the centre of the axis with its variance or, as in the reference, at 0 with variance 1.
func (s *counts) moment(i int, m []float64) (mean, variance float64) {
	a := &s.axes[i]
	u, v := 0., 1.
	if s.zeroPrior {
		u, v = a.unit(0), 1/(a.scale*a.scale)
	}
	n := m[0] + s.unit
	mean = (m[1] + s.unit*u) / n
	variance = (m[2]+s.unit*(u*u+v))/n - mean*mean
	return mean, max(variance, 1e-12)
}

// margins2 returns the raw log-odds of each card for the inputs x, shared, and own and the cells in s.cells.
func (s *weights) margins2(x, own []float64) (z [cards]float64) {
	if s.opt.Follow {
		s.follow(x, own, s.xs)
		copy(z[:], s.xs)
		return z
	}
	H := s.horizons
	in := s.cur.in
	for i := range s.features {
		c := s.cells[i]
		if c == noCell {
			continue
		}
		pairs, side, t := s.cur.feat[i].pair, (*pair)(nil), s.parts[i]
		if t > 0 {
			side = &pairs[s.sides[i]]
		}
		addFeature(&z, in[i*H:i*H+H], x[i*H:i*H+H], &pairs[c], side, t)
	}
	n := len(s.features) * H
	addAll(&z, in[n:], x[n:])
	addAll(&z, s.cur.own, own)
	return z
}

// effects2 appends the reasons of all features for the target whose log-odds are sign times those of class 1, and
// returns the sum of their effects.
func effects2(s *Scorecard, row model.Row, m memory, sign float64, dst []model.Reason) ([]model.Reason, float64) {
	part := s.mix.part
	for k := range part {
		part[k] *= sign
	}
	H, x, in := s.horizons, m.shared, s.cur.in
	sum := 0.
	for i := range s.features {
		var cell, side, line *pair
		t, u := s.parts[i], 0.
		if c := s.cells[i]; c != noCell {
			pairs := s.cur.feat[i].pair
			if cell = &pairs[c]; t > 0 {
				side = &pairs[s.sides[i]]
			}
		}
		if f := &s.features[i]; f.linear >= 0 {
			line, u = &s.cur.own[1+f.linear], m.own[1+f.linear]
		}
		e := featureEffect(&part, in[i*H:i*H+H], x[i*H:i*H+H], cell, side, t, line, u)
		dst = append(dst, reasonOf(s, i, row, e))
		sum += e
	}
	return dst, sum
}

// learn2 learns a record of class y whose inputs and margins are in m and whose cells are in s.cells. The
// calibration counts its weight; the evidence in it, the experts' likelihoods and the gradient, counts the records for
// which it stands, by the unit.
func (s *Scorecard) learn2(y int, weight float64, m memory) {
	x, own, raw := m.shared, m.own, m.raw
	sign, target := float64(2*y-1), float64(y)
	s.res.learn2(y, weight/s.unit, s.behind, m, &s.tuning)
	var like [experts]float64
	var r [cards]float64
	var p [2 * cards]float64 // of class 1 by the raw margins, of the class by the calibrated ones
	for k := range cards {
		p[k], p[cards+k] = raw[k], sign*m.calibrated[k]
	}
	sigmoids(p[:])
	s.cal.next()
	for k := range cards {
		like[2*k], r[k] = p[k], p[k]-target
		if y == 0 {
			like[2*k] = 1 - p[k]
		}
		like[2*k+1] = p[cards+k]
		s.cal.learn(s.cal.table(s.cur.knot, k), raw[k], y, weight)
	}
	s.cal.rescale(s.cur.knot, s.away)
	weight /= s.unit
	s.mix.learn(&like, weight*s.rate, s.fixedShare)
	if m.learnt[0] != s.learnt {
		for k, z := range s.margins2(x, own) {
			r[k] = sigmoid(z) - target
		}
	}
	descend2(&s.weights, &r, weight, x, own)
}

// descend2 makes one gradient step of all weights by r, of each card propensity less outcome, for a record of inputs x
// and own that stands for weight records.
func descend2(s *weights, r *[cards]float64, weight float64, x, own []float64) {
	var sq, cell, step [cards]float64
	for k := range cards {
		r[k] *= weight
		sq[k] = r[k] * r[k]
		step[k] = s.opt.Step * s.recipes[k].step * r[k]
		cell[k] = s.opt.Step * s.recipes[k].cellStep * r[k]
	}
	H := s.horizons
	in := s.cur.in
	all := steps2{sq, cell, step}
	by := &all
	if s.opt.Follow {
		s.pulls(x, own, r[:])
	}
	for i := range s.features {
		c := s.cells[i]
		if c == noCell {
			continue
		}
		by := by
		if s.opt.Follow {
			by = s.bent(i, &all)
		}
		sq, cell, step := &by.sq, &by.cell, &by.step
		pairs := s.cur.feat[i].pair
		if t := s.parts[i]; t > 0 {
			descendOne(&pairs[c], 1-t, sq, cell)
			descendOne(&pairs[s.sides[i]], t, sq, cell)
		} else {
			descendOne(&pairs[c], 1, sq, cell)
		}
		descendAll(in[i*H:i*H+H], x[i*H:i*H+H], s.using, s.masks, sq, step)
		if s.order[i] != nil {
			s.project(i, true)
		}
	}
	n := len(s.features) * H
	for j, u := range x[n:] {
		switch {
		case u == 0:
		case j < H:
			descendAll(in[n+j:n+j+1], x[n+j:], s.using[j:], s.masks[j:], &sq, &step)
		default:
			descendOne(&in[n+j], u, &sq, &step)
		}
	}
	for j, u := range own {
		if u == 0 {
			continue
		}
		by := by
		if s.opt.Follow && j > 0 {
			by = s.bent(s.linearOf[j-1], &all)
		}
		descendOne(&s.cur.own[j], u, &by.sq, &by.step)
	}
	if s.bound {
		s.projectLinear()
	}
}
