package model_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"liftstream/model"
)

// TestSwapWithUnchangedStructureChangesNoScore: a renewed model brings the counts that the partition has itself.
func TestSwapWithUnchangedStructureChangesNoScore(t *testing.T) {
	spec := newSpec(nil)
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(p, 0, 3000, 100, nil)
	m, _ := fit(t, spec, p)
	feed(q, 0, 3000, 100, nil)
	for _, x := range []*model.Partition{p, q} {
		if err := x.Swap(m); err != nil {
			t.Fatal(err)
		}
		feed(x, 3000, 3500, 100, nil)
	}
	renewed, err := model.Renew(context.Background(), spec, m, snapshots(p))
	if err != nil {
		t.Fatal(err)
	}
	renewed.Version++
	feed(p, 3500, 3600, 100, nil)
	feed(q, 3500, 3600, 100, nil)
	if err := p.Swap(renewed); err != nil {
		t.Fatal(err)
	}
	if p.ModelVersion() != 2 {
		t.Errorf("version %d serves", p.ModelVersion())
	}
	a, b := feed(p, 3600, 4000, 100, nil), feed(q, 3600, 4000, 100, nil)
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	if worst > 1e-9 {
		t.Errorf("propensities moved by %v at a swap", worst)
	}
}

func TestSwapRefuses(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 500, 100, nil)
	m, err := model.Fit(context.Background(), spec, model.Held{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := state(p)
	foreign := *m
	foreign.Fingerprint++
	if err := p.Swap(&foreign); !errors.Is(err, model.ErrModelForeign) {
		t.Errorf("foreign model: %v", err)
	}
	broken := *m
	broken.Parts = map[string][]byte{"propensity": m.Parts["propensity"][:20]}
	if err := p.Swap(&broken); err == nil {
		t.Error("a damaged model was taken")
	}
	if !bytes.Equal(before, state(p)) {
		t.Error("a refused model changed the state")
	}
	feed(p, 500, 30_000, 500, nil) // far beyond the tail of 4,096 and more records
	if err := p.Swap(m); !errors.Is(err, model.ErrModelTooOld) {
		t.Errorf("model older than the tail: %v", err)
	}
}
