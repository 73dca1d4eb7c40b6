package model_test

import (
	"testing"

	"liftstream/model"
)

// TestReasonsOfFewRecordsAreNotPublished: each reason in a score is of a value with MinCount labelled records at least,
// the others move up, and no propensity changes.
func TestReasonsOfFewRecordsAreNotPublished(t *testing.T) {
	const least = 150
	spec := func(why, least int) *model.Spec {
		return newSpec(func(o *model.Options) { o.Why, o.MinCount = why, least })
	}
	all, some := model.NewPartition(spec(2, 0), 0), model.NewPartition(spec(2, least), 0)
	if !same(feed(all, 0, 900, 100, nil), feed(some, 0, 900, 100, nil)) {
		t.Error("propensities differ")
	}
	reasons := func(p *model.Partition) (few, n int) {
		var out model.Scores
		p.Events(rows(900, 200), &out)
		for _, r := range out.Why {
			if n++; r.N < least {
				few++
			}
		}
		return few, n
	}
	few, n := reasons(all)
	if few == 0 || few == n {
		t.Fatalf("%d of %d reasons are of few records: the test would say nothing", few, n)
	}
	if got, left := reasons(some); got > 0 || left <= n-few {
		t.Errorf("%d of %d reasons are of few records; %d of %d were, and others move up", got, left, few, n)
	}
}
