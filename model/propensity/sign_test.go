package propensity

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestFollow: with effects that follow lifts no effect goes against its lift, for any class, directions of margins or
// number of them, at once or late, and the contributions make up the published propensity. Without, some do: the test
// can fail.
func TestFollow(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			for _, follow := range []bool{false, true} {
				opt := Default()
				opt.Follow = follow
				n := 700
				if schema.Features[0].Monotone != model.Free {
					n = 250 // pooling makes these slow
				}
				s, ex := trained(t, schema, n, opt)
				s.told = 0 // lifts are shown, however little is known of them
				pending := make([][]float64, len(ex))
				p := make([]float64, s.classes)
				conflicts, effects := 0, 0.
				for i := range ex {
					pending[i] = make([]float64, s.PendingLen())
					s.Score(ex[i].Row, nil, pending[i], p)
					if i%7 == 0 {
						check(t, "score", s, ex[i].Row, nil)
					}
					for y := range p {
						for _, r := range explain(s, ex[i].Row, pending[i], int32(y), nil) {
							if r.Feature < 0 || math.IsNaN(r.Lift) {
								continue
							}
							effects = max(effects, math.Abs(r.Effect))
							if !(r.Lift > 0) {
								t.Fatalf("record %d: lift %v", i, r.Lift)
							}
							if r.Effect > 1e-12 && r.Lift < 1-1e-12 || r.Effect < -1e-12 && r.Lift > 1+1e-12 {
								if conflicts++; follow {
									t.Fatalf("record %d, class %d: effect %v of feature %d against its lift %v", i, y, r.Effect, r.Feature, r.Lift)
								}
							}
						}
					}
					if j := i - 20; j >= 0 {
						e := ex[j]
						e.Clock = float64(n + j)
						e.Class = (e.Class + int32(i/300)) % int32(s.classes) // the counts turn out wrong
						s.LearnScored(&e, nil, pending[j])
					}
				}
				if !follow && conflicts == 0 || effects < .1 {
					t.Errorf("follow %v: %d conflicts, largest effect %v", follow, conflicts, effects)
				}
			}
		})
	}
}

// TestFollowLearns: a card's part that is bent to nothing is not pushed further, and comes back.
func TestFollowLearns(t *testing.T) {
	opt := Default()
	opt.Follow = true
	s, ex := trained(t, schemas()["two"], 500, opt)
	e := ex[3]
	e.Clock = 500
	s.locate(e.Row)
	cell := &s.cur.feat[5].pair[s.cells[5]]
	pending, p := make([]float64, s.PendingLen()), make([]float64, 2)
	s.Score(e.Row, nil, pending, p)
	s.towards(5, s.memoryOf(pending).shared)
	sign := math.Copysign(1, s.ref[0])
	for k := range cell.w {
		cell.w[k] = -9 * sign
	}
	s.Score(e.Row, nil, pending, p)
	was := *cell
	if e.Class = 0; sign < 0 {
		e.Class = 1
	}
	s.LearnScored(&e, nil, pending) // the label speaks against the lift
	if *cell != was {
		t.Errorf("a part that adds nothing was pushed from %v to %v", was, *cell)
	}
	s.Score(e.Row, nil, pending, p)
	e.Class, e.Clock = 1-e.Class, 501
	s.LearnScored(&e, nil, pending)
	for k := range cell.w {
		if !((cell.w[k]-was.w[k])*sign > 0) {
			t.Errorf("card %d: a label for the lift moves the weight from %v to %v", k, was.w[k], cell.w[k])
		}
	}
}
