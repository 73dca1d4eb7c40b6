package local

import (
	"context"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestFirstFormat: a state and a part of the first format still serve, with empty subspaces until the next fit, which
// writes today's format.
func TestFirstFormat(t *testing.T) {
	s := modeltest.Schema()
	levels, part, state := modeltest.ReadGolden(t, s, "testdata/format-1.gz")
	c := &Component{schema: s}
	if err := c.LoadState(state); err != nil {
		t.Fatal(err)
	}
	_, ex := modeltest.Generate(s, 600, 7)
	in := make([]float64, 3)
	said := 0
	for i := range ex {
		if c.Inputs(ex[i].Row, in); in[0] != 0 {
			said++
		}
		if features, _ := c.Select(ex[i].Row, nil, nil); len(features) > 0 {
			t.Fatalf("record %d: subspace %v before the next fit", i, features)
		}
		c.Learn(&ex[i])
	}
	if said < 500 {
		t.Errorf("%d records have an answer", said)
	}
	for j, g := range c.own {
		for y, w := range g.weights() {
			if g.total[y] > 0 && !(w > .9 && w < 3.1) { // the weights of the records learnt since
				t.Errorf("feature %d: a record of class %d weighs %v", j, y, w)
			}
		}
	}
	again := &Component{schema: s}
	if err := again.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	ev := modeltest.Evidence(s, levels, ex)
	ev.States, ev.Recodes, ev.Models = model.HeldStates(map[int32][]byte{0: c.AppendState(nil)}), map[int32]model.Recode{0: nil},
		map[int32]int64{0: 1}
	next, err := New(Options{Theta: Auto, Prototypes: 60, Neighbours: 3}, s).Fit(context.Background(), ev, part)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Rebase(&model.Rebase{Part: next}); err != nil {
		t.Fatal(err)
	}
	published := 0
	for i := range ex {
		if features, _ := again.Select(ex[i].Row, nil, nil); len(features) > 0 {
			published++
		}
	}
	if published < 100 {
		t.Errorf("%d records have a subspace", published)
	}
}
