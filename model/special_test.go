package model

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"liftstream/model/wire"
)

func specialSchema(codes ...float64) *Schema {
	return &Schema{Features: []Feature{{Name: "score", Special: codes}, {Name: "job", Kind: Nominal}},
		Classes: []string{"no", "yes"}, Positive: 1}
}

// TestSpecialCodesAreCoded: a code becomes its cell, and no value of an input that is no number does.
func TestSpecialCodesAreCoded(t *testing.T) {
	s := specialSchema(-999, -888, 0)
	values := []float64{-999, 640, math.Copysign(0, -1), math.Inf(1), math.NaN(), SpecialCell(1), -998.5, -888}
	want := []int{0, -1, 2, -1, -1, -1, -1, 1}
	jobs := Column{Code: make([]uint32, len(values)), Levels: []string{"x"}}
	b := &Batch{N: len(values), Columns: []Column{{Float: values}, jobs}}
	c := newCoder(s)
	c.start(b)
	for i, v := range values {
		c.code(NewLevels(s), b, i)
		if got := SpecialOf(c.row[0]); got != want[i] {
			t.Errorf("%v is code %d, want %d", v, got, want[i])
		}
		if back := s.Features[0].Number(c.row[0]); want[i] >= 0 && back != v {
			t.Errorf("the cell of %v is the number %v", v, back)
		}
		if number := v == 640 || v == -998.5; Missing(c.row[0]) == number {
			t.Errorf("%v is %v", v, c.row[0])
		}
	}
	if allMissing(s, Row{SpecialCell(0), math.NaN()}) || !allMissing(s, Row{math.NaN(), math.NaN()}) {
		t.Error("a special code is no value, or nothing is one")
	}
}

// TestSpecialCodesAreApartWithoutAnOrder: evidence without an order tells codes apart, however its rows came.
func TestSpecialCodesAreApartWithoutAnOrder(t *testing.T) {
	s := specialSchema(-999, -888)
	order := []float64{SpecialCell(1), 5, SpecialCell(0), math.NaN(), SpecialCell(1)}
	var first []float64
	for range order {
		order = append(order[1:], order[0])
		e := newEvidence(s, NewLevels(s), 1)
		for i, v := range order {
			e.add(&record{Example: Example{Row: Row{v, math.NaN()}, Weight: 1, Clock: float64(i)}}, 1, 0, nil)
		}
		got := e.exchangeable().Columns[0]
		if first == nil {
			first = got
		}
		if !slices.EqualFunc(got, first, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Errorf("%v, and %v in another order", got, first)
		}
	}
}

func TestSchemaOfSpecialCodes(t *testing.T) {
	s := specialSchema(-999, -888)
	s.Features[0].Cuts, s.Features[0].Least = []float64{18, 25}, .05
	b := s.AppendBinary(nil)
	got, err := DecodeSchema(wire.NewReader(b))
	if err != nil || !slices.Equal(got.Features[0].Special, []float64{-999, -888}) || got.Features[0].Kind != Continuous ||
		!slices.Equal(got.Features[0].Cuts, []float64{18, 25}) || got.Features[0].Least != .05 ||
		got.Features[1].Special != nil || got.Features[1].Kind != Nominal {
		t.Fatalf("%+v, %v", got, err)
	}
	if !bytes.Equal(got.AppendBinary(nil), b) {
		t.Error("decoding and encoding again gives other bytes")
	}
	hostile := map[string]Feature{
		"codes of a nominal feature": {Name: "x", Kind: Nominal, Special: []float64{1}},
		"codes out of order":         {Name: "x", Special: []float64{2, 1}},
		"the same code twice":        {Name: "x", Special: []float64{1, 1}},
		"a code that is no number":   {Name: "x", Special: []float64{math.NaN()}},
		"too many codes":             {Name: "x", Special: make([]float64, MaxSpecial+1)},
		"cuts out of order":          {Name: "x", Cuts: []float64{2, 2}},
		"a share of 1":               {Name: "x", Least: 1},
		"a share of levels":          {Name: "x", Kind: Nominal, Least: .1},
	}
	for name, f := range hostile {
		x := *s
		x.Features = []Feature{f}
		if _, err := DecodeSchema(wire.NewReader(x.AppendBinary(nil))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.foreign(specialSchema(-999)); !errors.Is(err, ErrModelForeign) {
		t.Errorf("a model of other codes: %v", err)
	}
}

// TestChangeOfSpecialCodes: a feature whose codes change begins anew, as one whose direction changes; its rows too.
func TestChangeOfSpecialCodes(t *testing.T) {
	for _, x := range []struct {
		from, to []float64
		want     int
	}{{[]float64{-999}, []float64{-999}, 0}, {nil, []float64{-999}, -1}, {[]float64{-999}, nil, -1},
		{[]float64{-999}, []float64{-999, -888}, -1}} {
		c, err := Relate(specialSchema(x.from...), specialSchema(x.to...))
		if err != nil || c.Feature[0] != x.want || c.Feature[1] != 1 {
			t.Errorf("from %v to %v: %v, %v", x.from, x.to, c, err)
		}
		row := c.Row(Row{SpecialCell(0), 0}, nil)
		if want := x.want; SpecialOf(row[0]) != want {
			t.Errorf("from %v to %v: the code %v", x.from, x.to, SpecialOf(row[0]))
		}
	}
}
