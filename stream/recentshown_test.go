package stream

import (
	"testing"

	"liftstream/model"
	"liftstream/stream/internal/sample"
)

// TestEvictedIdsAreToldOnce: the metrics and the status have the ids of a state, and the next owner of the state does
// not count the evicted ones again.
func TestEvictedIdsAreToldOnce(t *testing.T) {
	spec := sample.Spec()
	s := *spec.Schema
	s.Features = append([]model.Feature{{Name: "last", Derived: "since_last()"}}, s.Features...)
	recent := &model.RecencyOptions{Bytes: 1 << 12, Features: []model.RecentFeature{{Feature: 0, Where: -1}}}
	fill := func(p *model.Partition, from int) {
		b := sample.Records(from, 100)
		b.Columns = append([]model.Column{{Float: make([]float64, b.N)}}, b.Columns...)
		for i := range b.N {
			b.ID = append(b.ID, string(rune('a'+from))+string(rune(i+100)))
			b.Time[i] = int64(from+i+1) * 1e9
		}
		p.Recency.Fill(b)
	}
	x := idleTask(t, nil)
	if reportedOf(x).kept != nil {
		t.Error("a state without ids shows some")
	}
	p := x.m.Part
	p.Recency = model.NewRecency(&s, recent)
	for from := range 2 {
		fill(p, from)
		for range 2 {
			x.board.report(x, reportedOf(x))
			got := x.board.read().Recency
			if want := p.Recency.Kept(); got == nil || *got != want || want.Evicted == 0 ||
				counted(x.s.o.Metrics.Evicted) != float64(want.Evicted) ||
				labels(x.s.o.Metrics.RecencyBytes)["0"] != float64(want.Bytes) {
				t.Errorf("%+v shown, want %+v", got, want)
			}
		}
	}
	next := idleTask(t, nil)
	next.m.Part = p
	next.board.inherit(p)
	if next.board.report(next, reportedOf(next)); counted(next.s.o.Metrics.Evicted) != 0 {
		t.Error("the next owner counts them again")
	}
}
