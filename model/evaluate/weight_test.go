package evaluate

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/propensity"
)

// together is n records of five features of which two tell of the class together, with weights 1 to 3 times by, or by.
func together(n int, by float64, even bool) Source {
	return func(yield func(*model.Batch, error) bool) {
		const size = 250
		for a := 0; a < n; a += size {
			b := &model.Batch{N: size, Offset: int64(a / size), Columns: make([]model.Column, 5)}
			for i := a; i < a+size; i++ {
				u := func(k int) float64 { return uniform(5, i, k) }
				for f := range b.Columns {
					b.Columns[f].Float = append(b.Columns[f].Float, u(f))
				}
				z := -1.
				if (u(0) > .5) == (u(1) > .5) {
					z = 1
				}
				y := int32(0)
				if u(10) < 1/(1+math.Exp(-2*z-u(2))) {
					y = 1
				}
				w := by
				if !even {
					w *= 1 + math.Floor(3*u(11))
				}
				b.Label, b.Row, b.Weight = append(b.Label, y), append(b.Row, int32(i-a)), append(b.Weight, w)
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestScaleOfWeights: all weights times a number change no score of a stage with sets, before its first structure, in
// its stream, late, in several partitions, or of files.
func TestScaleOfWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for f := range 5 {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("x", f)})
	}
	spec := stageSpec(s)
	opt := propensity.Default()
	opt.Blocks = []propensity.Block{{Name: "lift", Inputs: lift.MaxEntered, Fitted: true}}
	spec.Scorecard = propensity.New(opt, s)
	spec.Components = []model.Factory{
		lift.New(lift.Options{Quantiles: 4, Enter: true, Sets: lift.SetOptions{Min: 1, Max: 2, Top: 5}}, s),
	}
	const n = 4000
	for _, even := range []bool{true, false} {
		for _, opt := range []Options{{Refit: 1500}, {Refit: 1500, Partitions: 2, Delay: 100}} {
			var want [][]float64
			for _, by := range []float64{1, 100, .01} {
				var got []float64
				keep := func(r *Record) error {
					for _, x := range r.Scores {
						got = append(got, x.P[2*r.Row:2*r.Row+2]...)
						got = append(got, x.Lift[r.Row])
					}
					return nil
				}
				methods := []Method{Prior(s), Stage("lift", spec)}
				if _, err := Prequential(t.Context(), s, together(n, by, even), methods, opt, keep); err != nil {
					t.Fatal(err)
				}
				b := model.NewBuilder(spec)
				for batch := range together(n, by, even) {
					b.Add(batch)
				}
				m, err := b.Fit(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				p := model.NewPartition(spec, 0)
				if err := p.Swap(m); err != nil {
					t.Fatal(err)
				}
				if x := p.Component(lift.Name).InputCount(); x == 0 {
					t.Error("no set enters")
				}
				var out model.Scores
				for batch := range together(500, by, even) {
					for i := range batch.Label {
						batch.Label[i] = model.Unlabelled
					}
					p.Events(batch, &out)
					got = append(got, out.P...)
				}
				want = append(want, got)
			}
			for k, by := range []float64{100, .01} {
				worst, at := 0., 0
				for i, v := range want[1+k] {
					if d := math.Abs(v - want[0][i]); d > worst {
						worst, at = d, i
					}
				}
				if worst > 1e-9 {
					t.Errorf("even %v, %+v: weights times %v move a score by %v, number %d of %d", even, opt, by, worst, at,
						len(want[0]))
				}
			}
		}
	}
}
