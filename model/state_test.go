package model_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

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

func TestHostileStateNoPanic(t *testing.T) {
	modeltest.Computes(t)
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
		if _, err := model.RestorePartition(spec, bad); err == nil && name != model.SectionSchema &&
			name != model.PartPercentileFine && !strings.HasPrefix(name, model.IDSections) {
			t.Errorf("restored without %s", name)
		}
	}
}

// tryRestore also scores with the restored partition: wrong numbers that no check can find are allowed, a panic is not.
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
	m, err := model.Fit(context.Background(), spec, model.Held{0: p.Snapshot()}, nil)
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
