package state

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/stream/internal/sample"
)

// megabytes returns a partition with a tail of four megabytes.
func megabytes(value func(record, feature int) float64) *model.Partition {
	const features, records = 100, 5000
	spec := sample.Spec()
	spec.Schema = &model.Schema{Classes: sample.Schema.Classes, Positive: 1}
	b := &model.Batch{N: records, Columns: make([]model.Column, features)}
	for f := range features {
		spec.Schema.Features = append(spec.Schema.Features, model.Feature{Name: fmt.Sprint("x", f)})
		b.Columns[f].Float = make([]float64, records)
		for i := range records {
			b.Columns[f].Float[i] = value(i, f)
		}
	}
	for i := range records {
		b.Label, b.Time = append(b.Label, int32(i%2)), append(b.Time, int64(i))
	}
	spec.Options.TailBytes, spec.Options.Warmup = 16<<20, records+1
	spec.Scorecard = propensity.New(propensity.Default(), spec.Schema)
	p := model.NewPartition(spec, 0)
	var s model.Scores
	p.Events(b, &s)
	return p
}

// TestSectionsThatCompressWell: a section of several pieces may begin with one that compresses to less than a record of
// the topic, as many columns of equal numbers do.
func TestSectionsThatCompressWell(t *testing.T) {
	p := megabytes(func(int, int) float64 { return 0 })
	for _, limit := range []int64{1, 1 << 20, 1 << 40} {
		snap, log, empty := NewSnapshotter(), NewLog(), 0
		snap.Start(p, 9, Position{Events: 1}, 0, 1)
		for n := 0; snap.Busy(); n++ {
			pieces, whole := snap.Take(limit)
			for _, c := range pieces {
				log.Apply([]byte(c.Key), c.Value)
			}
			if whole {
				snap.Complete()
			} else if len(pieces) == 0 {
				empty++
			}
			if n > 1000 {
				t.Fatalf("limit %d: the snapshot never ends", limit)
			}
		}
		found, problems := log.Manifests()
		if len(found) != 1 || len(problems) > 0 {
			t.Fatal(found, problems)
		}
		got, err := log.Sections(found[0])
		if err != nil || !maps.EqualFunc(got, p.Snapshot(), bytes.Equal) {
			t.Errorf("limit %d: the snapshot is not the state: %v", limit, err)
		}
		if limit == 1 && empty == 0 || limit == 1<<40 && empty > 0 {
			t.Errorf("limit %d: %d calls gave no piece", limit, empty)
		}
	}
}

// TestReadyPiecesAreThoseOfTake: pieces that a goroutine compresses are the same ones, in the same order.
func TestReadyPiecesAreThoseOfTake(t *testing.T) {
	for name, value := range map[string]func(record, feature int) float64{
		"equal numbers":  func(int, int) float64 { return 0 },
		"random numbers": func(r, f int) float64 { return float64(model.Hash(1, uint64(r), uint64(f))) },
	} {
		p := megabytes(value)
		write := func(take func(s *Snapshotter) ([]Change, bool)) (all []Change) {
			s := NewSnapshotter()
			s.Discard([]string{"orphan"})
			s.Start(p, 9, Position{Events: 1}, 0, 1)
			for s.Busy() {
				pieces, whole := take(s)
				if all = append(all, pieces...); whole {
					s.Complete()
				}
			}
			return all
		}
		want := write(func(s *Snapshotter) ([]Change, bool) { return s.Take(200_000) })
		got := write(func(s *Snapshotter) ([]Change, bool) {
			if s.packing != nil {
				<-s.packing
			}
			return s.TakeReady(200_000)
		})
		none, calls := write(func(s *Snapshotter) ([]Change, bool) { return s.TakeReady(1 << 40) }), 0
		turns := write(func(s *Snapshotter) ([]Change, bool) {
			if calls++; calls%2 == 0 {
				return s.Take(200_000)
			}
			return s.TakeReady(200_000)
		})
		for of, pieces := range map[string][]Change{"each waited for": got, "none waited for": none, "by turns": turns} {
			if !slices.EqualFunc(pieces, want, func(a, b Change) bool {
				return a.Key == b.Key && bytes.Equal(a.Value, b.Value)
			}) {
				t.Errorf("%s, %s: %d pieces, other than the %d of Take", name, of, len(pieces), len(want))
			}
		}
	}
}

// TestReadyPiecesHoldNobodyUp: TakeReady neither compresses more than a piece nor waits for the goroutine.
func TestReadyPiecesHoldNobodyUp(t *testing.T) {
	s := NewSnapshotter()
	s.Start(megabytes(func(r, f int) float64 { return float64(r ^ f) }), 9, Position{Events: 1}, 0, 1)
	if pieces, whole := s.TakeReady(1 << 40); len(pieces) > 0 || whole || s.packing == nil {
		t.Fatalf("%d pieces at once, whole %v", len(pieces), whole)
	}
	<-s.packing
	packing := make(chan struct{}) // of a goroutine that has not ended
	s.packing = packing
	s.Discard([]string{"orphan"})
	if pieces, whole := s.TakeReady(1 << 40); len(pieces) != 1 || pieces[0].Key != "orphan" || whole {
		t.Fatalf("%d pieces while the next ones are compressed, whole %v", len(pieces), whole)
	}
	close(packing)
	if _, whole := s.TakeReady(1 << 40); !whole || s.packing != nil {
		t.Errorf("whole %v behind the last piece", whole)
	}
}
