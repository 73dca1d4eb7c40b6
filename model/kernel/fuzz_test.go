package kernel

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func FuzzDecodePart(f *testing.F) {
	ev := generated(300)
	o := curvesOnly()
	o.Triples, o.Gamma1, o.Gamma2 = 100, 1, 1
	b, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
	few := generated(60)
	o.Input = Product
	product, err := New(o, few.Schema).Fit(context.Background(), few, nil)
	if err != nil {
		f.Fatal(err)
	}
	o.Input, o.Full = Auto, true
	whole, err := New(o, few.Schema).Fit(context.Background(), few, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(product)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Component{schema: ev.Schema}
		if c.LoadState(b) != nil {
			return
		}
		row, dst := make(model.Row, len(ev.Columns)), make([]float64, len(ev.Schema.Classes))
		for _, i := range []int{0, 7, 299} {
			ev.Row(i, row)
			c.Inputs(row, dst)
		}
		for f := range row {
			row[f] = math.MaxFloat64
		}
		c.Inputs(row, dst)
		if again := c.AppendState(nil); !slices.Equal(again, b) {
			t.Error("the state changes when it is loaded")
		}
	})
}
