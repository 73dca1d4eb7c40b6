package state

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
)

// TestSectionsThatCompressWell: a section of several pieces may begin with one that compresses to less than a record of
// the topic, as many columns of equal numbers do.
func TestSectionsThatCompressWell(t *testing.T) {
	const features, records = 100, 5000
	spec := sample.Spec()
	spec.Schema = &model.Schema{Classes: sample.Schema.Classes, Positive: 1}
	b := &model.Batch{N: records, Columns: make([]model.Column, features)}
	for f := range features {
		spec.Schema.Features = append(spec.Schema.Features, model.Feature{Name: fmt.Sprint("x", f)})
		b.Columns[f].Float = make([]float64, records)
	}
	for i := range records {
		b.Label, b.Time = append(b.Label, int32(i%2)), append(b.Time, int64(i))
	}
	spec.Options.TailBytes, spec.Options.Warmup = 16<<20, records+1
	spec.Scorecard = propensity.New(propensity.Default(), spec.Schema)
	p := model.NewPartition(spec, 0)
	var s model.Scores
	p.Events(b, &s)
	for _, limit := range []int64{1, 1 << 20, 1 << 40} {
		snap, log, empty := NewSnapshotter(), NewLog(), 0
		snap.Start(p, 9, Position{Events: 1}, 0, 1)
		for n := 0; snap.Busy(); n++ {
			pieces, whole := snap.Take(limit)
			for _, c := range pieces {
				log.Apply([]byte(c.Key), c.Value)
			}
			if whole {
				snap.Complete()
			} else if len(pieces) == 0 {
				empty++
			}
			if n > 1000 {
				t.Fatalf("limit %d: the snapshot never ends", limit)
			}
		}
		found, problems := log.Manifests()
		if len(found) != 1 || len(problems) > 0 {
			t.Fatal(found, problems)
		}
		got, err := log.Sections(found[0])
		if err != nil || !maps.EqualFunc(got, p.Snapshot(), bytes.Equal) {
			t.Errorf("limit %d: the snapshot is not the state: %v", limit, err)
		}
		if limit == 1 && empty == 0 || limit == 1<<40 && empty > 0 {
			t.Errorf("limit %d: %d calls gave no piece", limit, empty)
		}
	}
}
