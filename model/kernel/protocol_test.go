package kernel

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/modeltest"
)

// readSet reads a data file of numbers whose last column is the class.
func readSet(t testing.TB, set string) *model.Evidence {
	t.Helper()
	f, err := os.Open(modeltest.Shared(t, "data/"+set+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	s := &model.Schema{Positive: -1}
	ev := &model.Evidence{Schema: s}
	class := map[string]int32{}
	for i, name := range strings.Split(lines.Text(), ",") {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("%02d %s", i, name)})
	}
	s.Features = s.Features[:len(s.Features)-1]
	ev.Columns = make([][]float64, len(s.Features))
	for lines.Scan() {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		last := len(cells) - 1
		for k := range last {
			v, err := strconv.ParseFloat(cells[k], 64)
			if err != nil {
				t.Fatal(err)
			}
			ev.Columns[k] = append(ev.Columns[k], v)
		}
		if set == "boston_housing" { // the paper's classes are median values above and below 25 thousand
			v, err := strconv.ParseFloat(cells[last], 64)
			if err != nil {
				t.Fatal(err)
			}
			cells[last] = strconv.FormatBool(v > 25)
		}
		c, ok := class[cells[last]]
		if !ok {
			c = int32(len(class))
			class[cells[last]] = c
			s.Classes = append(s.Classes, cells[last])
		}
		ev.Class = append(ev.Class, c)
		ev.Weight = append(ev.Weight, 1)
	}
	return ev
}

// readSplits reads the splits and triples of every set.
func readSplits(t testing.TB) map[string][]Split {
	t.Helper()
	f, err := os.Open(modeltest.Shared(t, "oracles/kernel_triples.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string][]struct {
		Train, Test  []int32
		TrainTriples [][3]int32 `json:"train_triples"`
		TestTriples  [][3]int32 `json:"test_triples"`
	}
	if err := json.NewDecoder(z).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	out := map[string][]Split{}
	for set, list := range raw {
		for _, x := range list {
			out[set] = append(out[set], Split{x.Train, x.Test, x.TrainTriples, x.TestTriples})
		}
	}
	return out
}

var sets = []string{"boston_housing", "ionosphere", "iris", "wine", "balance_scale", "wdbc", "soybean_small",
	"protein_xing", "pima_diabetes"}

func meanError(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / float64(len(v)-1) / float64(len(v)))
}

// published are the figures in the order of sets: the best of Euclid, MMC diagonal, MMC full and SCML, and the
// reference programme's kernel with the coarse grid.
var published = []struct{ best, reference float64 }{
	{.696, .675}, {.73, .597}, {.947, .916}, {.915, .894}, {.738, .525}, {.807, .807}, {.949, .886}, {.674, .621},
	{.472, .453},
}

// measured is a mean over splits with its standard error.
type measured struct{ both, se, features float64 }

// measure runs the protocol on the splits.
func measure(t testing.TB, ev *model.Evidence, splits []Split, o *ProtocolOptions) measured {
	t.Helper()
	var both, count []float64
	for x := range splits {
		var r *Trial
		var err error
		if o == nil {
			r, err = EvaluateEuclidean(ev, &splits[x])
		} else {
			r, err = EvaluateTriples(t.Context(), ev, &splits[x], *o)
		}
		if err != nil {
			t.Fatal(err)
		}
		if o != nil && (r.Upper < r.Lower*(1-1e-9) || r.Status != lp.Optimal) {
			t.Errorf("split %d: %v, value %v, bound %v", x, r.Status, r.Upper, r.Lower)
		}
		both, count = append(both, r.Both), append(count, float64(r.Features))
	}
	m := measured{}
	m.both, m.se = meanError(both)
	m.features, _ = meanError(count)
	return m
}

// protocol returns the options of the table in README.md.
func protocol(f Family) *ProtocolOptions {
	return &ProtocolOptions{Family: f, Widths: []float64{.1, 1, 10}, Gamma1: math.NaN(), Gamma2: math.NaN(), Mirror: true}
}

// TestTriplesShort measures the first three splits of the smallest sets against earlier results.
func TestTriplesShort(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	splits := readSplits(t)
	for set, want := range map[string][2]float64{"iris": {.88, .88}, "wine": {.89, .97}, "balance_scale": {.52, .87}} {
		ev := readSet(t, set)
		for f, want := range want {
			got := measure(t, ev, splits[set][:3], protocol(Family(f)))
			if got.both < want-.03 {
				t.Errorf("%s, dictionary %d: %.3f, want about %.3f", set, f, got.both, want)
			}
			if set == "iris" && got.features > 3 {
				t.Errorf("iris, dictionary %d: %.1f features", f, got.features)
			}
		}
	}
}

// TestTriplesProtocol measures held-out triples on the given splits and prints the table of README.md. The Rich
// dictionary must reach the reference programme on every set, the best figure, or one standard error below it, on six
// of the nine, and use fewer features than there are on all but Balance.
func TestTriplesProtocol(t *testing.T) {
	if os.Getenv("LIFTSTREAM_LONG") == "" {
		t.Skip("SKIPPED, NOT CHECKED: ten splits of nine sets; set LIFTSTREAM_LONG=1")
	}
	splits := readSplits(t)
	near := 0
	for i, set := range sets {
		ev := readSet(t, set)
		euclid := measure(t, ev, splits[set], nil)
		weak := measure(t, ev, splits[set], protocol(Weak))
		rich := measure(t, ev, splits[set], protocol(Rich))
		t.Logf("| %s | %.3f | %.3f | %.3f | %.3f +- %.3f | %.1f | %.3f +- %.3f | %.1f of %d |", set, euclid.both,
			published[i].best, published[i].reference,
			weak.both, weak.se, weak.features, rich.both, rich.se, rich.features, len(ev.Columns))
		if rich.both < published[i].reference-.0005 { // printed to three digits
			t.Errorf("%s: %.3f, the reference has %.3f", set, rich.both, published[i].reference)
		}
		if rich.both+rich.se >= published[i].best-.0005 {
			near++
		}
		if rich.features >= float64(len(ev.Columns)) && set != "balance_scale" {
			t.Errorf("%s uses all features", set)
		}
	}
	if near < 6 {
		t.Errorf("%d of 9 sets are within one standard error of the best figure", near)
	}
}

// BenchmarkTriplesDictionaries measures the effect of further kernels beside the Weak dictionary: held-out triples that
// are right from both sides, and features used.
func BenchmarkTriplesDictionaries(b *testing.B) {
	splits := readSplits(b)
	for _, set := range sets {
		ev := readSet(b, set)
		for _, dictionary := range []struct {
			name string
			edit func(o *ProtocolOptions)
		}{
			{"weak", func(*ProtocolOptions) {}},
			{"one-view", func(o *ProtocolOptions) { o.Mirror = false }},
			{"seven-widths", func(o *ProtocolOptions) { o.Widths = []float64{.03, .1, .3, 1, 3, 10, 30} }},
			{"quantile-widths", func(o *ProtocolOptions) { o.Quantiles = []float64{.9, .5, .1} }},
			{"triangular", func(o *ProtocolOptions) { o.Further = []Shape{Triangular} }},
			{"linear", func(o *ProtocolOptions) { o.Further = []Shape{Linear} }},
			{"rich", func(o *ProtocolOptions) { o.Family = Rich }},
		} {
			b.Run(set+"/"+dictionary.name, func(b *testing.B) {
				o := protocol(Weak)
				dictionary.edit(o)
				var m measured
				for b.Loop() {
					m = measure(b, ev, splits[set], o)
				}
				b.ReportMetric(m.both, "both-sides")
				b.ReportMetric(m.features, "features")
			})
		}
	}
}

// TestProtocolByHand: three records on a line, the similarity of one Gaussian kernel.
func TestProtocolByHand(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}, {Name: "constant"}}, Classes: []string{"a", "b"},
		Positive: -1}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: [][]float64{{0, 1, 3, 4, 1.9}, {7, 7, 7, 7, 7}},
		Class: []int32{0, 0, 1, 1, 0}, Weight: []float64{1, 1, 1, 1, 1}}
	split := &Split{Train: []int32{0, 1, 2, 3}, Test: []int32{4},
		TrainTriples: [][3]int32{{0, 1, 2}, {1, 0, 3}, {2, 3, 1}, {3, 2, 0}},
		// 1.9 is nearer to 1 than to 3; 0 is nearer to 1.9 than to 3, but 1.9 nearer to 3 than to 0; the others fail.
		TestTriples: [][3]int32{{4, 1, 2}, {0, 4, 2}, {3, 0, 4}, {1, 0, 4}}}
	if r, err := EvaluateEuclidean(ev, split); err != nil || r.Both != .25 || r.Single != .5 || r.Train.Both != 1 ||
		r.Features != 1 {
		t.Errorf("Euclidean distance: %+v, %v", r, err)
	}
	for _, f := range []Family{Weak, Rich, FullGaussian} {
		r, err := EvaluateTriples(t.Context(), ev, split, ProtocolOptions{Family: f, Widths: []float64{1}, Gamma1: .01,
			Gamma2: .01})
		if err != nil {
			t.Fatal(err)
		}
		if f == Rich { // the product of 1.9 and 4 is positive, that of 1.9 and 0 is not
			r.Both, r.Single = r.Both-.5, r.Single-.25
		}
		if r.Both != .25 || r.Single != .5 || r.Train.Both != 1 || r.Features < 1 || r.Status != lp.Optimal {
			t.Errorf("%v: %+v", f, r)
		}
	}
	for name, spoil := range map[string]func(*Split){
		"same":        func(s *Split) { s.TrainTriples = [][3]int32{{0, 0, 2}} },
		"triple":      func(s *Split) { s.TestTriples = [][3]int32{{0, 1, 9}} },
		"record":      func(s *Split) { s.Train = []int32{-1} },
		"no triples":  func(s *Split) { s.TrainTriples = nil },
		"one value":   func(s *Split) { s.Train = []int32{2} },
		"empty train": func(s *Split) { s.Train = nil },
	} {
		c := *split
		spoil(&c)
		if _, err := EvaluateTriples(t.Context(), ev, &c, ProtocolOptions{Widths: []float64{1}, Gamma1: .01,
			Gamma2: .01}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDirections: the direction along which classes differ is found from triples.
func TestDirections(t *testing.T) {
	const n = 400
	p := &points{z: [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}, n: n}
	class, weight, rows := make([]int32, n), make([]float64, n), make([]int32, n)
	for i := range rows {
		rows[i], weight[i] = int32(i), 1
		x, y := 4*unit(1, i, 1)-2, 4*unit(1, i, 2)-2
		if x+y > 0 {
			class[i] = 1
		}
		p.z[0][i], p.z[1][i], p.z[2][i] = x, y, 4*unit(1, i, 3)-2
	}
	d := directions(p, []int32{0, 1, 2}, draw(class, weight, rows, 2, 1500, 1, recency))
	if len(d) != 3 || math.Abs(d[0].weights[0]/d[0].weights[1]-1) > .15 ||
		math.Abs(d[0].weights[2]) > .25*d[0].weights[0] {
		t.Errorf("%+v", d)
	}
	if d := directions(p, []int32{0}, nil); d != nil {
		t.Errorf("one feature gives %+v", d)
	}
}
