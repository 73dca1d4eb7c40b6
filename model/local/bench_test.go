package local

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// benchmarkEvidence has bank's shape: 16 features, 2 classes.
func benchmarkEvidence(n int) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for range 16 {
		s.Features = append(s.Features, model.Feature{Name: "x", Kind: model.Continuous})
	}
	l, ex := modeltest.Generate(s, n, 3)
	for i := range ex {
		for j, v := range ex[i].Row {
			if math.IsNaN(v) {
				ex[i].Row[j] = 0
			}
		}
	}
	return modeltest.Evidence(s, l, ex)
}

// BenchmarkInputs measures the scoring of a record: curves, subspace, neighbours among 1,024 prototypes, and the
// published subspace.
func BenchmarkInputs(b *testing.B) {
	ev := benchmarkEvidence(4000)
	row := make(model.Row, 16)
	for _, c := range []struct {
		name    string
		measure Measure
	}{{"all", Measure{}}, {"capped", Measure{Cap: .4}}, {"weighted", Measure{Cap: 1.6, Weighted: true}},
		{"subspace", Measure{Theta: .25}}} {
		x := fit(b, Options{Theta: .25}, ev.Schema, ev)
		x.structure.measure = c.measure
		x.structure.prepare()
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			in := make([]float64, 2)
			features, scores := make([]int32, 0, 16), make([]float32, 0, 16)
			i := 0
			for b.Loop() {
				ev.Row(i%4000, row)
				i++
				x.Inputs(row, in)
				features, scores = x.Select(row, features[:0], scores[:0])
			}
		})
	}
}

// BenchmarkNewest measures the input of the newest records: the opinion of their neighbours.
func BenchmarkNewest(b *testing.B) {
	ev := benchmarkEvidence(4000)
	for j := range ev.Schema.Features {
		ev.Schema.Features[j].Name = string(rune('a' + j))
	}
	x := fit(b, Options{Theta: 0, Newest: 2048}, ev.Schema, ev)
	ex := model.Example{Row: make(model.Row, 16), Weight: 1}
	for i := range 4000 {
		ev.Row(i, ex.Row)
		ex.Class, ex.Clock = ev.Class[i], float64(i)
		x.Learn(&ex)
	}
	in := make([]float64, 2)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		ev.Row(i%4000, ex.Row)
		i++
		x.latest(ex.Row, in)
	}
}

func BenchmarkLearn(b *testing.B) {
	ev := benchmarkEvidence(4000)
	x := fit(b, Options{Theta: .25}, ev.Schema, ev)
	ex := model.Example{Row: make(model.Row, 16), Weight: 1}
	ev.Row(5, ex.Row)
	b.ReportAllocs()
	for b.Loop() {
		x.Learn(&ex)
	}
}

func BenchmarkFit(b *testing.B) {
	ev := benchmarkEvidence(5000)
	f := New(Options{Theta: Auto}, ev.Schema)
	for b.Loop() {
		if _, err := f.Fit(b.Context(), ev, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDistances measures the fused loops over 1,024 prototypes and 16 features.
func BenchmarkDistances(b *testing.B) {
	for _, c := range []struct {
		name   string
		limit  int64
		weight int64
	}{{"plain", noCap, 1}, {"capped", 1 << 28, 1}, {"weighted", 1 << 28, 300}} {
		b.Run(c.name, func(b *testing.B) {
			var terms []queryTerm
			for j := range 16 {
				t := queryTerm{q: float64(1000 * j), cap: c.limit, weight: c.weight}
				for k := range 1024 {
					t.at = append(t.at, float64(model.Hash(6, uint64(j), uint64(k))%(4*unit)))
				}
				terms = append(terms, t)
			}
			sum := make([]int64, 1024)
			for b.Loop() {
				distances(terms, sum)
			}
		})
	}
}
