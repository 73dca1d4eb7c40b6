package model_test

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
)

// TestColumnsOfAScoreMeanWhatTheContractSays: propensities sum to 1, the segment is the class of the highest, the base
// rate is the share by weight of the target among the records learnt before and one more of each class, which weighs
// sum w^2 / sum w, lift is the propensity divided by it, and the target is the positive class or, without one, the
// class of the highest lift. The scale of the weights changes none of them.
func TestColumnsOfAScoreMeanWhatTheContractSays(t *testing.T) {
	for _, positive := range []int{1, -1} {
		var first []float64 // the figures at scale 1
		for _, scale := range []float64{1, 100} {
			var figures []float64
			spec := newSpec(nil)
			s := *spec.Schema
			s.Positive = positive
			spec.Schema, spec.Scorecard = &s, propensity.New(propensity.Default(), &s)
			p := model.NewPartition(spec, 0)
			var out model.Scores
			var learnt [2]float64
			square := 0.
			targets := map[int32]int{}
			for i := range 1500 {
				b := rows(i, 1)
				b.Weight = []float64{scale * []float64{1, 0, 3, 100}[i%4]}
				p.Events(b, &out)
				target := out.Target[0]
				if math.Abs(out.P[0]+out.P[1]-1) > 1e-12 || out.P[out.Segment[0]] < out.P[1-out.Segment[0]] {
					t.Fatalf("record %d: propensities %v, segment %d", i, out.P, out.Segment[0])
				}
				if all := learnt[0] + learnt[1]; out.Status[0] != model.StatusUntrained {
					targets[target]++
					unit := square / all
					rate := (learnt[target] + unit) / (all + 2*unit)
					if math.Abs(out.BaseRate[0]-rate) > 1e-9 {
						t.Fatalf("positive %d, scale %v, record %d: base rate %v, want %v", positive, scale, i, out.BaseRate[0], rate)
					}
					if lift := out.P[target] / out.BaseRate[0]; out.Lift[0] != lift {
						t.Fatalf("record %d: lift %v, want %v", i, out.Lift[0], lift)
					}
					if other := out.P[1-target] / (1 - rate); positive < 0 && other > out.Lift[0]+1e-9 {
						t.Fatalf("record %d: the target has the lift %v, the other class %v", i, out.Lift[0], other)
					}
					figures = append(figures, out.P[target], out.BaseRate[0], out.Lift[0], float64(out.Percentile[0]))
					if r := out.Percentile[0]; !(r >= 0 && r <= 1) {
						t.Fatalf("record %d: percentile %v", i, r)
					}
				}
				learnt[b.Label[0]] += b.Weight[0]
				square += b.Weight[0] * b.Weight[0]
			}
			if first == nil {
				first = figures
			}
			for k, v := range first {
				if math.Abs(figures[k]-v) > 1e-7*v {
					t.Fatalf("positive %d: figure %d is %v, with weights times 100 %v", positive, k, v, figures[k])
				}
			}
			if n := len(targets); positive >= 0 && (n != 1 || targets[int32(positive)] < 1000) || positive < 0 && n != 2 {
				t.Errorf("positive %d: targets %v", positive, targets)
			}
		}
	}
}
