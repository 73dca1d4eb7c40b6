package model_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// TestAVerdictIsThatOfItsRecords counts a verdict anew from the scores of partitions that serve the old and the new
// model: of each partition the first records after the fit, its share of the limit; losses by weight; and the interval
// over 20 batches of the records of all partitions in the order of their times.
func TestAVerdictIsThatOfItsRecords(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(nil)
	weigh := func(b *model.Batch) {
		for i := range b.Row {
			b.Weight = append(b.Weight, []float64{1, 3, .5}[b.Row[i]%3])
		}
	}
	sizes := []int{700, 300, 200} // records after the fit; 2 has no structure
	begin := func(n int) *model.Partition {
		p := model.NewPartition(spec, int32(n))
		feed(p, 3000*n, 3000*n+[]int{1500, 400, 60}[n], 50, weigh)
		return p
	}
	var parts []*model.Partition
	for n := range sizes {
		parts = append(parts, begin(n))
	}
	m, from := fit(t, spec, parts...)
	for n, p := range parts {
		feed(p, 10_000, 10_000+sizes[n], 50, weigh) // the same times in each
	}
	for _, limit := range []int{5000, 600, 45, 10, 7} {
		type loss struct {
			at                    int
			weight, before, after float64
		}
		var all []loss
		for n, size := range sizes[:2] {
			old, next := clone(t, spec, begin(n)), clone(t, spec, begin(n))
			if err := next.Swap(m); err != nil {
				t.Fatal(err)
			}
			most := size
			if limit < 1200 { // of the sums up to the partition and up to the one before
				sum := []int{700, 1000}[n]
				most = sum*limit/1200 - (sum-size)*limit/1200
			}
			for i := range most {
				x := loss{at: 10_000 + i}
				for k, p := range []*model.Partition{old, next} {
					y := rows(x.at, 1).Label[0]
					got := feed(p, x.at, x.at+1, 1, func(b *model.Batch) {
						weigh(b)
						x.weight = b.Weight[0]
					})
					*[]*float64{&x.before, &x.after}[k] = -math.Log(got[y])
				}
				all = append(all, x)
			}
		}
		slices.SortStableFunc(all, func(a, b loss) int { return a.at - b.at })
		var weight, before, after float64
		for _, x := range all {
			weight, before, after = weight+x.weight, before+x.weight*x.before, after+x.weight*x.after
		}
		before, after = before/weight, after/weight
		half := math.NaN()
		if n := len(all); n >= 40 {
			square := 0.
			for b := range 20 {
				e := 0.
				for _, x := range all[b*n/20 : (b+1)*n/20] {
					e += x.weight * (x.after - x.before - after + before)
				}
				square += e * e
			}
			half = 2.093024054408263 * math.Sqrt(20./19*square) / weight
		}
		v := compare(t, spec, m, from, snapshots(parts...), limit)
		for name, x := range map[string][2]float64{
			"old": {v.Old, before}, "new": {v.New, after}, "low": {v.Low, after - before - half},
			"high": {v.High, after - before + half}, "difference": {v.Difference(), after - before},
		} {
			if !(math.Abs(x[0]-x[1]) < 1e-9 || math.IsNaN(x[0]) && math.IsNaN(x[1])) {
				t.Errorf("limit %d: %s is %v, want %v", limit, name, x[0], x[1])
			}
		}
		want := model.WithinGate
		if after-before > spec.Options.Gate {
			want = model.Worse
		} else if after-before+half < 0 {
			want = model.Better
		}
		if v.Records != len(all) || v.Reason != want {
			t.Errorf("limit %d: %d records, %v; want %d, %v", limit, v.Records, v.Reason, len(all), want)
		}
	}
}

// TestServing: a structure of any kind serves, model 0 too, and nothing serves before.
func TestServing(t *testing.T) {
	spec := newSpec(nil)
	cold, own := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(cold, 0, 99, 99, nil)
	feed(own, 0, 120, 60, nil)
	if own.ModelVersion() != 0 || !own.Trained() {
		t.Fatal("partition 1 does not serve model 0")
	}
	for want, states := range map[bool]model.Held{false: snapshots(cold), true: snapshots(cold, own)} {
		if got, err := model.Serving(states); got != want || err != nil {
			t.Errorf("%d partitions: something serves: %v, %v", len(states), got, err)
		}
	}
	if _, err := model.Serving(model.Held{3: {"core": {}}}); err == nil {
		t.Error("a state without a head serves, or not")
	}
}

// TestABuilderTakesLabelledRowsOfWeight, and its exchangeable evidence is that of all rows taken so far.
func TestABuilderTakesLabelledRowsOfWeight(t *testing.T) {
	spec := newSpec(nil)
	b := model.NewBuilder(spec)
	if b.Len() != 0 || b.Classes() != 0 {
		t.Errorf("an empty builder has %d rows of %d classes", b.Len(), b.Classes())
	}
	if _, err := b.Fit(context.Background()); err == nil || err.Error() != "fitting: no labelled record" {
		t.Errorf("without rows: %v", err)
	}
	add := func(from int, labels []int32, weights ...float64) {
		x := rows(from, len(labels))
		x.Label, x.Weight = labels, weights
		b.Add(x)
	}
	add(0, []int32{model.Unlabelled, model.UnknownClass, 1}, 1, 1, 0)
	if b.Len() != 0 || b.Classes() != 0 {
		t.Errorf("%d rows of %d classes: none is labelled and weighs something", b.Len(), b.Classes())
	}
	add(3, []int32{1, 1, model.Unlabelled}, 2, 1e300, 1)
	if b.Len() != 2 || b.Classes() != 1 {
		t.Errorf("%d rows of %d classes, want 2 of 1", b.Len(), b.Classes())
	}
	if _, err := b.Fit(context.Background()); err == nil ||
		err.Error() != "fitting: each labelled record (2) is of one class" {
		t.Errorf("of one class: %v", err)
	}
	first := b.Exchangeable().Len()
	if again := b.Exchangeable(); again.Len() != first || first != 2 || !again.Exchangeable {
		t.Errorf("exchangeable evidence of %d and %d records", first, again.Len())
	}
	add(6, []int32{0})
	ev, mixed := b.Evidence(), b.Exchangeable()
	if b.Len() != 3 || b.Classes() != 2 || mixed.Len() != 3 || ev.Exchangeable {
		t.Errorf("%d rows of %d classes, %d of them in the evidence", b.Len(), b.Classes(), mixed.Len())
	}
	if got, want := fmt.Sprint(ev.Class, ev.Weight, ev.Clock), fmt.Sprint([]int32{1, 1, 0},
		[]float64{2, model.MaxWeight, 1}, []float64{0, 1, 2}); got != want {
		t.Errorf("class, weight and clock %s, want %s", got, want)
	}
	for i, at := range mixed.Source {
		if mixed.Class[i] != ev.Class[at] || mixed.Weight[i] != ev.Weight[at] || mixed.Clock[i] != float64(i) ||
			mixed.Time[i] != 0 || math.Float64bits(mixed.Columns[0][i]) != math.Float64bits(ev.Columns[0][at]) {
			t.Errorf("record %d is not the row %d that it names", i, at)
		}
	}
}

// TestTheModelOfABuilder is that of all of its rows, with or without their order, and marks no partition.
func TestTheModelOfABuilder(t *testing.T) {
	spec := newSpec(nil)
	b := model.NewBuilder(spec)
	heavy := rows(0, 3)
	heavy.Weight = []float64{2, 1e300, 1}
	b.Add(heavy)
	b.Add(rows(100, 400))
	for exchangeable, fit := range map[bool]func(context.Context) (*model.Model, error){true: b.Fit, false: b.FitAsOfEnd} {
		m, err := fit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if m.Version != 1 || m.Info.Records != 403 || m.Info.Weight != 2+model.MaxWeight+401 || len(m.Marks) != 0 ||
			m.Info.Exchangeable != exchangeable || m.Fingerprint != 42 || m.Info.Verdict.Gate != spec.Options.Gate {
			t.Errorf("exchangeable %v: %+v", exchangeable, m.Info)
		}
	}
}

// TestAScoreExplainsItself: the reasons are the features by the size of their effects, with as many as are asked for,
// and the named terms where all are; the subspace, where no component selects one, is the features of a fifth of the
// largest effect or more that show a lift, by the divergence in nats of the rate that it makes of the base rate.
func TestAScoreExplainsItself(t *testing.T) {
	all := model.NewPartition(newSpec(nil), 0)
	feed(all, 0, 1000, 100, nil)
	var want model.Scores
	all.Events(rows(1000, 200), &want)
	for _, why := range []int{0, 2, 3, 9} {
		p := model.NewPartition(newSpec(func(o *model.Options) { o.Why = why }), 0)
		feed(p, 0, 1000, 100, nil)
		var got model.Scores
		p.Events(rows(1000, 200), &got)
		for i := range 200 {
			a, b := got.WhyOf(i), want.WhyOf(i)
			if n := min(why, len(schema.Features)); len(a) != n || !slices.EqualFunc(a, b[:n], func(x, y model.Reason) bool {
				return x.Feature == y.Feature && x.Effect == y.Effect && (x.Lift == y.Lift || x.Lift != x.Lift && y.Lift != y.Lift)
			}) {
				t.Fatalf("why %d, record %d: %+v, of all %+v", why, i, a, b)
			}
		}
	}
	small, untold, told := 0, 0, 0
	for i := range 200 {
		why := want.WhyOf(i)
		n := len(schema.Features)
		if len(why) <= n || why[n].Feature != model.TermIntercept {
			t.Fatalf("record %d: the reasons %+v have no terms behind the features", i, why)
		}
		nats := map[int32]float64{}
		for k, r := range why[:n] {
			if k > 0 && math.Abs(r.Effect) > math.Abs(why[k-1].Effect) {
				t.Fatalf("record %d: reason %d has the larger effect: %+v", i, k, why)
			}
			q := want.BaseRate[i]
			p := r.Lift * q
			switch rel := math.Abs(r.Effect) / math.Abs(why[0].Effect); {
			case math.IsNaN(r.Lift):
				untold++
			case rel < .2:
				small++
			default:
				told++
				nats[r.Feature] = p*math.Log(p/q) + (1-p)*math.Log((1-p)/(1-q))
			}
		}
		f, r := want.SubspaceOf(i)
		for k := range f {
			if v, ok := nats[f[k]]; !ok || math.Abs(v-float64(r[k])) > 1e-6 || k > 0 && r[k] > r[k-1] {
				t.Fatalf("record %d: subspace %v of relevance %v, want %v", i, f, r, nats)
			}
		}
		if len(f) != len(nats) {
			t.Fatalf("record %d: subspace %v of relevance %v, want %v", i, f, r, nats)
		}
	}
	t.Logf("%d features show a lift, %d of small effects, %d none", told, small, untold)
	if told == 0 || untold == 0 {
		t.Error("the test says nothing")
	}
}

// TestARecordWithoutValuesIsDegraded: a feature that is reported alone is no value to score by.
func TestARecordWithoutValuesIsDegraded(t *testing.T) {
	for use, want := range map[model.Use]model.Status{
		model.UseScore: model.StatusOK, model.UseReport: model.StatusDegraded,
	} {
		s := *schema
		s.Features = slices.Clone(s.Features)
		s.Features[0].Use = use
		spec := newSpec(nil)
		spec.Schema, spec.Scorecard = &s, propensity.New(propensity.Default(), &s)
		p := model.NewPartition(spec, 0)
		feed(p, 0, 300, 100, nil)
		b := rows(300, 3)
		for f := range b.Columns {
			for i := range 2 {
				if b.Columns[f].Float != nil {
					b.Columns[f].Float[i] = math.NaN()
				} else {
					b.Columns[f].Code[i] = model.MissingCode
				}
			}
		}
		b.Columns[0].Float[1], b.Columns[0].Float[2] = 30, 30
		b.Columns[1].Code[2] = 0
		var out model.Scores
		p.Events(b, &out)
		for i, status := range []model.Status{model.StatusDegraded, want, model.StatusOK} {
			reason := ""
			if status == model.StatusDegraded {
				reason = model.ReasonAllMissing
			}
			if out.Status[i] != status || out.Reason[i] != reason {
				t.Errorf("use %d, record %d: %v %q, want %v %q", use, i, out.Status[i], out.Reason[i], status, reason)
			}
		}
	}
}

// TestTheTargetOfAPartitionWithoutAStructure is the positive class, the first one too, else the most frequent one.
func TestTheTargetOfAPartitionWithoutAStructure(t *testing.T) {
	for positive, want := range map[int]int32{0: 0, 1: 1, -1: 1} {
		s := *schema
		s.Positive = positive
		spec := newSpec(nil)
		spec.Schema, spec.Scorecard = &s, propensity.New(propensity.Default(), &s)
		p := model.NewPartition(spec, 0)
		b := rows(0, 4)
		b.Label = []int32{1, 0, 1, 1}
		var out model.Scores
		p.Events(b, &out)
		if out.Target[3] != want || out.Segment[3] != 1 || out.BaseRate[3] != out.P[6+want] ||
			math.Abs(out.P[7]-3./5) > 1e-15 {
			t.Errorf("positive %d: target %d, segment %d, base rate %v of %v", positive, out.Target[3], out.Segment[3],
				out.BaseRate[3], out.P[6:])
		}
	}
}
