package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestASectionThatForgetsGetsAnotherVersion: else the next snapshot would keep the bytes of forgotten records.
func TestASectionThatForgetsGetsAnotherVersion(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(func(o *model.Options) {
		o.TailBytes, o.WaitWindow, o.WaitBytes = 1, 0, 1<<24
		o.DedupWindow, o.DedupBytes = 1<<50, 1<<20
		o.Recency = &model.RecencyOptions{Bytes: 1 << 20, Features: []model.RecentFeature{{Feature: 0, Where: -1}}}
	})
	p := model.NewPartition(spec, 1)
	for i := 0; i < 9000; i += 250 {
		feed(p, i, i+250, 250, func(b *model.Batch) {
			withhold(b, 3)
			p.Sieve.Sift(b)
			p.Recency.Fill(b)
		})
	}
	seen := sectionsSeen{}
	seen.look(t, "before", p)
	var ids []string
	for i := range 9000 / 40 {
		ids = append(ids, fmt.Sprint("c", 40*i+i%3))
	}
	found, _ := model.Forget(p, erasure(1, ids...))
	for k, n := range found.Counted() {
		if name := []string{"waiting", "tail", "reservoir", "counts", "", "sieve", "", "recency"}[k]; name != "" && *n == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	changed := map[string]bool{}
	for _, name := range seen.look(t, "an order to forget", p) {
		changed[strings.Split(name, "/")[0]] = true
	}
	for _, name := range []string{"ids", "pending", "recency", "reservoir", "sieve", "tail"} {
		if !changed[name] {
			t.Errorf("%s stays as it was, and %q change", name, slices.Sorted(maps.Keys(changed)))
		}
	}
}
