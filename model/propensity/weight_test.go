package propensity

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestUnit: records of one weight are worth their number, others n_eff.
func TestUnit(t *testing.T) {
	for _, c := range []struct{ weight, square, want float64 }{{0, 0, 1}, {7, 7, 1},
		{700, 7e4, 100}, {.07, 7e-4, .01}, {1 + 3, 1 + 9, 2.5}} {
		if got := model.Unit(c.weight, c.square); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("unit %v of weights %v with squares %v, want %v", got, c.weight, c.square, c.want)
		}
	}
	s, ex := trained(t, schemas()["two"], 300, Default())
	before := s.unit
	e := ex[7]
	e.Weight = 40
	s.Learn(&e)
	if !(s.unit > before) {
		t.Errorf("a record of weight 40 leaves the unit at %v", s.unit)
	}
	s.Retract(&e)
	if math.Abs(s.unit-before) > 1e-12 {
		t.Errorf("taken back, it leaves the unit at %v, was %v", s.unit, before)
	}
}

// TestScaleOfWeights: all weights times a number change no score, no reason and no n: in a stream that is fitted anew,
// in several partitions, with corrections, and of files; weights all 1 or not.
func TestScaleOfWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, name := range []string{"two", "many", "two monotone", "many monotone"} {
		for _, even := range []bool{true, false} {
			var want []float64
			for _, by := range []float64{1, 100, .01} {
				schema := schemas()[name]
				n := 1500
				if name != "two" && name != "many" {
					n = 500 // pooling makes these slow
				}
				l, ex := modeltest.Generate(schema, n, 11)
				for i := range ex {
					if even {
						ex[i].Weight = 1
					}
					ex[i].Weight *= by
				}
				c := newCluster(t, schema, l, 2)
				var got []float64
				prob := make([]float64, len(schema.Classes))
				pending := make([]float64, c.live[0].PendingLen())
				for i := range ex {
					s := c.live[i%2]
					s.Score(ex[i].Row, nil, pending, prob)
					got = append(got, prob...)
					if i%50 == 0 {
						for _, r := range explain(s, ex[i].Row, pending, 1, nil) {
							got = append(got, r.Effect, r.N)
							if !math.IsNaN(r.Lift) {
								got = append(got, r.Lift)
							}
						}
					}
					c.learn(i%2, ex[i])
					if i%97 == 0 { // a correction
						s.Retract(&c.seen[i%2][i/2])
						c.seen[i%2][i/2].Class = 0
						s.Learn(&c.seen[i%2][i/2])
					}
					if i == n/3 || i == 2*n/3 {
						c.fit()
					}
				}
				part, err := c.f.Fit(context.Background(), modeltest.Evidence(schema, l, ex), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				file := c.f.New(l).(*Scorecard)
				if err := file.Rebase(&model.Rebase{Part: part, Clock: float64(n)}); err != nil {
					t.Fatal(err)
				}
				for i := range 200 {
					file.Score(ex[i].Row, nil, pending, prob)
					got = append(got, prob...)
				}
				if want == nil {
					want = got
				}
				worst := 0.
				for i, v := range got {
					worst = max(worst, math.Abs(v-want[i])/max(1, math.Abs(want[i])))
				}
				if !(worst <= 1e-9) || len(got) != len(want) {
					t.Errorf("%s, even %v: weights times %v move a number by %v", name, even, by, worst)
				}
			}
		}
	}
}

// TestWeightsOfOne: the unit of weights 1 is exactly 1, so that nothing but the weights of others can change a score.
func TestWeightsOfOne(t *testing.T) {
	d := load(t, "class", "yes", nil, filepath.Join("testdata", "bank_sample.csv.gz"))
	s := open(d, Default(), standard, 1000)
	prequential(s, d, 0)
	if s.unit != 1 {
		t.Errorf("unit %v", s.unit)
	}
}
