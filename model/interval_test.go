package model_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// TestIntervalsChangeNoScore: a stage with intervals scores as one without, and its state has a section more. Intervals
// hold their propensities, are the narrower the more is known, wider at a higher level, and go on after a restore.
func TestIntervalsChangeNoScore(t *testing.T) {
	spec := func(level float64) *model.Spec {
		s := campaignSpec(model.Control{Share: .2, Seed: 3})
		s.Options.Interval = level
		return s
	}
	run := campaign{n: 3000, seed: 4, treat: func(_, _, _, _ float64) bool { return false }}
	plain, sure, surer := model.NewPartition(spec(0), 0), model.NewPartition(spec(.8), 0), model.NewPartition(spec(.95), 0)
	var a, b, c model.Scores
	draw := func(i, what int) float64 { return float64(model.Hash(6, uint64(i), uint64(what))>>11) / (1 << 53) }
	fresh := model.NewPartition(spec(.8), 0)
	if fresh.Events(run.batch(0, 50, draw), &a); len(a.Intervals) != 50 || !math.IsNaN(a.Intervals[0].Low) ||
		!math.IsNaN(a.Intervals[49].High) {
		t.Errorf("intervals before there is a model: %+v", a.Intervals)
	}
	want := run.run(t, plain)
	for _, p := range []*model.Partition{sure, surer} {
		if !slices.Equal(run.run(t, p), want) {
			t.Error("intervals change the scores")
		}
	}
	sections, without := sure.Snapshot(), plain.Snapshot()
	if sections["misfit"] == nil || without["misfit"] != nil || len(sections) != len(without)+1 {
		t.Errorf("%d sections, %d without intervals", len(sections), len(without))
	}
	for name, bytes0 := range without {
		if !bytes.Equal(bytes0, sections[name]) {
			t.Errorf("section %s is another one", name)
		}
	}
	again, err := model.RestorePartition(spec(.8), sections)
	if err != nil {
		t.Fatal(err)
	}
	rows := run.batch(5000, 50, draw)
	plain.Events(rows, &c)
	if len(c.Intervals) != 0 {
		t.Error("intervals that nobody asked for")
	}
	sure.Events(rows, &a)
	again.Events(rows, &b)
	if !slices.Equal(a.Intervals, b.Intervals) || a.IntervalLevel != .8 {
		t.Errorf("restored: %+v, want %+v", b.Intervals[:2], a.Intervals[:2])
	}
	surer.Events(rows, &c)
	for i := range a.N {
		p, x, y := a.P[2*i+1], a.Intervals[i], c.Intervals[i]
		if !(0 < y.Low && y.Low < x.Low && x.Low < p && p < x.High && x.High < y.High && y.High < 1) {
			t.Errorf("record %d: propensity %v in %+v, and at .95 in %+v", i, p, x, y)
		}
	}
	if _, err := model.RestorePartition(spec(0), sections); err != nil {
		t.Errorf("a state with a section that is not asked for: %v", err)
	}
	delete(sections, "misfit")
	if _, err := model.RestorePartition(spec(.8), sections); err != nil {
		t.Errorf("a state without the section: %v", err)
	}
	sections["misfit"] = []byte{1, 2, 3}
	if _, err := model.RestorePartition(spec(.8), sections); err == nil {
		t.Error("a broken section is read")
	}
}
