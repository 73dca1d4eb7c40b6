package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
)

// TestASwapLosesNoRecordLearntSinceTheModel: a set of the new structure counts the records of the fit and each one that
// the partition has learnt since, the first one too.
func TestASwapLosesNoRecordLearntSinceTheModel(t *testing.T) {
	modeltest.Computes(t)
	const fitted = 3000
	for _, since := range []int{0, 1, 2, 50} {
		t.Run(fmt.Sprint(since, " records since"), func(t *testing.T) {
			spec := carrySpec(wide)
			p := model.NewPartition(spec, 0)
			take(t, p, wide, 0, fitted)
			m, _ := fit(t, spec, p)
			take(t, p, wide, fitted, fitted+since)
			if err := p.Swap(m); err != nil {
				t.Fatal(err)
			}
			b := wideRows(wide, 0, fitted+since, true)
			for _, c := range p.Component(lift.Name).(*lift.Component).Live() {
				got, want := 0., 0.
				for _, v := range c.Table.Counts() {
					got += v
				}
				for i := range b.N {
					if !slices.ContainsFunc(c.Set.Features(), func(f int32) bool { return missing(b, int(f), i) }) {
						want++
					}
				}
				if got != want {
					t.Errorf("features %v: %v records counted, %v learnt", c.Set.Features(), got, want)
				}
			}
		})
	}
}

func missing(b *model.Batch, f, i int) bool {
	if c := &b.Columns[f]; c.Float != nil {
		return c.Float[i] != c.Float[i]
	}
	return b.Columns[f].Code[i] == model.MissingCode
}

// looking is a factory of scorecards that keeps the evidence of its last fit.
type looking struct {
	model.ScorecardFactory
	saw *model.Evidence
}

func (f *looking) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	f.saw = ev
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

// TestTheTailsOfPartitionsAreMergedOldestFirst: a fit sees the records of all tails in the order of their times, those
// of equal times in the order of the partitions.
func TestTheTailsOfPartitionsAreMergedOldestFirst(t *testing.T) {
	spec := newSpec(nil)
	look := &looking{ScorecardFactory: spec.Scorecard}
	spec.Scorecard = look
	parts := []*model.Partition{model.NewPartition(spec, 0), model.NewPartition(spec, 1), model.NewPartition(spec, 2)}
	type place struct {
		time      int64
		partition int32
	}
	var want []place
	for i := range 900 { // runs of 30 records of one partition; every third record is of all of them
		for n, p := range parts {
			if i%3 == 0 || i/30%3 == n {
				feed(p, i, i+1, 1, nil)
				want = append(want, place{int64(i) * int64(time.Second), int32(n)})
			}
		}
	}
	fit(t, spec, parts...)
	ev := look.saw
	if ev.Recent != 0 || ev.Len() != len(want) {
		t.Fatalf("the fit sees %d records, %d of them older than the tails; %d were learnt", ev.Len(), ev.Recent, len(want))
	}
	for i, w := range want {
		if got := (place{ev.Time[i], ev.Partition[i]}); got != w {
			t.Fatalf("record %d of the evidence is of time and partition %v, want %v", i, got, w)
		}
	}
}
