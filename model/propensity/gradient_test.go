package propensity

import (
	"math"
	"slices"
	"testing"
)

// TestGradient: every weight moves against the gradient of the card's log-loss, in units of evidence, by the step over
// the root of G.
func TestGradient(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		t.Run(name, func(t *testing.T) {
			opt := Default()
			opt.Blocks = []Block{{Name: "lift", Inputs: 1, Fitted: true}}
			s, ex := trained(t, schemas()[name], 500, opt)
			e := ex[7]
			e.Clock, e.Weight = 500, 2
			inputs := make([]float64, s.classes)
			for c := range inputs {
				inputs[c] = float64(c) - .3
			}
			pending := make([]float64, s.PendingLen())
			prob := make([]float64, s.classes)
			s.Score(e.Row, inputs, pending, prob)
			s.locate(e.Row)
			K := s.margins
			m := s.memoryOf(pending)
			z := make([]float64, cards*K)
			loss := func(k int) float64 {
				if K == 1 {
					margins := s.margins2(m.shared, m.own)
					return math.Log(1 + math.Exp(-float64(2*e.Class-1)*margins[k]))
				}
				s.marginsN(m.shared, m.own, z)
				p := slices.Clone(z[k*K : k*K+K])
				softmax(p)
				return -math.Log(p[e.Class])
			}
			type weight struct {
				name string
				p    *pair
				cell bool
			}
			ws := []weight{{"log-lift", &s.cur.in[s.horizons+1], false},
				{"base rate", &s.cur.in[len(s.features)*s.horizons+2], false},
				{"external", &s.cur.in[s.slots-1], false}}
			for m := range K {
				ws = append(ws, weight{"constant", &s.cur.own[m], false}, weight{"linear", &s.cur.own[K+m], false},
					weight{"cell", &s.cur.feat[3].pair[s.cells[3]*K+m], true})
			}
			slope := make([][cards]float64, len(ws))
			before := make([]pair, len(ws))
			for i, w := range ws {
				before[i] = *w.p
				for k := range cards {
					const h = 1e-5
					w.p.w[k] += h
					up := loss(k)
					w.p.w[k] -= 2 * h
					slope[i][k] = (up - loss(k)) / (2 * h)
					w.p.w[k] = before[i].w[k]
				}
			}
			s.LearnScored(&e, inputs, pending)
			for i, w := range ws {
				for k, r := range s.recipes {
					d := e.Weight / s.unit * slope[i][k]
					step := s.opt.Step * r.step
					if w.cell {
						step = s.opt.Step * r.cellStep
					}
					if i < 2 && k >= s.using[i+1] { // that card does not use the horizon
						d = 0
					}
					g := before[i].g[k] + d*d
					want := before[i].w[k] - step*d/math.Sqrt(g)
					if math.Abs(w.p.w[k]-want) > 1e-7 || math.Abs(w.p.g[k]-g) > 1e-6*g {
						t.Errorf("%s, card %d: weight %v of %v, want %v of %v", w.name, k, w.p.w[k], w.p.g[k], want, g)
					}
				}
			}
		})
	}
}
