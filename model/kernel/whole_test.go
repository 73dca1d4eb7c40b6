package kernel

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// whole returns a component of kernels over all features.
func whole(t testing.TB, ev *model.Evidence, shape Shape, widths ...float64) *Component {
	t.Helper()
	o := Default()
	o.Gamma1, o.Gamma2, o.Triples, o.Full, o.Shape = .1, .1, 300, true, shape
	if len(widths) > 0 {
		o.Widths = widths
	}
	c := &Component{schema: ev.Schema}
	p := fitted(t, t.Context(), o, ev, nil)
	c.set(p.appendBinary(nil), p)
	return c
}

// TestWholeOfPlantedTruth: inside or outside of a circle is told by the Gaussian and the polynomial kernel and not by
// the linear one, a side of a line by all; the inputs without the record are as good as those of new records. Of noise
// they say next to nothing.
func TestWholeOfPlantedTruth(t *testing.T) {
	likely := func(yes bool) float64 {
		if yes {
			return .95
		}
		return .05
	}
	for _, c := range []struct {
		name  string
		yes   func(x []float64) float64
		knows map[Shape]bool
	}{
		{"a circle", func(x []float64) float64 { return likely(x[0]*x[0]+x[1]*x[1] < .6) },
			map[Shape]bool{Gaussian: true, Polynomial: true, Linear: false}},
		{"a line", func(x []float64) float64 { return likely(x[0]+x[1] > 0) },
			map[Shape]bool{Gaussian: true, Polynomial: true, Linear: true}},
		{"noise", func([]float64) float64 { return .3 },
			map[Shape]bool{Gaussian: false, Polynomial: false, Linear: false}},
	} {
		for shape, knows := range c.knows {
			ev, later := drawn(600, 3, 1, 1, c.yes), drawn(1000, 3, 1, 2, c.yes)
			k := whole(t, ev, shape)
			own, base := loss(ev, k, 0, true)
			got, _ := loss(later, k, 0, false)
			if t.Logf("%s, %v: log-loss without the record %.3f, of new records %.3f, of base rates %.3f", c.name, shape, own,
				got, base); math.Abs(own-got) > .06 || knows && got > .45 || !knows && (got < base-.06 || got > base+.02) {
				t.Errorf("%s, %v: it knows too little, or what it cannot know", c.name, shape)
			}
		}
	}
}

// TestWholeByTheFormula compares the input with sum_i c_i K(x, x_i) of the full kernels of the dictionary, over the
// same prototypes. Values lie in the middle of cells, so that both see the same numbers; some are missing.
func TestWholeByTheFormula(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 400, 1)
	ev := modeltest.Evidence(s, l, ex)
	for f := range ev.Columns {
		values := uint64(productCells)
		switch s.Features[f].Kind {
		case model.Nominal:
			continue
		case model.Ordinal:
			values = 2
		}
		for i, v := range ev.Columns[f] {
			if v == v {
				ev.Columns[f][i] = float64(model.Hash(7, uint64(f), uint64(i)) % values)
			}
		}
		ev.Columns[f][0], ev.Columns[f][1] = 0, float64(values-1)
	}
	ev.Exchangeable = true // rows of the same values have one key
	for _, shape := range []Shape{Gaussian, Polynomial, Linear} {
		c := whole(t, ev, shape, .01, .1)
		p := c.product
		rows := make([]int32, ev.Len())
		for i := range rows {
			rows[i] = int32(i)
		}
		axes := make([]axis, len(s.Features))
		for f := range axes {
			axes[f] = newAxis(&s.Features[f], ev.Columns[f], ev.Weight, rows)
			axes[f].ok = axes[f].ok && s.Features[f].Use != model.UseReport && !s.Directed(f)
		}
		pts := standardise(ev, axes)
		row, dst := make(model.Row, len(ev.Columns)), make([]float64, len(s.Classes))
		at := map[uint64]int{}
		for i := range rows {
			ev.Row(i, row)
			at[p.keyOf(row, 0)] = i
		}
		for i := 0; i < ev.Len(); i += 7 {
			want := make([]float64, len(s.Classes))
			for j, key := range p.key {
				k := 0.
				for _, w := range p.mix {
					k += w.Alpha * w.Base.full(pts, i, at[key])
				}
				for y := range want {
					want[y] += p.weights[j*p.margins+y] * k
				}
			}
			ev.Row(i, row)
			c.Inputs(row, dst)
			for y := range dst {
				if math.Abs(dst[y]-want[y]) > 1e-6*(1+math.Abs(want[y])) {
					t.Fatalf("%v: row %d has %v, want %v", shape, i, dst, want)
				}
			}
		}
	}
}

// TestWholeUsesWhatItMay: a feature for reports alone or with a direction is not looked at.
func TestWholeUsesWhatItMay(t *testing.T) {
	ev := signal(300)
	ev.Schema.Features[1].Use = model.UseReport
	c := whole(t, ev, Gaussian)
	var used []int32
	for _, x := range c.product.columns {
		used = append(used, x.feature)
	}
	if !slices.Equal(used, []int32{0, 2, 3, 4}) {
		t.Errorf("it uses the features %v", used)
	}
	p, err := DecodePart(ev.Schema, c.AppendState(nil))
	if err != nil || len(p.ShortList()) != 0 {
		t.Errorf("it selects %v, %v", p.ShortList(), err)
	}
	for _, w := range p.Report(ev.Schema).Weights {
		if w.Feature != allFeatures {
			t.Errorf("a weight of %s", w.Feature)
		}
	}
	if got := fitted(t, t.Context(), Options{Full: true, Triples: 50, Gamma1: 1, Gamma2: 1, Widths: []float64{1}},
		signal(30), nil); got.product != nil || len(got.Weights) != 0 {
		t.Errorf("of 30 records: %+v", got)
	}
}
