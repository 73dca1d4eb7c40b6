package drift

import (
	"math"
	"testing"
)

// TestLossesOfAFormerModelAreForgotten: a new model is expected to do as the former one did, by all of the newest
// losses, and none of these is one of its own: neither those of whole steps nor those of the step that is open.
func TestLossesOfAFormerModelAreForgotten(t *testing.T) {
	o := MonitorOptions{Reference: 80, Window: 20, Step: 10, FalseAlarms: .01}
	for _, extra := range []int{0, 3} {
		l := newLosses(o)
		for i := range 40 + extra {
			l.add([]float64{.5, .5}, i%2, true, 10)
		}
		if l.newest(o.Reference).own != 40 || l.filling.own != float64(extra) {
			t.Fatalf("%v records are the model's own, and %v of the open step", l.newest(o.Reference).own, l.filling.own)
		}
		l.refit(math.NaN())
		if math.Abs(l.expect-math.Ln2) > 1e-12 {
			t.Errorf("%d records beyond a step: %v is expected, want ln 2", extra, l.expect)
		}
		sum := l.newest(o.Reference)
		sum.add(&l.filling)
		if sum.own != 0 || sum.ownLoss != 0 || sum.ownSquare != 0 || sum.n != float64(40+extra) {
			t.Errorf("%d records beyond a step: %v of %v records are own ones, with losses of %v and squares of %v", extra,
				sum.own, sum.n, sum.ownLoss, sum.ownSquare)
		}
		// Records of the new model fill the step of the former one up.
		for range 10 {
			l.add([]float64{.9, .1}, 0, true, 10)
		}
		sum = l.newest(o.Reference)
		sum.add(&l.filling)
		if want := -10 * math.Log(.9); sum.own != 10 || math.Abs(sum.ownLoss-want) > 1e-12 {
			t.Errorf("%d records beyond a step: %v own records lose %v, want 10 and %v", extra, sum.own, sum.ownLoss, want)
		}
	}
}

// TestALateLabelIsOfTheModelThatScoredItsRecord: with models in between, the records before one are not its own, and
// those from the first one behind it on are.
func TestALateLabelIsOfTheModelThatScoredItsRecord(t *testing.T) {
	w := (&world{delay: 1}).watch(.01)
	const refit, records = 5, 9
	for i := range records {
		if i == refit {
			w.Refit(math.NaN())
		}
		w.Number(0, 0)
		w.Level(1, "", false)
		w.Scored(int64(i), 0, []float64{.5, .5}, false)
	}
	own := 0.
	for i := range records {
		w.Learned(int64(i), 0, 1)
		if i >= refit {
			own++
		}
		if got := w.losses.filling.own; got != own {
			t.Errorf("after the label of record %d, with a model before record %d: %v records are its own, want %v", i, refit,
				got, own)
		}
	}
}
