package local

import (
	"context"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/wire"
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
	ev.States = model.HeldStates(map[int32][]byte{0: c.AppendState(nil)})
	ev.Recodes, ev.Models = map[int32]model.Recode{0: nil},
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

// TestSecondFormat: a state and a part of the second format, which has the correlations of all features, answer as they
// do in today's.
func TestSecondFormat(t *testing.T) {
	s := modeltest.Schema()
	_, part, state := modeltest.ReadGolden(t, s, "testdata/format-2.gz")
	component := func() *Component { return &Component{schema: s} }
	pairs := [2][2]*Component{{component(), component()}, {component(), component()}}
	p, err := DecodePart(s, part)
	if err != nil {
		t.Fatal(err)
	}
	for _, load := range []func() error{
		func() error { return pairs[0][0].Rebase(&model.Rebase{Part: part}) },
		func() error { return pairs[0][1].Rebase(&model.Rebase{Part: p.appendBinary(nil)}) },
		func() error { return pairs[1][0].LoadState(state) },
		func() error { return pairs[1][1].LoadState(pairs[1][0].AppendState(nil)) },
	} {
		if err := load(); err != nil {
			t.Fatal(err)
		}
	}
	_, ex := modeltest.Generate(s, 300, 7)
	selected := 0
	for i := range ex {
		for _, pair := range pairs {
			features, scores := pair[0].Select(ex[i].Row, nil, nil)
			f, v := pair[1].Select(ex[i].Row, nil, nil)
			if selected += len(f); !slices.Equal(f, features) || !slices.Equal(v, scores) {
				t.Fatalf("record %d: %v %v, and %v %v in today's format", i, features, scores, f, v)
			}
			a, b := make([]float64, 3), make([]float64, 3)
			pair[0].Inputs(ex[i].Row, a)
			if pair[1].Inputs(ex[i].Row, b); !slices.Equal(a, b) {
				t.Fatalf("record %d: inputs %v, and %v in today's format", i, a, b)
			}
		}
	}
	if selected < 600 {
		t.Errorf("%d features are selected", selected)
	}
}

// TestCorrelationsNameEachFeatureOnce: in ascending order, each of the schema, with one number for each pair.
func TestCorrelationsNameEachFeatureOnce(t *testing.T) {
	for _, c := range []struct {
		name     string
		features []int32
		pairs    int
		good     bool
	}{
		{"none", nil, 0, true}, {"one", []int32{4}, 0, true}, {"three", []int32{0, 2, 4}, 3, true},
		{"one twice", []int32{0, 2, 2}, 3, false}, {"another order", []int32{0, 4, 2}, 3, false},
		{"below the first", []int32{-1, 2, 4}, 3, false}, {"beyond the last", []int32{0, 2, 5}, 3, false},
		{"too few pairs", []int32{0, 2, 4}, 2, false}, {"too many pairs", []int32{0, 2, 4}, 4, false},
	} {
		half := make([]float64, c.pairs)
		for i := range half {
			half[i] = float64(i+1) / 8
		}
		r := wire.NewReader(appendSingles(wire.AppendInts(nil, c.features), half))
		rho := decodeCorrelation(r, 5, partFormat)
		if (r.Err() == nil) != c.good {
			t.Errorf("%s: %v", c.name, r.Err())
		}
		if c.good && c.pairs == 3 && (rho.of(0, 2) != .125 || rho.of(4, 0) != .25 || rho.of(2, 4) != .375) {
			t.Errorf("%s: %v %v %v", c.name, rho.of(0, 2), rho.of(4, 0), rho.of(2, 4))
		}
	}
}
