package model_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// turnRound turns each label round.
func turnRound(b *model.Batch) {
	for i, y := range b.Label {
		if y >= 0 {
			b.Label[i] = 1 - y
		}
	}
}

// TestAStillPartitionScoresAndLearnsNothing: neither labels of events nor late ones nor expired ones move counts, tail,
// reservoir or weights, and the scores are those of the same partition without the labels. On again, it learns on.
func TestAStillPartitionScoresAndLearnsNothing(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second) })
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	for _, x := range []*model.Partition{p, q} {
		feed(x, 0, 3000, 100, nil)
		m, _ := fit(t, spec, x)
		if err := x.Swap(m); err != nil {
			t.Fatal(err)
		}
		model.SetLearning(x, false)
	}
	before := p.Snapshot()
	a := feed(p, 3000, 3400, 100, turnRound)
	b := feed(q, 3000, 3400, 100, func(b *model.Batch) { withhold(b, 1) })
	if !same(a, b) {
		t.Error("a label moved the scores of a partition that does not learn")
	}
	after := p.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		moves := slices.Contains([]string{"core", "levels", "percentile", model.PartPercentileFine, "waiting"}, name) ||
			strings.HasPrefix(name, "pending/") || strings.HasPrefix(name, "scores/")
		if !moves && !bytes.Equal(before[name], after[name]) {
			t.Errorf("section %s changed", name)
		}
	}
	if p.Labelled() != 3000 || q.Labelled() != 3000 || q.Losses().Expired == 0 {
		t.Errorf("%v and %v records are learnt, %d expired", p.Labelled(), q.Labelled(), q.Losses().Expired)
	}
	late := rows(3390, 10)
	if c := q.Labels(&model.Labels{N: 10, Class: late.Label, ID: late.ID}); c.Still != 10 || q.Labelled() != 3000 {
		t.Errorf("late labels: %+v, %v records are learnt", c, q.Labelled())
	}
	if c := q.Labels(&model.Labels{N: 10, Class: late.Label, ID: late.ID}); c.Unmatched != 10 {
		t.Errorf("they wait on: %+v", c)
	}
	early := rows(2990, 1)
	learnt := slices.Clone(state(p))
	if c := p.Labels(&model.Labels{N: 1, Class: []int32{1 - early.Label[0]}, ID: early.ID}); c.Corrected != 0 ||
		!bytes.Equal(learnt, state(p)) {
		t.Errorf("a correction: %+v", c)
	}
	restored, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil || model.Learning(restored) || !bytes.Equal(state(restored), state(p)) {
		t.Fatalf("restored: %v", err)
	}
	carried, _, err := restored.Carry(spec)
	if err != nil || model.Learning(carried) {
		t.Errorf("carried over, it learns: %v", err)
	}
	model.SetLearning(restored, true)
	if feed(restored, 3400, 3500, 100, nil); restored.Labelled() != 3100 || !model.Learning(restored) {
		t.Errorf("on again, %v records are learnt", restored.Labelled())
	}
	if _, there := restored.Snapshot()["still"]; there {
		t.Error("a state that learns has the section of one that does not")
	}
	damaged := p.Snapshot()
	damaged["still"] = []byte{9}
	if _, err := model.RestorePartition(spec, damaged); err == nil {
		t.Error("a later format of the section is read")
	}
}

// TestAReturnGivesTheModelAsItWasPublished after 30,000 other records, which the tail does not hold any more.
func TestAReturnGivesTheModelAsItWasPublished(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 3000, 100, nil)
	m, _ := fit(t, spec, p)
	if err := model.Return(p, m, 0); err != nil {
		t.Fatal(err)
	}
	// p, but without its labels, scores these records by the counts of the model alone.
	silent := func(p *model.Partition) []float64 {
		t.Helper()
		q, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		model.SetLearning(q, false)
		return feed(q, 40_000, 40_200, 100, nil)
	}
	want := silent(p)
	feed(p, 3000, 33_000, 500, turnRound) // far beyond the tail
	if same(silent(p), want) {
		t.Fatal("30,000 inverted labels change nothing")
	}
	if err := p.Swap(m); !errors.Is(err, model.ErrModelTooOld) {
		t.Fatalf("Swap: %v", err)
	}
	labelled := p.Labelled()
	if err := model.Return(p, m, 7); err != nil || model.Returned(p) != 7 {
		t.Fatalf("%v, order %d", err, model.Returned(p))
	}
	if q, err := model.RestorePartition(spec, p.Snapshot()); err != nil || model.Returned(q) != 7 {
		t.Errorf("restored: %v", err)
	}
	if got := silent(p); !same(got, want) {
		t.Errorf("after the return the scores differ: %v, were %v", got[:4], want[:4])
	}
	if p.Labelled() != labelled || p.ModelVersion() != m.Version {
		t.Errorf("%v records of %v, model %d", p.Labelled(), labelled, p.ModelVersion())
	}
	if feed(p, 33_000, 34_000, 100, nil); same(silent(p), want) {
		t.Error("it learns no more")
	}
	if again, _ := fit(t, spec, p); p.Swap(again) != nil {
		t.Error("no next model")
	}
	held := state(p)
	foreign, broken := *m, *m
	foreign.Fingerprint++
	broken.Parts = map[string][]byte{"propensity": m.Parts["propensity"][:20]}
	if err := model.Return(p, &foreign, 0); !errors.Is(err, model.ErrModelForeign) {
		t.Errorf("a foreign model: %v", err)
	}
	if err := model.Return(p, &broken, 0); err == nil || !bytes.Equal(held, state(p)) {
		t.Errorf("a damaged model: %v, or the state changed", err)
	}
}
