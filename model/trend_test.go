package model

import (
	"math"
	"slices"
	"testing"

	"liftstream/model/wire"
)

// trendTable is n records of up to distinct values, with the sides drawn at the rates that rate gives them.
func trendTable(seed uint64, n, distinct int, rate func(x float64) float64) (values, weights []float64, side []bool) {
	u := func(i, k int) float64 { return float64(Hash(seed, uint64(i), uint64(k))>>11) / (1 << 53) }
	for i := range n {
		x := math.Floor(u(i, 0)*float64(distinct)) / float64(distinct)
		side = append(side, u(i, 1) < rate(x))
		if u(i, 2) < .05 {
			x = math.NaN()
		}
		values, weights = append(values, x), append(weights, 1+math.Floor(3*u(i, 3)))
	}
	return values, weights, side
}

// informationOf is the information value of the cells between cuts by the plain formula; ok is false where a cell has
// less than its share or one side alone, or the rates do not rise (fall).
func informationOf(cuts, values, weights []float64, side []bool, least float64, falls bool) (iv float64, ok bool) {
	var n [2]float64
	cells := make([][2]float64, len(cuts)+1)
	for i, v := range values {
		k := 0
		if side[i] {
			k = 1
		}
		if v == v {
			n[k] += weights[i]
			cells[CellOf(cuts, v)][k] += weights[i]
		}
	}
	last := math.Inf(-1)
	for _, c := range cells {
		p, q, rate := c[1]/n[1], c[0]/n[0], c[1]/(c[0]+c[1])
		if falls {
			rate = -rate
		}
		if !(p > 0 && q > 0 && c[0]+c[1] >= least*(n[0]+n[1]) && rate > last) {
			return 0, false
		}
		iv, last = iv+(p-q)*math.Log(p/q), rate
	}
	return iv, true
}

// TestCellsInTrendAreTheBest of all choices among the fine cells, up to ten of which every subset is tried.
func TestCellsInTrendAreTheBest(t *testing.T) {
	rates := []func(x float64) float64{
		func(x float64) float64 { return .1 + .6*x },
		func(x float64) float64 { return .8 - .5*x*x },
		func(x float64) float64 { return .3 + .3*math.Sin(7*x) },
		func(float64) float64 { return .3 },
		func(x float64) float64 { return math.Floor(2 * x) },
	}
	several := 0
	for seed := range uint64(40) {
		rate, least := rates[seed%5], []float64{.01, .05, .2, .4}[seed/5%4]
		values, weights, side := trendTable(seed, 60+int(seed)*10, 4+int(seed%7), rate)
		fine := fineCuts(values, weights)
		best := map[Direction]float64{}
		for mask := range 1 << len(fine) {
			var cuts []float64
			for k, v := range fine {
				if mask>>k&1 == 1 {
					cuts = append(cuts, v)
				}
			}
			for d, falls := range map[Direction]bool{Up: false, Down: true} {
				if iv, ok := informationOf(cuts, values, weights, side, least, falls); ok {
					best[d], best[Auto] = max(best[d], iv), max(best[Auto], iv)
				}
			}
		}
		for d, want := range best {
			cuts := OptimalCuts(values, weights, func(i int) bool { return side[i] }, least, d)
			up, rises := informationOf(cuts, values, weights, side, least, false)
			down, falls := informationOf(cuts, values, weights, side, least, true)
			got := up
			if d == Down || d == Auto && falls && down > up {
				got, rises = down, falls
			}
			if !(math.Abs(got-want) < 1e-12) || !rises {
				t.Errorf("seed %d, direction %v, least %v: cuts %v have %v, in trend %v; the best has %v", seed, d, least, cuts,
					got, rises, want)
			}
			if len(cuts) > 0 {
				several++
			}
		}
	}
	if several < 60 {
		t.Errorf("only %d answers have more than one cell", several)
	}
}

// TestCellsInTrendOfNoise: where nothing is to be told the cells are few and tell about nothing; the fine cells alone
// would have told much more.
func TestCellsInTrendOfNoise(t *testing.T) {
	for seed := range uint64(10) {
		values, weights, side := trendTable(100+seed, 5000, 1<<20, func(float64) float64 { return .2 })
		cuts := OptimalCuts(values, weights, func(i int) bool { return side[i] }, .05, Auto)
		var iv float64
		for _, falls := range []bool{false, true} {
			x, _ := informationOf(cuts, values, weights, side, 0, falls)
			iv = max(iv, x)
		}
		if len(cuts) > 8 || iv > .03 {
			t.Errorf("seed %d: %d cuts with an information value of %v", seed, len(cuts), iv)
		}
	}
}

// TestCellsInTrendOfPoorRecords: none, one, one side, all missing, and no weight give one cell.
func TestCellsInTrendOfPoorRecords(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values, weights []float64
		side            func(i int) bool
	}{
		{nil, nil, nil}, {[]float64{1}, []float64{1}, func(int) bool { return true }},
		{[]float64{1, 2, 3}, []float64{1, 1, 1}, func(int) bool { return false }},
		{[]float64{nan, nan}, []float64{1, 1}, func(i int) bool { return i == 0 }},
		{[]float64{1, 2}, []float64{0, 0}, func(i int) bool { return i == 0 }},
		{[]float64{5, 5, 5, 5}, []float64{1, 1, 1, 1}, func(i int) bool { return i%2 == 0 }},
	} {
		for _, d := range []Direction{Up, Down, Auto} {
			if cuts := OptimalCuts(c.values, c.weights, c.side, .05, d); len(cuts) > 0 {
				t.Errorf("%v: cuts %v", c.values, cuts)
			}
		}
	}
}

// TestSchemaKeepsTheTrend of its cells, and refuses one without a least share.
func TestSchemaKeepsTheTrend(t *testing.T) {
	s := &Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []Feature{{Name: "a", Least: .05, Trend: Auto},
		{Name: "b", Least: .1}, {Name: "c", Least: .2, Trend: Down, Special: []float64{-1}}, {Name: "d"}}}
	got, err := DecodeSchema(wire.NewReader(s.AppendBinary(nil)))
	if err != nil {
		t.Fatal(err)
	}
	var trends []Direction
	for _, f := range got.Features {
		trends = append(trends, f.Trend)
	}
	if !slices.Equal(trends, []Direction{Auto, Free, Down, Free}) {
		t.Errorf("trends %v", trends)
	}
	s.Features[0].Least = 0
	if _, err := DecodeSchema(wire.NewReader(s.AppendBinary(nil))); err == nil {
		t.Error("a trend without a least share is read")
	}
}

// TestFineCutsShareTheWeight: each fine cut passes a further 64th of the weight, also behind a value that holds half of
// it, and none is left out where values are few.
func TestFineCutsShareTheWeight(t *testing.T) {
	for _, heavy := range []float64{1, 900, 3000} {
		var values, weights []float64
		total := 0.
		for i := range 1000 {
			values, weights = append(values, float64(i*7919%1000)), append(weights, 1)
			if values[i] == 100 {
				weights[i] = heavy
			}
			total += weights[i]
		}
		cuts := fineCuts(values, weights)
		passed := 0.
		for _, c := range cuts {
			below := c + 1 // of the values up to c
			if c >= 100 {
				below += heavy - 1
			}
			if k := math.Floor(below / total * fineCells); k > passed {
				passed = k
			} else {
				t.Errorf("a value of weight %v: the cut at %v passes no further 64th, among %d cuts", heavy, c, len(cuts))
				break
			}
		}
		if least := int(64 * (1000 - 64) / total); len(cuts) < min(least, 60) || len(cuts) > fineCells {
			t.Errorf("a value of weight %v: %d cuts, want %d or more", heavy, len(cuts), least)
		}
	}
	if cuts := fineCuts([]float64{3, 1, 2, 1, math.NaN()}, []float64{1, 1e6, 1, 1, 1}); len(cuts) != 2 {
		t.Errorf("of three values: cuts %v", cuts)
	}
}
