package propensity

// The lift of a feature as the score used it, and effects that follow it.
//
// With the shares q of the experts, card k has the part q_raw + q_calibrated of the mixture, and horizon h of feature f
// weighs W_h = sum_k part_k max(w_kfh, 0) in it. The feature's counts give the record the direction
//
//	X = sum_h W_h x_h
//
// with the log-lifts x_h that the score used: one number for two classes, one a class for more. X/sum_h W_h is the mean
// log-lift at the horizons of the score, of which usedLift makes the lift.

// towards writes X of feature i into s.ref, for more classes less its mean, which means nothing in a softmax, and the
// weight of each horizon into s.perHorizon, and returns their sum. Where no weight is positive, all horizons weigh the
// same.
func (s *weights) towards(i int, x []float64) (weight float64) {
	H, K := s.horizons, s.margins
	for h := range H {
		p, w := &s.cur.in[i*H+h].w, 0.
		for k := range cards {
			w += s.mix.part[k] * max(p[k], 0)
		}
		s.perHorizon[h] = w
		weight += w
	}
	if !(weight > 0) {
		for h := range H {
			s.perHorizon[h] = 1
		}
		weight = float64(H)
	}
	if K == 1 {
		v := 0.
		for h, u := range x[i*H : i*H+H] {
			v += s.perHorizon[h] * u
		}
		s.ref[0] = v
		return weight
	}
	clear(s.ref)
	for h, w := range s.perHorizon {
		for c, v := range x[(i*H+h)*K : (i*H+h+1)*K] {
			s.ref[c] += w * v
		}
	}
	mean := 0.
	for _, v := range s.ref {
		mean += v / float64(K)
	}
	for c := range s.ref {
		s.ref[c] -= mean
	}
	return weight
}

// moves writes the part of feature i in the margins of each card, cards x margins, into s.moved: log-lifts, cell and
// linear input, by their weights.
func (s *weights) moves(i int, x, own []float64) {
	H, K := s.horizons, s.margins
	m := s.moved
	if K == 1 {
		var m0, m1, m2, m3 float64
		for h, u := range x[i*H : i*H+H] {
			w := &s.cur.in[i*H+h].w
			m0 += w[0] * u
			m1 += w[1] * u
			m2 += w[2] * u
			m3 += w[3] * u
		}
		m[0], m[1], m[2], m[3] = m0, m1, m2, m3
	} else {
		clear(m)
		for h := range H {
			w := &s.cur.in[i*H+h].w
			for c, v := range x[(i*H+h)*K : (i*H+h+1)*K] {
				for k := range cards {
					m[k*K+c] += w[k] * v
				}
			}
		}
	}
	if c := s.cells[i]; c != noCell {
		p, t := s.cur.feat[i].pair, s.parts[i]
		addOwn(p[c*K:c*K+K], 1-t, m)
		if t > 0 {
			addOwn(p[s.sides[i]*K:s.sides[i]*K+K], t, m)
		}
	}
	if f := &s.features[i]; f.linear >= 0 {
		j := 1 + f.linear
		addOwn(s.cur.own[j*K:j*K+K], own[j], m)
	}
}

// straight bends the part of feature i in the margins of each card, s.moved, to max(a, 0) X with a = <m, X>/<X, X>: for
// two classes a part of the sign of X stays, another becomes 0. So under any mixture its effect has the sign of its
// lift for every class, and where the margin must rise with a feature it still does.
func (s *weights) straight() {
	K := s.margins
	size := 0.
	for _, v := range s.ref {
		size += v * v
	}
	for k := range cards {
		m := s.moved[k*K : k*K+K]
		if !(size > 0) {
			clear(m)
			continue
		}
		a := 0.
		for c, v := range s.ref {
			a += m[c] * v
		}
		switch {
		case !(a > 0):
			clear(m)
		case K > 1:
			for c, v := range s.ref {
				m[c] = a / size * v
			}
		}
	}
}

// follow writes the margins of each card, cards x margins, with every feature's part bent to its lift.
func (s *weights) follow(x, own, z []float64) {
	K, n := s.margins, len(s.features)*s.horizons
	clear(z)
	for i := range s.features {
		s.towards(i, x)
		s.moves(i, x, own)
		s.straight()
		for j, v := range s.moved {
			z[j] += v
		}
	}
	for i := n; i < s.slots; i++ {
		w := &s.cur.in[i].w
		for c, u := range x[i*K : i*K+K] {
			for k := range cards {
				z[k*K+c] += w[k] * u
			}
		}
	}
	addOwn(s.cur.own[:K], own[0], z)
}

// pulls writes the gradients by the part of each feature in the margins, features x cards x margins, into s.pull, r
// being those by the margins: the derivative of straight with X held, <r, X>/<X, X> X. A part that is bent to nothing
// has that of a part along X if a step makes it one, else none.
func (s *weights) pulls(x, own, r []float64) {
	K := s.margins
	for i := range s.features {
		s.towards(i, x)
		s.moves(i, x, own)
		size := 0.
		for _, v := range s.ref {
			size += v * v
		}
		for k := range cards {
			to := s.pull[(i*cards+k)*K : (i*cards+k+1)*K]
			var a, g float64
			for c, v := range s.ref {
				a += s.moved[k*K+c] * v
				g += r[k*K+c] * v
			}
			switch {
			case !(size > 0) || !(a > 0) && g >= 0:
				clear(to)
			case K == 1:
				to[0] = r[k]
			default:
				for c, v := range s.ref {
					to[c] = g / size * v
				}
			}
		}
	}
}
