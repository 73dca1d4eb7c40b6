package assemble

import (
	"context"
	"slices"
	"testing"

	"liftstream/model"
)

// TestAReturnRestoresEveryComponent: after 4,000 records with other classes a return gives the scores that the model
// gave when it was published, and the partition learns on.
func TestAReturnRestoresEveryComponent(t *testing.T) {
	a := stage(t, `
name: x
record:
  label: {column: y, classes: [a, b, c]}
  features: [{name: visits, kind: continuous}, {name: age, kind: continuous}, {name: plan, kind: nominal}]
fit: {warmup: 50}
kernel: {triples: 500}
`)
	p := model.NewPartition(a.Spec, 0)
	feed := func(p *model.Partition, from, to, shift int) []float64 {
		var out model.Scores
		b := drawn(0, from, to)
		for i := range b.Label {
			b.Label[i] = (b.Label[i] + int32(shift)) % 3
		}
		p.Events(b, &out)
		return slices.Clone(out.P)
	}
	feed(p, 0, 2000, 0)
	m, err := model.Fit(context.Background(), a.Spec, model.Held{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	silent := func() []float64 {
		q, err := model.RestorePartition(a.Spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		model.SetLearning(q, false)
		return feed(q, 9000, 9200, 0)
	}
	if err := model.Return(p, m, 0); err != nil {
		t.Fatal(err)
	}
	want := silent()
	feed(p, 2000, 6000, 1)
	turned := silent()
	if slices.Equal(turned, want) {
		t.Fatal("4,000 records of other classes change nothing")
	}
	if err := model.Return(p, m, 0); err != nil {
		t.Fatal(err)
	}
	if got := silent(); !slices.Equal(got, want) {
		t.Errorf("after the return: %v, were %v", got[:6], want[:6])
	}
	if feed(p, 6000, 6500, 0); slices.Equal(silent(), want) {
		t.Error("it learns no more")
	}
}
