package model_test

import (
	"testing"

	"liftstream/model"
)

// TestStepsOfOthersAreKept in the state of a partition that has no score of its own yet, as a new one to which a model
// has brought those of the others: it ranks as if it had never stopped.
func TestStepsOfOthersAreKept(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	for i := range 2 {
		feed(p, 1500*i, 1500*(i+1), 100, nil)
		m, _ := fit(t, spec, p)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := fit(t, spec, p)
	q := model.NewPartition(spec, 1)
	if err := q.Swap(m); err != nil {
		t.Fatal(err)
	}
	back, err := model.RestorePartition(spec, q.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for i := 3000; i < 3200; i++ {
		var got, want model.Scores
		q.Events(rows(i, 1), &want)
		back.Events(rows(i, 1), &got)
		if got.Percentile[0] != want.Percentile[0] {
			t.Fatalf("record %d: percentile %v after a restart, %v without one", i, got.Percentile[0], want.Percentile[0])
		}
	}
}
