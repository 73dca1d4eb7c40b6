package kernel

import (
	"slices"
	"testing"

	"liftstream/model"
)

// prototype holds the figures of one record in a product.
type prototype struct {
	weights, held []float64
	codes         []uint8
}

func prototypesOf(p *product) (of map[uint64]prototype, order []uint64) {
	of = map[uint64]prototype{}
	for i, key := range p.key {
		x := prototype{weights: slices.Clone(p.weights[i*p.margins : (i+1)*p.margins]),
			held: slices.Clone(p.held[i*p.margins : (i+1)*p.margins])}
		for k := range p.columns {
			x.codes = append(x.codes, p.columns[k].code[i])
		}
		of[key], order = x, append(order, key)
	}
	return of, order
}

// TestRecordsBesideAForgottenOneStay: each keeps its weights, its values, and the score that it had when it was held
// out, in the component and in the bytes of its part. Once all are forgotten the product says nothing.
func TestRecordsBesideAForgottenOneStay(t *testing.T) {
	c := served(t, generated(400), Product)
	before, order := prototypesOf(c.product)
	var gone []uint64
	for i := 0; i < len(order); i += 3 {
		gone = append(gone, order[i])
	}
	if found := c.Forget(append(gone, 1, 2)); found != len(gone) || found == 0 {
		t.Fatalf("%d records are forgotten, want %d", found, len(gone))
	}
	if found := c.Forget(gone); found != 0 {
		t.Errorf("%d records are forgotten twice", found)
	}
	part, err := DecodePart(c.schema, c.part)
	if err != nil {
		t.Fatal(err)
	}
	order = slices.DeleteFunc(order, func(k uint64) bool { return slices.Contains(gone, k) })
	for name, p := range map[string]*product{"component": c.product, "part": part.product} {
		after, left := prototypesOf(p)
		if !slices.Equal(left, order) {
			t.Fatalf("%s: other records are left", name)
		}
		for key, got := range after {
			was := before[key]
			if !slices.Equal(got.weights, was.weights) || !slices.Equal(got.held, was.held) ||
				!slices.Equal(got.codes, was.codes) {
				t.Fatalf("%s: record %x is %+v, and was %+v", name, key, got, was)
			}
		}
	}
	if found := c.Forget(order); found != len(order) {
		t.Errorf("%d of the last %d records are forgotten", found, len(order))
	}
	dst := make([]float64, len(c.schema.Classes))
	c.Inputs(make(model.Row, len(c.schema.Features)), dst)
	for y, v := range dst {
		if v != 0 {
			t.Errorf("without a record the product says %v of class %d", v, y)
		}
	}
}
