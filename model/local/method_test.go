package local_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/local"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// TestMethod drives the component alone as a method of an evaluation, over the shipped records, in folds and in stream
// order with re-fits.
func TestMethod(t *testing.T) {
	lines := modeltest.CSV(t, "testdata/wdbc.csv.gz")
	s := &model.Schema{Classes: []string{"B", "M"}, Positive: 1}
	b := &model.Batch{N: len(lines) - 1}
	var folds []int
	for j, name := range lines[0][:30] {
		s.Features = append(s.Features, model.Feature{Name: name})
		c := model.Column{}
		for _, l := range lines[1:] {
			v, err := strconv.ParseFloat(l[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			c.Float = append(c.Float, v)
		}
		b.Columns = append(b.Columns, c)
	}
	for i, l := range lines[1:] {
		b.Label = append(b.Label, int32(slices.Index(s.Classes, l[30])))
		b.Time, b.Row = append(b.Time, int64(i)), append(b.Row, int32(i))
		k, err := strconv.Atoi(l[31])
		if err != nil {
			t.Fatal(err)
		}
		folds = append(folds, k)
	}
	source := func(yield func(*model.Batch, error) bool) { yield(b, nil) }
	o := local.Options{Theta: local.Auto, Prototypes: 200, Observations: 24}
	spec := &model.Spec{Schema: s, Components: []model.Factory{local.New(o, s)}, Scorecard: evaluate.Alone(s),
		Options: model.Options{Warmup: 150, TailBytes: 1 << 20, ReservoirRecords: 1000, ReservoirBytes: 1 << 20, Seed: 1,
			Gate: 1}}
	methods := []evaluate.Method{evaluate.Stage("local", spec)}
	right, selected, n := 0, 0, 0
	sink := func(r *evaluate.Record) error {
		out := r.Scores[0]
		if out.Status[r.Row] != model.StatusOK {
			return nil
		}
		n++
		if out.Segment[r.Row] == r.Class {
			right++
		}
		if features, _ := out.SubspaceOf(r.Row); len(features) > 0 {
			selected++
		}
		return nil
	}
	fold := func() evaluate.Fold {
		return func(i int64, _ int32) int {
			if folds[i] < 3 {
				return folds[i]
			}
			return -1
		}
	}
	if _, err := evaluate.Folds(context.Background(), s, source, methods, 3, fold, sink); err != nil {
		t.Fatal(err)
	}
	if a := float64(right) / float64(n); n < 150 || a < .93 || selected < n*9/10 {
		t.Errorf("folds: accuracy %v, %d of %d records with a subspace", a, selected, n)
	}
	right, selected, n = 0, 0, 0
	run, err := evaluate.Prequential(context.Background(), s, source, methods, evaluate.Options{Refit: 200, Partitions: 2},
		sink)
	if err != nil || run.Fits < 1 {
		t.Fatal(run, err)
	}
	if a := float64(right) / float64(n); n < 250 || a < .93 {
		t.Errorf("prequential: accuracy %v of %d trained", a, n)
	}
}

// TestFittedWeights: a fit from records learns the worth of the neighbours' votes, each record's without itself, and
// scores new records better for it.
func TestFittedWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	g := local.WideSubspaces(1)
	s := g.Schema()
	batch := func(from, to int) *model.Batch {
		b := &model.Batch{N: to - from, Columns: make([]model.Column, g.Features)}
		for i := from; i < to; i++ {
			row, class, _ := g.Record(i)
			for j, v := range row {
				b.Columns[j].Float = append(b.Columns[j].Float, v)
			}
			b.Label, b.Time, b.Row = append(b.Label, class), append(b.Time, int64(i)), append(b.Row, int32(i))
		}
		return b
	}
	loss := map[string]float64{}
	for _, name := range []string{"alone", "with"} {
		o := propensity.Default()
		spec := &model.Spec{Schema: s, Options: model.Options{Warmup: 150, TailBytes: 1 << 20, ReservoirRecords: 1000,
			ReservoirBytes: 1 << 20, Seed: 1}}
		if name == "with" {
			spec.Components = []model.Factory{local.New(local.Options{Theta: local.Auto, Observations: 24}, s)}
			o.Blocks = []propensity.Block{{Name: "local", Inputs: 1}}
		}
		spec.Scorecard = propensity.New(o, s)
		b := model.NewBuilder(spec)
		b.Add(batch(0, 450))
		m, err := b.Fit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p := model.NewPartition(spec, 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		test := batch(450, 650)
		class := test.Label
		test.Label = slices.Repeat([]int32{model.Unlabelled}, test.N)
		var out model.Scores
		p.Events(test, &out)
		for i, y := range class {
			loss[name] -= math.Log(out.P[i*g.Classes+int(y)]) / float64(len(class))
		}
	}
	if loss["with"] > loss["alone"]-.05 {
		t.Errorf("log-losses %v", loss)
	}
}
