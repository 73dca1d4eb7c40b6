package evaluate

import (
	"math"
	"slices"
	"testing"
)

// TestExpectedBySlowSums: log-loss, error and AUC by their definitions, the AUC over all pairs of records.
func TestExpectedBySlowSums(t *testing.T) {
	for _, c := range golden(t) {
		s := c.set(t).slice(0, min(c.N, 400))
		var h, v, w float64
		for i := range s.Class {
			p := s.P[i*s.Classes : (i+1)*s.Classes]
			var m, m2, total float64
			for _, x := range p {
				total += clip(x)
			}
			for _, x := range p {
				l := math.Log(clip(x))
				m += clip(x) / total * l
				m2 += clip(x) / total * l * l
			}
			h -= s.Weight[i] * m
			v += s.Weight[i] * s.Weight[i] * (m2 - m*m)
			w += s.Weight[i]
		}
		auc, classes := 0., 0
		for k := range s.Classes {
			if s.Classes == 2 && k == 0 {
				continue
			}
			var won, of float64
			for i := range s.Class {
				for j := range s.Class {
					a, b := s.P[i*s.Classes+k], s.P[j*s.Classes+k]
					pair := s.Weight[i] * clip(a) * s.Weight[j] * (1 - clip(b))
					of += pair
					if a > b {
						won += pair
					} else if a == b {
						won += pair / 2
					}
				}
			}
			auc += won / of
			classes++
		}
		got := expect(s)
		near(t, c.Name+" log-loss", Number(got.LogLoss), Number(h/w), 1e-10)
		near(t, c.Name+" error", Number(got.Error), Number(math.Sqrt(v)/w), 1e-10)
		near(t, c.Name+" AUC", Number(got.AUC), Number(auc/float64(classes)), 1e-10)
		// Labels play no part.
		other := *s
		other.Class = make([]int32, s.Len())
		if expect(&other) != got {
			t.Errorf("%s: labels change %+v to %+v", c.Name, got, expect(&other))
		}
	}
	if e := expect(NewSet(2)); !math.IsNaN(e.LogLoss) || !math.IsNaN(e.AUC) || parted(NewSet(2), .05) {
		t.Errorf("of nothing: %+v", e)
	}
}

// TestExpectedIsTheLaterTruth of calibrated propensities: within two errors in about 95 of 100 sets.
func TestExpectedIsTheLaterTruth(t *testing.T) {
	const sets, n = 200, 5000
	inside, near01, auc := 0, 0, 0.
	for seed := range uint64(sets) {
		s := calibratedSet(t, seed, n, func(_ int, u float64) (float64, float64) { return u * u * u / 2, u * u * u / 2 })
		e := expect(s)
		d := math.Abs(s.LogLoss() - e.LogLoss)
		if d < 1.96*e.Error {
			inside++
		}
		if d < .01 {
			near01++
		}
		auc += (s.AUC() - e.AUC) / sets
	}
	if inside < 182 || inside > 198 || math.Abs(auc) > .002 {
		t.Errorf("%d of %d sets within 1.96 errors, the AUC is off by %v", inside, sets, auc)
	}
	t.Logf("%d of %d sets of %d records within .01", near01, sets, n)
}

// TestPartedByGrid: the bound is that of a fine search over t.
func TestPartedByGrid(t *testing.T) {
	marked := 0
	for seed := range uint64(40) {
		off := .35 * float64(seed) / 40
		s := calibratedSet(t, seed, 200, func(_ int, u float64) (float64, float64) {
			return .1 + .3*u, .1 + .3*u + off*(1-2*float64(seed%2)*.5)
		})
		total := s.LogLoss() * float64(s.Len())
		best := math.Inf(-1)
		for x := -2.; x < 2; x += .01 {
			k := 0.
			for i := range s.Class {
				p := s.P[2*i+1]
				k += math.Log(p*math.Exp(-x*math.Log(p)) + (1-p)*math.Exp(-x*math.Log(1-p)))
			}
			best = max(best, x*total-k)
		}
		if best > .2 && (!parted(s, 2*math.Exp(.05-best)) || parted(s, 2*math.Exp(-.05-best))) {
			t.Errorf("seed %d: not parted exactly where the tail is above 2 exp(-%v)", seed, best)
		}
		if math.Abs(best-math.Log(2/.05)) < .02 {
			continue // within the grid's error
		}
		if got, want := parted(s, .05), best > math.Log(2/.05); got != want {
			t.Errorf("seed %d: parted %v, the bound is exp(-%v)", seed, got, best)
		}
		if parted(s, .05) {
			marked++
		}
	}
	if marked < 5 || marked > 35 {
		t.Errorf("%d of 40 sets are marked: too few or too many to tell", marked)
	}
}

// TestPartedOfNoise: few streams of calibrated propensities have a marked point, short and with rare classes too, and
// one whose propensities are wrong has it from where they are.
func TestPartedOfNoise(t *testing.T) {
	marked := 0
	mark := func(p CurvePoint) bool { return p.Parted }
	for seed := range uint64(60) {
		n := []int{150, 2000, 30_000}[seed%3]
		s := calibratedSet(t, seed, n, func(_ int, u float64) (float64, float64) {
			p := .001 + .03*u*u
			if seed%2 == 0 {
				p = u
			}
			return p, p
		})
		if slices.ContainsFunc(s.Curve(), mark) {
			marked++
		}
	}
	if marked > 3 { // .05 60 at most
		t.Errorf("%d of 60 streams of calibrated propensities are marked", marked)
	}
	s := calibratedSet(t, 1, 20_000, func(i int, u float64) (float64, float64) {
		if i >= 10_000 {
			return .1 * u, .16 * u
		}
		return .1 * u, .1 * u
	})
	curve := s.Curve()
	for _, p := range curve {
		if wrong := p.Records > 10_100; p.Parted && !wrong {
			t.Errorf("%+v", p)
		}
	}
	if !slices.ContainsFunc(curve, mark) {
		t.Errorf("propensities that are too small by a third are not marked: %+v", curve)
	}
	// A class that the propensities exclude, with weights and three classes.
	x := NewSet(3)
	for i := range 200 {
		y := int32(i % 2)
		if i < 10 {
			y = 2
		}
		if err := x.Add(int64(i), []float64{.5, .5, 0}, y, float64(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	if !parted(x, .05) || parted(x.slice(10, 200), .05) {
		t.Errorf("an excluded class: %v, without it %v", parted(x, .05), parted(x.slice(10, 200), .05))
	}
}
