package evaluate

import (
	"math"
	"testing"
)

// TestBaselinesBySlowSearch: both forecasts by their definition, which looks through all records before each one.
func TestBaselinesBySlowSearch(t *testing.T) {
	differ := 0
	for _, c := range []struct {
		n, skip, delay, classes int
		weighted                bool
	}{{300, 0, 0, 2, false}, {300, 40, 0, 3, true}, {300, 40, 7, 3, false}, {300, 0, 1, 2, true}, {50, 0, 100, 3, false},
		{1, 0, 0, 2, false}, {0, 0, 0, 2, false}} {
		var before []knownLabel
		s := NewSet(c.classes)
		var all []knownLabel
		for i := range c.n {
			if uniform(3, i, 0) < .2 {
				continue // has no class
			}
			// Runs of one class, so that both forecasts differ.
			l := knownLabel{int64(i), int32(float64(c.classes) * uniform(3, i/5, 1)), 1}
			if c.weighted {
				l.weight = math.Floor(3 * uniform(3, i, 2))
			}
			all = append(all, l)
			if i < c.skip {
				before = append(before, l)
			} else if err := s.Add(l.index, make([]float64, c.classes), l.class, l.weight); err != nil {
				t.Fatal(err)
			}
		}
		var w, same, majority float64
		for _, x := range all {
			if x.index < int64(c.skip) {
				continue
			}
			newest, best := int32(0), int32(0)
			counts := make([]float64, c.classes)
			for _, l := range all {
				if l.index+int64(c.delay) < x.index {
					newest = l.class
					counts[l.class] += l.weight
				}
			}
			for k := range counts {
				if counts[k] > counts[best] {
					best = int32(k)
				}
			}
			w += x.weight
			if newest == x.class {
				same += x.weight
			}
			if best == x.class {
				majority += x.weight
			}
		}
		got := s.baselines(before, c.delay)
		if c.n == 0 {
			if !math.IsNaN(float64(got.NoChange)) || !math.IsNaN(float64(got.Majority)) {
				t.Errorf("of nothing: %+v", got)
			}
			continue
		}
		near(t, "no change", got.NoChange, Number(same/w), 1e-12)
		near(t, "majority", got.Majority, Number(majority/w), 1e-12)
		if math.Abs(float64(got.NoChange-got.Majority)) > .1 {
			differ++
		}
	}
	if differ < 2 {
		t.Errorf("the forecasts differ in %d cases", differ)
	}
}

// TestKappaByHand: the table of Cohen's formula, and where it is not defined. golden.py has more.
func TestKappaByHand(t *testing.T) {
	s := NewSet(2)
	add := func(said, is int32, n int) {
		p := []float64{.9, .1}
		if said == 1 {
			p = []float64{.1, .9}
		}
		for range n {
			if err := s.Add(int64(s.Len()), p, is, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(0, 0, 20)
	if k := s.Kappa(); !math.IsNaN(k) {
		t.Errorf("one class alone: %v", k)
	}
	add(0, 1, 5)
	add(1, 0, 10)
	add(1, 1, 15)
	// a = 35/50, e = .5 .6 + .5 .4 = .5
	near(t, "kappa", Number(s.Kappa()), .4, 1e-12)
	near(t, "beyond", Number(beyond(.7, .6)), .25, 1e-12)
	if k := NewSet(2).Kappa(); !math.IsNaN(k) || !math.IsNaN(beyond(1, 1)) {
		t.Errorf("of nothing: %v", k)
	}
}

// calibratedSet holds n records whose classes are drawn from their propensities, which u maps to.
func calibratedSet(t testing.TB, seed uint64, n int, p func(i int, u float64) (said, true float64)) *Set {
	s := NewSet(2)
	for i := range n {
		said, is := p(i, uniform(seed, i, 0))
		y := int32(0)
		if uniform(seed, i, 1) < is {
			y = 1
		}
		if err := s.Add(int64(i)+100, []float64{1 - said, said}, y, 1); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestDriftPoints: steady streams have hardly any, of rare classes too; a change is found, with its place and both
// levels, in a short stream as well.
func TestDriftPoints(t *testing.T) {
	const long = 100_000
	streams, points := 0, 0
	for seed := range uint64(20) {
		s := calibratedSet(t, seed, long, func(_ int, u float64) (float64, float64) {
			p := .02 + .1*u
			if seed%2 == 0 {
				p = u * u
			}
			return p, p
		})
		n := len(driftPoints(s))
		points += n
		if n > 0 {
			streams++
		}
	}
	if streams > 1 {
		t.Errorf("%d of 20 steady streams have a drift point, %d in all", streams, points)
	}
	for _, n := range []int{600, 4000, 20_000} {
		s := calibratedSet(t, 77, n, func(i int, u float64) (float64, float64) {
			if i >= n/2 { // the scores say the reverse
				return .1 + .1*u, .6 + .1*u
			}
			return .1 + .1*u, .1 + .1*u
		})
		p := driftPoints(s)
		if len(p) != 1 {
			t.Errorf("%d records: %+v", n, p)
			continue
		}
		half := s.slice(0, n/2)
		if p[0].At < int64(n/2+100) || p[0].At > int64(n/2+100+200) || math.Abs(float64(p[0].Since)-float64(n/2+100)) > 150 ||
			math.Abs(float64(p[0].Before)-half.LogLoss()) > .1 || p[0].After < 1 {
			t.Errorf("%d records: %+v, log-loss of the first half %v", n, p[0], half.LogLoss())
		}
	}
	if p := driftPoints(NewSet(2)); p == nil || len(p) != 0 {
		t.Errorf("of nothing: %+v", p)
	}
}

// TestDriftOfShortStreams: windows of ShortDriftRecords where there are no two of DriftRecords.
func TestDriftOfShortStreams(t *testing.T) {
	s := testSchema()
	for n, want := range map[int]int{399: 0, 2 * ShortDriftRecords: ShortDriftRecords,
		2*DriftRecords - 1: ShortDriftRecords, 2 * DriftRecords: DriftRecords} {
		methods := []Method{Prior(s)}
		e := NewEvaluation(s, methods, 0, 1)
		run, err := Prequential(t.Context(), s, stream(n, 100, false, false), methods, Options{}, e.Add)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 && len(r.Drift) > 0 || want > 0 && (len(r.Drift) != 4 || r.DriftRecords != want) {
			t.Errorf("%d records: %d columns in windows of %d, want %d", n, len(r.Drift), r.DriftRecords, want)
		}
		for _, d := range r.Drift {
			if want > 0 && (int(d.At)%want != 0 || d.PSI > d.Threshold && d.Feature != "(propensity)") {
				t.Errorf("%d records: %+v", n, d)
			}
		}
	}
}
