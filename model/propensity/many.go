package propensity

import (
	"math"

	"liftstream/model"
)

// The path of three classes or more: one margin a class, softmax. Log-lifts and base rates have one weight for all
// classes; cells, the constant and the linear inputs have one a class.

// probFloor keeps the probability of an expert's class inside (0, 1) before its log-odds are taken.
const probFloor = 1e-6

// scoreN computes inputs and margins of the row whose cells are in s.cells into the memory m, and the propensities into
// p.
func (s *Scorecard) scoreN(row model.Row, inputs []float64, m memory, p []float64) {
	K, H := s.margins, s.horizons
	x := m.shared
	stride := K * len(s.half)
	at := 0
	for i := range s.features {
		dst := x[at : at+H*K]
		at += H * K
		c := s.cells[i]
		if c == noCell {
			clear(dst)
			continue
		}
		if s.order[i] != nil && s.lifted(i, c, dst) {
			continue
		}
		n := s.cur.feat[i].count[c*stride : c*stride+stride]
		if part := s.parts[i]; part > 0 {
			side := s.cur.feat[i].count[s.sides[i]*stride : s.sides[i]*stride+stride]
			for j := range n {
				s.blended[j] = n[j] + part*(side[j]-n[j])
			}
			n = s.blended
		}
		if k := s.far[i]; k >= 0 {
			s.furtherN(s.cur.feat[i].further.at(k), n, dst)
			continue
		}
		for h := range H {
			t := n[h*K : h*K+K]
			sum := s.opt.Prior * s.unit * s.clock.now[h]
			prior := sum
			for _, v := range t {
				sum += v
			}
			for k, v := range t {
				r := &s.shares[h*K+k]
				dst[h*K+k] = ln((v + prior*r.p) / (sum * r.p))
			}
		}
	}
	for i := range s.shares[:H*K] {
		x[at] = s.shares[i].log
		at++
	}
	s.age(x[:at])
	clear(x[at:])
	for j, slot := range s.ext {
		if slot >= 0 && (j+1)*K <= len(inputs) {
			for k, v := range inputs[j*K : j*K+K] {
				x[slot*K+k] = safe(v)
			}
		}
	}
	m.own[0] = 1
	s.standardise(row, m.own[1:])

	z := m.raw
	s.marginsN(x, m.own, z)
	for k := range cards {
		restOdds(z[k*K:k*K+K], s.logits)
		cal := m.calibrated[k*K : k*K+K]
		var sum float64
		for c := range cal {
			cal[c] = sigmoid(s.cal.calibrated(s.cal.table(s.cur.knot, k*K+c), s.logits[c], s.unit))
			sum += cal[c]
		}
		for c := range cal {
			cal[c] = ln(cal[c] / sum)
		}
	}
	m.learnt[0] = s.learnt
	s.mixN(m, m.mixed)
	s.res.remember(m)
	s.published(m, p)
}

// furtherN is further2 for more classes.
func (s *counts) furtherN(n, others, dst []float64) {
	K := s.margins
	for h := range s.horizons {
		prior := s.opt.Prior * s.unit * s.clock.now[h]
		sum, all := prior, prior
		for k := range K {
			sum, all = sum+n[h*K+k], all+others[h*K+k]
		}
		for k := range K {
			r := &s.shares[h*K+k]
			p := (others[h*K+k] + prior*r.p) / all
			dst[h*K+k] = ln((n[h*K+k] + prior*p) / (sum * r.p))
		}
	}
}

// published writes the propensities of a remembered score: the softmax of its log-scores.
func (s *Scorecard) published(m memory, p []float64) {
	for c := range p {
		p[c] = s.res.published(m, c)
	}
	softmax(p)
}

// mixN writes the mixture's log-scores of remembered margins.
func (s *weights) mixN(m memory, p []float64) {
	K := s.margins
	clear(p)
	for k := range cards {
		z, cal := m.raw[k*K:k*K+K], m.calibrated[k*K:k*K+K]
		for c := range p {
			p[c] += s.mix.q[2*k]*z[c] + s.mix.q[2*k+1]*cal[c]
		}
	}
}

// softmax turns log-scores into probabilities, none below exp(-maxLogit) of the largest.
func softmax(v []float64) {
	top := math.Inf(-1)
	for _, x := range v {
		top = max(top, x)
	}
	var sum float64
	for i, x := range v {
		v[i] = math.Exp(max(x-top, -maxLogit))
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
}

// restOdds writes the one-against-the-rest log-odds of the softmax of z.
func restOdds(z, dst []float64) {
	copy(dst, z)
	softmax(dst)
	for c, p := range dst {
		p = min(max(p, probFloor), 1-probFloor)
		dst[c] = ln(p / (1 - p))
	}
}

// marginsN writes the raw scores of each card and class, classes innermost.
func (s *weights) marginsN(x, own, z []float64) {
	if s.opt.Follow {
		s.follow(x, own, z)
		return
	}
	K := s.margins
	clear(z)
	for i := range s.slots {
		w := &s.cur.in[i].w
		for c, u := range x[i*K : i*K+K] {
			z[c] += w[0] * u
			z[K+c] += w[1] * u
			z[2*K+c] += w[2] * u
			z[3*K+c] += w[3] * u
		}
	}
	for j, u := range own {
		addOwn(s.cur.own[j*K:j*K+K], u, z)
	}
	for i, c := range s.cells {
		if c == noCell {
			continue
		}
		p := s.cur.feat[i].pair
		t := s.parts[i]
		addOwn(p[c*K:c*K+K], 1-t, z)
		if t > 0 {
			addOwn(p[s.sides[i]*K:s.sides[i]*K+K], t, z)
		}
	}
}

// learnN learns a record of class y whose inputs and margins are in m and whose cells are in s.cells.
func (s *Scorecard) learnN(y int, weight float64, m memory) {
	K := s.margins
	x, own, then := m.shared, m.own, m.raw
	s.res.learnN(y, weight/s.unit, s.behind, m, &s.tuning)
	var like [experts]float64
	s.cal.next()
	for k := range cards {
		copy(s.probs, then[k*K:k*K+K])
		softmax(s.probs)
		like[2*k] = s.probs[y]
		like[2*k+1] = math.Exp(max(m.calibrated[k*K+y], -maxLogit))
		restOdds(then[k*K:k*K+K], s.logits)
		for c := range K {
			hit := 0
			if c == y {
				hit = 1
			}
			s.cal.learn(s.cal.table(s.cur.knot, k*K+c), s.logits[c], hit, weight)
		}
	}
	s.cal.rescale(s.cur.knot, s.away)
	weight /= s.unit
	s.mix.learn(&like, weight*s.rate, s.fixedShare)

	z := s.xs
	if m.learnt[0] == s.learnt {
		copy(z, then)
	} else {
		s.marginsN(x, own, z)
	}
	for k := range cards {
		r := z[k*K : k*K+K]
		softmax(r)
		r[y]--
		for c := range r {
			r[c] *= weight
		}
	}
	descendN(&s.weights, z, x, own)
}

// descendN makes one gradient step of all weights by r, cards x classes: propensities less outcomes, times the weight
// of the record, whose inputs are x and own.
func descendN(s *weights, r, x, own []float64) {
	K, H, step := s.margins, s.horizons, s.opt.Step
	n := len(s.features) * H
	if s.opt.Follow {
		s.pulls(x, own, r)
	}
	for i := range s.slots {
		use := cards
		if i < n+H {
			use = s.using[i%H]
		}
		v := x[i*K : i*K+K]
		p := &s.cur.in[i]
		r := r
		if i < n {
			r = s.pullOf(i/H, r)
		}
		for k := range use {
			var d float64
			for c, u := range v {
				d += r[k*K+c] * u
			}
			p.g[k] += d * d
			p.w[k] -= step * s.recipes[k].step * d / math.Sqrt(p.g[k])
		}
	}
	for j, u := range own {
		if u == 0 {
			continue
		}
		only, r := noClass, r
		if j > 0 {
			r = s.pullOf(s.linearOf[j-1], r)
			if s.order[s.linearOf[j-1]] != nil {
				only = s.schema.Positive
			}
		}
		s.descendOwn(s.cur.own[j*K:j*K+K], u, r, false, only)
	}
	for i, c := range s.cells {
		if c == noCell {
			continue
		}
		only, r := noClass, s.pullOf(i, r)
		if s.order[i] != nil {
			only = s.schema.Positive
		}
		p, t := s.cur.feat[i].pair, s.parts[i]
		if t < 1 {
			s.descendOwn(p[c*K:c*K+K], 1-t, r, true, only)
		}
		if t > 0 {
			s.descendOwn(p[s.sides[i]*K:s.sides[i]*K+K], t, r, true, only)
		}
		if s.order[i] != nil {
			s.project(i, true)
		}
	}
	if s.bound {
		s.projectLinear()
	}
}

// noClass as descendOwn's only stands for all classes.
const noClass = -1

// descendOwn makes one AdaGrad step of per-class weights, of all classes or of only one.
func (s *weights) descendOwn(w []pair, u float64, r []float64, cell bool, only int) {
	K := len(w)
	for c := range w {
		if only != noClass && c != only {
			continue
		}
		p := &w[c]
		for k := range cards {
			step := s.opt.Step * s.recipes[k].step
			if cell {
				step = s.opt.Step * s.recipes[k].cellStep
			}
			d := r[k*K+c] * u
			p.g[k] += d * d
			p.w[k] -= step * d / math.Sqrt(p.g[k])
		}
	}
}
