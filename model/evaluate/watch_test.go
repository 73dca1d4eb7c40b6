package evaluate

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestWatch: no alarm in a steady stream; a feature that changes, labels that stop or turn round, and scores of another
// model give theirs, with the skipped records in the place.
func TestWatch(t *testing.T) {
	s := testSchema()
	const n, skip, change = 12_000, 300, 9000
	for _, c := range []struct {
		what  string
		want  string
		miss  bool
		batch func(b *model.Batch, from int)
		p     func(i int) float64
	}{
		{"steady", "", false, nil, nil},
		{"x moves", "x", false, func(b *model.Batch, from int) {
			for i := range b.N {
				if from+i >= change {
					b.Columns[0].Float[i] += 3
				}
			}
		}, nil},
		{"labels stop", "(labelled)", true, func(b *model.Batch, from int) {
			for i := range b.N {
				if from+i >= change {
					b.Label[i] = model.Unlabelled
				}
			}
		}, nil},
		{"labels turn round", "(loss)", false, func(b *model.Batch, from int) {
			for i := range b.N {
				if from+i >= change {
					b.Label[i] = int32(1.5 - uniform(31, from+i, 1))
				}
			}
		}, nil},
		{"propensities move", "(propensity)", false, nil, func(i int) float64 {
			if i >= change {
				return .1 + .2*uniform(31, i, 1)
			}
			return .3 + .4*uniform(31, i, 1)
		}},
	} {
		p := c.p
		if p == nil {
			p = func(i int) float64 { return .3 + .4*uniform(31, i, 1) }
		}
		methods := []Method{script("one", scripted{p, nil})}
		src := func(yield func(*model.Batch, error) bool) {
			from := 0
			for b, err := range stream(n, 100, false, false) {
				for i := range b.N { // labels that the propensities promise
					if b.Label[i] = 0; uniform(32, from+i, 1) < .3+.4*uniform(31, from+i, 1) {
						b.Label[i] = 1
					}
				}
				if c.batch != nil {
					c.batch(b, from)
				}
				from += b.N
				if !yield(b, err) {
					return
				}
			}
		}
		e := NewEvaluation(s, methods, skip, 1)
		run, err := Prequential(t.Context(), s, src, methods, Options{}, e.Add)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, a := range r.Alarms {
			if a.At <= change || a.At > change+1000 || (a.At-skip)%250 != 0 ||
				math.IsNaN(float64(a.PSI)) == math.IsNaN(float64(a.LogLoss)) {
				t.Errorf("%s: %+v", c.what, a)
			}
			found = found || a.Feature == c.want && a.Missing == c.miss
		}
		if c.want == "" && len(r.Alarms) > 0 || c.want != "" && !found {
			t.Errorf("%s: alarms %+v", c.what, r.Alarms)
		}
	}
}
