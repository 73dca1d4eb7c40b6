package lp

import (
	"context"
	"slices"
	"testing"

	"liftstream/model"
)

// watched is a context that ends after a number of looks at it, and notes the largest work between two looks.
type watched struct {
	context.Context
	work  *model.Work
	ends  int // looks; 0 = never
	looks int
	last  int64
	most  int64
}

func (w *watched) Err() error {
	left := w.work.Left()
	if w.looks++; w.looks > 1 {
		w.most = max(w.most, w.last-left)
	}
	if w.last = left; w.ends > 0 && w.looks >= w.ends {
		return context.Canceled
	}
	return nil
}

// TestWorkIsABound: a solve ends soon after its work is spent, with the best answer so far and a valid certificate, and
// two of them give the same bits.
func TestWorkIsABound(t *testing.T) {
	for _, mode := range []Mode{Nonneg, Ridge} {
		const budget = 1e6
		var before *Result
		for range 2 {
			p := instance(7, 60, 6, 4000, []float64{.1, 1, 10}, 1e-3, 1e-4, mode)
			p.Work = model.NewWork(budget)
			r, err := Solve(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Verify(r); err != nil || r.Status != Stopped || !p.Work.Spent() {
				t.Errorf("%v: %v, %v after %d pivots, %d steps left", mode, err, r.Status, r.Iterations, p.Work.Left())
			}
			if before != nil && (!slices.Equal(before.Alpha, r.Alpha) || before.Iterations != r.Iterations) {
				t.Errorf("%v: two runs differ", mode)
			}
			before = r
		}
	}
}

// TestTheContextIsLookedAt: between two looks at the context lies a bounded number of steps, and after its end no
// more than that.
func TestTheContextIsLookedAt(t *testing.T) {
	for _, mode := range []Mode{Nonneg, Ridge} {
		for _, ends := range []int{0, 3, 40} {
			p := instance(7, 60, 6, 4000, []float64{.1, 1, 10}, 1e-3, 1e-4, mode)
			p.Work = model.NewWork(3e8)
			w := &watched{Context: t.Context(), work: p.Work, ends: ends}
			if _, err := Solve(w, p, nil); err != nil {
				t.Fatal(err)
			}
			if p.Work.Left() < w.last {
				w.most = max(w.most, w.last-p.Work.Left())
			}
			if w.most > 1.5e8 {
				t.Errorf("%v: %d steps between two looks at the context", mode, w.most)
			}
		}
	}
}
