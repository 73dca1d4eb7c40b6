package evaluate

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/murmur2"
)

// first is the first n records of a source.
func first(src Source, n int) Source {
	return func(yield func(*model.Batch, error) bool) {
		left := n
		for b, err := range src {
			if b.N > left {
				part := b.Slice(0, left)
				b = &part
			}
			if left -= b.N; !yield(b, err) || left == 0 {
				return
			}
		}
	}
}

// after hands the records of a source from number n on to take, batch by batch.
func after(t *testing.T, src Source, n int, take func(b *model.Batch)) {
	t.Helper()
	for b, err := range src {
		if err != nil {
			t.Fatal(err)
		}
		if n >= b.N {
			n -= b.N
			continue
		}
		part := b.Slice(n, b.N-n)
		take(&part)
		n = 0
	}
}

// TestAHistoryGoesOnAsIfItHadBeenLive: the records after a history get the scores that they have where the same stage
// has seen both, to the last bit, until its next model.
func TestAHistoryGoesOnAsIfItHadBeenLive(t *testing.T) {
	s := testSchema()
	const n, history = 3350, 3100 // the next model would come at 3,397
	for _, refit := range []int{0, 1500} {
		for _, size := range []int{100, 1300} {
			src := stream(n, size, true, false)
			var want []seen
			opt := Options{Refit: refit}
			if _, err := Prequential(t.Context(), s, src, []Method{Stage(MethodAll, stageSpec(s))}, opt,
				collect(&want)); err != nil {
				t.Fatal(err)
			}
			h, err := Learn(t.Context(), stageSpec(s), first(src, history), Past{Refit: refit, Version: 6})
			if err != nil {
				t.Fatal(err)
			}
			if h.Records != history || len(h.Partitions) != 1 || (h.Model != nil) != (refit > 0) {
				t.Fatalf("re-fits at %d: %d records, %d partitions, model %v", refit, h.Records, len(h.Partitions), h.Model)
			}
			p := h.Partitions[0]
			if m := h.Model; m != nil && (m.Version <= 6 || m.Version > 12 || p.ModelVersion() != m.Version) {
				t.Errorf("model %d after model 6, served is %d", m.Version, p.ModelVersion())
			}
			// The state is one that a stage can restore, and lies before the first offset of any topic.
			if p, err = model.RestorePartition(stageSpec(s), p.Snapshot()); err != nil {
				t.Fatal(err)
			}
			if p.NextOffset() >= 0 {
				t.Errorf("the history ends at offset %d", p.NextOffset())
			}
			at, wrong := history, 0
			after(t, src, history, func(b *model.Batch) {
				var out model.Scores
				b.Time = make([]int64, b.N)
				for i := range b.N {
					b.Time[i] = int64(at + i)
				}
				p.Events(b, &out)
				for i := range b.N {
					if math.Float64bits(out.P[2*i+1]) != math.Float64bits(want[at+i].P) {
						wrong++
					}
				}
				at += b.N
			})
			if at != n || wrong > 0 {
				t.Errorf("re-fits at %d, batches of %d: %d of %d scores differ", refit, size, wrong, at-history)
			}
		}
	}
}

// TestAHistoryIsDividedAsItsProducerWould: records with ids go where the producers of Kafka send them, others in turn.
func TestAHistoryIsDividedAsItsProducerWould(t *testing.T) {
	s := testSchema()
	const n, partitions = 2000, 3
	for _, ids := range []bool{false, true} {
		src := stream(n, 150, false, ids)
		want, at := make([]uint64, partitions), 0
		after(t, src, 0, func(b *model.Batch) {
			for i := range b.N {
				p := (at + i) % partitions
				if ids {
					p = murmur2.Partition(b.ID[i], partitions)
				}
				want[p]++
			}
			at += b.N
		})
		h, err := Learn(t.Context(), stageSpec(s), src, Past{Partitions: partitions, Refit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for p, live := range h.Partitions {
			if live.Seen() != want[p] || live.Index() != int32(p) || live.ModelVersion() != h.Model.Version {
				t.Errorf("ids %v, partition %d: %d records, want %d; it serves model %d of %d", ids, live.Index(), live.Seen(),
					want[p], live.ModelVersion(), h.Model.Version)
			}
		}
	}
}

// TestAHistoryRemembersItsRecords: a record that comes again is left out, within the history and live, and a late label
// finds a record that the history had none for.
func TestAHistoryRemembersItsRecords(t *testing.T) {
	s := testSchema()
	spec := stageSpec(s)
	spec.Options.DedupWindow, spec.Options.DedupBytes = int64(1e15), 1<<20
	src := func(yield func(*model.Batch, error) bool) {
		for range 2 {
			for b, err := range stream(1000, 100, false, true) {
				if !yield(b, err) {
					return
				}
			}
		}
	}
	began := int64(1_700_000_000_000_000_000)
	h, err := Learn(t.Context(), spec, src, Past{Began: began})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Partitions[0]
	if p.Seen() != 1000 || h.Records != 2000 {
		t.Errorf("%d records learnt of %d", p.Seen(), h.Records)
	}
	var again model.Batch
	var unlabelled string
	after(t, stream(1000, 100, false, true), 0, func(b *model.Batch) {
		for i, y := range b.Label {
			if y == model.Unlabelled {
				unlabelled = b.ID[i]
			}
		}
		again = *b
	})
	again.Time = make([]int64, again.N)
	for i := range again.Time {
		again.Time[i] = began + int64(5e9)
	}
	c := p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{unlabelled}, Time: []int64{began + 1e9}})
	if c.Learnt != 1 {
		t.Errorf("the label of %s: %+v", unlabelled, c)
	}
	if left := p.Sieve.Sift(&again); len(left) != 100 {
		t.Errorf("%d of 100 records are left out", len(left))
	}
}

// TestAHistoryBeforeItsWindows: labels of files are final, so a history is learnt whose windows have not closed, and
// the stage that goes on lets labels wait.
func TestAHistoryBeforeItsWindows(t *testing.T) {
	spec := stageSpec(testSchema())
	want, err := Learn(t.Context(), spec, stream(1000, 100, false, true), Past{Began: 1})
	if err != nil {
		t.Fatal(err)
	}
	spec.Options.WaitBytes, spec.Options.WaitWindow, spec.Options.ExpireAs = 1<<30, int64(1e18), 0
	got, err := Learn(t.Context(), spec, stream(1000, 100, false, true), Past{Began: 1})
	if err != nil || got.Partitions[0].Labelled() != want.Partitions[0].Labelled() ||
		got.Partitions[0].Labelled() == 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	l := &model.Batch{}
	after(t, stream(1000, 100, false, true), 0, func(b *model.Batch) { *l = *b })
	var out model.Scores
	before := got.Partitions[0].Labelled()
	if got.Partitions[0].Events(l, &out); got.Partitions[0].Labelled() != before {
		t.Error("a live label is learnt before its window has closed")
	}
}

// TestAHistoryOfNoise promises no more than its labels hold: the next scores are near the base rate.
func TestAHistoryOfNoise(t *testing.T) {
	s := testSchema()
	noise := func(yield func(*model.Batch, error) bool) {
		b := &model.Batch{N: 3000, Columns: []model.Column{{}, {Levels: []string{"a", "b"}}}}
		for i := range b.N {
			b.Columns[0].Float = append(b.Columns[0].Float, uniform(4, i, 1))
			b.Columns[1].Code = append(b.Columns[1].Code, uint32(2*uniform(4, i, 2)))
			y := int32(0)
			if uniform(4, i, 3) < .12 {
				y = 1
			}
			b.Label = append(b.Label, y)
		}
		yield(b, nil)
	}
	h, err := Learn(t.Context(), stageSpec(s), noise, Past{Refit: 1500})
	if err != nil {
		t.Fatal(err)
	}
	var sum, square float64
	after(t, noise, 2500, func(b *model.Batch) {
		b.Label, b.Row = make([]int32, b.N), make([]int32, b.N)
		for i := range b.Label {
			b.Label[i] = model.Unlabelled
		}
		var out model.Scores
		h.Partitions[0].Events(b, &out)
		for i := range b.N {
			sum += out.P[2*i+1]
			square += (out.P[2*i+1] - .12) * (out.P[2*i+1] - .12)
		}
	})
	if mean, sd := sum/500, math.Sqrt(square/500); math.Abs(mean-.12) > .03 || sd > .05 {
		t.Errorf("the mean propensity is %.3f, %.3f away from .12", mean, sd)
	}
}

// TestAHistoryWithoutAModel: too few records, one class and none at all leave states that go on by themselves.
func TestAHistoryWithoutAModel(t *testing.T) {
	s := testSchema()
	for _, n := range []int{0, 40} {
		src := first(stream(40, 10, false, false), n)
		if n == 0 {
			src = func(func(*model.Batch, error) bool) {}
		}
		h, err := Learn(t.Context(), stageSpec(s), src, Past{Refit: 1500, Partitions: 2})
		if err != nil || h.Model != nil || len(h.Partitions) != 2 || h.Partitions[0].Trained() {
			t.Errorf("%d records: model %v, error %v", n, h.Model, err)
		}
	}
	broken := func(yield func(*model.Batch, error) bool) { yield(nil, fmt.Errorf("torn")) }
	if _, err := Learn(t.Context(), stageSpec(s), broken, Past{}); err == nil {
		t.Error("a source that fails gives a history")
	}
}
