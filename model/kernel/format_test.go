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
	o := Default()
	o.Triples, o.Gamma1, o.Gamma2 = 100, 1, 1
	b, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
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

// TestSmallestNumbers: where all values are so near 0 that the nodes of a curve would be no numbers, there is none.
func TestSmallestNumbers(t *testing.T) {
	ev := generated(1500)
	column := make([]float64, ev.Len())
	for i := range column {
		column[i] = (float64(ev.Class[i]) + float64(i%10)/10) * 5e-320
	}
	ev.Columns = slices.Clone(ev.Columns)
	ev.Columns[0] = column
	o := Default()
	o.Gamma1, o.Gamma2 = .3, .1
	p := fitted(t, t.Context(), o, ev, nil)
	if slices.ContainsFunc(p.curves, func(c curve) bool { return c.feature == 0 }) {
		t.Error("there is a curve")
	}
}

// TestLowestNumber: the lowest of all numbers is what some write for a missing one. Rounding must not take a curve
// beyond it.
func TestLowestNumber(t *testing.T) {
	ev := generated(1500)
	rows := make([]int32, ev.Len())
	total := make([]float64, len(ev.Schema.Classes))
	column, weight := make([]float64, ev.Len()), make([]float64, ev.Len())
	for i := range rows {
		rows[i], weight[i] = int32(i), 1
		total[ev.Class[i]]++
	}
	ev.Columns, ev.Weight = [][]float64{column}, weight
	for n := range 500 {
		column[n] = -math.MaxFloat64
		a := newAxis(&ev.Schema.Features[0], column, weight, rows)
		c := tabulate(ev, 0, &a, []Base{{Shape: Gaussian, Width: 1}}, []float64{1}, total)
		if math.IsInf(c.lo, 0) || !(c.per > 0) {
			t.Errorf("of %d numbers %d are the lowest: the curve begins at %v, with %v nodes a unit", len(rows), n+1, c.lo, c.per)
		}
	}
}
