package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/propensity"
)

var schema = &model.Schema{
	Features: []model.Feature{
		{Name: "age", Kind: model.Continuous},
		{Name: "job", Kind: model.Nominal},
		{Name: "grade", Kind: model.Ordinal, Levels: []string{"low", "mid", "high"}},
	},
	Classes:  []string{"no", "yes"},
	Positive: 1,
}

func newSpec(change func(o *model.Options)) *model.Spec {
	s := &model.Spec{Schema: schema, Scorecard: propensity.New(propensity.Default(), schema), Options: model.Options{
		Fingerprint: 42, Warmup: 100, TailBytes: 1 << 20, ReservoirRecords: 500, ReservoirBytes: 1 << 20, WaitBytes: 1 << 20,
		WaitWindow: int64(time.Hour), ExpireAs: model.Unlabelled, Correct: true, Why: -1, Gate: 0.005, Seed: 1,
	}}
	if change != nil {
		change(&s.Options)
	}
	return s
}

// rows makes n records from the given position on: age drives the class, a tenth of each value is missing, levels come
// as the stream goes on.
func rows(from, n int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 3), Offset: int64(from)}
	b.Columns[1].Levels = []string{"clerk", "nurse", "smith", "late"}
	b.Columns[2].Levels = []string{"high", "low", "mid"}
	u := func(i, what int) float64 { return float64(model.Hash(7, uint64(i), uint64(what))>>11) / (1 << 53) }
	for i := from; i < from+n; i++ {
		age, job, grade := 20+60*u(i, 0), uint32(4*u(i, 1)), uint32(3*u(i, 2))
		if job == 3 && i < 300 {
			job = 0
		}
		class := int32(0)
		if u(i, 3) < 1/(1+math.Exp(-(age-60)/8)) {
			class = 1
		}
		for f, p := range []func(){func() { age = math.NaN() }, func() { job = model.MissingCode }, func() { grade = model.MissingCode }} {
			if u(i, 4+f) < 0.1 {
				p()
			}
		}
		b.Columns[0].Float = append(b.Columns[0].Float, age)
		b.Columns[1].Code = append(b.Columns[1].Code, job)
		b.Columns[2].Code = append(b.Columns[2].Code, grade)
		b.Label = append(b.Label, class)
		b.ID = append(b.ID, fmt.Sprint("c", i))
		b.Time = append(b.Time, int64(i)*int64(time.Second))
		b.Row = append(b.Row, int32(i-from))
	}
	return b
}

func state(p *model.Partition) []byte {
	s := p.Snapshot()
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(s)) {
		b = append(append(b, name...), s[name]...)
	}
	return b
}

// feed gives records [from, to) in batches of size, with row positions that do not depend on it, and collects the
// propensities.
func feed(p *model.Partition, from, to, size int, edit func(b *model.Batch)) (out []float64) {
	var s model.Scores
	for i := from; i < to; i += size {
		b := rows(i, min(size, to-i))
		for k := range b.Row {
			b.Row[k] = int32(i + k)
		}
		b.Offset = 0
		if edit != nil {
			edit(b)
		}
		p.Events(b, &s)
		out = append(out, s.P...)
	}
	return out
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

func TestScoresAndStateDoNotDependOnBatching(t *testing.T) {
	want := model.NewPartition(newSpec(nil), 3)
	p1 := feed(want, 0, 1500, 1500, nil)
	for _, size := range []int{1, 7, 640} {
		got := model.NewPartition(newSpec(nil), 3)
		if p2 := feed(got, 0, 1500, size, nil); !same(p1, p2) {
			t.Errorf("batches of %d: other propensities", size)
		}
		if !bytes.Equal(state(want), state(got)) {
			t.Errorf("batches of %d: another state", size)
		}
	}
}

func TestRestoredStateGoesOnAsTheOriginal(t *testing.T) {
	for _, at := range []int{0, 50, 100, 101, 700, 1300} {
		spec := newSpec(nil)
		p := model.NewPartition(spec, 0)
		feed(p, 0, at, 10, func(b *model.Batch) { withhold(b, 3) })
		q, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatalf("after %d records: %v", at, err)
		}
		if !bytes.Equal(state(p), state(q)) {
			t.Fatalf("after %d records: the restored state has other bytes", at)
		}
		if !same(feed(p, at, 1500, 10, nil), feed(q, at, 1500, 10, nil)) || !bytes.Equal(state(p), state(q)) {
			t.Errorf("after %d records: the restored partition goes another way", at)
		}
	}
}

// withhold takes the label from every k-th record.
func withhold(b *model.Batch, k int) {
	for i := range b.Label {
		if i%k == 0 {
			b.Label[i] = model.Unlabelled
		}
	}
}

func TestUntrainedUntilWarmupAndTwoClasses(t *testing.T) {
	p := model.NewPartition(newSpec(nil), 0)
	var s model.Scores
	b := rows(0, 400)
	for i := range b.Label {
		b.Label[i] = 0
	}
	p.Events(b, &s)
	if p.Trained() || s.Status[399] != model.StatusUntrained {
		t.Fatal("a partition that saw one class is trained")
	}
	if got := s.P[2*399] + s.P[2*399+1]; math.Abs(got-1) > 1e-12 {
		t.Errorf("base rates sum to %v", got)
	}
	p.Events(rows(400, 200), &s)
	if !p.Trained() || s.Status[199] != model.StatusOK {
		t.Error("two classes and the warm-up are there, and it is not trained")
	}
	if len(s.WhyOf(199)) < 3 || s.BaseRate[199] <= 0 || s.Lift[199] <= 0 || s.Target[199] != 1 {
		t.Errorf("score without its parts: why %v, base rate %v, lift %v", s.WhyOf(199), s.BaseRate[199], s.Lift[199])
	}
}

func TestContributionsSumToTheCalibratedLogOdds(t *testing.T) {
	p := model.NewPartition(newSpec(nil), 0)
	var s model.Scores
	for i := 0; i < 2000; i += 100 {
		p.Events(rows(i, 100), &s)
		for r := range s.N {
			if s.Status[r] == model.StatusUntrained {
				continue
			}
			var sum float64
			for _, w := range s.WhyOf(r) {
				sum += w.Effect
			}
			prob := s.P[2*r+1]
			if want := math.Log(prob / (1 - prob)); math.Abs(sum-want) > 1e-9 {
				t.Fatalf("record %d: contributions sum to %v, log-odds are %v", i+r, sum, want)
			}
		}
	}
}

func TestUnknownClassAndZeroWeightAreScoredNotLearnt(t *testing.T) {
	a, b := model.NewPartition(newSpec(nil), 0), model.NewPartition(newSpec(nil), 0)
	feed(a, 0, 500, 50, nil)
	feed(b, 0, 500, 50, nil)
	feed(a, 500, 600, 50, func(x *model.Batch) {
		for i := range x.Label {
			x.Label[i] = model.UnknownClass
		}
	})
	feed(b, 500, 600, 50, func(x *model.Batch) { x.Weight = make([]float64, x.N) })
	if a.Labelled() != 500 || b.Labelled() != 500 || a.Seen() != 600 {
		t.Errorf("learnt %v and %v of 500, seen %d of 600", a.Labelled(), b.Labelled(), a.Seen())
	}
	if a.Losses().UnknownClass != 100 {
		t.Errorf("%d unknown classes counted, 100 were there", a.Losses().UnknownClass)
	}
}

func TestLateLabelsByIDAndByPosition(t *testing.T) {
	byID, byPlace := model.NewPartition(newSpec(nil), 0), model.NewPartition(newSpec(nil), 0)
	for _, p := range []*model.Partition{byID, byPlace} {
		feed(p, 0, 500, 50, nil)
		feed(p, 500, 700, 50, func(b *model.Batch) { withhold(b, 1) })
	}
	b := rows(500, 200)
	n, rest := int32(len(b.Label)), &model.Labels{N: 200, Class: b.Label}
	for i := range n {
		rest.Partition = append(rest.Partition, 0)
		rest.Offset = append(rest.Offset, 0)
		rest.Row = append(rest.Row, 500+i)
	}
	one := byID.Labels(&model.Labels{N: 200, Class: b.Label, ID: b.ID})
	two := byPlace.Labels(rest)
	if one.Learnt != 200 || two != one {
		t.Fatalf("labels by id %+v, by position %+v", one, two)
	}
	if !bytes.Equal(state(byID), state(byPlace)) {
		t.Error("labels by id and by position lead to different states")
	}
	if again := byID.Labels(&model.Labels{N: 200, Class: b.Label, ID: b.ID}); again.Repeated != 200 || byID.Labelled() != 700 {
		t.Errorf("the same labels again: %+v", again)
	}
	if c := byID.Labels(&model.Labels{N: 1, Class: []int32{0}, ID: []string{"nobody"}}); c.Unmatched != 1 {
		t.Errorf("label of an unknown record: %+v", c)
	}
	rest.Partition[0] = 9
	if c := byPlace.Labels(rest); c.Misrouted != 1 {
		t.Errorf("label of another partition: %+v", c)
	}
	flip := []int32{1 - b.Label[0]}
	if c := byID.Labels(&model.Labels{N: 1, Class: flip, ID: b.ID[:1]}); c.Corrected != 1 || byID.Labelled() != 700 {
		t.Errorf("another class for a learnt record: %+v, labelled %v", c, byID.Labelled())
	}
}

// TestLabelsMoveTheTimeHoweverTheyAreBatched: what is overdue after labels depends on their times, not on which of them
// is the last of its message.
func TestLabelsMoveTheTimeHoweverTheyAreBatched(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second) })
	var states [][]byte
	for _, size := range []int{1, 2} {
		p := model.NewPartition(spec, 0)
		feed(p, 0, 50, 50, func(b *model.Batch) { withhold(b, 1) })
		ids, times := []string{"c48", "c49"}, []int64{int64(120 * time.Second), int64(60 * time.Second)}
		for i := 0; i < 2; i += size {
			if c := p.Labels(&model.Labels{N: size, Class: make([]int32, size), ID: ids[i : i+size], Time: times[i : i+size]}); c.Learnt != size {
				t.Fatalf("labels %+v", c)
			}
		}
		states = append(states, state(p))
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Error("labels in one message and in two lead to different states")
	}
}

// TestModelOfFilesComesBesideTheTail: a model that marks nothing of a partition, or more than it has learnt, knows none
// of its records: the partition learns all of them again under the model's structure.
func TestModelOfFilesComesBesideTheTail(t *testing.T) {
	spec := newSpec(nil)
	files := model.NewBuilder(spec)
	files.Add(rows(0, 3000))
	m, err := files.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Marks) != 0 {
		t.Errorf("the model of files marks %v", m.Marks)
	}
	rate := func() float64 {
		p := model.NewPartition(spec, 0)
		feed(p, 3000, 3090, 30, func(b *model.Batch) {
			for i := range b.Label {
				b.Label[i] = 1
			}
		})
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		return p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
	}
	unmarked := rate()
	m.Marks = map[int32]model.Mark{0: {Clock: 3000}}
	if ahead := rate(); ahead != unmarked {
		t.Errorf("the base rate is %v, and %v under a mark beyond the partition's clock", unmarked, ahead)
	}
	m.Marks = map[int32]model.Mark{0: {Clock: 90}}
	if known := rate(); !(known < unmarked) {
		t.Errorf("the base rate is %v, and %v where the model knows the records", unmarked, known)
	}
}

// TestCorrectionReachesTheSample: what a record is corrected to is what later fits see, wherever the record lies by
// then.
func TestCorrectionReachesTheSample(t *testing.T) {
	p := model.NewPartition(newSpec(func(o *model.Options) {
		o.WaitWindow, o.WaitBytes, o.ReservoirRecords = 0, 1<<24, 1<<12
		o.TailBytes = 1
	}), 0)
	const n = 5000 // the tail holds 4,096, the reservoir all others
	feed(p, 0, n, 500, nil)
	for _, i := range []int{10, n - 10} {
		section := map[int]string{10: "reservoir", n - 10: "tail/0"}[i]
		was := rows(i, 1).Label[0]
		states := [][]byte{p.Snapshot()[section]}
		for _, class := range []int32{1 - was, was} {
			if c := p.Labels(&model.Labels{N: 1, Class: []int32{class}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{int32(i)}}); c.Corrected != 1 {
				t.Fatalf("record %d: %+v", i, c)
			}
			states = append(states, p.Snapshot()[section])
		}
		if bytes.Equal(states[0], states[1]) || !bytes.Equal(states[0], states[2]) {
			t.Errorf("record %d keeps its class in %s, or does not get it back", i, section)
		}
	}
}

// refusing is a scorecard whose fit fails.
type refusing struct {
	model.Factory
	tried *int
}

func (f refusing) Fit(context.Context, *model.Evidence, []byte) ([]byte, error) {
	*f.tried++
	return nil, errors.New("no fit")
}

// TestFitThatFailsIsNotTriedAtEveryRecord: a first fit that fails is tried again, but not so often that nothing else is
// done.
func TestFitThatFailsIsNotTriedAtEveryRecord(t *testing.T) {
	tried := 0
	spec := newSpec(nil)
	spec.Scorecard = refusing{spec.Scorecard, &tried}
	p := model.NewPartition(spec, 0)
	feed(p, 0, 1000, 50, nil)
	if tried != 10 { // at the warm-up of 100 and at every 100 from there
		t.Errorf("tried %d times in 1,000 records", tried)
	}
	// The second class comes late: it is tried at once.
	tried = 0
	p = model.NewPartition(spec, 0)
	feed(p, 0, 150, 50, func(b *model.Batch) { clear(b.Label) })
	if tried != 0 {
		t.Errorf("tried %d times with one class", tried)
	}
	feed(p, 150, 151, 1, func(b *model.Batch) { b.Label[0] = 1 })
	if tried != 1 {
		t.Errorf("tried %d times at the first record of the second class", tried)
	}
}

func TestRoomExpires(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second); o.ExpireAs = 0 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 1000, 50, func(b *model.Batch) { withhold(b, 1) })
	// One record a second, the last at 999 s: records up to 898 s are older than the window, that of 899 s is not.
	if got := p.Labelled(); got != 899 {
		t.Errorf("%v records expired into a class, want 899", got)
	}
	small := model.NewPartition(newSpec(func(o *model.Options) { o.WaitBytes = 20_000 }), 0)
	feed(small, 0, 5000, 50, func(b *model.Batch) { withhold(b, 1) })
	if small.Waiting() > 20_000 || small.Losses().Expired == 0 {
		t.Errorf("room holds %d bytes of 20,000, %d expired", small.Waiting(), small.Losses().Expired)
	}
}

// TestSwapWithUnchangedStructureChangesNoScore: a renewed model brings the counts that the partition has itself.
func TestSwapWithUnchangedStructureChangesNoScore(t *testing.T) {
	spec := newSpec(nil)
	p, q := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(p, 0, 3000, 100, nil)
	m, _ := fit(t, spec, p)
	feed(q, 0, 3000, 100, nil)
	for _, x := range []*model.Partition{p, q} {
		if err := x.Swap(m); err != nil {
			t.Fatal(err)
		}
		feed(x, 3000, 3500, 100, nil)
	}
	renewed, err := model.Renew(context.Background(), spec, m, snapshots(p))
	if err != nil {
		t.Fatal(err)
	}
	renewed.Version++
	feed(p, 3500, 3600, 100, nil)
	feed(q, 3500, 3600, 100, nil)
	if err := p.Swap(renewed); err != nil {
		t.Fatal(err)
	}
	if p.ModelVersion() != 2 {
		t.Errorf("version %d serves", p.ModelVersion())
	}
	a, b := feed(p, 3600, 4000, 100, nil), feed(q, 3600, 4000, 100, nil)
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	if worst > 1e-9 {
		t.Errorf("propensities moved by %v at a swap", worst)
	}
}

func TestFitIsDeterministicAndModelsRoundTrip(t *testing.T) {
	spec := newSpec(nil)
	states := map[int32]map[string][]byte{}
	for n := range int32(3) {
		p := model.NewPartition(spec, n)
		feed(p, int(n)*1000, int(n)*1000+900, 100, nil)
		states[n] = p.Snapshot()
	}
	m1, err := model.Fit(context.Background(), spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := model.Fit(context.Background(), spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := m1.AppendBinary(nil)
	if !bytes.Equal(raw, m2.AppendBinary(nil)) {
		t.Error("two fits of the same states differ")
	}
	back, err := model.DecodeModel(schema, raw)
	if err != nil || !bytes.Equal(back.AppendBinary(nil), raw) {
		t.Errorf("model changed on its way through bytes: %v", err)
	}
	for n := range int32(3) {
		p, err := model.RestorePartition(spec, states[n])
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Swap(m1); err != nil {
			t.Errorf("partition %d: %v", n, err)
		}
		feed(p, 5000, 5100, 10, nil)
	}
	// A partition that has seen nothing serves the model at once.
	fresh := model.NewPartition(spec, 7)
	if err := fresh.Swap(m1); err != nil {
		t.Fatal(err)
	}
	if !fresh.Trained() {
		t.Error("a fresh partition with a model is untrained")
	}
	var brier float64
	b := rows(8000, 1000)
	var s model.Scores
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	fresh.Events(b, &s)
	truth := rows(8000, 1000)
	for i, y := range truth.Label {
		d := s.P[2*i+1] - float64(y)
		brier += d * d / 1000
	}
	if brier > 0.17 {
		t.Errorf("Brier score %v of a fresh partition under the model; the base rate alone has about .24", brier)
	}
}

func TestSwapRefuses(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 500, 100, nil)
	m, err := model.Fit(context.Background(), spec, map[int32]map[string][]byte{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := state(p)
	foreign := *m
	foreign.Fingerprint++
	if err := p.Swap(&foreign); !errors.Is(err, model.ErrModelForeign) {
		t.Errorf("foreign model: %v", err)
	}
	broken := *m
	broken.Parts = map[string][]byte{"propensity": m.Parts["propensity"][:20]}
	if err := p.Swap(&broken); err == nil {
		t.Error("a damaged model was taken")
	}
	if !bytes.Equal(before, state(p)) {
		t.Error("a refused model changed the state")
	}
	feed(p, 500, 30_000, 500, nil) // far beyond the tail of 4,096 and more records
	if err := p.Swap(m); !errors.Is(err, model.ErrModelTooOld) {
		t.Errorf("model older than the tail: %v", err)
	}
}

func TestHostileStateNoPanic(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 400, 100, func(b *model.Batch) { withhold(b, 3) })
	good := p.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(good)) {
		step := max(len(good[name])/97, 1)
		for i := 0; i < len(good[name]); i += step {
			bad := maps.Clone(good)
			bad[name] = slices.Clone(good[name])
			bad[name][i] ^= 0xff
			tryRestore(t, spec, bad)
			bad[name] = good[name][:i]
			tryRestore(t, spec, bad)
		}
		bad := maps.Clone(good)
		delete(bad, name)
		if _, err := model.RestorePartition(spec, bad); err == nil && name != model.SectionSchema {
			t.Errorf("restored without %s", name)
		}
	}
}

// tryRestore also scores with what was restored: damaged numbers that no check can know are allowed, a panic is not.
func tryRestore(t *testing.T, spec *model.Spec, s map[string][]byte) {
	t.Helper()
	if q, err := model.RestorePartition(spec, s); err == nil {
		feed(q, 0, 5, 5, nil)
	}
}

func FuzzRestorePartition(f *testing.F) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 100, func(b *model.Batch) { withhold(b, 3) })
	good := p.Snapshot()
	names := slices.Sorted(maps.Keys(good))
	for i, n := range names {
		f.Add(i, good[n])
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		s := maps.Clone(good)
		s[names[(i%len(names)+len(names))%len(names)]] = b
		tryRestore(t, spec, s)
	})
}

func FuzzDecodeModel(f *testing.F) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 100, nil)
	m, err := model.Fit(context.Background(), spec, map[int32]map[string][]byte{0: p.Snapshot()}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := model.DecodeModel(schema, b); err == nil {
			_ = model.NewPartition(spec, 0).Swap(m)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	p := model.NewPartition(newSpec(func(o *model.Options) { o.WaitBytes, o.Why = 0, 5 }), 0)
	feed(p, 0, 2000, 1000, nil)
	batch := rows(2000, 1000)
	var s model.Scores
	p.Events(batch, &s)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 1000 {
		p.Events(batch, &s)
	}
}
