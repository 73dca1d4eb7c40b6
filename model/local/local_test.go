package local

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// fitted returns a component fitted on n generated records, and the records.
func fitted(t testing.TB, o Options, n int) (*Component, []byte, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, n, 7)
	return fit(t, o, s, modeltest.Evidence(s, l, ex)), nil, ex
}

func fit(t testing.TB, o Options, s *model.Schema, ev *model.Evidence) *Component {
	t.Helper()
	f := New(o, s)
	part, err := f.Fit(context.Background(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f.New(ev.Levels).(*Component)
	if err := c.Rebase(&model.Rebase{Part: part, Since: func(func(*model.Example) bool) {}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestScoreInvariants: scores lie in [0, 1], do not depend on the order of records or on the unit of the value, nor on
// what the classes are called; copies of the label score 1, noise its neutral value.
func TestScoreInvariants(t *testing.T) {
	const n = 1000
	u, y := make([]float64, n), make([]int32, n)
	counts := make([]float64, 4)
	copied := make([]float64, n)
	balancedClass := make([]int32, n)
	for i := range u {
		u[i] = float64(model.Hash(1, uint64(i))>>11) / (1 << 53)
		r := float64(model.Hash(2, uint64(i))>>11) / (1 << 53)
		for _, edge := range []float64{.4, .7, .9} {
			if r > edge {
				y[i]++
			}
		}
		counts[y[i]]++
		balancedClass[i] = int32(i % 4)
		copied[i] = float64(i%4) / 3
	}
	mass, _ := Mass(u, y, 4, .05, true)
	mean := map[Score]float64{}
	for i := range u {
		for _, s := range []Score{Hit, Balanced} {
			v := s.Record(mass[4*i:4*i+4], counts, y[i])
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%v score %v", s, v)
			}
			mean[s] += v / n
			if v := s.Location(mass[4*i:4*i+4], counts); !(v >= 0 && v <= 1) {
				t.Fatalf("%v score %v of a location", s, v)
			}
		}
	}
	if math.Abs(mean[Hit]-Hit.Neutral(counts)) > .02 || math.Abs(mean[Balanced]-.5) > .02 {
		t.Errorf("noise scores %v, neutral is %v and .5", mean, Hit.Neutral(counts))
	}
	same, _ := Mass(copied, balancedClass, 4, .05, true)
	quarter := []float64{250, 250, 250, 250}
	for i := range copied {
		if s := Hit.Record(same[4*i:4*i+4], quarter, balancedClass[i]); s < 1-5e-10 {
			t.Fatalf("a copy of the label scores %v", s)
		}
		if s := Balanced.Record(same[4*i:4*i+4], quarter, balancedClass[i]); s < 1-2e-10 {
			t.Fatalf("a copy of the label scores %v, balanced", s)
		}
	}
	if s := Hit.Record([]float64{0, 0}, []float64{3, 1}, 0); s != .75 {
		t.Errorf("far from everything a record scores %v", s)
	}
	if s := Hit.Location([]float64{0, 0}, []float64{3, 1}); s != .625 {
		t.Errorf("far from everything a location scores %v", s)
	}
	if s := Balanced.Record([]float64{0, 2}, []float64{1, 3}, 0); s != .5 {
		t.Errorf("the one member of a class scores %v", s)
	}
}

// TestNested: a higher threshold selects a prefix; a twin is not the next pick, and under Max never enters.
func TestNested(t *testing.T) {
	const m = 20
	for seed := range uint64(50) {
		columns := make([][]float64, m)
		d := make([]float64, m)
		for j := range columns {
			d[j] = float64(model.Hash(seed, uint64(j), 9) % 1000)
			columns[j] = make([]float64, 200)
			for i := range columns[j] {
				columns[j][i] = float64(model.Hash(seed, uint64(i), uint64(j))%1000) + float64(model.Hash(seed, uint64(i))%1000)*float64(j%3)
			}
		}
		columns[m-1] = columns[0]
		d[m-1], d[0], d[5] = 999, 999, math.NaN()
		rho := correlations(columns)
		penalty := make([]float64, m)
		for _, how := range []Redundancy{Mean, Max} {
			var last []int32
			for _, theta := range []float64{.9, .55, .4, .25, .1, .01} {
				got, scores := greedy(d, rho, theta, how, penalty, make([]float64, len(d)), nil, nil)
				if len(got) < len(last) || !slices.Equal(got[:len(last)], last) {
					t.Fatalf("theta %v selects %v, a higher one %v", theta, got, last)
				}
				for i, s := range scores {
					if float64(s) < theta-1e-6 {
						t.Fatalf("feature %d of score %v at theta %v", got[i], s, theta)
					}
				}
				if slices.Contains(got, 5) {
					t.Fatal("a feature that is no candidate is selected")
				}
				if got[0] != 0 || len(got) > 1 && got[1] == m-1 {
					t.Fatalf("selected %v", got)
				}
				if how == Max && slices.Contains(got, m-1) {
					t.Fatal("a twin is selected")
				}
				last = got
			}
		}
	}
	if f, _ := greedy([]float64{0, 0, math.NaN()}, make([]float32, 9), 0, Mean, make([]float64, 3), make([]float64, 3), nil, nil); len(f) != 0 {
		t.Errorf("nothing diverges, and %v is selected", f)
	}
}

// TestMissing: a missing value counts as the mean difference, in a prototype and in the record, and changes nothing
// else.
func TestMissing(t *testing.T) {
	a := column{sd: 1}
	a.set([]int32{0, unit, 2 * unit, absent})
	e := a.expected(noCap)
	if want := int64(2 * unit * unit); e != want { // (1 + 4 + 1) / 3
		t.Fatalf("expected term %v, want %v", e, want)
	}
	for _, weight := range []int64{1, 3} {
		terms := []queryTerm{{at: a.at, missing: a.missing, q: 0, cap: noCap, weight: weight, expected: e}}
		sum := make([]int64, 4)
		distances(terms, sum)
		correct(terms, sum)
		if !slices.Equal(sum, []int64{0, weight * unit * unit, 4 * weight * unit * unit, weight * e}) {
			t.Errorf("distances %v", sum)
		}
	}
	c, _, ex := fitted(t, Options{Theta: Auto}, 600)
	row := make(model.Row, len(ex[0].Row))
	for j := range row {
		row[j] = math.NaN()
	}
	p := make([]float64, 3)
	c.Predict(row, p)
	for y := range p {
		if math.Abs(p[y]-c.structure.base[y]) > 1e-12 {
			t.Errorf("nothing known: shares %v, base rates %v", p, c.structure.base)
		}
	}
	if c.Reason(row) != ReasonOutside {
		t.Errorf("nothing known: %q", c.Reason(row))
	}
	if f, _ := c.Select(row, nil, nil); len(f) != 0 {
		t.Errorf("nothing known: %v selected", f)
	}
}

// TestDistances compares the fused loops with plain arithmetic.
func TestDistances(t *testing.T) {
	for _, n := range []int{6, 37, 301} {
		for m := range 24 {
			for _, kind := range []string{"", "weighted", "missing"} {
				testDistances(t, n, m, kind)
			}
		}
	}
}

func testDistances(t *testing.T, n, m int, kind string) {
	var terms []queryTerm
	want := make([]int64, n)
	for j := range m {
		q := queryTerm{q: float64(model.Hash(3, uint64(j)) % 5000), cap: 1 << (20 + j/5), weight: 1}
		if j < 5 {
			q.cap = noCap
		}
		if kind == "weighted" {
			q.weight = int64(j % 5)
		}
		if kind == "missing" && j%3 == 0 {
			q.expected = 1 << 21
		}
		for k := range n {
			v := float64(model.Hash(4, uint64(j), uint64(k)) % 5000)
			if m%2 == 0 { // ties
				v = float64(model.Hash(4, uint64(j), uint64(k)) % 3 * 1000)
			}
			q.at = append(q.at, v)
			d := v - q.q
			term := min(int64(d*d), q.cap) * q.weight
			if q.expected > 0 && model.Hash(5, uint64(j), uint64(k))%4 == 0 {
				q.missing, term = append(q.missing, int32(k)), q.expected
			}
			want[k] += term
		}
		terms = append(terms, q)
	}
	sum := make([]int64, n)
	distances(terms, sum)
	correct(terms, sum)
	if !slices.Equal(sum, want) {
		t.Fatalf("%d columns: %v, want %v", m, sum, want)
	}
	order := make([]neighbour, 0, n)
	for i, d := range want {
		if i != 2 {
			order = append(order, neighbour{d, int32(i)})
		}
	}
	slices.SortStableFunc(order, func(a, b neighbour) int {
		return cmp.Compare(a.distance, b.distance)
	})
	sum[2] = beyond
	near := make([]neighbour, 8)
	if k := nearest(sum, near); !slices.Equal(near[:k], order[:min(8, len(order))]) {
		t.Fatalf("%d columns of %d, %s: nearest %v, want %v", m, n, kind, near[:k], order)
	}
}

// TestOutside: nothing is selected outside the observed range, and the curve there is the prior.
func TestOutside(t *testing.T) {
	c, _, ex := fitted(t, Options{Theta: .05}, 800)
	row := slices.Clone(ex[0].Row)
	for _, v := range []float64{-1e6, 1e6} {
		row[0], row[1], row[3], row[7] = v, v, v, v
		f, _ := c.Select(row, nil, nil)
		for _, j := range f {
			if c.schema.Features[j].Kind == model.Continuous {
				t.Errorf("feature %d is selected at %v", j, v)
			}
		}
	}
}

// TestDegenerate: pools that say nothing are served without a NaN, and the reason is named.
func TestDegenerate(t *testing.T) {
	s := modeltest.Schema()
	l, base := modeltest.Generate(s, 300, 5)
	change := func(f func(i int, ex *model.Example)) []model.Example {
		out := slices.Clone(base)
		for i := range out {
			out[i].Row = slices.Clone(out[i].Row)
			f(i, &out[i])
		}
		return out
	}
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		ex     []model.Example
		reason string
	}{
		{"none", nil, ReasonNoPrototypes},
		{"one", base[:1], ReasonNoCurves},
		{"all at one value", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				ex.Row[j] = 1
			}
		}), ReasonNoCurves},
		{"classes that never overlap", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if s.Features[j].Kind == model.Continuous {
					ex.Row[j] = float64(ex.Class)*100 + float64(i%7)
				}
			}
		}), ""},
		{"1 % present", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if i%100 != 0 {
					ex.Row[j] = nan
				}
			}
		}), ""},
		{"a hole in the middle", change(func(i int, ex *model.Example) {
			for j := range ex.Row {
				if i > 100 && i < 200 {
					ex.Row[j] = nan
				}
			}
		}), ""},
		{"one class", change(func(i int, ex *model.Example) { ex.Class = 1 }), ""},
	} {
		for _, o := range []Options{{Theta: Auto}, {Theta: .25}, {Theta: Auto, Observation: PerRecord, Score: Balanced}} {
			x := fit(t, o, s, modeltest.Evidence(s, l, c.ex))
			named := 0
			for i := range base {
				row := base[i].Row
				p := make([]float64, 3)
				x.Predict(row, p)
				in := make([]float64, 3*x.InputCount())
				x.Inputs(row, in)
				_, scores := x.Select(row, nil, nil)
				for _, v := range append(p, in...) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s: %v, %v", c.name, p, in)
					}
				}
				for _, v := range scores {
					if !(v > 0 && v < 40) {
						t.Fatalf("%s: relevance %v", c.name, v)
					}
				}
				if math.Abs(total(p)-1) > 1e-12 {
					t.Fatalf("%s: shares %v", c.name, p)
				}
				for _, e := range x.Explain(row, nil) {
					if math.IsNaN(e.Relevance) || math.IsNaN(e.Alone) || math.IsNaN(e.Beside) {
						t.Fatalf("%s: %+v", c.name, e)
					}
				}
				if x.Reason(row) == c.reason {
					named++
				}
			}
			if named < len(base)/2 {
				t.Errorf("%s: reason %q is given for %d of %d records", c.name, c.reason, named, len(base))
			}
		}
	}
}

// TestExplain: the place of a feature is that in the subspace, its relevance the larger of what it tells alone and
// beside the others.
func TestExplain(t *testing.T) {
	c, _, ex := fitted(t, Options{Theta: .1}, 800)
	ranked := 0
	for i := range ex[:50] {
		features, relevance := c.Select(ex[i].Row, nil, nil)
		if !slices.IsSortedFunc(relevance, func(a, b float32) int { return cmp.Compare(b, a) }) {
			t.Fatalf("record %d: relevance %v", i, relevance)
		}
		told := 0
		for _, e := range c.Explain(ex[i].Row, nil) {
			if want := float64(float32(max(e.Alone, e.Beside))); e.Relevance != want || (e.Rank > 0) != (want > 0) {
				t.Fatalf("record %d: %+v", i, e)
			}
			if e.Rank > 0 {
				told++
				if features[e.Rank-1] != e.Feature || float64(relevance[e.Rank-1]) != e.Relevance {
					t.Fatalf("%+v, the subspace is %v", e, features)
				}
			}
		}
		if told != len(features) {
			t.Fatalf("record %d: %d of %v explained", i, told, features)
		}
		ranked += told
	}
	if ranked == 0 {
		t.Error("no feature is ranked")
	}
}

// TestNoAllocation: scoring writes into what is there.
func TestNoAllocation(t *testing.T) {
	for _, o := range []Options{{Theta: Auto}, {Theta: 0}, {Theta: .2}} {
		c, _, ex := fitted(t, o, 600)
		in := make([]float64, 3)
		features, scores := make([]int32, 0, 16), make([]float32, 0, 16)
		if n := testing.AllocsPerRun(100, func() {
			c.Inputs(ex[3].Row, in)
			features, scores = c.Select(ex[3].Row, features[:0], scores[:0])
			c.Learn(&ex[4])
			c.Retract(&ex[4])
		}); n != 0 {
			t.Errorf("%+v: %v allocations a record", o, n)
		}
	}
}

func FuzzLoadState(f *testing.F) {
	c, _, ex := fitted(f, Options{Theta: .2, Prototypes: 20}, 100)
	f.Add(c.AppendState(nil))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: c.schema}
		if d.LoadState(b) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3))
		d.Select(ex[0].Row, nil, nil)
		d.Learn(&ex[0])
		d.AppendState(nil)
	})
}

func FuzzDecodePart(f *testing.F) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 100, 7)
	part, err := New(Options{Theta: Auto, Prototypes: 20}, s).Fit(context.Background(), modeltest.Evidence(s, l, ex), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(part)
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: s}
		if d.Rebase(&model.Rebase{Part: b}) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3))
		d.Explain(ex[0].Row, nil)
	})
}
