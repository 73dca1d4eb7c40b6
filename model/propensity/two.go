package propensity

import (
	"math"

	"liftstream/model"
)

// The path of two classes: one margin, that of class 1 against class 0, the four cards side by side in every loop.

// score2 computes inputs and margins of the row whose cells are in s.cells into pending and returns the mixture's
// log-odds.
func (s *Scorecard) score2(row model.Row, inputs, pending []float64) float64 {
	H := s.horizons
	x := pending[:s.slots+1+s.linear]
	at := 0
	stride := 2 * len(s.half)
	rates := s.rates
	for i := range s.features {
		dst := x[at : at+H]
		at += H
		c := s.cells[i]
		if c == noCell {
			clear(dst)
			continue
		}
		if s.order[i] != nil && s.lifted(i, c, dst) {
			continue
		}
		n := s.cur.feat[i].count[c*stride : c*stride+stride]
		for h := range dst {
			r := &rates[h]
			dst[h] = ln((n[2*h+1] + r.a) * r.odds / (n[2*h] + r.b))
		}
	}
	for h := range rates {
		x[at] = rates[h].logit
		at++
	}
	clear(x[at:s.slots])
	for j, slot := range s.ext {
		if slot >= 0 && 2*j+1 < len(inputs) {
			x[slot] = safe(inputs[2*j+1] - inputs[2*j])
		}
	}
	at = s.slots
	x[at] = 1
	s.standardise(row, x[at+1:])

	raw := pending[len(x):]
	z := s.margins2(x)
	copy(raw, z[:])
	var sum float64
	for k := range cards {
		cal := s.calibrated(k, z[k])
		raw[cards+k] = cal
		sum += s.q[2*k]*z[k] + s.q[2*k+1]*cal
	}
	raw[experts] = s.learnt
	return sum
}

func safe(v float64) float64 {
	if v != v {
		return 0
	}
	return clip(v, 50)
}

// standardise writes the linear inputs of a row.
func (s *Scorecard) standardise(row model.Row, dst []float64) {
	for i := range s.features {
		f := &s.features[i]
		if f.linear < 0 {
			continue
		}
		v := row[f.index]
		if !finite(v) {
			dst[f.linear] = 0
			continue
		}
		m := s.cur.mom[3*f.linear : 3*f.linear+3]
		mean, sq := s.moment(i, m)
		dst[f.linear] = clip((s.axes[i].unit(v)-mean)/math.Sqrt(sq), 4)
	}
}

// margins2 returns the raw log-odds of each card for inputs x and the cells in s.cells.
func (s *Scorecard) margins2(x []float64) (z [cards]float64) {
	H := s.horizons
	in := s.cur.in
	var z0, z1, z2, z3 float64
	for i := range s.features {
		c := s.cells[i]
		if c == noCell {
			continue
		}
		w := in[i*H : i*H+H]
		v := x[i*H : i*H+H]
		for h := range w {
			p, u := &w[h].w, v[h]
			z0 += p[0] * u
			z1 += p[1] * u
			z2 += p[2] * u
			z3 += p[3] * u
		}
		p := &s.cur.feat[i].pair[c].w
		z0 += p[0]
		z1 += p[1]
		z2 += p[2]
		z3 += p[3]
	}
	n := len(s.features) * H
	for j, u := range x[n:s.slots] {
		p := &in[n+j].w
		z0 += p[0] * u
		z1 += p[1] * u
		z2 += p[2] * u
		z3 += p[3] * u
	}
	for j, u := range x[s.slots:] {
		p := &s.cur.own[j].w
		z0 += p[0] * u
		z1 += p[1] * u
		z2 += p[2] * u
		z3 += p[3] * u
	}
	return [cards]float64{z0, z1, z2, z3}
}

// learn2 learns a record of class y whose inputs and margins are in pending and whose cells are in s.cells.
func (s *Scorecard) learn2(y int, weight float64, pending []float64) {
	x := pending[:s.slots+1+s.linear]
	raw := pending[len(x):]
	sign := float64(2*y - 1)
	var loss [experts]float64
	for k := range cards {
		loss[2*k] = ln(sigmoid(sign * raw[k]))
		loss[2*k+1] = ln(sigmoid(sign * raw[cards+k]))
	}
	s.judge(&loss, weight)

	z := [cards]float64(raw[:cards])
	if raw[experts] != s.learnt {
		z = s.margins2(x)
	}
	s.knot *= s.fade
	var r [cards]float64
	for k := range cards {
		s.calibrate(k, raw[k], y, weight)
		r[k] = weight * (sigmoid(z[k]) - float64(y))
	}
	s.tame()

	H := s.horizons
	in := s.cur.in
	step := s.opt.Step
	var sq, st [cards]float64
	for k := range cards {
		sq[k] = r[k] * r[k]
		st[k] = step * recipes[k].cellStep * r[k]
	}
	for i := range s.features {
		c := s.cells[i]
		if c == noCell {
			continue
		}
		p := &s.cur.feat[i].pair[c]
		for k := range cards {
			p.g[k] += sq[k]
			p.w[k] -= st[k] / math.Sqrt(p.g[k])
		}
		w := in[i*H : i*H+H]
		v := x[i*H : i*H+H]
		for h := range w {
			descend(&w[h], s.using[h], v[h], &r, step)
		}
		if s.order[i] != nil {
			s.project(i)
		}
	}
	n := len(s.features) * H
	for j, u := range x[n:s.slots] {
		use := cards
		if j < H {
			use = s.using[j]
		}
		if u != 0 {
			descend(&in[n+j], use, u, &r, step)
		}
	}
	for j, u := range x[s.slots:] {
		if u != 0 {
			descend(&s.cur.own[j], cards, u, &r, step)
		}
	}
	if s.bound {
		s.projectLinear()
	}
}

// descend makes one AdaGrad step of the first use cards: G += (r x)^2, w -= step r x / sqrt(G).
func descend(p *pair, use int, x float64, r *[cards]float64, step float64) {
	for k := range use {
		d := r[k] * x
		p.g[k] += d * d
		p.w[k] -= step * recipes[k].step * d / math.Sqrt(p.g[k])
	}
}

// judge adds the experts' log-likelihoods of a record to the mixture (rate 1) and shares a little out again.
func (s *Scorecard) judge(loss *[experts]float64, weight float64) {
	top := math.Inf(-1)
	for e := range loss {
		s.mix[e] += weight * loss[e]
		top = max(top, s.mix[e])
	}
	var sum float64
	var q [experts]float64
	for e := range q {
		q[e] = math.Exp(s.mix[e] - top)
		sum += q[e]
	}
	for e := range q {
		q[e] = (1-share)*q[e]/sum + share/experts
		s.mix[e] = ln(q[e])
	}
	s.q = q
	if s.mixAway != nil {
		s.remix()
	}
}
