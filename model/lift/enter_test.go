package lift

import (
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// mixed returns n records of four numbers, a letter and a class whose log-odds are those of odds.
func mixed(n int, seed uint64, odds func(v []float64) float64) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Features = append(s.Features, model.Feature{Name: name})
	}
	s.Features = append(s.Features, model.Feature{Name: "letter", Kind: model.Nominal})
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 5)}
	for _, l := range []string{"x", "y", "z"} {
		ev.Levels.Code(4, l)
	}
	for i := range n {
		var v []float64
		for f := range 5 {
			h := model.Hash(seed, uint64(i), uint64(f))
			x := float64(h>>11) / (1 << 53)
			if f == 4 {
				x = float64(h % 3)
			} else if f == 3 && h%11 == 0 {
				x = math.NaN()
			}
			v = append(v, x)
			ev.Columns[f] = append(ev.Columns[f], x)
		}
		y := int32(0)
		if u := float64(model.Hash(seed, uint64(i), 99)>>11) / (1 << 53); u < 1/(1+math.Exp(-odds(v))) {
			y = 1
		}
		ev.Class = append(ev.Class, y)
		ev.Weight, ev.Partition = append(ev.Weight, 1), append(ev.Partition, 0)
		ev.Clock, ev.Time = append(ev.Clock, float64(i)), append(ev.Time, int64(i))
	}
	return ev
}

// TestWhatActsTogetherEnters: an effect of two features that neither has alone, and one of three, are found. A feature
// that acts alone does not enter, and the values are the log-odds that were put in.
func TestWhatActsTogetherEnters(t *testing.T) {
	sign := func(x float64) float64 {
		if x > .5 {
			return 1
		}
		return -1
	}
	ev := mixed(8000, 1, func(v []float64) float64 { return -.5 + 2*v[2] + 1.2*sign(v[0])*sign(v[1]) })
	got, err := enter(context.Background(), newSample(ev))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !slices.Equal(got[0].Set.features, []int32{0, 1}) {
		t.Fatalf("%d sets", len(got))
	}
	if len(got) > 3 {
		t.Errorf("%d sets entered for one effect", len(got))
	}
	row := make(model.Row, 5)
	for i := range 200 {
		ev.Row(i, row)
		v := got[0].value(row, 2)
		if v == nil {
			t.Fatalf("record %d: nothing", i)
		}
		// Cells that the middle cuts are noise.
		if math.Abs(row[0]-.5) < .13 || math.Abs(row[1]-.5) < .13 {
			continue
		}
		want := 1.2 * sign(row[0]) * sign(row[1])
		if d := v[1] - v[0]; d*want < 0 || math.Abs(d-want) > .8 {
			t.Errorf("record %d: log-odds %v, want about %v", i, d, want)
		}
	}
	ev = mixed(12000, 2, func(v []float64) float64 { return .8*sign(v[0])*sign(v[1]) + .9*sign(v[0])*sign(v[1])*(v[4]-1) })
	if got, err = enter(context.Background(), newSample(ev)); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got, func(e *Entered) bool { return slices.Equal(e.Set.features, []int32{0, 1, 4}) }) {
		t.Errorf("the three that act together did not enter, of %d", len(got))
	}
}

// TestNoiseDoesNotEnter: of searches in noise, and beside effects of single features, few let a set in.
func TestNoiseDoesNotEnter(t *testing.T) {
	runs, some := 40, 0
	if testing.Short() {
		runs = 15
	}
	for seed := range runs {
		ev := mixed(2000, uint64(seed)+10, func(v []float64) float64 { return float64(seed%2) * (v[0] + 2*v[2] - 1.5) })
		got, err := enter(context.Background(), newSample(ev))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 {
			some++
		}
	}
	t.Logf("sets entered in %d of %d", some, runs)
	if some > runs/4 {
		t.Errorf("sets entered in %d of %d searches in noise", some, runs)
	}
}

// TestEnteredSetsAreInputs: a component offers the sets that Fit chose, before and after a snapshot; a row without a
// value and a cell that was never seen have inputs of 0.
func TestEnteredSetsAreInputs(t *testing.T) {
	ev := mixed(4000, 3, func(v []float64) float64 { return 3 * (v[4] - 1) * (v[0] - .5) * 2 })
	o := Options{Quantiles: 5, Enter: true}
	p, b := fitPart(t, o, ev, nil)
	if len(p.Entered) == 0 || !slices.Equal(p.Entered[0].Set.features, []int32{0, 4}) {
		t.Fatalf("%d entered", len(p.Entered))
	}
	if _, again := fitPart(t, o, ev, nil); !slices.Equal(b, again) {
		t.Error("two fits of the same evidence differ")
	}
	c := serve(t, o, ev, b, 0, nil)
	d := New(o, ev.Schema).New(ev.Levels).(*Component)
	if err := d.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	row := make(model.Row, 5)
	for _, c := range []*Component{c, d} {
		if c.InputCount() != len(p.Entered) {
			t.Fatalf("%d inputs", c.InputCount())
		}
		dst := make([]float64, 2*c.InputCount())
		ev.Row(7, row)
		c.Inputs(row, dst)
		if dst[0] == 0 || dst[0] != -dst[1] {
			t.Errorf("inputs %v", dst)
		}
		if n := testing.AllocsPerRun(100, func() { c.Inputs(row, dst) }); n != 0 {
			t.Errorf("Inputs allocates %v times", n)
		}
		row[4] = 1 << 30
		c.Inputs(row, dst)
		if dst[0] != 0 {
			t.Errorf("a level never seen says %v", dst[0])
		}
		row[4] = math.NaN()
		c.Inputs(row, dst)
		if dst[0] != 0 {
			t.Errorf("a missing level says %v", dst[0])
		}
	}
	if q, _ := fitPart(t, Options{Quantiles: 5}, ev, nil); len(q.Entered) != 0 {
		t.Error("sets entered unasked")
	}
}

// TestEnteredSetsForgetTheRecord: of labels that are noise a set says something of the very records that it was fitted
// on, and nothing once each is taken out. The weight of the classes p - [y] on the one is that of the fit, on the other
// none.
func TestEnteredSetsForgetTheRecord(t *testing.T) {
	for _, classes := range []int{2, 3} {
		ev := mixed(4000, 5, func([]float64) float64 { return -1 })
		if classes == 3 {
			s := *ev.Schema
			s.Classes = append(slices.Clone(s.Classes), "may be")
			ev.Schema = &s
			for i := range ev.Class {
				ev.Class[i] = int32(model.Hash(9, uint64(i)) % 3)
			}
		}
		for i := range ev.Weight {
			ev.Weight[i] = 3
		}
		e := entering{sample: newSample(ev), stride: 1}
		for r := range ev.Len() {
			e.rows = append(e.rows, int32(r))
		}
		if err := e.prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		a := newAdditive(e.sample, e.rows)
		g := slices.Clone(a.g)
		x := e.take(a, candidate{at: []int{0, 1}, ridge: 10})
		c := &Component{schema: ev.Schema, entered: []*Entered{x}}
		row, dst := make(model.Row, len(ev.Columns)), make([]float64, classes)
		margin := func() []float64 {
			if classes == 2 {
				return []float64{dst[1] - dst[0]}
			}
			return dst
		}
		var with, without, size float64
		for i := range ev.Class {
			ev.Row(i, row)
			gi := g[i*a.k : (i+1)*a.k]
			c.Inputs(row, dst)
			for y, v := range margin() {
				with -= gi[y] * v
			}
			c.InputsWithout(&model.Example{Row: row, Class: ev.Class[i], Weight: ev.Weight[i]}, dst)
			for y, v := range margin() {
				without -= gi[y] * v
				size += gi[y] * gi[y] * v * v
			}
		}
		// Every pair of records of a cell counts twice, and the terms of the classes of a record go together.
		if sd := math.Sqrt(2 * float64(a.k) * size); !(with > 4*sd) || math.Abs(without) > 3*sd {
			t.Errorf("%d classes: %.1f nats with the records, %.1f without, standard error %.1f", classes, with, without, sd)
		}
	}
}

// TestPoorEvidenceLetsNothingIn: features without a value, of one value, of thousands of levels; one class; infinities.
func TestPoorEvidenceLetsNothingIn(t *testing.T) {
	ev := mixed(1500, 4, func([]float64) float64 { return 0 })
	for i := range ev.Class {
		ev.Columns[0][i] = math.NaN()
		ev.Columns[1][i] = 7
		ev.Columns[4][i] = float64(i)
		if i%100 == 0 {
			ev.Columns[2][i] = math.Inf(1 - 2*(i/100%2))
		}
	}
	for _, class := range []int32{-1, 0, 1} {
		for i := range ev.Class {
			if class >= 0 {
				ev.Class[i] = class
			}
		}
		got, err := enter(context.Background(), newSample(ev))
		if err != nil || len(got) > 0 {
			t.Errorf("class %d: %d sets entered; %v", class, len(got), err)
		}
	}
	for i := range ev.Weight {
		ev.Weight[i] = 0
	}
	if got, err := enter(context.Background(), newSample(ev)); err != nil || got != nil {
		t.Errorf("records of no weight: %d sets entered; %v", len(got), err)
	}
}

func TestAtomCuts(t *testing.T) {
	var v []weighted
	for range 50 {
		v = append(v, weighted{0, 1})
	}
	for i := range 40 {
		v = append(v, weighted{float64(i) + 1, 1})
	}
	for range 10 {
		v = append(v, weighted{20.5, 1})
	}
	cuts := atomCuts(v, 8)
	cell := func(x float64) int32 { return cellOf(cuts, x) }
	if cell(0) == cell(1) || cell(20) == cell(20.5) || cell(20.5) == cell(21) || cell(1) == cell(15) || len(cuts) > 12 {
		t.Errorf("cuts %v", cuts)
	}
	if c := atomCuts([]weighted{{3, 1}, {3, 1}}, 4); len(c) != 0 {
		t.Errorf("one value is cut at %v", c)
	}
}

// TestInputKeys: the key of an entered set follows from its features alone, not from their numbers, its cells or its
// values.
func TestInputKeys(t *testing.T) {
	one := &model.Schema{Classes: []string{"a", "b"},
		Features: []model.Feature{{Name: "x"}, {Name: "y"}, {Name: "z", Kind: model.Nominal}}}
	two := &model.Schema{Classes: []string{"a", "b"},
		Features: []model.Feature{{Name: "z", Kind: model.Nominal}, {Name: "y"}, {Name: "x"}}}
	key := func(s *model.Schema, cut float64, features ...int32) uint64 {
		parts := partsOf(s, features, Product)
		for i := range parts {
			parts[i].cuts = []float64{cut}
		}
		c := &Component{schema: s, entered: []*Entered{{Set: newSet(s, features, Product, parts)}}}
		return c.InputKeys(nil)[0]
	}
	if a, b := key(one, 1, 0, 2), key(two, 2, 0, 2); a != b || a < model.FirstKey {
		t.Errorf("keys %d and %d of the same features", a, b)
	}
	seen := map[uint64]bool{}
	for _, features := range [][]int32{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}} {
		k := key(one, 1, features...)
		if seen[k] {
			t.Errorf("the key of %v is that of others", features)
		}
		seen[k] = true
	}
	one.Features[2].Kind = model.Ordinal
	if seen[key(one, 1, 2)] {
		t.Error("a feature of another kind has the same key")
	}
}

// TestSinglesLowerTheLoss: the fit of single features never raises the log-loss, for features that repeat each other
// and for classes that are rare or gather anywhere, and the gain of a set stays below the loss that there is.
func TestSinglesLowerTheLoss(t *testing.T) {
	ctx := context.Background()
	for name, odds := range map[string]func(v []float64) float64{
		"steep":  func(v []float64) float64 { return 60 * (v[0] - .9) },
		"rare":   func(v []float64) float64 { return -6 + 9*math.Round(v[0]) - 4*v[4] },
		"noise":  func([]float64) float64 { return -4 },
		"joined": func(v []float64) float64 { return -7 + 14*math.Round(v[0])*math.Round(v[1]) },
	} {
		for _, classes := range []int{2, 3} {
			ev := mixed(6000, 4, odds)
			for i, x := range ev.Columns[0] { // three features repeat one
				ev.Columns[2][i], ev.Columns[3][i] = x, -x
			}
			if classes == 3 {
				s := *ev.Schema
				s.Classes = append(slices.Clone(s.Classes), "may be")
				ev.Schema = &s
				for i := range ev.Class {
					if ev.Class[i] == 0 && model.Hash(9, uint64(i))%40 == 0 {
						ev.Class[i] = 2
					}
				}
			}
			for i := range ev.Weight {
				ev.Weight[i] = float64(1 + i%3)
			}
			e := entering{sample: newSample(ev), stride: 1}
			for r := range ev.Len() {
				e.rows = append(e.rows, int32(r))
			}
			if err := e.prepare(ctx); err != nil {
				t.Fatal(err)
			}
			a := newAdditive(e.sample, e.rows)
			last := loss(a)
			for pass := range enterPasses {
				for i, cell := range e.fine {
					a.add(cell, a.bounded(cell, e.fineK[i], enterSingle))
					if now := loss(a); !(now <= last+1e-9*last) {
						t.Fatalf("%s, %d classes, pass %d: feature %d raises the loss from %.2f to %.2f nats",
							name, classes, pass, i, last, now)
					} else {
						last = now
					}
				}
			}
			for _, c := range e.candidates() {
				cell, cells := e.cell(c.at)
				if gain, _, _ := a.gain(cell, cells, &e.work); !(gain < last) {
					t.Errorf("%s, %d classes: %v gains %.1f of %.1f nats", name, classes, c.at, gain, last)
				}
			}
		}
	}
}

// loss is the log-loss of all records, in nats.
func loss(a *additive) (sum float64) {
	for i, y := range a.class {
		z := a.margin[i*a.k : (i+1)*a.k]
		if a.k == 1 {
			z = []float64{0, z[0]}
		}
		top, of := slices.Max(z), 0.
		for _, v := range z {
			of += math.Exp(v - top)
		}
		sum += a.weight[i] * (top + math.Log(of) - z[y])
	}
	return sum
}

// TestScaleOfWeightsAndEntering: the weights of all records times a number change no set that enters, and its cuts and
// values by rounding alone; records of weight 0 change nothing.
func TestScaleOfWeightsAndEntering(t *testing.T) {
	for _, classes := range []int{2, 3} {
		var want []*Entered
		for _, by := range []float64{1, 100, .01, 0} {
			ev := mixed(4000, 3, func(v []float64) float64 { return 6 * (v[4] - 1) * (v[0] - .5) })
			if classes == 3 {
				s := *ev.Schema
				s.Classes = append(slices.Clone(s.Classes), "may be")
				ev.Schema = &s
				for i := range ev.Class {
					if model.Hash(9, uint64(i))%4 == 0 {
						ev.Class[i] = 2
					}
				}
			}
			for i := range ev.Weight {
				ev.Weight[i] = float64(1 + i%3)
				if by > 0 {
					ev.Weight[i] *= by
				}
			}
			if by == 0 {
				other := mixed(ev.Len(), 8, func([]float64) float64 { return 0 })
				for f := range ev.Columns {
					ev.Columns[f] = append(ev.Columns[f], other.Columns[f]...)
				}
				ev.Class, ev.Partition = append(ev.Class, other.Class...), append(ev.Partition, other.Partition...)
				ev.Clock, ev.Time = append(ev.Clock, other.Clock...), append(ev.Time, other.Time...)
				ev.Weight = append(ev.Weight, make([]float64, other.Len())...)
			}
			got, err := enter(context.Background(), newSample(ev))
			if err != nil || len(got) == 0 {
				t.Fatalf("%d classes, weights times %v: %d sets; %v", classes, by, len(got), err)
			}
			if want == nil {
				want = got
			}
			if len(got) != len(want) {
				t.Fatalf("%d classes, weights times %v: %d sets, want %d", classes, by, len(got), len(want))
			}
			for i, e := range got {
				cuts, was := e.Set.Cuts(), want[i].Set.Cuts()
				if !slices.Equal(e.Set.features, want[i].Set.features) || len(e.Value) != len(want[i].Value) ||
					len(cuts) != len(was) {
					t.Fatalf("%d classes, weights times %v: set %d is of %v, cut at %v", classes, by, i, e.Set.features, cuts)
				}
				for j, v := range cuts {
					near(t, "cut", v, was[j], 1e-12)
				}
				for j, v := range e.Value {
					near(t, "value", v, want[i].Value[j], 1e-9)
				}
			}
		}
	}
}
