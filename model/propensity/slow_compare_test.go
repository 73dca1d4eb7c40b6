package propensity

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// learn learns a record by the memory of its score, unless that is of a time before the first record.
func (s *slow) learn(ex model.Example, others []float64, m remembered) {
	if m.learnt > 0 {
		s.lag += (float64(s.learnt-m.learnt) - s.lag) / 1000
	} else {
		_, m = s.score(ex.Row, others)
	}
	y, K := int(ex.Class), s.margins()
	s.kept = append(s.kept, ex)
	evidence := ex.Weight / s.unit()
	s.kept = s.kept[:len(s.kept)-1]
	var places []float64
	sum := 0.
	for card := range cards {
		places = append(places, s.against(m.raw[card])...)
		var like [2]float64
		if K == 1 {
			sign := float64(2*y - 1)
			like = [2]float64{logistic(sign * m.raw[card][0]), logistic(sign * m.calibrated[card][0])}
		} else {
			like = [2]float64{sharesOf(m.raw[card])[y], math.Exp(max(m.calibrated[card][y], -12))}
		}
		for e, v := range like {
			s.q[2*card+e] *= math.Pow(v, .5*evidence)
			sum += s.q[2*card+e]
		}
	}
	for e := range s.q {
		s.q[e] = s.q[e]/sum*(1-.003) + .003/experts
	}
	for card, r := range recipesByHand {
		pull := make([]float64, K)
		raw := s.raw(card, ex.Row, &m)
		if K == 1 {
			pull[0] = (logistic(raw[0]) - float64(y)) * evidence
		} else {
			for k, p := range sharesOf(raw) {
				if k == y {
					p--
				}
				pull[k] = p * evidence
			}
		}
		step := func(at slot, d, step float64) {
			w, g := s.weight(at)
			g[card] += d * d
			w[card] -= step * d / math.Sqrt(g[card])
		}
		for at, v := range m.shared {
			if use, _ := s.uses(card, at.of); !use && at.kind != "other" {
				continue
			}
			d := 0.
			for k, u := range v {
				d += pull[k] * u
			}
			step(at, d, r[1])
		}
		s.each(ex.Row, &m, func(at slot, u float64, cell bool) {
			by := r[1]
			if cell {
				by = r[2]
			}
			step(at, pull[at.margin]*u, by)
		})
	}
	s.weighed, s.places = append(s.weighed, ex), append(s.places, places)
	s.kept = append(s.kept, ex)
	s.learnt++
}

// TestTheScorecardIsThatOfTheSlowOne compares propensities, record by record, with those of a scorecard that keeps all
// records: of two and more classes, with weights, times, late labels, inputs of other components, levels met late, and
// over so many half-lives that counts are rescaled. TestLastLayer does so for the layer above.
func TestTheScorecardIsThatOfTheSlowOne(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		for _, delay := range []int{0, 17} {
			schema := schemas()[name]
			schema.Features = schema.Features[:8] // without the one that is reported only
			const n = 150
			l, ex := modeltest.Generate(schema, n, 21)
			for i := range ex {
				ex[i].Time += 1e9
			}
			opt := Default()
			opt.HalfLives = []model.HalfLife{{Records: 2}, {Records: 40}, {Duration: 3e9}, {}}
			opt.Calibration.HalfLife = 50
			opt.Blocks = []Block{{Name: "sets", Inputs: 2, Fitted: true}, {Name: "near", Inputs: 1}}
			fast := newScorecard(newPlanOf(opt, schema, uncorrected()))
			fast.axes = fitter{fast.plan}.build(t.Context(), joined(modeltest.Evidence(schema, l, ex), nil), nil)
			fast.startCells(fast.cur, fast.axes)
			fast.derive()
			ref := newSlow(schema, fast.axes, opt)
			C := fast.classes
			others, pending := make([][]float64, n), make([][]float64, n)
			memories := make([]remembered, n)
			p := make([]float64, C)
			for i := range ex {
				others[i], pending[i] = make([]float64, 3*C), make([]float64, fast.PendingLen())
				for j := range others[i] {
					others[i][j] = math.Tan(float64(i*11 + j*5))
				}
				if i%13 == 5 {
					others[i][C-1] = math.NaN()
				}
				var want []float64
				want, memories[i] = ref.score(ex[i].Row, others[i])
				fast.Score(ex[i].Row, others[i], pending[i], p)
				for y := range p {
					if math.Abs(p[y]-want[y]) > 1e-9 {
						t.Fatalf("%s, labels %d late, record %d: propensities %v, the slow scorecard has %v", name, delay, i, p, want)
					}
				}
				if j := i - delay; j >= 0 {
					e := ex[j]
					e.Clock = float64(j)
					ref.learn(e, others[j], memories[j])
					fast.LearnScored(&e, others[j], pending[j])
				}
			}
			if math.Abs(fast.lag-ref.lag) > 1e-9 || delay > 0 && !(fast.lag > 0) {
				t.Errorf("%s: a lag of %v, the slow scorecard has %v", name, fast.lag, ref.lag)
			}
			for e, q := range ref.q {
				if math.Abs(fast.mix.own[e]-q) > 1e-9 {
					t.Errorf("%s: expert %d has the share %v, in the slow scorecard %v", name, e, fast.mix.own[e], q)
				}
			}
		}
	}
}
