package model_test

import (
	"bytes"
	"math"
	"testing"

	"liftstream/model"
)

func TestScoresAndStateDoNotDependOnBatching(t *testing.T) {
	want := model.NewPartition(newSpec(nil), 3)
	p1 := feed(want, 0, 1500, 1500, nil)
	for _, size := range []int{1, 7, 640} {
		got := model.NewPartition(newSpec(nil), 3)
		if p2 := feed(got, 0, 1500, size, nil); !same(p1, p2) {
			t.Errorf("batches of %d: other propensities", size)
		}
		if !bytes.Equal(state(want), state(got)) {
			t.Errorf("batches of %d: another state", size)
		}
	}
}

func TestUntrainedUntilWarmupAndTwoClasses(t *testing.T) {
	p := model.NewPartition(newSpec(nil), 0)
	var s model.Scores
	b := rows(0, 400)
	for i := range b.Label {
		b.Label[i] = 0
	}
	p.Events(b, &s)
	if p.Trained() || s.Status[399] != model.StatusUntrained {
		t.Fatal("a partition that saw one class is trained")
	}
	if got := s.P[2*399] + s.P[2*399+1]; math.Abs(got-1) > 1e-12 {
		t.Errorf("base rates sum to %v", got)
	}
	p.Events(rows(400, 200), &s)
	if !p.Trained() || s.Status[199] != model.StatusOK {
		t.Error("two classes and the warm-up are there, and it is not trained")
	}
	if len(s.WhyOf(199)) < 3 || s.BaseRate[199] <= 0 || s.Lift[199] <= 0 || s.Target[199] != 1 {
		t.Errorf("score without its parts: why %v, base rate %v, lift %v", s.WhyOf(199), s.BaseRate[199], s.Lift[199])
	}
}

func TestContributionsSumToTheCalibratedLogOdds(t *testing.T) {
	p := model.NewPartition(newSpec(nil), 0)
	var s model.Scores
	for i := 0; i < 2000; i += 100 {
		p.Events(rows(i, 100), &s)
		for r := range s.N {
			if s.Status[r] == model.StatusUntrained {
				continue
			}
			var sum float64
			for _, w := range s.WhyOf(r) {
				sum += w.Effect
			}
			prob := s.P[2*r+1]
			if want := math.Log(prob / (1 - prob)); math.Abs(sum-want) > 1e-9 {
				t.Fatalf("record %d: contributions sum to %v, log-odds are %v", i+r, sum, want)
			}
		}
	}
}

func TestUnknownClassAndZeroWeightAreScoredNotLearnt(t *testing.T) {
	a, b := model.NewPartition(newSpec(nil), 0), model.NewPartition(newSpec(nil), 0)
	feed(a, 0, 500, 50, nil)
	feed(b, 0, 500, 50, nil)
	feed(a, 500, 600, 50, func(x *model.Batch) {
		for i := range x.Label {
			x.Label[i] = model.UnknownClass
		}
	})
	feed(b, 500, 600, 50, func(x *model.Batch) { x.Weight = make([]float64, x.N) })
	if a.Labelled() != 500 || b.Labelled() != 500 || a.Seen() != 600 {
		t.Errorf("learnt %v and %v of 500, seen %d of 600", a.Labelled(), b.Labelled(), a.Seen())
	}
	if a.Losses().UnknownClass != 100 {
		t.Errorf("%d unknown classes counted, 100 were there", a.Losses().UnknownClass)
	}
}

func BenchmarkEvents(b *testing.B) {
	p := model.NewPartition(newSpec(func(o *model.Options) { o.WaitBytes, o.Why = 0, 5 }), 0)
	feed(p, 0, 2000, 1000, nil)
	batch := rows(2000, 1000)
	var s model.Scores
	p.Events(batch, &s)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 1000 {
		p.Events(batch, &s)
	}
}
