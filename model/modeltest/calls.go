package modeltest

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"liftstream/model"
)

func state(c model.Component) []byte { return c.AppendState(nil) }

func learn(c model.Component, ex []model.Example) {
	for i := range ex {
		c.Learn(&ex[i])
	}
}

func testEmpty(t *testing.T, x *fixture) {
	c := x.factory.New(x.levels)
	if c.InputCount() != 0 {
		t.Errorf("offers %d inputs before the first Rebase", c.InputCount())
	}
	learn(c, x.examples[:3])
	d := x.factory.New(x.levels)
	if err := d.LoadState(state(c)); err != nil {
		t.Fatalf("loading the state of an empty component: %v", err)
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("an empty component's state does not survive")
	}
}

func testInputKept(t *testing.T, x *fixture) {
	c, d := x.live(t, x.part, 0, nil), x.live(t, x.part, 0, nil)
	scratch := make(model.Row, len(x.Schema.Features))
	for i := range x.examples {
		ex := x.examples[i]
		copy(scratch, ex.Row)
		ex.Row = scratch
		before := fmt.Sprint(ex)
		c.Learn(&ex)
		if after := fmt.Sprint(ex); after != before {
			t.Fatalf("record %d: %s became %s", i, before, after)
		}
		for f := range scratch {
			scratch[f] = math.NaN()
		}
		d.Learn(&x.examples[i])
	}
	if !bytes.Equal(state(c), state(d)) {
		t.Error("a row that is reused after the call changes the state: it was kept by reference")
	}
}

func testWeightless(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples[:100])
	before := state(c)
	for _, ex := range x.examples[100:200] {
		ex.Weight = 0
		c.Learn(&ex)
		c.Retract(&ex)
	}
	if !bytes.Equal(state(c), before) {
		t.Error("records of weight zero change the state")
	}
}

func testSameBytes(t *testing.T, x *fixture) {
	c, d := x.live(t, x.part, 0, nil), x.live(t, x.part, 0, nil)
	for _, o := range []model.Component{c, d} {
		for i := range x.examples {
			o.Learn(&x.examples[i])
		}
	}
	if !bytes.Equal(state(c), state(d)) {
		t.Error("the same calls give different states")
	}
	prefix := []byte("prefix")
	if b := c.AppendState(prefix); !bytes.HasPrefix(b, prefix) || !bytes.Equal(b[len(prefix):], state(c)) {
		t.Error("AppendState does not append")
	}
}

func testPure(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	before := state(c)
	row := make(model.Row, len(x.Schema.Features))
	for i := range row {
		row[i] = math.NaN()
	}
	for _, ex := range append([]model.Example{{Row: row}}, x.examples...) {
		a, b := x.inputs(c, ex.Row), x.inputs(c, ex.Row)
		for i, v := range a {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("input %d is %v", i, v)
			}
			if v != b[i] {
				t.Fatalf("input %d is %v, then %v", i, v, b[i])
			}
		}
	}
	if !bytes.Equal(before, state(c)) {
		t.Error("Inputs changes the state")
	}
}

func testSnapshot(t *testing.T, x *fixture) {
	half := len(x.examples) / 2
	c := x.live(t, x.part, 0, x.examples[:half])
	d := x.factory.New(x.levels)
	if err := d.LoadState(state(c)); err != nil {
		t.Fatalf("loading: %v", err)
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("a restored state is another")
	}
	x.same(t, "restored", d, c, 0)
	for i := range x.examples[half:] {
		c.Learn(&x.examples[half+i])
		d.Learn(&x.examples[half+i])
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("a restored component learns otherwise")
	}
	// The state of before replaces a later one, too.
	e := x.live(t, x.part, 0, x.examples)
	if err := e.LoadState(state(c)); err != nil {
		t.Fatalf("loading: %v", err)
	}
	if !bytes.Equal(state(e), state(c)) {
		t.Error("LoadState leaves something of what was there")
	}
}

func testRetract(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	c := x.live(t, x.part, 0, x.examples[:300])
	before := state(c)
	learn(c, x.examples[300:])
	if bytes.Equal(before, state(c)) {
		t.Fatal("Learn changes nothing")
	}
	for i := range x.examples[300:] {
		c.Retract(&x.examples[300+i])
	}
	if !bytes.Equal(before, state(c)) {
		t.Error("Learn and Retract of integer weights leave a trace")
	}
}
