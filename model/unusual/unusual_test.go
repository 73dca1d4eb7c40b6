package unusual

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model"
)

func uniform(seed uint64, at ...uint64) float64 {
	return float64(model.Hash(seed, at...)>>11) / (1 << 53)
}

// world is eight features: normal, skewed with a fifth at 0, whole numbers 0 to 9, a copy of the first with a tenth
// missing, codes, Zipf levels, an ordinal and one of which half is missing.
var world = &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
	{Name: "normal"}, {Name: "skewed"}, {Name: "whole"}, {Name: "copy"}, {Name: "coded", Special: []float64{-999, -888}},
	{Name: "zipf", Kind: model.Nominal}, {Name: "rank", Kind: model.Ordinal, Levels: []string{"a", "b", "c"}},
	{Name: "sparse"}}}

func ordinary(seed, i uint64) model.Row {
	u := func(k uint64) float64 { return uniform(seed, i, k) }
	z := math.Sqrt2 * math.Erfinv(2*u(1)-1)
	row := model.Row{z, max(math.Exp(2*u(2))-1.5, 0), math.Floor(10 * u(3)), 3 * z, 10 * u(4), 0, math.Floor(3 * u(5)),
		u(6)}
	if u(7) < .1 {
		row[3] = math.NaN()
	}
	if u(8) < .3 {
		row[4] = model.SpecialCell(0)
	}
	row[5] = math.Floor(math.Pow(50, u(9))) - 1
	if u(10) < .5 {
		row[7] = math.NaN()
	}
	return row
}

func evidence(s *model.Schema, n int, row func(i uint64) model.Row) *model.Evidence {
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, len(s.Features))}
	for i := range n {
		for f, v := range row(uint64(i)) {
			ev.Columns[f] = append(ev.Columns[f], v)
		}
		ev.Class, ev.Weight = append(ev.Class, int32(i%2)), append(ev.Weight, 1)
		ev.Clock = append(ev.Clock, float64(i))
	}
	return ev
}

func fitted(t *testing.T, share float64, ev *model.Evidence) *Component {
	t.Helper()
	f := New(share, ev.Schema)
	b, err := f.Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(ev.Levels).(*Component)
	if err := c.Rebase(&model.Rebase{Part: b}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOrdinaryRecordsAreSeldomUnusual: over fits of several sizes and seeds the mean share of further records of the
// same law stays within the stated one, and is not idle where records are many.
func TestOrdinaryRecordsAreSeldomUnusual(t *testing.T) {
	for _, c := range []struct {
		n     int
		share float64
		least float64
	}{{100, .01, 0}, {1000, .1, .01}, {4000, .01, .001}, {4000, .05, .01}} {
		called, all := 0, 0
		for seed := range uint64(12) {
			x := fitted(t, c.share, evidence(world, c.n, func(i uint64) model.Row { return ordinary(seed, i) }))
			for i := range uint64(4000) {
				if all++; x.Unusual(ordinary(seed+100, i)) >= 0 {
					called++
				}
			}
		}
		// The share of one fit varies by about share/sqrt(share n), that of twelve by .29 of it.
		got := float64(called) / float64(all)
		if got > c.share || got < c.least {
			t.Errorf("%d records, share %v: %.4f are called unusual", c.n, c.share, got)
		}
	}
}

// TestOutliersAreFound: each planted value outside is named by its feature, and usual values are not.
func TestOutliersAreFound(t *testing.T) {
	x := fitted(t, .01, evidence(world, 8000, func(i uint64) model.Row { return ordinary(1, i) }))
	nan := math.NaN()
	for f, values := range [][]float64{{9, -9}, {50, -.01}, {10, -1, nan}, {40, -40},
		{11, -999, model.SpecialCell(1), nan}, {50, 60, nan}, {3, nan}, {1.5, -.5}} {
		for _, v := range values {
			row := model.Row{0, .1, 4, 0, 5, 1, 1, .5}
			if got := x.Unusual(row); got >= 0 {
				t.Fatalf("an ordinary record is unusual by feature %d", got)
			}
			if row[f] = v; x.Unusual(row) != int32(f) {
				t.Errorf("%s = %v: feature %d is unusual", world.Features[f].Name, v, x.Unusual(row))
			}
		}
	}
	if got := x.Unusual(model.Row{9, .1, 4, 90, 5, 1, 1, .5}); got != 3 {
		t.Errorf("of two features outside %d is the most", got)
	}
	if got := x.Unusual(model.Row{0, .1, 4, nan, model.SpecialCell(0), 1, 1, nan}); got >= 0 {
		t.Errorf("usual missing values and codes are unusual by feature %d", got)
	}
}

// TestBySlowCounts: a value is unusual where the rank of its count among those of the learnt records, by the text of
// METHOD.md, is within the share.
func TestBySlowCounts(t *testing.T) {
	f := &model.Feature{Name: "x", Special: []float64{-1}}
	for seed := range uint64(60) {
		n, share := 5+int(60*uniform(seed, 0)), .05+.5*uniform(seed, 1)
		values := make([]float64, n)
		for i := range values {
			switch v := math.Floor(12 * uniform(seed, 2, uint64(i)) * uniform(seed, 3)); v {
			case 3:
				values[i] = math.NaN()
			case 4:
				values[i] = model.SpecialCell(0)
			default:
				values[i] = v
			}
		}
		kind := func(v float64) string {
			switch {
			case model.SpecialOf(v) >= 0:
				return "code"
			case v != v:
				return "missing"
			}
			return "number"
		}
		c := func(v float64) int {
			same, below, above := 0, 0, 0
			for _, w := range values {
				if kind(v) != kind(w) {
					continue
				}
				same++
				if w <= v {
					below++
				}
				if w >= v {
					above++
				}
			}
			if kind(v) == "number" {
				return min(below, above)
			}
			return same
		}
		u := learn(f, values, share)
		for _, v := range []float64{-5, 0, .5, 1, 2, 2.5, 5, 6, 7, 8, 9, 11, 40, math.NaN(), model.SpecialCell(0)} {
			rank := 1
			for _, w := range values {
				if c(w) <= 1+c(v) {
					rank++
				}
			}
			want := float64(rank) <= share*float64(n+1)
			if got := u.outside(f, v) > 0; got != want {
				t.Errorf("seed %d, %d values, share %.3f: %v is unusual %v, its count is %d and its rank %d", seed, n, share, v,
					got, c(v), rank)
			}
		}
	}
}

// TestOfTooFewOrNoRecordsNothingIsSaid, nor of features that are not scored, nor before the first model.
func TestOfTooFewOrNoRecordsNothingIsSaid(t *testing.T) {
	s := &model.Schema{Classes: world.Classes, Features: []model.Feature{{Name: "a"}, {Name: "b", Use: model.UseReport}}}
	far := model.Row{1e9, 1e9}
	for _, n := range []int{0, 1, 150, 400} {
		ev := evidence(s, n, func(i uint64) model.Row { return model.Row{uniform(1, i), uniform(2, i)} })
		want := int32(-1)
		if n == 400 {
			want = 0
		}
		if got := fitted(t, .01, ev).Unusual(far); got != want {
			t.Errorf("%d records: feature %d", n, got)
		}
		if n == 400 {
			clear(ev.Weight)
			if got := fitted(t, .01, ev).Unusual(far); got >= 0 {
				t.Error("records without weight are learnt")
			}
		}
	}
	if got := (&Component{schema: s}).Unusual(far); got >= 0 {
		t.Error("an empty component calls a record unusual")
	}
}

// TestManyLevelsTakeNothingFromOthers: a feature of which most levels are new, such as a number of the customer, is
// never unusual, and hides no other one.
func TestManyLevelsTakeNothingFromOthers(t *testing.T) {
	s := &model.Schema{Classes: world.Classes, Features: []model.Feature{{Name: "a"}, {Name: "key", Kind: model.Nominal}}}
	x := fitted(t, .01, evidence(s, 2000, func(i uint64) model.Row { return model.Row{uniform(1, i), float64(i)} }))
	if got := fmt.Sprint(x.Unusual(model.Row{.5, 9999}), x.Unusual(model.Row{7, 9999})); got != "-1 0" {
		t.Error(got)
	}
}
