package portable

import (
	"math"
	"testing"
)

// TestEffectsOfAFeature: each value in its order, with the effect of the mixture at both ends of a piece.
func TestEffectsOfAFeature(t *testing.T) {
	two, nan := 2., math.NaN()
	c := &Card{Margins: []Margin{{Share: .25}, {Share: .5}}}
	number := Feature{Name: "n", Missing: []float64{0, 1}, Special: []Code{{-9, 4, []float64{4, 0}}}, Pieces: []Piece{
		{End: &two, Records: 7, Origin: 3, Constant: []float64{0, 2}, Slope: []float64{0, 0}},
		{End: &two, Closed: true, Records: 2, Origin: 2, Constant: []float64{4, 4}, Slope: []float64{0, 0}},
		{Records: 5, Origin: 2, Constant: []float64{0, 0}, Slope: []float64{4, 0}}}}
	level := Feature{Name: "l", Kind: "nominal", Missing: []float64{0, 0}, Levels: []Level{{"x", 3, []float64{4, 0}},
		{"unseen", 0, []float64{0, 0}}}}
	for _, x := range []struct {
		f    Feature
		want []Effect
	}{{number, []Effect{{"up to 2", 7, 1, 1, nan, 2}, {"2", 2, 3, 3, 2, 2}, {"above 2", 5, 0, 0, 2, nan},
		{"-9 (special)", 4, 1, 1, nan, nan}, {"(missing)", nan, .5, .5, nan, nan}}},
		{level, []Effect{{"x", 3, 1, 1, nan, nan}, {"(missing)", nan, 0, 0, nan, nan}}}} {
		got := c.Effects(&x.f)
		if len(got) != len(x.want) {
			t.Fatalf("%s: %+v", x.f.Name, got)
		}
		for i, w := range x.want {
			g := got[i]
			same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
			if g.Cell != w.Cell || !same(g.Records, w.Records) || !same(g.Low, w.Low) || !same(g.High, w.High) ||
				!same(g.From, w.From) || !same(g.To, w.To) {
				t.Errorf("%s: row %d is %+v, want %+v", x.f.Name, i, g, w)
			}
		}
	}
	if p := (&Points{Base: 600, Odds: 50, PDO: 20}).Of(math.Ln2); math.Abs(p-20) > 1e-12 {
		t.Errorf("a doubling of the odds has %v points", p)
	}
}
