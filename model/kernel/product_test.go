package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// drawn returns evidence of features in (-1, 1) whose class is 1 with the probability of the function; row i of copies
// following ones has the same values and class.
func drawn(n, features, copies int, seed uint64, yes func(x []float64) float64) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, features), Seed: 3,
		Exchangeable: true, Whole: true}
	for f := range features {
		s.Features = append(s.Features, model.Feature{Name: string(rune('a' + f))})
	}
	for i := range n {
		x := make([]float64, features)
		for f := range x {
			x[f] = 2*unit(seed, i/copies, f) - 1
			ev.Columns[f] = append(ev.Columns[f], x[f])
		}
		y := int32(0)
		if unit(seed, i/copies, 99) < yes(x) {
			y = 1
		}
		ev.Class, ev.Weight, ev.Clock = append(ev.Class, y), append(ev.Weight, 1), append(ev.Clock, float64(i))
	}
	return ev
}

// loss returns the mean log-loss of the records from first on by the input, which InputsWithout gives where the
// component is asked without them, and that of the base rates.
func loss(ev *model.Evidence, c *Component, first int, without bool) (mean, base float64) {
	rate := make([]float64, len(ev.Schema.Classes))
	for _, y := range ev.Class {
		rate[y] += 1 / float64(ev.Len())
	}
	row, v, p := make(model.Row, len(ev.Columns)), make([]float64, len(rate)), make([]float64, len(rate))
	n := float64(ev.Len() - first)
	for i := first; i < ev.Len(); i++ {
		ev.Row(i, row)
		if without {
			c.InputsWithout(&model.Example{Row: row, Class: ev.Class[i], Weight: 1, Clock: ev.Clock[i]}, v)
		} else {
			c.Inputs(row, v)
		}
		posterior(v, 1, rate, p)
		mean -= math.Log(p[ev.Class[i]]) / n
		base -= math.Log(rate[ev.Class[i]]) / n
	}
	return mean, base
}

func served(t testing.TB, ev *model.Evidence, input Input) *Component {
	t.Helper()
	o := Default()
	o.Gamma1, o.Gamma2, o.Triples, o.Input = .1, .1, 300, input
	c := &Component{schema: ev.Schema}
	p := fitted(t, t.Context(), o, ev, nil)
	c.set(p.appendBinary(nil), p)
	return c
}

// TestProductOfPlantedTruth: where two features tell the class together only, a fit makes a product, and its inputs
// without the record are as good as those of records that it has not seen. Where each tells by itself, or none does, it
// makes none.
func TestProductOfPlantedTruth(t *testing.T) {
	together := func(x []float64) float64 {
		if x[0]*x[1] > 0 {
			return .95
		}
		return .05
	}
	for _, ordered := range []bool{false, true} {
		ev, later := drawn(600, 4, 1, 1, together), drawn(1000, 4, 1, 2, together)
		ev.Exchangeable, ev.Whole = !ordered, !ordered
		c := served(t, ev, Auto)
		if c.product == nil {
			t.Fatalf("ordered %v: no product", ordered)
		}
		if r, err := New(Default(), ev.Schema).Remark(c.AppendState(nil)); err != nil ||
			!strings.Contains(r.Text, fmt.Sprintf("a product over %d prototypes", len(c.product.key))) {
			t.Errorf("the remark is %q, %v", r.Text, err)
		}
		own, base := loss(ev, c, 0, true)
		new, _ := loss(later, c, 0, false)
		if t.Logf("ordered %v: log-loss without the record %.3f, of new records %.3f, of base rates %.3f", ordered, own, new,
			base); new > .45 || math.Abs(own-new) > .06 {
			t.Error("the product does not know the truth, or not without the record")
		}
		if sum, _ := loss(later, served(t, ev, Sum), 0, false); sum < .68 {
			t.Errorf("a sum has a log-loss of %v: the truth is too easy", sum)
		}
	}
	products := 0
	for seed := range uint64(12) {
		noise := drawn(300, 4, 1, 10+seed, func([]float64) float64 { return .3 })
		noise.Exchangeable = seed%2 == 0
		if served(t, noise, Auto).product != nil {
			products++
		}
		alone := drawn(600, 4, 1, 30+seed, func(x []float64) float64 { return 1 / (1 + math.Exp(-3*x[0]-2*x[1])) })
		alone.Exchangeable = false
		if served(t, alone, Auto).product != nil {
			t.Errorf("seed %d: a product where each feature tells by itself", seed)
		}
	}
	if products > 3 {
		t.Errorf("%d products of 12 without a truth", products)
	}
}

// TestProductOfCopies: a row that stands in a file four times says nothing of its class to itself.
func TestProductOfCopies(t *testing.T) {
	ev := drawn(960, 3, 4, 5, func([]float64) float64 { return .5 })
	c := served(t, ev, Product)
	if mean, base := loss(ev, c, 0, true); mean < base-.05 {
		t.Errorf("log-loss %v without the record, base rates have %v", mean, base)
	}
	ev = drawn(480, 3, 1, 5, func([]float64) float64 { return .5 })
	if mean, base := loss(ev, served(t, ev, Product), 0, true); mean < base-.03 {
		t.Errorf("single rows: log-loss %v without the record, base rates have %v", mean, base)
	}
}

// TestHeldOut compares the predictions without a block with those of fits to the other records, by Gaussian
// elimination.
func TestHeldOut(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		ev := drawn(60, 3, 2, 7, func(x []float64) float64 { return .5 + .4*x[0] })
		ev.Exchangeable = !ordered
		s := &search{dictionary: []Base{{Gaussian, 0, 1}, {Gaussian, 1, .1}, {Gaussian, 2, 10}}}
		s.even = evenly(s.dictionary)
		if !s.lay(ev.Schema, ev, axesOf(ev, rowsOf(ev)), maxPrototypes) {
			t.Fatal("no prototypes")
		}
		blocks := 30
		if ordered {
			blocks = productFolds
		}
		if len(s.members) != blocks {
			t.Fatalf("%d blocks, want %d", len(s.members), blocks)
		}
		x := setting{0, 4, .3}
		f := s.fit(t.Context(), x, powered)
		kernel := func(i, j int) float64 { return powered(s.kernels[0].At(i, j), x.sharp) }
		var ratio float64 // the scale of log-lifts
		for _, rows := range s.members {
			var others []int
			for i := range s.n {
				if !slices.Contains(rows, int32(i)) {
					others = append(others, i)
				}
			}
			c := eliminate(len(others), func(a, b int) float64 {
				v := kernel(others[a], others[b])
				if a == b {
					v += x.noise
				}
				return v
			}, func(a int) float64 { return s.target[others[a]] })
			for _, i := range rows {
				want := 0.
				for a, j := range others {
					want += c[a] * kernel(int(i), j)
				}
				if ratio == 0 {
					ratio = f.held[i] / want
				}
				if got := f.held[i]; !(math.Abs(got-ratio*want) < 1e-9*max(1, math.Abs(got))) {
					t.Fatalf("ordered %v, record %d: %v, slowly %v", ordered, i, got, ratio*want)
				}
			}
		}
	}
}

func rowsOf(ev *model.Evidence) []int32 {
	rows := make([]int32, ev.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// eliminate solves a x = b.
func eliminate(n int, a func(i, j int) float64, b func(i int) float64) []float64 {
	m := make([][]float64, n)
	for i := range m {
		for j := range n {
			m[i] = append(m[i], a(i, j))
		}
		m[i] = append(m[i], b(i))
	}
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[p][k]) {
				p = i
			}
		}
		m[k], m[p] = m[p], m[k]
		for i := range n {
			if i != k {
				r := m[i][k] / m[k][k]
				for j := k; j <= n; j++ {
					m[i][j] -= r * m[k][j]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

// TestProductInput compares the input with its formula over the kernels themselves: features of every kind, missing
// values, and values beyond those of the fit. A value is rounded to its cell, which moves K by less than .04 here.
func TestProductInput(t *testing.T) {
	ev := generated(400)
	ev.Exchangeable = true
	c := served(t, ev, Product)
	p, axes := c.product, axesOf(ev, rowsOf(ev))
	rows := map[uint64]model.Row{}
	for i := range ev.Len() {
		row := make(model.Row, len(ev.Columns))
		ev.Row(i, row)
		rows[p.keyOf(row, 0)] = row
	}
	got, want := make([]float64, 3), make([]float64, 3)
	missing := 0
	for i := range 200 {
		row := make(model.Row, len(ev.Columns))
		ev.Row(i, row)
		clear(want)
		for k := range p.key {
			other, sum := rows[p.key[k]], 0.
			for j := range p.columns {
				for _, b := range p.columns[j].bases {
					x, y := axes[b.Base.A].at(row[b.Base.A]), axes[b.Base.A].at(other[b.Base.A])
					if x != x {
						missing++
					}
					sum += b.Alpha * (b.Base.between(x, y) - 1)
				}
			}
			for y := range want {
				want[y] += p.weights[k*3+y] * math.Exp(sum)
			}
		}
		c.Inputs(row, got)
		for y := range want {
			if math.Abs(got[y]-want[y]) > .1*max(1, math.Abs(want[y])) {
				t.Fatalf("record %d, class %d: %v, by the formula %v", i, y, got[y], want[y])
			}
		}
	}
	if missing == 0 || len(p.columns) < 4 {
		t.Fatalf("%d missing values, %d columns: half of the test says nothing", missing, len(p.columns))
	}
	row := make(model.Row, len(ev.Columns))
	ev.Row(0, row)
	if n := testing.AllocsPerRun(20, func() { c.Inputs(row, got) }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// TestProductOfWeights: weights count as shares only, and a record of weight 0 is no prototype.
func TestProductOfWeights(t *testing.T) {
	ev := drawn(400, 3, 1, 3, func(x []float64) float64 { return .5 + .4*x[0]*x[1] })
	one := served(t, ev, Product).product
	for i := range ev.Weight {
		ev.Weight[i] = 1024
	}
	if other := served(t, ev, Product).product; !slices.Equal(one.weights, other.weights) {
		t.Error("the scale of the weights changes the product")
	}
	for i := range ev.Weight[:100] {
		ev.Weight[i] = 0
	}
	if n := len(served(t, ev, Product).product.key); n != 300 {
		t.Errorf("%d prototypes of 300 records with weight", n)
	}
}

// TestProductBounds: a fit without time, work or records has no product, and no error.
func TestProductBounds(t *testing.T) {
	ended, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(ev *model.Evidence)
		most   int // prototypes
	}{
		"all":     {t.Context(), func(*model.Evidence) {}, 400},
		"ended":   {ended, func(*model.Evidence) {}, 0},
		"work":    {t.Context(), func(ev *model.Evidence) { ev.Work = workShare * int64(productWork(200)) }, 200},
		"no work": {t.Context(), func(ev *model.Evidence) { ev.Work = workShare * int64(productWork(fewest-1)) }, 0},
		"strict": {t.Context(), func(ev *model.Evidence) { ev.Work, ev.Strict = int64(productWork(20)), true },
			0},
		"one class":  {t.Context(), func(ev *model.Evidence) { clear(ev.Class) }, 0},
		"weightless": {t.Context(), func(ev *model.Evidence) { clear(ev.Weight[40:]) }, 0},
	} {
		ev := drawn(400, 3, 1, 3, func(x []float64) float64 { return .5 + .4*x[0]*x[1] })
		c.change(ev)
		f := New(Options{Input: Product}, ev.Schema)
		axes := axesOf(ev, rowsOf(ev))
		d := weak(ev.Schema, axes, []float64{.1, 1, 10})
		p := f.multiply(c.ctx, ev, axes, d, make([]float64, len(d)), nil)
		got := 0
		if p != nil {
			got = len(p.key)
		}
		if got > c.most || c.most > 0 && got < c.most*9/10 {
			t.Errorf("%s: %d prototypes, want %d", name, got, c.most)
		}
	}
}

// TestCarriedProduct: over a change of the schema each record has the inputs that it had, as far as its features stay.
func TestCarriedProduct(t *testing.T) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 500, 7)
	ev := modeltest.Evidence(s, l, ex)
	c := served(t, ev, Product)
	for name, keep := range map[string]func(f model.Feature) bool{
		"turned": func(model.Feature) bool { return true },
		"fewer":  func(f model.Feature) bool { return f.Name != "d" },
		"none":   func(model.Feature) bool { return false },
	} {
		to := &model.Schema{Classes: append(slices.Clone(s.Classes), "late"), Positive: s.Positive}
		for _, f := range slices.Backward(s.Features) {
			if len(f.Levels) > 0 {
				f.Levels = append(slices.Clone(f.Levels), "more", "most")
			}
			if keep(f) {
				to.Features = append(to.Features, f)
			}
		}
		to.Features = append(to.Features, model.Feature{Name: "new"})
		change, err := model.Relate(s, to)
		if err != nil {
			t.Fatal(err)
		}
		b, inputs, err := New(Default(), to).CarryState(change, c.AppendState(nil))
		if err != nil {
			t.Fatal(name, err)
		}
		n := &Component{schema: to}
		if err := n.LoadState(b); err != nil {
			t.Fatal(name, err)
		}
		want := slices.Clone(c.product.columns)
		want = slices.DeleteFunc(want, func(k productColumn) bool { return !keep(s.Features[k.feature]) })
		if name == "none" {
			if n.product != nil || len(inputs) != 0 {
				t.Errorf("none: a product of %d inputs", len(inputs))
			}
			continue
		}
		old := *c.product
		old.columns = want
		x, y := make([]float64, 3), make([]float64, 4)
		for i, e := range ex {
			old.inputs(e.Row, x)
			if n.Inputs(change.Row(e.Row, nil), y); y[3] != 0 || distance(x, y[:3]) > 1e-9 {
				t.Fatalf("%s, record %d: %v, was %v", name, i, y, x)
			}
		}
	}
}

func distance(a, b []float64) (d float64) {
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// TestDamagedProduct: a changed byte or a cut in the product gives an error, or a part that can be served.
func TestDamagedProduct(t *testing.T) {
	ev := generated(120)
	c := served(t, ev, Product)
	b := c.AppendState(nil)
	row, dst := make(model.Row, len(ev.Columns)), make([]float64, 3)
	for at := len(b) - len(c.product.appendBinary(nil)); at < len(b); at += 5 {
		bad := slices.Clone(b)
		bad[at] ^= []byte{1, 0x80, 0xff}[at%3]
		if n := (&Component{schema: ev.Schema}); n.LoadState(bad) == nil {
			n.Inputs(row, dst)
			n.InputsWithout(&model.Example{Row: row}, dst)
		}
		if (&Component{schema: ev.Schema}).LoadState(b[:at]) == nil {
			t.Fatalf("a state of %d bytes of %d is read", at, len(b))
		}
	}
	for name, change := range map[string]func(p *product){
		"no weight":     func(p *product) { p.weights = p.weights[:len(p.weights)-1] },
		"no held":       func(p *product) { p.held = p.held[1:] },
		"wild weight":   func(p *product) { p.weights[0] = math.Inf(1) },
		"wild held":     func(p *product) { p.held[0] = math.NaN() },
		"no prototypes": func(p *product) { p.key, p.weights, p.held = nil, nil, nil },
		"short codes":   func(p *product) { p.columns[0].code = p.columns[0].code[1:] },
		"twice":         func(p *product) { p.columns = append(p.columns, p.columns[0]) },
		"no columns":    func(p *product) { p.columns = nil },
		"kind":          func(p *product) { p.columns[0].feature = (p.columns[0].feature + 1) % 2 },
		"low alpha":     func(p *product) { p.columns[0].bases[0].Alpha = -1 },
		"wild step":     func(p *product) { p.columns[0].step = math.NaN() },
		"no such cell": func(p *product) {
			for i := range p.columns {
				if c := &p.columns[i]; !c.levels {
					c.code[0] = uint8(c.cells) + 1
				}
			}
		},
	} {
		p, err := DecodePart(ev.Schema, b)
		if err != nil {
			t.Fatal(err)
		}
		if change(p.product); name == "kind" {
			c := &p.product.columns[0]
			for f := range ev.Schema.Features {
				if (ev.Schema.Features[f].Kind == model.Nominal) != c.levels {
					c.feature = int32(f)
				}
			}
		}
		if _, err := DecodePart(ev.Schema, p.appendBinary(nil)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFormulations: each kernel at a price of its own costs at least as much as the kernels of a feature together, as
// much where a feature has one kernel; and triangular kernels are those of the weights.
func TestFormulations(t *testing.T) {
	ev := signal(400)
	part := func(single bool, shape Shape, widths ...float64) *Part {
		o := Default()
		o.Gamma1, o.Gamma2, o.Triples, o.Input, o.Widths, o.Single, o.Shape = .3, .1, 200, Sum, widths, single, shape
		return fitted(t, t.Context(), o, ev, nil)
	}
	for _, shape := range []Shape{Gaussian, Triangular} {
		together, single := part(false, shape, .1, 1, 10), part(true, shape, .1, 1, 10)
		if !(single.Objective > together.Objective+1e-6) {
			t.Errorf("%v: formulation (4) costs %v, (7) costs %v", shape, single.Objective, together.Objective)
		}
		if a, b := part(false, shape, 1), part(true, shape, 1); math.Abs(a.Objective-b.Objective) > 1e-9*a.Objective {
			t.Errorf("%v, one width: formulation (4) costs %v, (7) costs %v", shape, b.Objective, a.Objective)
		}
		for _, w := range together.Weights {
			if w.Base.Shape != shape {
				t.Errorf("a weight of %v where kernels are %v", w.Base.Shape, shape)
			}
		}
	}
}

// BenchmarkProduct: a record of a product of the full budget.
func BenchmarkProduct(b *testing.B) {
	for _, features := range []int{4, 16, 128} {
		b.Run(fmt.Sprint(features), func(b *testing.B) {
			ev := drawn(2000, features, 1, 3, func(x []float64) float64 { return .5 + .4*x[0]*x[1] })
			c := served(b, ev, Product)
			row, dst := make(model.Row, features), make([]float64, 2)
			ev.Row(0, row)
			b.ResetTimer()
			for range b.N {
				c.Inputs(row, dst)
			}
		})
	}
}
