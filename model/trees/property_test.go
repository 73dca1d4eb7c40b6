package trees

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// uniform returns numbers in [0, 1).
func uniform(seed uint64, words ...uint64) float64 {
	return float64(model.Hash(seed, words...)>>11) / (1 << 53)
}

// table is n records of d numbers, with classes by odds of the number.
func table(n, d int, seed uint64, p func(x []float64) float64) ([][]float64, []int32) {
	rows, class := make([][]float64, n), make([]int32, n)
	for i := range rows {
		for f := range d {
			rows[i] = append(rows[i], uniform(seed, uint64(i), uint64(f)))
		}
		if uniform(seed, uint64(i), 1<<32) < p(rows[i]) {
			class[i] = 1
		}
	}
	return rows, class
}

// xor is the three-way XOR of thresholds, wrong for a tenth of the records.
func xor(x []float64) float64 {
	if (x[0] > .5) != (x[1] > .5) != (x[2] > .5) {
		return .9
	}
	return .1
}

// noise is a class that no feature tells.
func noise([]float64) float64 { return .3 }

func fitted(t testing.TB, o Options, ev *model.Evidence) (*Part, []byte) {
	t.Helper()
	b, err := New(o, ev.Schema).Fit(t.Context(), ev, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(ev.Schema, b)
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

// TestPlanted: effects of features together, which an additive model cannot see, are found by these features.
func TestPlanted(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		p    func(x []float64) float64
		gain float64 // of the log-loss out of fold, at least
		of   int     // features that matter
	}{
		{"two thresholds", 2000, func(x []float64) float64 { return .1 + .8*math.Abs(above(x[0])-above(x[1])) }, .25, 2},
		{"three thresholds among ten others", 20000, xor, .2, 3},
		{"a box", 3000, func(x []float64) float64 { return .1 + .8*above(x[0])*above(x[1])*above(1-x[2]) }, .02, 3},
	} {
		if testing.Short() && c.n > 5000 {
			t.Logf("%s: SKIPPED under -short: a large fit", c.name)
			continue
		}
		rows, class := table(c.n, 13, 5, c.p)
		p, _ := fitted(t, Default(), numbered(rows, class))
		if len(p.trees) == 0 || p.info.gain < c.gain {
			t.Errorf("%s: %d trees lower the log-loss by %v, want at least %v", c.name, len(p.trees), p.info.gain, c.gain)
			continue
		}
		used := p.importance(13)
		for f := range used {
			for o := range c.of {
				if f >= c.of && used[f] > used[o] {
					t.Errorf("%s: feature %d counts %v, feature %d %v", c.name, f, used[f], o, used[o])
				}
			}
		}
	}
}

func above(v float64) float64 {
	if v > .5 {
		return 1
	}
	return 0
}

// TestGateOnNoise: of 100 streams whose class no features tell together, at most 1 gets trees at three standard errors,
// and at most 5 would at two (2.3 if the number of rounds were not chosen).
func TestGateOnNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: two hundred fits")
	}
	for _, c := range []struct {
		name string
		p    func(x []float64) float64
	}{{"noise", noise}, {"one feature tells", func(x []float64) float64 { return .2 + .5*x[0] }}} {
		passed, two := 0, 0
		for seed := range uint64(100) {
			rows, class := table(1000, 6, 100+seed, c.p)
			p, _ := fitted(t, Default(), numbered(rows, class))
			if len(p.trees) > 0 {
				passed++
			}
			if p.info.gain > 2*p.info.stderr {
				two++
			}
		}
		t.Logf("%s: %d of 100, at two standard errors %d", c.name, passed, two)
		if passed > 1 || two > 5 {
			t.Errorf("%s: %d of 100 streams get trees, at two standard errors %d", c.name, passed, two)
		}
	}
}

// TestRepeatedRows: a file whose rows are repeated has no trees where its class is noise, and those of its effects
// where features tell it together, also where the file has a few different rows only.
func TestRepeatedRows(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: a hundred fits")
	}
	coarse := func(x []float64) []float64 {
		for f := range x {
			x[f] = above(x[f])
		}
		return x
	}
	for _, c := range []struct {
		name        string
		times       int
		p           func(x []float64) float64
		edit        func(x []float64) []float64
		least, most int // of 20 files with trees
	}{
		{"noise once", 1, noise, nil, 0, 0}, {"noise twice", 2, noise, nil, 0, 0}, {"noise five times", 5, noise, nil, 0, 1},
		{"XOR twice", 2, func(x []float64) float64 { return .1 + .8*math.Abs(above(x[0])-above(x[1])) }, nil, 20, 20},
		{"XOR of two-valued features", 1, func(x []float64) float64 { return .1 + .8*math.Abs(above(x[0])-above(x[1])) },
			coarse, 20, 20},
	} {
		kept := 0
		for seed := range uint64(20) {
			once, of := table(1000, 6, 100+seed, c.p)
			var rows [][]float64
			var class []int32
			for i := range c.times * len(once) {
				rows, class = append(rows, slices.Clone(once[i%len(once)])), append(class, of[i%len(once)])
				if c.edit != nil {
					c.edit(rows[i])
				}
				if j := int(model.Hash(seed, uint64(i)) % uint64(i+1)); j < i {
					rows[i], rows[j], class[i], class[j] = rows[j], rows[i], class[j], class[i]
				}
			}
			ev := numbered(rows, class)
			ev.Exchangeable = true
			p, b := fitted(t, Default(), ev)
			if len(p.trees) > 0 {
				kept++
			}
			if len(p.trees) == 0 || seed > 0 {
				continue
			}
			live := &Component{schema: ev.Schema}
			if err := live.Rebase(&model.Rebase{Part: b}); err != nil {
				t.Fatal(err)
			}
			first := map[float64]float64{} // input of the first copy of a row
			for i := range rows {
				var in [2]float64
				live.InputsWithout(&model.Example{Row: rows[i], Class: class[i], Weight: 1, Clock: float64(i)}, in[:])
				if was, ok := first[rows[i][0]]; c.edit == nil && ok && was != in[1] {
					t.Fatalf("%s: copies of a row are scored by trees of several folds: %v, %v", c.name, was, in[1])
				}
				first[rows[i][0]] = in[1]
			}
		}
		if kept < c.least || kept > c.most {
			t.Errorf("%s: %d of 20 files have trees, want %d to %d", c.name, kept, c.least, c.most)
		}
	}
}

// TestOrderOfRows: a part is the same bytes in any order of reading the records, as long as they keep their clocks.
func TestOrderOfRows(t *testing.T) {
	l, ex := modeltest.Generate(modeltest.Schema(), 600, 3)
	o := Options{Rounds: 5, Leaves: 6, Rate: .3, Gate: -1e9}
	s := modeltest.Schema()
	_, want := fitted(t, o, modeltest.Evidence(s, l, ex))
	turned := slices.Clone(ex)
	slices.Reverse(turned)
	if _, got := fitted(t, o, modeltest.Evidence(s, l, turned)); !bytes.Equal(got, want) {
		t.Error("the order of the records changes the part")
	}
}

// TestWeightsAreDuplicates: a record of weight w grows the tree of w records, but for the least number of records.
func TestWeightsAreDuplicates(t *testing.T) {
	rows, class := table(500, 4, 9, xor)
	var twice [][]float64
	var classes []int32
	ev := numbered(rows, class)
	for i := range rows {
		w := 1 + i%3
		ev.Weight[i] = float64(w)
		for range w {
			twice, classes = append(twice, rows[i]), append(classes, class[i])
		}
	}
	grow := func(ev *model.Evidence, by float64) *grown {
		r := coded(ev)
		for i := range r.weight { // both sums of weights to those of the duplicates
			r.weight[i] = math.Round(r.weight[i] * by)
		}
		x := newGrower(newEnsemble(r, -1), shape{leaves: 8, least: 1, curvature: 1, ridge: 10, rate: .1})
		if _, err := x.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		return x.trees[0]
	}
	a, b := grow(ev, float64(len(twice))/float64(len(rows))), grow(numbered(twice, classes), 1)
	if !slices.Equal(a.nodes, b.nodes) {
		t.Errorf("weights %+v, duplicates %+v", a.nodes, b.nodes)
	}
}

// TestBothSidesOfASplitHaveTheLeastRecords: few records at either end have a class of their own. They get a leaf where
// its least number allows it, and share one with others where not.
func TestBothSidesOfASplitHaveTheLeastRecords(t *testing.T) {
	const n, few = 640, 20
	for _, end := range []string{"low", "high"} {
		var rows [][]float64
		var class []int32
		for i := range n {
			rows = append(rows, []float64{float64(i)})
			y := int32(0)
			if end == "low" && i < few || end == "high" && i >= n-few {
				y = 1
			}
			class = append(class, y)
		}
		for _, least := range []int{few, 60, 200} {
			x := newGrower(newEnsemble(coded(numbered(rows, class)), -1),
				shape{leaves: 8, least: least, curvature: 1e-3, ridge: .01, rate: .1})
			if _, err := x.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			smallest := float64(n)
			for _, node := range x.trees[0].nodes {
				if node.left == 0 {
					smallest = min(smallest, node.weight)
				}
			}
			if smallest < float64(least) || smallest > float64(least)+n/maxBins {
				t.Errorf("%s: the smallest leaf has %v records, at least %d", end, smallest, least)
			}
		}
	}
}

// TestRateOfManyClasses: classes share 256 trees, and the rate grows as their rounds become fewer (METHOD.md 3).
func TestRateOfManyClasses(t *testing.T) {
	for _, c := range []struct {
		classes, rounds int
		rate, want      float64
	}{
		{2, 120, .15, .15},
		{4, 120, .15, .15}, // 64 rounds are enough
		{5, 120, .15, .15 * 160 / 3 / 51},
		{10, 120, .15, .15 * 160 / 3 / 25},
		{20, 120, .15, .5},
		{10, 120, .3, .5},
		{10, 120, .7, .7},
		{10, 25, .15, .15}, // as many as are asked for
	} {
		s := &model.Schema{Classes: make([]string, c.classes)}
		f := New(Options{Rounds: c.rounds, Leaves: 4, Rate: c.rate}, s)
		if got := f.rate(); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%d classes, %d rounds at %v: %v, want %v", c.classes, c.rounds, c.rate, got, c.want)
		}
	}
}

// TestManyClasses: with the larger rate of twelve classes, noise gets no trees, and classes of the XOR of features do.
func TestManyClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: sixteen fits of twelve classes")
	}
	const classes, streams = 12, 8
	told := func(x []float64) int32 { // three XORs, eight of the twelve classes
		bit := func(a, b float64) int32 { return int32(math.Abs(above(a) - above(b))) }
		return bit(x[0], x[1]) + 2*bit(x[2], x[3]) + 4*bit(x[4], x[5])
	}
	for _, c := range []struct {
		name        string
		n           int
		share       float64 // of the records whose class features tell
		least, most int     // streams with trees
	}{{"noise", 1000, 0, 0, 0}, {"XOR", 1500, .8, streams, streams}} {
		kept := 0
		for seed := range uint64(streams) {
			rows, class := table(c.n, 6, 400+seed, noise)
			for i := range class {
				class[i] = int32(uniform(seed, uint64(i), 7) * classes)
				if uniform(seed, uint64(i), 8) < c.share {
					class[i] = told(rows[i])
				}
			}
			ev := numbered(rows, class)
			ev.Schema.Classes, ev.Schema.Positive = strings.Split("abcdefghijkl", ""), 0
			if p, _ := fitted(t, Default(), ev); len(p.trees) > 0 {
				kept++
			}
		}
		t.Logf("%s: %d of %d streams get trees", c.name, kept, streams)
		if kept < c.least || kept > c.most {
			t.Errorf("%s: %d of %d streams get trees", c.name, kept, streams)
		}
	}
}
