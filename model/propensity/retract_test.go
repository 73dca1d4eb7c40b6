package propensity

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestRetractSequences learns and retracts in random sequences - the newest records, any, all - under decay, odd
// weights and rows without values. At every stop scores are sound, the state can be read back, and the counts are those
// of the records that are left: exactly where nothing is forgotten and weights are whole, else to 1e-12 of the greatest
// total weight that the counts have held. The shortest half-life is so short that the weight of a record would fade
// below the least number if the clock ran back with the newest records.
func TestRetractSequences(t *testing.T) {
	weights := map[string][]float64{"whole": {1, 1, 2, 3, 0},
		"odd": {1, .3, 0, 1e-300, 17, 1e9, 1e300, math.SmallestNonzeroFloat64}}
	for name, schema := range schemas() {
		for kind, w := range weights {
			t.Run(name+" "+kind, func(t *testing.T) {
				opt := Default()
				opt.HalfLives = append(opt.HalfLives, model.HalfLife{Duration: 60e9}, model.HalfLife{Records: 2})
				retractSequence(t, schema, opt, w, kind == "whole")
			})
		}
	}
}

func retractSequence(t *testing.T, schema *model.Schema, opt Options, weights []float64, whole bool) {
	const steps = 60
	s, _ := trained(t, schema, 300, opt)
	left := newLedger(s)
	_, fresh := modeltest.Generate(schema, 400, 11)
	draw := func(i int, what uint64, n int) int { return int(model.Hash(5, uint64(i), what) % uint64(n)) }
	var kept []model.Example
	clock := s.clock.records
	for step := range steps {
		switch draw(step, 1, 4) {
		case 0, 1: // learn a run, now and then a long one
			n := 1 + draw(step, 2, 40)
			if step%15 == 7 {
				n = 3000
			}
			if s.bound {
				n = min(n, 120)
			}
			for i := range n {
				e := fresh[draw(step*10000+i, 3, len(fresh))]
				e.Row = slices.Clone(e.Row)
				if draw(step*10000+i, 4, 9) == 0 {
					for f := range e.Row {
						e.Row[f] = math.NaN()
					}
				}
				e.Weight = weights[draw(step*10000+i, 5, len(weights))]
				e.Clock, e.Time = clock, int64(clock)*1e9
				if i%2 == 0 {
					s.Learn(&e)
				} else {
					s.LearnScored(&e, nil, nil)
				}
				if e.Weight > 0 {
					clock++
					kept = append(kept, e)
				}
			}
		case 2: // take back the newest
			for range min(len(kept), 1+draw(step, 6, len(kept)+1)) {
				s.Retract(&kept[len(kept)-1])
				kept = kept[:len(kept)-1]
			}
		default: // take back some of any age
			for i := range len(kept) / 3 {
				at := draw(step*10000+i, 7, len(kept))
				s.Retract(&kept[at])
				kept = slices.Delete(kept, at, at+1)
			}
		}
		if step == steps-1 {
			for len(kept) > 0 {
				s.Retract(&kept[len(kept)-1])
				kept = kept[:len(kept)-1]
			}
		}
		what := fmt.Sprintf("step %d, %d kept", step, len(kept))
		for i := range 5 {
			check(t, what, s, fresh[draw(step, uint64(20+i), len(fresh))].Row, nil)
		}
		again := newScorecard(s.plan)
		if err := again.LoadState(s.AppendState(nil)); err != nil {
			t.Fatalf("%s: its own state: %v", what, err)
		}
		left.check(t, what, s, kept, whole)
	}
}

// ledger follows the greatest total weight that the counts of each half-life have held, on the scale of its origin.
type ledger struct {
	origin   []float64
	since    []int64
	base     *tables // before the first record, on the scale of first
	first    clock
	greatest []float64
}

func newLedger(s *Scorecard) *ledger {
	l := &ledger{base: s.cur.clone(), first: s.clock, greatest: make([]float64, len(s.half))}
	l.first.origin, l.first.since = slices.Clone(s.clock.origin), slices.Clone(s.clock.since)
	l.origin, l.since = l.first.origin, l.first.since
	return l
}

// check compares the class counts with those of the records that are left.
func (l *ledger) check(t *testing.T, what string, s *Scorecard, kept []model.Example, whole bool) {
	t.Helper()
	for h, half := range s.half {
		was := clock{origin: l.origin, since: l.since}
		l.greatest[h] *= math.Exp2(-was.exponent(h, half, s.clock.origin[h], s.clock.since[h]))
		fade := math.Exp2(-l.first.exponent(h, half, s.clock.origin[h], s.clock.since[h]))
		want := make([]float64, s.classes)
		for y := range want {
			want[y] = l.base.class[h*s.classes+y] * fade
		}
		for i := range kept {
			want[kept[i].Class] += min(kept[i].Weight, model.MaxWeight) * s.clock.weight(h, half, kept[i].Clock, kept[i].Time)
		}
		var total float64
		for _, v := range want {
			total += v
		}
		l.greatest[h] = max(l.greatest[h], total)
		for y, v := range want {
			got := s.cur.class[h*s.classes+y]
			if whole && h == s.forever && got != v || !(math.Abs(got-v) <= 1e-12*l.greatest[h]) {
				t.Fatalf("%s: half-life %v: weight %v of class %d, want %v of %v", what, half, got, y, v, l.greatest[h])
			}
		}
	}
	l.origin, l.since = slices.Clone(s.clock.origin), slices.Clone(s.clock.since)
}

// TestRetractOfAllTheNewest takes back thousands of half-lives of records, the newest first, and learns them again:
// the counts know the same as before, and no number is lost on the way.
func TestRetractOfAllTheNewest(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			opt := Default()
			opt.HalfLives = []model.HalfLife{{Records: 2}, {Records: 200}, {}}
			s, _ := trained(t, schema, 300, opt)
			left := newLedger(s)
			_, ex := modeltest.Generate(schema, 2600, 12)
			for i := range ex {
				ex[i].Clock = 300 + float64(i)
				s.Learn(&ex[i])
			}
			left.check(t, "learnt", s, ex, true)
			for i := len(ex) - 1; i >= 0; i-- {
				s.Retract(&ex[i])
				if i%100 == 0 {
					check(t, fmt.Sprint(i), s, ex[i].Row, nil)
				}
			}
			left.check(t, "taken back", s, nil, true)
			for i := range ex {
				s.Learn(&ex[i])
			}
			left.check(t, "learnt again", s, ex, true)
			again := newScorecard(s.plan)
			if err := again.LoadState(s.AppendState(nil)); err != nil {
				t.Fatalf("its own state: %v", err)
			}
		})
	}
}
