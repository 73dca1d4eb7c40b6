package lift

import (
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// TestGenerationsLoseNothing: fit after fit, with fresh components and carried ones, every record is counted once.
func TestGenerationsLoseNothing(t *testing.T) {
	ev := generated(900, 11)
	o := testOptions()
	upTo := func(n int) *model.Evidence {
		return &model.Evidence{Schema: ev.Schema, Levels: ev.Levels, Columns: func() (c [][]float64) {
			for f := range ev.Columns {
				c = append(c, ev.Columns[f][:n])
			}
			return c
		}(), Class: ev.Class[:n], Weight: ev.Weight[:n], Clock: ev.Clock[:n], Time: ev.Time[:n], Partition: ev.Partition[:n]}
	}
	between := func(a, b int) (out []int) {
		for i := a; i < b; i++ {
			out = append(out, i)
		}
		return out
	}
	first := upTo(300)
	_, part := fitPart(t, o, first, nil)
	// The component starts from nothing but the part, learns, and hands its state to the next fit, three times.
	learnt := 300
	for generation := 0; generation < 3; generation++ {
		c := serve(t, o, ev, part, 0, between(learnt, learnt+100))
		for _, i := range between(learnt+100, learnt+200) {
			c.Learn(exampleOf(ev, i))
		}
		learnt += 200
		next := upTo(learnt)
		next.States = model.HeldStates(map[int32][]byte{0: c.AppendState(nil)})
		p, b := fitPart(t, o, next, part)
		for i := range p.Sets {
			total := 0.0
			for _, v := range p.Sets[i].Total(3).n {
				total += v
			}
			want := 0.0
			for r := 0; r < learnt; r++ {
				if newSample(ev).complete(p.Sets[i].Set.features, r) {
					want += ev.Weight[r]
				}
			}
			if total != want {
				t.Fatalf("generation %d set %v: %v counted, want %v", generation, p.Sets[i].Set.features, total, want)
			}
		}
		part = b
	}
}

// TestCutsStayWhileTheyServe: cuts of the serving part stay on like evidence, so that counts carry over, and go when
// the feature has moved.
func TestCutsStayWhileTheyServe(t *testing.T) {
	o := testOptions()
	before := generated(3000, 21)
	p, part := fitPart(t, o, before, nil)
	after := generated(3000, 22)
	q, _ := fitPart(t, o, after, part)
	kept := 0
	for i := range q.Sets {
		for j := range p.Sets {
			if q.Sets[i].Set.equal(p.Sets[j].Set) {
				kept++
			}
		}
	}
	if kept < len(p.Sets)*9/10 {
		t.Errorf("%d of %d sets kept their cells on evidence of the same distribution", kept, len(p.Sets))
	}
	for i, v := range after.Columns[0] {
		after.Columns[0][i] = v + 3
	}
	q, _ = fitPart(t, o, after, part)
	for i := range q.Sets {
		for j := range p.Sets {
			if slices.Contains(q.Sets[i].Set.features, 0) && q.Sets[i].Set.equal(p.Sets[j].Set) {
				t.Errorf("set %v keeps cells that its feature has left", q.Sets[i].Set.features)
			}
		}
	}
}

// TestEstimatesAreFlagged: counts that a reservoir stands in for are marked for as long as they are kept, and weigh
// with the effective number of the sample.
func TestEstimatesAreFlagged(t *testing.T) {
	ev := generated(400, 6)
	o := testOptions()
	o.Sets.Max = 1
	ev.Recent, ev.Sampled = 100, map[int32]bool{0: true, 1: true}
	for i := range ev.Class {
		if ev.Weight[i] = 1; i < ev.Recent {
			ev.Weight[i] = 10 // one in ten of the older records is here
		}
		ev.Partition[i] = int32(i % 2)
	}
	flags := func(c *Component) (out []bool) {
		for _, s := range c.Live() {
			out = append(out, s.Estimated)
		}
		return out
	}
	p, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	if !p.Sets[0].Shares[0].Estimated || slices.Contains(flags(c), false) {
		t.Error("counts from a reservoir are not marked")
	}
	live := c.Live()[0].Table
	var n float64
	for _, v := range live.Counts() {
		n += v
	}
	if n < 1000 || live.Effective() > n/4 {
		t.Errorf("weight %v, effective %v", n, live.Effective())
	}
	// The state keeps the mark, and so does the next fit even if its own evidence is whole.
	d := New(o, ev.Schema).New(ev.Levels).(*Component)
	if err := d.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	whole := *ev
	whole.Recent = 0
	other := serve(t, o, ev, part, 1, nil)
	whole.States = model.HeldStates(map[int32][]byte{0: d.AppendState(nil), 1: other.AppendState(nil)})
	_, next := fitPart(t, o, &whole, part)
	if slices.Contains(flags(serve(t, o, ev, next, 0, nil)), false) {
		t.Error("a carried estimate lost its mark")
	}
	whole.States = model.ComponentStates{}
	_, next = fitPart(t, o, &whole, nil)
	if slices.Contains(flags(serve(t, o, ev, next, 0, nil)), true) {
		t.Error("whole counts are marked")
	}
	var r report.Report
	p.Report(ev.Schema, ev.Levels, &r)
	if !r.Sets[0].Estimated {
		t.Error("the report does not say so")
	}
}
