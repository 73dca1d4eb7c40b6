package propensity

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestToldAsByTheVariance: a lift is told from 1 exactly where its change is beyond the bound that spread sets, also a
// rounding error away from it, and the quick sums are spread within the error that they state. So it is after all
// changes: a record learnt, taken back, or weighed otherwise, and a clock that was taken back.
func TestToldAsByTheVariance(t *testing.T) {
	for _, c := range []struct {
		name           string
		classes, delay int
		half           []model.HalfLife
		direct         model.Direction
		slow           bool // about knows nothing
	}{
		{name: "two classes", classes: 2},
		{name: "three classes", classes: 3},
		{name: "late labels", classes: 2, delay: 200},
		{name: "times", classes: 2, half: []model.HalfLife{{Duration: 400}, {Duration: 4000}, {}}},
		{name: "nothing for ever", classes: 2, half: []model.HalfLife{{Records: 30}, {Records: 400}}},
		{name: "records and times", classes: 2, half: []model.HalfLife{{Records: 50}, {Duration: 1000}, {}}, slow: true},
		{name: "directions", classes: 2, direct: model.Up},
	} {
		d := noise(c.classes, 1, 900, 5)
		for f := range d.schema.Features {
			if d.schema.Features[f].Kind != model.Nominal {
				d.schema.Features[f].Monotone = c.direct
			}
		}
		opt := Default()
		if c.half != nil {
			opt.HalfLives = c.half
		}
		s := open(d, opt, standard, 300)
		prequential(s, d, c.delay)
		pending, p := make([]float64, s.PendingLen()), make([]float64, c.classes)
		quick, lifts := 0, 0
		check := func(step int, what string) {
			t.Helper()
			s.Score(d.rows[step], nil, pending, p)
			m := s.memoryOf(pending)
			target := int32(step % c.classes)
			s.Effects(d.rows[step], pending, target, nil)
			for i := range s.features {
				got := s.Lift(pending, target, i)
				weight := s.towards(i, m.shared)
				if want := s.shownLift(i, int(target), weight, s.dirs[:s.margins]); s.records(i, s.cells[i]) > 0 &&
					got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("%s, step %d, %s, feature %d: lift %v, want %v", c.name, step, what, i, got, want)
				}
				if quickly(&s.weights, i) {
					lifts++
					q, l, about := &s.quick.all[i/quickWidth], i%quickWidth, about(&s.weights, i, weight)
					if off := math.Abs(q.plus[l]-about.plus) + math.Abs(q.minus[l]-about.minus); !(off <= 1e-14*about.plus) {
						t.Fatalf("%s, step %d, %s, feature %d: quick sums off by %v", c.name, step, what, i, off)
					}
				}
				want := s.spread(i, weight)
				about := about(&s.weights, i, weight)
				if plus, minus := about.plus, about.minus; about.ok {
					quick++
					if off := math.Abs(plus - minus - want); !(off <= rounding*(plus+minus)) || !(plus > 0) {
						t.Fatalf("%s, step %d, %s, feature %d: %v - %v, want %v", c.name, step, what, i, plus, minus, want)
					}
				}
				for _, base := range []float64{.01, .3, .9} {
					bound := math.Sqrt(s.told * s.told * want / (base * (1 - base)))
					for _, by := range []float64{.2, 1 - 1e-6, 1 - 1e-12, 1 - 0x1p-52, 1, 1 + 0x1p-52, 1 + 1e-12, 1 + 1e-6, 5} {
						change := -bound * by
						told := change*change > s.told*s.told*want/(base*(1-base))
						less := surely(change, math.Exp(-change), base)
						if shown, _ := shows(&s.weights, i, weight, change, base); shown != (less*less >
							s.told*s.told*want/(base*(1-base))) {
							t.Fatalf("%s, step %d, %s, feature %d, change %v from %v: shown %v", c.name, step, what, i, change, base,
								shown)
						}
						if got := tells(&s.weights, i, weight, change, base, about); got != told {
							t.Fatalf("%s, step %d, %s, feature %d, %v of the bound: told %v, want %v", c.name, step, what, i, by,
								got, told)
						}
					}
				}
			}
		}
		for i := range 60 {
			ex := d.example(i)
			ex.Clock, ex.Time, ex.Weight = float64(900+i), int64(1e6+40*i), 1+float64(i%3)
			check(i, "before")
			s.LearnScored(&ex, nil, pending)
			check(i, "learnt")
			s.Retract(&ex)
			check(i, "taken back")
			s.Learn(&ex)
			check(i, "learnt again")
			s.NotAfter(ex.Time - 30)
			check(i, "clock taken back")
		}
		if c.slow != (quick == 0) {
			t.Errorf("%s: %d quick sums", c.name, quick)
		}
		if want := lanes && c.classes == 2 && !c.slow; want != (lifts > 0) {
			t.Errorf("%s: %d lifts by lanes", c.name, lifts)
		}
	}
}

// TestBeyondAVarianceOfZero: sums that rounding leaves below 0, as it may where a cell is all records, are a variance
// of 0, as spread has it: no change is not beyond it.
func TestBeyondAVarianceOfZero(t *testing.T) {
	for _, c := range []struct {
		got, plus, minus float64
		is, sure         bool
	}{
		{0, 1, 1 + 1e-6, false, false}, {0, 0, 1, false, false}, {1, 1, 2, true, true}, {1, 4, 1, false, true},
		{4, 4, 1, true, true}, {3, 4, 1, false, false}, {0, 4, 1, false, true},
	} {
		if is, sure := beyond(c.got, 1, sums{c.plus, c.minus, true}); is != c.is || sure != c.sure {
			t.Errorf("%v beyond %v - %v: %v, sure %v", c.got, c.plus, c.minus, is, sure)
		}
	}
}
