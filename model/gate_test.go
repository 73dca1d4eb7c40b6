package model_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

type states = model.Held

// fit makes a candidate of partitions.
func fit(t *testing.T, spec *model.Spec, p ...*model.Partition) (*model.Model, states) {
	t.Helper()
	s := snapshots(p...)
	m, err := model.Fit(context.Background(), spec, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func snapshots(p ...*model.Partition) states {
	s := states{}
	for _, x := range p {
		s[x.Index()] = x.Snapshot()
	}
	return s
}

func compare(t *testing.T, spec *model.Spec, m *model.Model, from, to states, limit int) model.Verdict {
	t.Helper()
	v, err := model.Compare(context.Background(), spec, m, from, to, limit)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTheServingSideIsWhatWasServed: the log-loss of the serving model in a Verdict is that of the scores which the
// partition gave. With late labels it is the same: the replay learns the labels that came between score and label, and
// uses the memory of the score.
func TestTheServingSideIsWhatWasServed(t *testing.T) {
	for _, late := range []int{0, 30, 400} {
		spec := newSpec(func(o *model.Options) { o.Warmup = 200; o.WaitWindow = 0; o.Correct = false })
		p := model.NewPartition(spec, 0)
		loss := map[int]float64{}
		learnt, seen := 0, 0
		step := func(to int) {
			for ; seen < to; seen++ {
				b := rows(seen, 1)
				y := b.Label[0]
				if late > 0 {
					b.Label[0] = model.Unlabelled
				}
				var s model.Scores
				p.Events(b, &s)
				loss[seen] = -math.Log(s.P[y])
				if late > 0 && seen >= late {
					old := rows(seen-late, 1)
					p.Labels(&model.Labels{N: 1, Class: old.Label, ID: old.ID, Time: b.Time})
				}
				learnt = seen + 1 - late
			}
		}
		step(1500)
		m, from := fit(t, spec, p)
		first := learnt
		step(2100)
		to := snapshots(p)
		v := compare(t, spec, m, from, to, 300)
		if v.Records != 300 {
			t.Fatalf("%d late: %d records compared", late, v.Records)
		}
		var want float64
		n := 0
		for i := first; i < first+300; i++ {
			if i >= 1500 { // before, the two are compared as they are at the fit
				want, n = want+loss[i], n+1
			}
		}
		if n == 300 && math.Abs(v.Old-want/300) > 1e-12 {
			t.Errorf("%d late: the serving log-loss is %v, that of the scores %v", late, v.Old, want/300)
		}
		if again := compare(t, spec, m, from, to, 300); !bytes.Equal(v.AppendBinary(nil), again.AppendBinary(nil)) {
			t.Errorf("%d late: another verdict at the second time", late)
		}
		if late > 0 && late < 300 { // records 30 to 300 of the comparison were scored after the fit
			all := compare(t, spec, m, from, to, late)
			rest := (v.Old*300 - all.Old*float64(late)) / float64(300-late)
			if math.Abs(rest-want/float64(n)) > 1e-12 {
				t.Errorf("%d late: the serving log-loss is %v, that of the scores %v", late, rest, want/float64(n))
			}
		}
	}
}

// invert gives every record the other class.
func invert(b *model.Batch) {
	for i := range b.Label {
		b.Label[i] = 1 - b.Label[i]
	}
}

// TestAModelOfInvertedLabelsIsRefused: partition 1 has learnt 10,000 inverted labels, and its counts would come to
// partition 0.
func TestAModelOfInvertedLabelsIsRefused(t *testing.T) {
	spec := newSpec(nil)
	good, bad := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(good, 0, 1000, 100, nil)
	feed(bad, 1000, 11_000, 500, invert)
	m, from := fit(t, spec, good, bad)
	feed(good, 20_000, 21_000, 100, nil)
	v := compare(t, spec, m, from, snapshots(good, bad), 1000)
	if v.Accepted() || v.Reason != model.Worse || !(v.Low > 0) || v.Records != 1000 {
		t.Errorf("%+v", v)
	}
}

// TestAnHonestImprovementPasses: partition 0 has seen 150 records, partition 1 10,000 of the same kind.
func TestAnHonestImprovementPasses(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.Gate = 0 })
	small, large := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(small, 0, 150, 50, nil)
	feed(large, 1000, 11_000, 500, nil)
	m, from := fit(t, spec, small, large)
	feed(small, 20_000, 21_000, 100, nil)
	v := compare(t, spec, m, from, snapshots(small, large), 1000)
	if v.Reason != model.Better || !(v.Difference() < -.01) ||
		!(v.Low < v.Difference() && v.Difference() < v.High && v.High < 0) {
		t.Errorf("%+v", v)
	}
	renewed, err := model.Renew(context.Background(), spec, m, snapshots(small, large))
	if err != nil || renewed.Shares[0].Clock != 1150 || renewed.Marks[0].Clock != 150 {
		t.Fatalf("%v %+v", err, renewed)
	}
	back, err := model.DecodeModel(schema, renewed.AppendBinary(nil))
	if err != nil || back.Shares[0].Clock != 1150 {
		t.Errorf("%v %+v", err, back)
	}
	if err := small.Swap(back); err != nil {
		t.Error(err)
	}
}

// TestTheMarginIsTheGate: the same comparison passes or not by Options.Gate alone.
func TestTheMarginIsTheGate(t *testing.T) {
	for _, gate := range []float64{-1, 0, 1} {
		spec := newSpec(func(o *model.Options) { o.Gate = gate })
		p := model.NewPartition(spec, 0)
		feed(p, 0, 1000, 100, nil)
		m, from := fit(t, spec, p)
		feed(p, 1000, 1200, 100, nil)
		if v := compare(t, spec, m, from, snapshots(p), 1000); v.Accepted() != (v.Difference() <= gate) || v.Gate != gate ||
			v.Records != 200 {
			t.Errorf("%+v", v)
		}
	}
}

// TestWhatCannotBeCompared has a defined end.
func TestWhatCannotBeCompared(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.TailBytes = 1 })
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(p, 0, 1000, 100, nil)
	feed(q, 1000, 1050, 50, nil)
	m, from := fit(t, spec, p, q)
	if ok, err := model.Serving(from); !ok || err != nil {
		t.Errorf("a trained partition is not seen: %v", err)
	}
	if v := compare(t, spec, m, from, from, 1000); v.Reason != model.NothingToCompare || !v.Accepted() ||
		!math.IsNaN(v.New) {
		t.Errorf("without later records: %+v", v)
	}
	feed(q, 5000, 5100, 50, nil)
	if v := compare(t, spec, m, from, snapshots(p, q), 1000); v.Reason != model.NothingToCompare {
		t.Errorf("records of an untrained partition alone: %+v", v)
	}
	feed(p, 2000, 12_000, 500, nil)
	_, err := model.Compare(context.Background(), spec, m, from, snapshots(p, q), 1000)
	if !errors.Is(err, model.ErrModelTooOld) {
		t.Errorf("a tail that no longer reaches back: %v", err)
	}
	other := model.NewPartition(spec, 0)
	feed(other, 500, 1800, 100, nil)
	for name, to := range map[string]states{
		"gone": snapshots(q), "behind": snapshots(model.NewPartition(spec, 0), q), "of other records": snapshots(other, q),
	} {
		if _, err := model.Compare(context.Background(), spec, m, from, to, 1000); !errors.Is(err, model.ErrAnotherHistory) {
			t.Errorf("a partition that is %s: %v", name, err)
		}
	}
	other = model.NewPartition(spec, 3)
	feed(other, 500, 1800, 100, nil)
	half, err := model.RestorePartition(spec, from[0])
	if err != nil {
		t.Fatal(err)
	}
	feed(half, 3000, 3700, 100, nil)
	if v := compare(t, spec, m, from, snapshots(half, q, other), 500); v.Records == 0 || v.Records > 500 {
		t.Errorf("a new partition: %+v", v)
	}
}

// TestTheNewSideIsWhatWouldHaveServed: the log-loss of the new model in a Verdict is that of the scores which the
// partitions give after a swap to it, though each of them has met the levels in an order of its own.
func TestTheNewSideIsWhatWouldHaveServed(t *testing.T) {
	spec := newSpec(nil)
	parts := []*model.Partition{model.NewPartition(spec, 0), model.NewPartition(spec, 1)}
	feed(parts[0], 0, 1200, 100, nil)
	feed(parts[1], 5000, 6200, 100, func(b *model.Batch) { // its first records name the levels the other way round
		for i := range b.Columns[1].Code {
			if k := &b.Columns[1].Code[i]; b.Offset == 0 && i < 4 && b.ID[0] == "c5000" {
				*k = uint32(3 - i)
			}
		}
	})
	if a, b := parts[0].Levels().Names(1), parts[1].Levels().Names(1); slices.Equal(a, b) {
		t.Fatalf("both partitions have the levels %q", a)
	}
	m, from := fit(t, spec, parts...)
	var want float64
	for _, p := range parts {
		at := 10_000 * int(1+p.Index())
		q := clone(t, spec, p)
		if err := q.Swap(m); err != nil {
			t.Fatal(err)
		}
		for i := at; i < at+300; i++ {
			b := rows(i, 1)
			var s model.Scores
			q.Events(b, &s)
			want -= math.Log(s.P[b.Label[0]]) / 600
			p.Events(b, &s)
		}
	}
	v := compare(t, spec, m, from, snapshots(parts...), 1000)
	if v.Records != 600 || math.Abs(v.New-want) > 1e-9 {
		t.Errorf("%d records compared, the new log-loss is %v, that of the scores %v", v.Records, v.New, want)
	}
}

// sense returns the sense of the labels that partitions have learnt since m.
func sense(t *testing.T, spec *model.Spec, m *model.Model, p ...*model.Partition) model.Sense {
	t.Helper()
	s, err := model.SenseOf(context.Background(), spec, m, snapshots(p...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInvertedLabelsAreSeen where the scores have followed them long since, in one partition of two, and in the newest
// records alone; and neither where labels are as they were nor where they are coins.
func TestInvertedLabelsAreSeen(t *testing.T) {
	modeltest.Computes(t)
	coins := func(b *model.Batch) {
		for i := range b.Label {
			b.Label[i] = int32(model.Hash(9, uint64(b.Row[i])) % 2)
		}
	}
	for name, c := range map[string]struct {
		first, second func(b *model.Batch) // of 4,000 records, then 600
		want          bool
		records       int
	}{
		"as they were":         {nil, nil, false, 2000},
		"inverted":             {invert, invert, true, 2000},
		"inverted just now":    {nil, invert, true, 500},
		"right again just now": {invert, nil, false, 2000},
		"coins":                {coins, coins, false, 2000},
	} {
		spec := newSpec(nil)
		p := model.NewPartition(spec, 0)
		feed(p, 0, 2000, 100, nil)
		m, _ := fit(t, spec, p)
		feed(p, 2000, 6000, 500, c.first)
		feed(p, 6000, 6600, 100, c.second)
		s := sense(t, spec, m, p)
		if s.Inverted() != c.want || s.Records != c.records {
			t.Errorf("%s: inverted %v, %s", name, s.Inverted(), &s)
		}
		if again := sense(t, spec, m, p); again != s {
			t.Errorf("%s: %v and %v of the same states", name, s, again)
		}
	}
	spec := newSpec(nil)
	good, bad := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(good, 0, 1000, 100, nil)
	feed(bad, 1000, 2000, 100, nil)
	m, _ := fit(t, spec, good, bad)
	if s := sense(t, spec, m, good, bad); s.Records != 0 || s.Inverted() {
		t.Errorf("without a new record: %s", &s)
	}
	feed(good, 3000, 3500, 100, nil)
	feed(bad, 30_000, 34_000, 500, invert)
	if s := sense(t, spec, m, good, bad); !s.Inverted() {
		t.Errorf("of one partition: %s", &s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model.SenseOf(ctx, spec, m, snapshots(good, bad)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
