package model_test

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
)

// lived is a partition that has everything which a state can hold: weights, unknown classes, records that wait, learnt
// ones that may be corrected, expired ones, a reservoir, a published model, percentiles and a sieve.
func lived(t *testing.T, spec *model.Spec) *model.Partition {
	t.Helper()
	p := model.NewPartition(spec, 0)
	edit := func(b *model.Batch) {
		withhold(b, 7)
		for i := range b.Row {
			k := int(b.Row[i])
			b.Weight = append(b.Weight, float64(1+k%3))
			if k%50 == 3 {
				b.Label[i] = model.UnknownClass
			}
		}
		p.Sieve.Sift(b)
	}
	feed(p, 0, 4600, 200, edit)
	again := rows(4500, 40)
	for i := range again.Label {
		again.Label[i] = model.Unlabelled
	}
	if n := len(p.Sieve.Sift(again)); n == 0 {
		t.Fatal("the sieve has found nothing: the test would say nothing")
	}
	m, err := model.Fit(context.Background(), spec, snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	feed(p, 4600, 4900, 100, edit)
	if p.Losses().Expired == 0 || p.Losses().UnknownClass == 0 || p.Waiting() == 0 {
		t.Fatalf("losses %+v, %d bytes wait: the test would say nothing", p.Losses(), p.Waiting())
	}
	return p
}

func fullOptions(o *model.Options) {
	o.TailBytes, o.WaitWindow, o.Frame = 1, int64(20*time.Minute), 9
	o.DedupWindow, o.DedupBytes = int64(time.Hour), 1<<20
}

// TestAStateCarriedOverToItsOwnSchemaIsTheSame: nothing is gone, so each section is the same byte for byte; but waiting
// records lose the memory of their scores.
func TestAStateCarriedOverToItsOwnSchemaIsTheSame(t *testing.T) {
	spec := newSpec(fullOptions)
	p := lived(t, spec)
	want := p.Snapshot()
	waiting, score := p.Losses(), p.Waiting()
	q, change, err := clone(t, spec, p).Carry(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := change.String(); got != "kept: age, job, grade; new: ; gone: ; new classes: " {
		t.Errorf("the change is %q", got)
	}
	got := q.Snapshot()
	maps.DeleteFunc(want, func(name string, _ []byte) bool { return strings.HasPrefix(name, "scores/") })
	names := slices.Sorted(maps.Keys(want))
	if !slices.Equal(slices.Sorted(maps.Keys(got)), names) {
		t.Errorf("sections %q, want %q", slices.Sorted(maps.Keys(got)), names)
	}
	for _, name := range names {
		// The tail begins with number 0 again, which its sections and the core say.
		if !strings.HasPrefix(name, "pending/") && !strings.HasPrefix(name, "tail/") && name != "core" &&
			name != "waiting" && !bytes.Equal(got[name], want[name]) {
			t.Errorf("section %s is another one", name)
		}
	}
	if q.Losses() != waiting || q.Waiting() >= score || q.Waiting() == 0 || q.Seen() != p.Seen() ||
		q.Labelled() != p.Labelled() || q.NextOffset() != p.NextOffset() || q.Index() != p.Index() ||
		q.Sieve.Sifted() != p.Sieve.Sifted() {
		t.Errorf("losses %+v, %d bytes wait, seen %d, clock %v, sifted %+v", q.Losses(), q.Waiting(), q.Seen(), q.Labelled(),
			q.Sieve.Sifted())
	}
	sameFit(t, spec, p, q)
	// Labels find the same records in both, and corrections count as corrections.
	l := &model.Labels{N: 600}
	for i := range 600 {
		l.Class, l.ID = append(l.Class, int32(i/3%2)), append(l.ID, rows(4300+i, 1).ID[0])
	}
	a, b := p.Labels(l), q.Labels(l)
	if a != b || a.Learnt == 0 || a.Corrected == 0 || a.Repeated == 0 || a.Unmatched == 0 {
		t.Errorf("labels %+v, carried over %+v", a, b)
	}
	sameFit(t, spec, p, q)
	// A week later both give up the same records.
	later := func(b *model.Batch) {
		for i := range b.Time {
			b.Time[i] = int64(4900+100*b.Row[i]%20000) * int64(time.Second)
			b.Label[i] = model.Unlabelled
		}
	}
	feed(p, 5000, 5100, 100, later)
	feed(q, 5000, 5100, 100, later)
	if p.Losses() != q.Losses() || p.Losses() == waiting {
		t.Errorf("losses %+v, carried over %+v", p.Losses(), q.Losses())
	}
}

// TestAColdStateCarriedOverKeepsItsRates: weights and their squares, of which the base rates of a partition without a
// structure are made, and the warm-up, which goes on.
func TestAColdStateCarriedOverKeepsItsRates(t *testing.T) {
	spec := newSpec(nil)
	weigh := func(b *model.Batch) {
		for i := range b.Row {
			b.Weight = append(b.Weight, float64(1+b.Row[i]%5))
		}
	}
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(p, 0, 60, 20, weigh)
	feed(q, 0, 60, 20, weigh)
	q, _, err := q.Carry(spec)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := feed(p, 60, 300, 20, weigh), feed(q, 60, 300, 20, weigh); !same(a, b) || !p.Trained() || !q.Trained() {
		t.Error("the state that was carried over gives other propensities")
	}
}

// sameFit compares fits of two states: their evidence is the tail, the reservoir, the counts and the percentiles.
func sameFit(t *testing.T, spec *model.Spec, p, q *model.Partition) {
	t.Helper()
	a, err := model.Fit(context.Background(), spec, snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Fit(context.Background(), spec, snapshots(q), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Info.Records != b.Info.Records || a.Info.Weight != b.Info.Weight || !maps.Equal(a.Marks, b.Marks) {
		t.Errorf("the evidence is %d records of weight %v, carried over %d of %v", a.Info.Records, a.Info.Weight,
			b.Info.Records, b.Info.Weight)
	}
}

// TestAModelTellsItsHistory: the records of its evidence and their weight, the marks of the partitions, the version
// before, and no verdict before it is compared.
func TestAModelTellsItsHistory(t *testing.T) {
	spec := newSpec(nil)
	weigh := func(b *model.Batch) {
		for i := range b.Row {
			b.Weight = append(b.Weight, float64(b.Row[i]%4)) // every fourth record weighs nothing
		}
	}
	states := model.Held{}
	var parts []*model.Partition
	for n := range int32(2) {
		p := model.NewPartition(spec, n)
		feed(p, int(n)*500, 400+int(n)*400, 100, weigh)
		parts = append(parts, p)
		states[n] = p.Snapshot()
	}
	previous := &model.Model{Version: 6, Levels: parts[1].Levels().Clone()}
	first, err := model.Fit(context.Background(), spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := model.FitAnew(context.Background(), spec, states, previous)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*model.Model{"first": first, "next": next} {
		v := m.Info.Verdict
		if m.Info.Records != 525 || m.Info.Weight != 1050 || m.Info.Exchangeable || m.Fingerprint != 42 ||
			m.Shares != nil || !math.IsNaN(v.New+v.Old) || !math.IsNaN(v.Low+v.High) || v.Gate != spec.Options.Gate ||
			!v.Accepted() ||
			v.Reason != model.NothingToCompare || v.Records != 0 {
			t.Errorf("%s: %+v", name, m.Info)
		}
		for n, p := range parts {
			if got, want := m.Marks[int32(n)], (model.Mark{Offset: p.NextOffset(), Clock: p.Labelled()}); got != want {
				t.Errorf("%s: partition %d is marked %+v, want %+v", name, n, got, want)
			}
		}
	}
	if first.Version != 1 || first.Info.Previous != 0 || next.Version != 7 || next.Info.Previous != 6 {
		t.Errorf("versions %d after %d, and %d after %d", first.Version, first.Info.Previous, next.Version,
			next.Info.Previous)
	}
	comesBack(t, next)
	if len(previous.Parts) != 0 || previous.Levels.Count(1) != parts[1].Levels().Count(1) {
		t.Error("the fit has changed the model before")
	}
}

// comesBack reads the history of a model from its bytes.
func comesBack(t *testing.T, m *model.Model) {
	t.Helper()
	back, err := model.DecodeModel(schema, m.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if back.Version != m.Version || back.Info.Previous != m.Info.Previous || back.Info.Records != m.Info.Records ||
		back.Info.Weight != m.Info.Weight || back.Info.Exchangeable != m.Info.Exchangeable ||
		!maps.Equal(back.Marks, m.Marks) {
		t.Errorf("after its bytes %+v, before %+v", back.Info, m.Info)
	}
}

// TestARenewedModelBringsEachRecordOnce: records between the fit and the renewal, and after it, count once in the base
// rates; the marks of the fit stay, those of the scorecard and the percentiles are those of the renewal, and the model
// that was renewed is as it was.
func TestARenewedModelBringsEachRecordOnce(t *testing.T) {
	spec := newSpec(nil)
	one := func(b *model.Batch) {
		for i := range b.Label {
			b.Label[i] = 1
		}
	}
	p, other := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	feed(p, 0, 1000, 100, nil)
	feed(other, 0, 1000, 100, nil)
	states := func() model.Held { return model.Held{0: p.Snapshot(), 1: other.Snapshot()} }
	m, err := model.Fit(context.Background(), spec, states(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := m.AppendBinary(nil)
	feed(p, 1000, 1300, 100, one)
	feed(other, 1000, 1200, 100, one)
	renewed, err := model.Renew(context.Background(), spec, m, states())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.AppendBinary(nil), before) {
		t.Error("the renewal has changed the model that it renews")
	}
	if renewed.Version != m.Version || !maps.Equal(renewed.Marks, m.Marks) || renewed.Shares[0].Clock != 1300 ||
		renewed.Shares[1].Clock != 1200 || len(renewed.Shares) != 2 {
		t.Errorf("version %d, marks %v, shares %v", renewed.Version, renewed.Marks, renewed.Shares)
	}
	if bytes.Equal(renewed.Parts[model.PartPercentile], m.Parts[model.PartPercentile]) {
		t.Error("percentiles are ranks among the scores of the fit, not of the renewal")
	}
	back, err := model.DecodeModel(schema, renewed.AppendBinary(nil))
	if err != nil || !maps.Equal(back.Shares, renewed.Shares) || !maps.Equal(back.Marks, renewed.Marks) {
		t.Errorf("after its bytes marks %v, shares %v, %v", back.Marks, back.Shares, err)
	}
	feed(p, 1300, 1450, 50, one)
	if err := p.Swap(renewed); err != nil {
		t.Fatal(err)
	}
	var ones float64
	for _, y := range rows(0, 1000).Label {
		ones += 2 * float64(y)
	}
	ones += 300 + 200 + 150
	got := p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
	if want := (ones + 1) / (2000 + 650 + 2); math.Abs(got-want) > 1e-9 {
		t.Errorf("the base rate is %v, want %v of all records", got, want)
	}
}
