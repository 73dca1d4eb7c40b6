package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// TestModelOfFilesComesBesideTheTail: a model that marks nothing of a partition, or more than it has learnt, knows none
// of its records: the partition learns all of them again under the model's structure.
func TestModelOfFilesComesBesideTheTail(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(nil)
	files := model.NewBuilder(spec)
	files.Add(rows(0, 3000))
	m, err := files.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Marks) != 0 {
		t.Errorf("the model of files marks %v", m.Marks)
	}
	rate := func() float64 {
		p := model.NewPartition(spec, 0)
		feed(p, 3000, 3090, 30, func(b *model.Batch) {
			for i := range b.Label {
				b.Label[i] = 1
			}
		})
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		return p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
	}
	unmarked := rate()
	m.Marks = map[int32]model.Mark{0: {Clock: 3000}}
	if ahead := rate(); ahead != unmarked {
		t.Errorf("the base rate is %v, and %v under a mark beyond the partition's clock", unmarked, ahead)
	}
	m.Marks = map[int32]model.Mark{0: {Clock: 90}}
	if known := rate(); !(known < unmarked) {
		t.Errorf("the base rate is %v, and %v where the model knows the records", unmarked, known)
	}
}

// refusing is a scorecard whose fit fails.
type refusing struct {
	model.ScorecardFactory
	tried *int
}

func (f refusing) Fit(context.Context, *model.Evidence, *model.Offer, []byte) ([]byte, error) {
	*f.tried++
	return nil, errors.New("no fit")
}

// TestFitThatFailsIsNotTriedAtEveryRecord: a first fit that fails is tried again, but not so often that nothing else is
// done.
func TestFitThatFailsIsNotTriedAtEveryRecord(t *testing.T) {
	tried := 0
	spec := newSpec(nil)
	spec.Scorecard = refusing{spec.Scorecard, &tried}
	p := model.NewPartition(spec, 0)
	feed(p, 0, 1000, 50, nil)
	if tried != 10 { // at the warm-up of 100 and at every 100 from there
		t.Errorf("tried %d times in 1,000 records", tried)
	}
	// The second class comes late: it is tried at once.
	tried = 0
	p = model.NewPartition(spec, 0)
	feed(p, 0, 150, 50, func(b *model.Batch) { clear(b.Label) })
	if tried != 0 {
		t.Errorf("tried %d times with one class", tried)
	}
	feed(p, 150, 151, 1, func(b *model.Batch) { b.Label[0] = 1 })
	if tried != 1 {
		t.Errorf("tried %d times at the first record of the second class", tried)
	}
}

func TestFitIsDeterministicAndModelsRoundTrip(t *testing.T) {
	spec := newSpec(nil)
	states := model.Held{}
	for n := range int32(3) {
		p := model.NewPartition(spec, n)
		feed(p, int(n)*1000, int(n)*1000+900, 100, nil)
		states[n] = p.Snapshot()
	}
	m1, err := model.Fit(context.Background(), spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := model.Fit(context.Background(), spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := m1.AppendBinary(nil)
	if !bytes.Equal(raw, m2.AppendBinary(nil)) {
		t.Error("two fits of the same states differ")
	}
	back, err := model.DecodeModel(schema, raw)
	if err != nil || !bytes.Equal(back.AppendBinary(nil), raw) {
		t.Errorf("model changed on its way through bytes: %v", err)
	}
	for n := range int32(3) {
		p, err := model.RestorePartition(spec, states[n])
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Swap(m1); err != nil {
			t.Errorf("partition %d: %v", n, err)
		}
		feed(p, 5000, 5100, 10, nil)
	}
	// A partition that has seen nothing serves the model at once.
	fresh := model.NewPartition(spec, 7)
	if err := fresh.Swap(m1); err != nil {
		t.Fatal(err)
	}
	if !fresh.Trained() {
		t.Error("a fresh partition with a model is untrained")
	}
	var brier float64
	b := rows(8000, 1000)
	var s model.Scores
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	fresh.Events(b, &s)
	truth := rows(8000, 1000)
	for i, y := range truth.Label {
		d := s.P[2*i+1] - float64(y)
		brier += d * d / 1000
	}
	if brier > 0.17 {
		t.Errorf("Brier score %v of a fresh partition under the model; the base rate alone has about .24", brier)
	}
}

// TestAModelMadeAnewForgetsTheCellsThatServe: the cells of a first model, cut from few records, stay in the next fit
// where they still serve, and in none that is made anew.
func TestAModelMadeAnewForgetsTheCellsThatServe(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(nil)
	o := propensity.Default()
	o.Blocks = []propensity.Block{{Name: "lift", Inputs: lift.MaxEntered, Fitted: true}}
	spec.Scorecard = propensity.New(o, schema)
	spec.Components = []model.Factory{lift.New(lift.Options{Quantiles: 4, Sets: lift.SetOptions{Min: 1, Max: 2, Top: 9}},
		schema)}
	cuts := func(m *model.Model, err error) map[string][]float64 {
		if err != nil {
			t.Fatal(err)
		}
		part, err := lift.DecodePart(schema, m.Parts[lift.Name])
		if err != nil {
			t.Fatal(err)
		}
		all := map[string][]float64{}
		for _, s := range part.Sets {
			all[fmt.Sprint(s.Set.Features())] = s.Set.Cuts()
		}
		return all
	}
	served, alone := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(served, 0, 400, 100, nil)
	feed(alone, 0, 400, 100, nil)
	first, err := model.FitAnew(t.Context(), spec, snapshots(served), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := served.Swap(first); err != nil {
		t.Fatal(err)
	}
	feed(served, 400, 4000, 100, nil)
	feed(alone, 400, 4000, 100, nil)
	was, want := cuts(first, nil), cuts(model.FitAnew(t.Context(), spec, snapshots(alone), nil))
	if got := cuts(model.Fit(t.Context(), spec, snapshots(served), first)); !slices.Equal(got["[0]"], was["[0]"]) ||
		slices.Equal(was["[0]"], want["[0]"]) {
		t.Fatalf("cuts of age: %v, then %v, anew %v: the test would say nothing", was["[0]"], got["[0]"], want["[0]"])
	}
	if got := cuts(model.FitAnew(t.Context(), spec, snapshots(served), first)); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("made anew beside a serving model: %v, without one: %v", got, want)
	}
}

// TestEqualRowsOfOtherWeightsHaveNoOrder: rows of a file that differ in their weights alone may come in any order.
func TestEqualRowsOfOtherWeightsHaveNoOrder(t *testing.T) {
	spec := newSpec(nil)
	evidence := func(turn bool) *model.Evidence {
		b := rows(0, 60)
		for i := range b.N { // three of each
			for f := range b.Columns {
				if c := &b.Columns[f]; c.Float != nil {
					c.Float[i] = c.Float[i/3*3]
				} else {
					c.Code[i] = c.Code[i/3*3]
				}
			}
			b.Label[i] = b.Label[i/3*3]
			k := i % 3
			if turn {
				k = 2 - k
			}
			b.Weight = append(b.Weight, float64(1+k))
		}
		builder := model.NewBuilder(spec)
		builder.Add(b)
		return builder.Exchangeable()
	}
	a, b := evidence(false), evidence(true)
	if !slices.Equal(a.Weight, b.Weight) || !slices.Equal(a.Class, b.Class) {
		t.Errorf("weights %v, the other way round %v", a.Weight, b.Weight)
	}
}
