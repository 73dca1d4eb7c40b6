package evaluate

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"
)

// TestPairs: differences are those of the figures, and intervals those of a bootstrap that draws the blocks record by
// record.
func TestPairs(t *testing.T) {
	for _, c := range golden(t) {
		s, o := c.set(t), NewSet(c.Classes)
		for i := range s.Class {
			p := slices.Clone(s.P[i*s.Classes : (i+1)*s.Classes])
			for k := range p {
				p[k] = .7*p[k] + .3*uniform(9, i, k)/2
			}
			if err := o.Add(s.Index[i], p, s.Class[i], s.Weight[i]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Pair(o, 7)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := s.Accuracy()
		b, _ := o.Accuracy()
		near(t, c.Name+" log-loss", got.LogLoss, Number(s.LogLoss()-o.LogLoss()), 1e-12)
		near(t, c.Name+" Brier", got.Brier, Number(s.Brier()-o.Brier()), 1e-12)
		near(t, c.Name+" accuracy", got.Accuracy, Number(a-b), 1e-12)
		brier, right := s.resampled(o, 7)
		for k := range 2 {
			near(t, c.Name+" interval of Brier", got.BrierInterval[k], Number(brier[k]), 1e-12)
			near(t, c.Name+" interval of accuracy", got.AccuracyInterval[k], Number(right[k]), 1e-12)
		}
		if got.Accuracy == 0 || got.Brier == 0 {
			t.Errorf("%s: %+v", c.Name, got)
		}
		o.Index[3]++
		if _, err := s.Pair(o, 7); !errors.Is(err, errUnpaired) {
			t.Errorf("%s: other records: %v", c.Name, err)
		}
	}
}

// resampled is the slow bootstrap of the differences of Brier score and accuracy.
func (s *Set) resampled(o *Set, seed uint64) (brier, right [2]float64) {
	n, length := s.Len(), max(1, min(1000, s.Len()/50))
	var blocks [][]int
	for i := range n {
		if i%length == 0 && (i == 0 || 2*(n-i) >= length) {
			blocks = append(blocks, nil)
		}
		blocks[len(blocks)-1] = append(blocks[len(blocks)-1], i)
	}
	one := func(s *Set, i int) (e, ok float64) {
		best := 0
		for k := range s.Classes {
			p, y := s.P[i*s.Classes+k], 0.
			if int(s.Class[i]) == k {
				y = 1
			}
			if e += (p - y) * (p - y); p > s.P[i*s.Classes+best] {
				best = k
			}
		}
		if s.Classes == 2 {
			e /= 2
		}
		if best == int(s.Class[i]) {
			ok = 1
		}
		return e, ok
	}
	var es, oks []float64
	for rep := range uint64(2000) {
		var e, ok, w float64
		for k := range blocks {
			j, _ := bits.Mul64(mix(mix(seed+mix(rep))+uint64(k)), uint64(len(blocks)))
			for _, i := range blocks[j] {
				e1, ok1 := one(s, i)
				e2, ok2 := one(o, i)
				e, ok, w = e+s.Weight[i]*(e1-e2), ok+s.Weight[i]*(ok1-ok2), w+s.Weight[i]
			}
		}
		if w > 0 {
			es, oks = append(es, e/w), append(oks, ok/w)
		}
	}
	slices.Sort(es)
	slices.Sort(oks)
	at := func(v []float64, q float64) float64 {
		k, f := math.Modf(q * float64(len(v)-1))
		return v[int(k)]*(1-f) + v[int(k)+1]*f
	}
	return [2]float64{at(es, .025), at(es, .975)}, [2]float64{at(oks, .025), at(oks, .975)}
}
