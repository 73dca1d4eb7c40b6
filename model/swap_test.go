package model_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"liftstream/model"
)

func TestSwapWithUnchangedStructureChangesNoScore(t *testing.T) {
	spec := newSpec(nil)
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(p, 0, 3000, 100, nil)
	feed(q, 0, 3000, 100, nil)
	m, err := model.Fit(context.Background(), spec, map[int32]map[string][]byte{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	feed(p, 3000, 3500, 100, nil)
	feed(q, 3000, 3500, 100, nil)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	if p.ModelVersion() != 1 {
		t.Errorf("version %d serves", p.ModelVersion())
	}
	a, b := feed(p, 3500, 4000, 100, nil), feed(q, 3500, 4000, 100, nil)
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	// The fit may refine cells; scores stay close, and equal when it kept them.
	if worst > 0.35 {
		t.Errorf("propensities moved by %v at a swap", worst)
	}
}

func TestSwapRefuses(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 500, 100, nil)
	m, err := model.Fit(context.Background(), spec, map[int32]map[string][]byte{0: p.Snapshot()}, nil)
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
