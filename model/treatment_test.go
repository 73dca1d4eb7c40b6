package model_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"liftstream/model"
)

// asked makes a message of records without labels, of these ids, a second apart.
func asked(offset int64, ids ...string) *model.Batch {
	b := &model.Batch{N: len(ids), Columns: make([]model.Column, 2), ID: ids, Offset: offset}
	for i := range ids {
		for k := range b.Columns {
			b.Columns[k].Float = append(b.Columns[k].Float, float64((i+k)%7))
		}
		b.Row, b.Label = append(b.Row, int32(i)), append(b.Label, model.Unlabelled)
		b.Time = append(b.Time, offset*1e9+int64(i)+1)
	}
	return b
}

// inShare returns n ids that are in the share, or outside of it.
func inShare(c model.Control, n int, in bool) (ids []string) {
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprint("id", i); c.Holds(id, 0, 0, 0) == in {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestWaitingRecordsAreLearntAsIsSetNow: records that wait as control.learn changes are learnt as it says when their
// label comes; records that control has passed over stay unlearnt.
func TestWaitingRecordsAreLearntAsIsSetNow(t *testing.T) {
	share := model.Control{Share: .5, Seed: 3}
	for _, c := range []struct {
		before, after model.Learn
		in, out       bool // learnt of the share, and outside of it
	}{
		{model.LearnAll, model.LearnControl, true, false}, {model.LearnUntreated, model.LearnControl, true, false},
		{model.LearnControl, model.LearnAll, true, false}, {model.LearnControl, model.LearnUntreated, true, false},
		{model.LearnAll, model.LearnUntreated, true, false}, {model.LearnUntreated, model.LearnAll, true, true},
	} {
		for _, in := range []bool{true, false} {
			ids := inShare(share, 1, in)
			share.Learn = c.before
			p := model.NewPartition(campaignSpec(share), 0)
			var scores model.Scores
			p.Events(asked(1, ids...), &scores)
			share.Learn = c.after
			p, err := model.RestorePartition(campaignSpec(share), p.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			p.Labels(&model.Labels{N: 1, ID: ids, Class: []int32{1}, Time: []int64{2e9}})
			if want := in && c.in || !in && c.out; (p.Labelled() == 1) != want {
				t.Errorf("%d to %d, in the share %v: %v records are learnt", c.before, c.after, in, p.Labelled())
			}
		}
	}
}

// TestAStillStateCountsNoTreatment: while nothing is learnt, no label moves the chances to be untreated or the uplift.
func TestAStillStateCountsNoTreatment(t *testing.T) {
	for _, cohorts := range []bool{false, true} {
		share := model.Control{Share: .2, Seed: 3, Learn: model.LearnUntreated, Uplift: true}
		spec := campaignSpec(share)
		if cohorts {
			spec.Options.WaitWindow, spec.Options.ExpireAs = 100e9, 0
		}
		p := model.NewPartition(spec, 0)
		var scores model.Scores
		treat := func(from int64, with bool) {
			var ids []string
			var t []model.Treatment
			var class []int32
			for i := range 200 {
				ids = append(ids, fmt.Sprint("c", from, "/", i))
				t, class = append(t, model.Untreated+model.Treatment(i%2)), append(class, int32(i%2))
			}
			b := asked(from, ids...)
			if with {
				b.Label, b.Treated = class, t
			}
			p.Events(b, &scores)
			if !with {
				p.Labels(&model.Labels{N: 200, ID: ids, Class: class, Treated: t, Time: slices.Clone(b.Time)})
			}
		}
		treat(1, true)
		treat(2, false)
		before := p.Snapshot()
		model.SetLearning(p, false)
		treat(3, true)
		treat(4, false)
		still := p.Snapshot()
		model.SetLearning(p, true)
		treat(5, true)
		after := p.Snapshot()
		for _, name := range []string{"untreated", "uplift"} {
			if !bytes.Equal(before[name], still[name]) || bytes.Equal(after[name], still[name]) || len(still[name]) == 0 {
				t.Errorf("cohorts %v: a still state changes %s, or one that learns does not", cohorts, name)
			}
		}
	}
}

// TestOlderRecordsOfAnIDStayInTheShare: a record whose id means a newer one since is in the control share as before,
// packed and restored too: where it expires it is learnt.
func TestOlderRecordsOfAnIDStayInTheShare(t *testing.T) {
	share := model.Control{Share: .5, Seed: 3, Learn: model.LearnUntreated}
	spec := campaignSpec(share)
	spec.Options.WaitWindow, spec.Options.ExpireAs = 100e9, 0
	p := model.NewPartition(spec, 0)
	var scores model.Scores
	const n = 800
	ids := inShare(share, n, true)
	p.Events(asked(1, ids...), &scores)
	p.Events(asked(2, ids...), &scores)
	p, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for offset := int64(200); p.Losses().Expired < 2*n && offset < 300; offset++ {
		p.Events(asked(offset, inShare(share, 1, false)...), &scores)
	}
	if got := p.Losses().Expired; got != 2*n || p.Labelled() != 2*n {
		t.Errorf("%d records have expired, %v are learnt, want %d of both", got, p.Labelled(), 2*n)
	}
}
