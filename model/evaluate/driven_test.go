package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/wire"
)

// labelled is n records that all have a class, of both kinds from the first of the second class on.
func labelled(n, second int) Source {
	return func(yield func(*model.Batch, error) bool) {
		for b := range stream(n, 50, false, false) {
			for r := range b.N {
				i := int(b.Offset)*50 + r
				b.Label[r] = int32(i % 2)
				if i < second {
					b.Label[r] = 0
				}
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// versions drives a method and returns the versions of the models that score, each with the first record that it
// scores.
func versions(t *testing.T, spec *model.Spec, src Source, opt Options) (out []string, run Run) {
	t.Helper()
	s, last := testSchema(), int64(-1)
	run, err := Prequential(t.Context(), s, src, []Method{Stage(MethodAll, spec)}, opt, func(r *Record) error {
		if v := r.Scores[0].Model; v != last {
			out, last = append(out, fmt.Sprintf("%d:%d", r.Index, v)), v
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, run
}

// TestWhenModelsCome: those of the cold start at the warm-up and at model.AfterCold of it each time, with two classes,
// until the first fit; then a verdict every Refit records, and each model follows the one before.
func TestWhenModelsCome(t *testing.T) {
	spec := stageSpec(testSchema())
	spec.Options.Warmup, spec.Options.Gate = 100, 9
	refused := *spec
	refused.Options.Gate = -9
	for _, c := range []struct {
		name          string
		spec          *model.Spec
		src           Source
		opt           Options
		want          string
		fits, refused int
	}{
		{"at once", spec, labelled(3100, 0), Options{Refit: 1000},
			"0:0 100:1 142:2 201:3 285:4 404:5 572:6 1000:7 2000:8 3000:9", 3, 0},
		{"one class at first", spec, labelled(1100, 250), Options{Refit: 1000}, "0:0 300:1 425:2 602:3 1000:4", 1, 0},
		{"late", spec, labelled(1200, 0), Options{Refit: 1000, Delay: 30},
			"0:0 130:1 172:2 231:3 315:4 434:5 602:6 1030:7", 1, 0},
		{"refused", &refused, labelled(2100, 0), Options{Refit: 1000}, "0:0 100:1 142:2 201:3 285:4 404:5 572:6", 0, 2},
		{"never", spec, labelled(500, 0), Options{}, "0:0", 0, 0},
		{"few", spec, labelled(130, 0), Options{Refit: 40}, "0:0 32:1 40:2 80:3 120:4", 3, 0},
	} {
		got, run := versions(t, c.spec, c.src, c.opt)
		if strings.Join(got, " ") != c.want || run.Fits != c.fits || run.Refused != c.refused ||
			len(run.Verdicts) != c.fits+c.refused {
			t.Errorf("%s: models %q, want %q; %d fits, %d refused, %d verdicts", c.name, got, c.want, run.Fits, run.Refused,
				len(run.Verdicts))
		}
		for k, v := range run.Verdicts {
			if v.Method != MethodAll || v.Learnt != int64((k+1)*c.opt.Refit) || v.Records != model.Compared(c.opt.Refit) ||
				v.Accepted() != (c.refused == 0) {
				t.Errorf("%s: verdict %d: %+v", c.name, k, v)
			}
		}
	}
}

// TestStabilityIsOfTheRecordsBeforeTheSwap: each accepted model scores the records since its fit anew, those of the
// lead alone, and a method beside changes nothing.
func TestStabilityIsOfTheRecordsBeforeTheSwap(t *testing.T) {
	s := testSchema()
	spec, other := stageSpec(s), stageSpec(s)
	spec.Options.Warmup, spec.Options.Gate, other.Options.Warmup = 100, 9, 300
	keep := func(*Record) error { return nil }
	var alone Run
	for _, methods := range [][]Method{
		{Stage(MethodAll, spec)}, {Stage(MethodAll, spec), Prior(s), Stage("other", other)},
		{Stage("other", other), Stage(MethodAll, spec)},
	} {
		d := newDriver(s, methods, Options{Refit: 500}, keep)
		if err := d.drive(t.Context(), labelled(2600, 0)); err != nil {
			t.Fatal(err)
		}
		if d.change.records != 5*model.Compared(500) {
			t.Errorf("%d methods: %d records scored anew, want %d", len(methods), d.change.records, 5*model.Compared(500))
		}
		verdicts := slices.DeleteFunc(slices.Clone(d.run.Verdicts), func(v FitVerdict) bool { return v.Method != MethodAll })
		if len(methods) == 1 {
			alone = d.run
			continue
		}
		if d.run.Stability != alone.Stability && len(methods) == 3 || !slices.Equal(verdicts, alone.Verdicts) {
			t.Errorf("%d methods: stability %+v, alone %+v; %d and %d verdicts", len(methods), d.run.Stability,
				alone.Stability, len(verdicts), len(alone.Verdicts))
		}
	}
	if m := alone.Stability.MeanChange; !(m > 0 && m < .2) {
		t.Errorf("stability %+v", alone.Stability)
	}
	c := &change{}
	c.add(&model.Scores{N: 2, Classes: 3, Segment: []int32{0, 1}, P: []float64{.5, .3, .2, .1, .8, .1}},
		&model.Scores{N: 2, Classes: 3, Segment: []int32{1, 1}, P: []float64{.2, .6, .2, .1, .8, .1}})
	c.add(&model.Scores{N: 1, Classes: 3, Segment: []int32{2}, P: []float64{0, 0, 1}},
		&model.Scores{N: 1, Classes: 3, Segment: []int32{2}, P: []float64{.3, 0, .7}})
	near(t, "mean change", c.stability().MeanChange, (.3+.3+.3+.3)/3/3, 1e-15)
	near(t, "share of other classes", c.stability().SegmentChanged, 1./3, 1e-15)
}

// TestLabelsThatFindNoRecordAreCounted: a store of so many records loses each label that comes later than that.
func TestLabelsThatFindNoRecordAreCounted(t *testing.T) {
	s := testSchema()
	forgets := Method{Name: "forgets", New: func(int32) Learner { return &forgetful{} }}
	run, err := Prequential(t.Context(), s, labelled(100, 0), []Method{forgets, Prior(s)}, Options{Delay: 10},
		func(*Record) error { return nil })
	// The label of record i is told when i + 10 has been scored: 90 of them, and every third is lost.
	if err != nil || run.Learnt != 90 || run.Lost != 30 {
		t.Errorf("%v: %d labels learnt, %d lost", err, run.Learnt, run.Lost)
	}
}

type forgetful struct{ labels int }

func (*forgetful) Events(b *model.Batch, out *model.Scores) { out.Reset(b.N, 2) }

func (f *forgetful) Labels(*model.Labels) (c model.LabelCounts) {
	if f.labels++; f.labels%3 == 0 {
		c.Unmatched = 1
		return c
	}
	c.Learnt, c.Unknown = 1, 7
	return c
}

// TestTheMethodOfBaseRates: the columns of its scores, and the weights of records whose labels come late, which it
// forgets with the label.
func TestTheMethodOfBaseRates(t *testing.T) {
	for positive, want := range map[int]int32{1: 1, 0: 0, -1: 0} {
		s := testSchema()
		s.Positive = positive
		q := Prior(s).New(0).(*prior)
		var out model.Scores
		b := &model.Batch{N: 4, Label: []int32{0, 0, model.Unlabelled, model.UnknownClass}, Weight: []float64{1, 2, 5, 7},
			Row: []int32{0, 1, 2, 3}, Offset: 9}
		q.Events(b, &out)
		// Before the third record: 3 of class 0, none of class 1; a pseudo-record weighs 5/3.
		p := []float64{(3 + 5./3) / (3 + 10./3), (5. / 3) / (3 + 10./3)}
		if math.Abs(out.P[4]-p[0])+math.Abs(out.P[5]-p[1]) > 1e-15 || out.Segment[2] != 0 || out.Target[2] != want ||
			out.BaseRate[2] != out.P[4+want] || out.Lift[2] != 1 || out.P[6] != out.P[4] || out.P[0] != .5 {
			t.Errorf("positive %d: %v, segment %d, target %d, base rate %v", positive, out.P, out.Segment[2], out.Target[2],
				out.BaseRate[2])
		}
		at := func(row int32, class int32) model.LabelCounts {
			return q.Labels(&model.Labels{N: 1, Class: []int32{class}, Offset: []int64{9}, Row: []int32{row}})
		}
		if c := at(2, model.UnknownClass); c.Learnt != 0 || len(q.waiting) != 0 {
			t.Errorf("a label of no class: %+v, %d records wait", c, len(q.waiting))
		}
		q.Events(b, &out)
		if c := at(2, 1); c.Learnt != 1 || q.n[1] != 5 || q.n[0] != 6 || q.total != 11 || q.square != 35 ||
			len(q.waiting) != 0 {
			t.Errorf("a late label: %+v, weights %v of %v and %v, %d records wait", c, q.n, q.total, q.square, len(q.waiting))
		}
	}
}

// TestTheScorecardOfOneComponent: base rates with a pseudo-record of each class, times the exponents of all inputs; its
// effects are the log-odds; a learnt record can be taken back, and bytes that are no counts are refused.
func TestTheScorecardOfOneComponent(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}, {Name: "group", Use: model.UseReport}, {Name: "y"}},
		Classes: []string{"a", "b", "c"}, Positive: 2}
	f := Alone(s)
	r := f.New(nil)
	for i, w := range []float64{2, 1, 1, 0} {
		r.Learn(&model.Example{Class: int32([]int{0, 1, 1, 2}[i]), Weight: w})
	}
	const unit = (4 + 1 + 1) / 4.
	rates := []float64{(2 + unit) / (4 + 3*unit), (2 + unit) / (4 + 3*unit), unit / (4 + 3*unit)}
	for y, want := range rates {
		near(t, "base rate", Number(r.BaseRate(int32(y))), Number(want), 1e-15)
	}
	p, pending := make([]float64, 3), make([]float64, r.PendingLen())
	inputs := []float64{.1, -.2, .3, 0, .5, -.5} // two inputs, classes innermost
	r.Score(nil, inputs, pending, p)
	var sum float64
	for y := range rates {
		sum += rates[y] * math.Exp(inputs[y]+inputs[3+y])
	}
	for y := range rates {
		near(t, "propensity", Number(p[y]), Number(rates[y]*math.Exp(inputs[y]+inputs[3+y])/sum), 1e-15)
	}
	for target := range int32(3) {
		why := r.Effects(model.Row{7, 8, 9}, pending, target, nil)
		var effects float64
		var of []int32
		for _, w := range why {
			effects += w.Effect
			of = append(of, w.Feature)
		}
		near(t, "effects", Number(effects), Number(math.Log(p[target]/(1-p[target]))), 1e-12)
		near(t, "intercept", Number(why[2].Effect), Number(math.Log(rates[target]/(1-rates[target]))), 1e-12)
		if !slices.Equal(of, []int32{0, 2, model.TermIntercept, model.TermOf(0)}) || why[0].Value != 7 || why[1].Value != 9 {
			t.Errorf("effects of %v: %+v", of, why)
		}
	}
	before := r.AppendState(nil)
	ex := &model.Example{Class: 2, Weight: 3}
	r.LearnScored(ex, nil, nil)
	if r.Retract(ex); !slices.Equal(before, r.AppendState(nil)) || !r.Remembers(nil) {
		t.Error("a record that is taken back leaves something")
	}
	part, err := f.Fit(t.Context(), &model.Evidence{Class: []int32{0, 2, 2}, Weight: []float64{1, 2, 2}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	since := func(yield func(ex *model.Example) bool) {
		_ = yield(&model.Example{Class: 1, Weight: 4}) && yield(&model.Example{Class: 1, Weight: 1})
	}
	if err := r.Rebase(&model.Rebase{Part: part, Since: since}); err != nil {
		t.Fatal(err)
	}
	const u = (1 + 4 + 4 + 16 + 1) / 10.
	for y, n := range []float64{1, 5, 4} {
		near(t, "base rate after a model", Number(r.BaseRate(int32(y))), Number((n+u)/(10+3*u)), 1e-15)
	}
	for _, v := range [][]float64{{1, 2, -1, 1}, {1, 2, 3, -1}, {1, math.Inf(1), 3, 1}, {1, 2, 3, math.NaN()}} {
		b := wire.AppendFloat(wire.AppendFloats(nil, v[:3]), v[3])
		if err := f.New(nil).LoadState(b); err == nil {
			t.Errorf("counts of %v are read", v)
		}
	}
}

// TestARecordComesWithItsOwnPartition: batch, row, weight, scores and levels are those of the partition to which its id
// belongs; a method without a state has no levels.
func TestARecordComesWithItsOwnPartition(t *testing.T) {
	s := testSchema()
	const n = 700
	var d *driver
	var source []*model.Batch
	for b := range stream(n, n, true, true) {
		source = append(source, b)
	}
	seen := map[int32]int{}
	d = newDriver(s, []Method{Stage(MethodAll, stageSpec(s)), Prior(s)}, Options{Partitions: 3}, func(r *Record) error {
		b, i := source[0], int(r.Index)
		seen[r.Partition]++
		if r.Batch.ID[r.Row] != b.ID[i] || r.Batch.Label[r.Row] != b.Label[i] || r.Class != b.Label[i] ||
			r.Weight != b.Weight[i] || r.Batch.Partition != r.Partition || r.Batch.Columns[0].Float[r.Row] !=
			b.Columns[0].Float[i] {
			t.Fatalf("record %d is row %d of partition %d: %+v", i, r.Row, r.Partition, r)
		}
		if r.Levels[0] != d.live[0][r.Partition].Levels() || r.Levels[1] != nil ||
			r.Scores[0] != &d.out[0][r.Partition] || r.Scores[1] != &d.out[1][r.Partition] {
			t.Fatalf("record %d: levels or scores are those of another partition than %d", i, r.Partition)
		}
		return nil
	})
	if err := d.drive(t.Context(), func(yield func(*model.Batch, error) bool) { yield(source[0], nil) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 || seen[0]+seen[1]+seen[2] != n {
		t.Errorf("records by partition: %v", seen)
	}
}
