package propensity

import (
	"math"
	"testing"

	"liftstream/model/modeltest"
)

// TestVarianceDoesNotFollowTheScaleOfWeights: an interval is as wide where each record weighs a hundred times as much,
// and as wide of a rare value as the records of the value say.
func TestVarianceDoesNotFollowTheScaleOfWeights(t *testing.T) {
	const n = 600
	schema := schemas()["two"]
	spread := make([]float64, len(schema.Features))
	for i := range spread {
		spread[i] = .1 + .05*float64(i%3)
	}
	var want []float64
	for _, by := range []float64{1, 100, .01} {
		l, ex := modeltest.Generate(schema, n, 11)
		c := newCluster(t, schema, l, 1)
		prob := make([]float64, len(schema.Classes))
		pending := make([]float64, c.live[0].PendingLen())
		for i := range ex {
			ex[i].Weight = by
			if c.learn(0, ex[i]); i == n/2 {
				c.fit()
			}
		}
		var got []float64
		for i := range 100 {
			s := c.live[0]
			s.Score(ex[i].Row, nil, pending, prob)
			got = append(got, s.Variance(1, prob[1], spread))
		}
		if want == nil {
			want = got
		}
		for i, v := range got {
			if !(v > 0) || math.Abs(v-want[i]) > 1e-9*want[i] {
				t.Fatalf("record %d, weights of %v: variance %v, of weights of 1 it is %v", i, by, v, want[i])
			}
		}
	}
}

// TestVarianceByTheLetter: Variance is the formula of METHOD.md 11 for each class, with the records of a cell and of
// its neighbour, each by its part.
func TestVarianceByTheLetter(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		spread := make([]float64, len(schema.Features))
		for i := range spread {
			spread[i] = .02 + .1*float64(i%3)
		}
		l, ex := modeltest.Generate(schema, 900, 12)
		c := newCluster(t, schema, l, 1)
		for i := range ex {
			ex[i].Weight = float64(1 + i%2)
			if c.learn(0, ex[i]); i == 600 {
				c.fit()
			}
		}
		s := c.live[0]
		prob := make([]float64, len(schema.Classes))
		pending := make([]float64, s.PendingLen())
		shared := 0 // cells that a neighbour has a part in
		for i := range 200 {
			s.Score(ex[i].Row, nil, pending, prob)
			for target := range prob {
				want, parts := slowVariance(s, target, prob[target], spread)
				shared += parts
				if got := s.Variance(int32(target), prob[target], spread); !(math.Abs(got-want) <= 1e-9*want) {
					t.Fatalf("%s, record %d, class %d: variance %v, want %v", name, i, target, got, want)
				}
			}
		}
		if shared < 100 {
			t.Errorf("%s: neighbours have a part in %d cells: the test says nothing of them", name, shared)
		}
	}
}

// slowVariance is the formula over the record that was scored last, and the number of its cells that a neighbour has a
// part in.
func slowVariance(s *Scorecard, target int, p float64, spread []float64) (variance float64, shared int) {
	C := s.classes
	records := func(count []float64) (all, of float64) {
		for y, v := range count[s.forever*C : (s.forever+1)*C] {
			all += v / s.unit
			if y == target {
				of += v / s.unit
			}
		}
		return all, of
	}
	N, of := records(s.cur.class)
	kept := lasting / (lasting + N)
	h, v := (of+.5)/(N+1), p*(1-p)
	least := min(v, h*(1-h))
	variance = 1 / ((N*kept + 1) * least)
	for i := range s.features {
		if s.cells[i] == noCell {
			continue
		}
		x := &s.cur.feat[i]
		cell := func(k int) []float64 { return x.count[k*len(s.half)*C : (k+1)*len(s.half)*C] }
		count := cell(s.cells[i])
		if k := s.far[i]; k >= 0 {
			count = x.further.at(k)
		}
		n, of := records(count)
		if t := s.parts[i]; t > 0 {
			side, ofSide := records(cell(s.sides[i]))
			n, of = (1-t)*n+t*side, (1-t)*of+t*ofSide
			shared++
		}
		r, c := (of+s.opt.Prior*h)/(n+s.opt.Prior), narrower/spread[i]
		variance += max(1/(n*kept*min(v, r*(1-r))+c)-1/(max(N, n)*kept*least+c), 0)
	}
	return variance, shared
}
