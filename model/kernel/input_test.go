package kernel

import "testing"

// TestCurvesAreAnInputWhereTheyAreAskedFor: a sum of curves lies in the span of a scorecard of cells, so a stream in
// which features do not act together gets no input unless it is asked for; files, and a kernel by itself, get it.
func TestCurvesAreAnInputWhereTheyAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		input  Input
		stream bool
		want   int
	}{
		{Auto, true, 0}, {Auto, false, 1}, {Either, true, 1}, {Either, false, 1}, {Sum, true, 1}, {Sum, false, 1},
	} {
		ev := drawn(600, 3, 1, 3, func(x []float64) float64 { return .5 + .4*x[0] })
		ev.Exchangeable = !c.stream
		o := Default()
		o.Input = c.input
		f := New(o, ev.Schema)
		b, err := f.Fit(t.Context(), ev, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := DecodePart(ev.Schema, b)
		if err != nil {
			t.Fatal(err)
		}
		if p.product != nil || len(p.Weights) == 0 {
			t.Errorf("input %d, stream %v: product %v, weights %v", c.input, c.stream, p.product != nil, p.Weights)
		}
		k := f.New(nil).(*Component)
		k.set(b, p)
		if n := k.InputCount(); n != c.want || len(k.InputKeys(nil)) != c.want {
			t.Errorf("input %d, stream %v: %d inputs, want %d", c.input, c.stream, n, c.want)
		}
	}
}
