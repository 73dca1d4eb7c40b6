package kernel

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestCurves compares the tabulated input with the mean similarities, computed pair by pair.
func TestCurves(t *testing.T) {
	ev := generated(1500)
	o := curvesOnly()
	o.Gamma1, o.Gamma2 = .3, .1
	p := fitted(t, t.Context(), o, ev, nil)
	rows := make([]int32, ev.Len())
	total := make([]float64, len(ev.Schema.Classes))
	all := 0.0
	for i := range rows {
		rows[i] = int32(i)
		total[ev.Class[i]] += ev.Weight[i]
		all += ev.Weight[i]
	}
	axes := make([]axis, len(ev.Schema.Features))
	for f := range axes {
		axes[f] = newAxis(&ev.Schema.Features[f], ev.Columns[f], ev.Weight, rows)
	}
	pts := standardise(ev, axes)
	size, kinds := 0.0, map[model.Kind]bool{}
	for _, w := range p.Weights {
		size += w.Alpha
		kinds[ev.Schema.Features[w.Base.A].Kind] = true
	}
	if len(kinds) < 3 {
		t.Fatalf("the weights are on features of kinds %v only: %+v", kinds, p.Weights)
	}
	c := &Component{schema: ev.Schema}
	c.set(nil, p)
	row := make(model.Row, len(ev.Columns))
	got := make([]float64, len(total))
	worst, without := 0.0, 0.0
	for i := 0; i < ev.Len(); i += 50 {
		ev.Row(i, row)
		c.Inputs(row, got)
		mean := make([]float64, len(total))
		for j := range rows {
			s := 0.0
			for _, w := range p.Weights {
				s += w.Alpha * w.Base.value(pts, i, j)
			}
			mean[ev.Class[j]] += s * ev.Weight[j] / total[ev.Class[j]]
		}
		centre := 0.0
		for y, m := range mean {
			centre += m * total[y] / all
		}
		for y, m := range mean {
			worst = max(worst, math.Abs(got[y]-p.Beta*(m-centre)))
		}
		// The record's own similarity, that of a value to itself in every kernel, is taken off its class.
		own := ev.Class[i]
		mean[own] -= size * ev.Weight[i] / total[own]
		centre -= size * ev.Weight[i] / all
		c.InputsWithout(&model.Example{Row: row, Class: own, Weight: ev.Weight[i]}, got)
		for y, m := range mean {
			without = max(without, math.Abs(got[y]-p.Beta*(m-centre)))
		}
	}
	// Interpolation is off by at most curveError at the record, and by as much from spreading the others over nodes.
	if worst > 2*curveError*size*p.Beta {
		t.Errorf("the curves are off by %v of weights %v at beta %v", worst, size, p.Beta)
	}
	if without > 2*curveError*size*p.Beta {
		t.Errorf("without the record the curves are off by %v", without)
	}
	t.Logf("off by %.2g, weights %.3g, beta %.3g", worst, size, p.Beta)
}

// TestTextBesideTheLevels: the fit and the scores take text beside the levels of an ordinal feature for a missing
// value, and not for a level above the highest.
func TestTextBesideTheLevels(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "size", Kind: model.Ordinal, Levels: []string{"s", "m", "l"}}},
		Classes: []string{"no", "yes"}, Positive: 1}
	of := func(beside float64) *model.Evidence {
		const n = 600
		ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: [][]float64{make([]float64, n)},
			Class: make([]int32, n), Weight: make([]float64, n)}
		for i := range n {
			v := float64(i % 4)
			// The levels rise with the class; the fourth kind of text goes with the lower one.
			if ev.Weight[i] = 1; i%7 < int(v)*2 && v < 3 || v == 3 && i%7 == 0 {
				ev.Class[i] = 1
			}
			if v == 3 {
				v = beside
			}
			ev.Columns[0][i] = v
		}
		return ev
	}
	o := curvesOnly()
	o.Gamma1, o.Gamma2 = .3, .1
	missing := fitted(t, t.Context(), o, of(math.NaN()), nil)
	beside := fitted(t, t.Context(), o, of(3), nil)
	if len(missing.curves) != 1 || !slices.Equal(missing.appendBinary(nil), beside.appendBinary(nil)) {
		t.Errorf("%d curves; text beside the levels gives another kernel than missing values", len(missing.curves))
	}
	want, got := make([]float64, 2), make([]float64, 2)
	c := &Component{schema: s, curves: missing.curves}
	c.Inputs(model.Row{math.NaN()}, want)
	c.Inputs(model.Row{3}, got)
	if !slices.Equal(got, want) || want[0] == 0 {
		t.Errorf("inputs of text beside the levels %v, of a missing value %v", got, want)
	}
}

func TestMissingAndLevels(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		b    Base
		x, y float64
		want float64
	}{
		{Base{Shape: Gaussian, Width: 2}, 1, 2, math.Exp(-2)},
		{Base{Shape: Gaussian, Width: 2}, nan, 2, 0},
		{Base{Shape: Gaussian, Width: 2}, nan, nan, 1},
		{Base{Shape: Delta}, 3, 3, 1},
		{Base{Shape: Delta}, 3, 4, 0},
		{Base{Shape: Delta}, nan, 4, 0},
		{Base{Shape: Delta}, nan, nan, 1},
		{Base{Shape: Triangular, Width: .5}, 1, 2, .5},
		{Base{Shape: Triangular, Width: .5}, 1, 4, 0},
		{Base{Shape: Linear}, 3, -2, -6},
		{Base{Shape: Linear}, nan, nan, 0},
		{Base{Shape: Polynomial}, 3, -2, 25},
	} {
		if got := c.b.between(c.x, c.y); got != c.want {
			t.Errorf("%v of %v and %v is %v, want %v", c.b, c.x, c.y, got, c.want)
		}
	}
}

// TestSmallestNumbers: where all values are so near 0 that the nodes of a curve would be no numbers, there is no curve.
func TestSmallestNumbers(t *testing.T) {
	ev := generated(1500)
	column := make([]float64, ev.Len())
	for i := range column {
		column[i] = (float64(ev.Class[i]) + float64(i%10)/10) * 5e-320
	}
	ev.Columns = slices.Clone(ev.Columns)
	ev.Columns[0] = column
	o := curvesOnly()
	o.Gamma1, o.Gamma2 = .3, .1
	p := fitted(t, t.Context(), o, ev, nil)
	if slices.ContainsFunc(p.curves, func(c curve) bool { return c.feature == 0 }) {
		t.Error("there is a curve")
	}
}

// TestLowestNumber: some programs write the lowest of all numbers for a missing one. Rounding must not take a curve
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
			t.Errorf("of %d numbers %d are the lowest: the curve begins at %v, with %v nodes a unit", len(rows), n+1, c.lo,
				c.per)
		}
	}
}
