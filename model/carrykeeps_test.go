package model_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/propensity"
)

// TestCarryKeepsTheFiguresOfAPartition: a state under another schema has the clock and the counts of the one before,
// obeys no order twice, and learns as little.
func TestCarryKeepsTheFiguresOfAPartition(t *testing.T) {
	spec := func(s *model.Schema) *model.Spec {
		x := newSpec(func(o *model.Options) {
			o.WaitWindow, o.ExpireAs, o.DedupWindow, o.DedupBytes = 50*int64(time.Second), 0, int64(time.Hour), 1<<20
			o.Control = model.Control{Share: .5, Seed: 3, Learn: model.LearnUntreated}
		})
		x.Scorecard, x.Schema = propensity.New(propensity.Default(), s), s
		return x
	}
	p := model.NewPartition(spec(schema), 4)
	feed(p, 0, 400, 100, func(b *model.Batch) {
		b.Treated = make([]model.Treatment, b.N)
		for i := range b.N {
			b.Treated[i] = model.Treatment(1 + i%2)
			if i%3 == 0 {
				b.Label[i] = model.Unlabelled
			}
		}
		b.Label[7] = model.UnknownClass
		p.Sieve.Sift(b)
	})
	m, err := model.Fit(context.Background(), spec(schema), snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Version = 9
	if err := model.Return(p, m, 5); err != nil {
		t.Fatal(err)
	}
	model.Forget(p, &model.Erasure{Number: 6, IDs: []model.IDSum{model.SumID("nobody")}})
	model.SetLearning(p, false)
	figures := func(p *model.Partition) []any {
		return []any{
			p.Trained(), p.ModelVersion(), p.Index(), p.Labelled(), p.Seen(), p.NextOffset(),
			p.Losses(), model.Learning(p), model.Returned(p), model.Obeyed(p), model.ExpiryLearnt(p), p.Sieve.Sifted(),
			model.WaitsOf(p).Records,
		}
	}
	want, before := figures(p), p.Snapshot()
	if p.Losses().UnknownClass == 0 || p.Losses().Expired == 0 || model.ExpiryLearnt(p) == 0 || p.Labelled() == 0 {
		t.Fatalf("figures %v: some are those of an empty partition", want)
	}
	to := *schema
	to.Features = append(slices.Clone(schema.Features), model.Feature{Name: "new", Kind: model.Continuous})
	q, _, err := p.Carry(spec(&to))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range figures(q) {
		if v != want[i] {
			t.Errorf("figure %d is %v, was %v", i, v, want[i])
		}
	}
	after := q.Snapshot()
	for _, name := range []string{"still", "returned", "forgot", "untreated", "sieve", "percentile", "percentile/fine"} {
		if len(before[name]) == 0 || !bytes.Equal(before[name], after[name]) {
			t.Errorf("section %s has %d bytes, had %d", name, len(after[name]), len(before[name]))
		}
	}
}
