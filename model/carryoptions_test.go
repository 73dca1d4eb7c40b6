package model_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

// TestWhatOrdersAndOptionsAddIsCarriedOver: to its own schema a state takes the orders that it has obeyed, that it is
// still, the chances to be untreated, the ids with their times, and the number of records that were learnt as their
// windows closed.
func TestWhatOrdersAndOptionsAddIsCarriedOver(t *testing.T) {
	spec := newSpec(func(o *model.Options) {
		fullOptions(o)
		o.ExpireAs = 0
		o.Control = model.Control{Share: .2, Learn: model.LearnUntreated, Seed: 3}
		o.Recency = &model.RecencyOptions{Bytes: 1 << 20, Features: []model.RecentFeature{{Feature: 0, Where: -1}}}
	})
	p := model.NewPartition(spec, 0)
	for i := 0; i < 3000; i += 250 {
		feed(p, i, i+250, 250, func(b *model.Batch) {
			withhold(b, 3)
			for k := range b.Row {
				treated := model.Untreated
				if b.Row[k]%5 < 2 {
					treated = model.Treated
				}
				b.Treated = append(b.Treated, treated)
			}
			p.Sieve.Sift(b)
			p.Recency.Fill(b)
		})
	}
	m, err := model.Fit(t.Context(), spec, snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Version = 1
	if err := model.Return(p, m, 5); err != nil {
		t.Fatal(err)
	}
	model.Forget(p, erasure(7, "c2990", "nobody"))
	model.SetLearning(p, false)
	want, closed := p.Snapshot(), model.ExpiryLearnt(p)
	for _, name := range []string{"untreated", "recency", "sieve/0", "still", "returned", model.SectionForgot} {
		if want[name] == nil {
			t.Fatalf("a state without the section %s of %q: the test would say nothing", name, slices.Sorted(maps.Keys(want)))
		}
	}
	q, _, err := p.Carry(spec)
	if err != nil {
		t.Fatal(err)
	}
	got := q.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch kind := strings.Split(name, "/")[0]; kind {
		case "scores", "pending", "tail", "core", "waiting": // they are numbered anew
		default:
			if !bytes.Equal(got[name], want[name]) {
				t.Errorf("section %s is another one", name)
			}
		}
	}
	if n := model.ExpiryLearnt(q); n != closed || n == 0 {
		t.Errorf("%d records are learnt as their windows closed, were %d", n, closed)
	}
	if model.Obeyed(q) != 7 || model.Returned(q) != 5 || model.Learning(q) {
		t.Errorf("obeyed to %d and %d, learning %v", model.Obeyed(q), model.Returned(q), model.Learning(q))
	}
}
