//go:build unix

package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
)

// aheadRecords of the partitions of these tests come before the fit, and as many again while it runs.
const aheadRecords = 1500

// beforeTheFirstModel returns twice a partition that has learnt records since the snapshot of which the model is made,
// and feeds both. No model 0 is made.
func beforeTheFirstModel(t *testing.T, more string, also ...model.Factory) (
	p, twin *model.Partition, m *model.Model, feed func(n int),
) {
	t.Helper()
	return beforeTheFirstModelOf(t, grown{features: 60, levels: 300, classes: 2, partitions: 1}, 0, false, more, also...)
}

// beforeTheFirstModelOf is of a partition of several, all of which the model knows. The records since the snapshot are
// new ones, or again those of the fit.
func beforeTheFirstModelOf(t *testing.T, g grown, self int, again bool, more string, also ...model.Factory) (
	p, twin *model.Partition, m *model.Model, feed func(n int),
) {
	t.Helper()
	a := stage(t, g.config()+more)
	spec := *a.Spec
	spec.Options.Warmup, spec.Options.Work = 1<<30, 1<<26
	spec.Components = append(slices.Clone(spec.Components), also...)
	p, twin = model.NewPartition(&spec, int32(self)), model.NewPartition(&spec, int32(self))
	at := 0
	feed = func(n int) {
		var one, other model.Scores
		p.Events(g.batch(self, at, n), &one)
		twin.Events(g.batch(self, at, n), &other)
		if !slices.Equal(one.P, other.P) {
			t.Fatalf("scores of records %d to %d differ", at, at+n)
		}
		at += n
	}
	feed(aheadRecords)
	held := model.Held{int32(self): p.Snapshot()}
	for i := range g.partitions {
		if i != self {
			other := model.NewPartition(&spec, int32(i))
			other.Events(g.batch(i, 0, aheadRecords), new(model.Scores))
			held[int32(i)] = other.Snapshot()
		}
	}
	m, err := model.FitAnew(t.Context(), &spec, held, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again {
		at = 0
	}
	feed(aheadRecords)
	return p, twin, m, feed
}

func sameStates(t *testing.T, p, twin *model.Partition) {
	t.Helper()
	one, other := p.Snapshot(), twin.Snapshot()
	if got, want := slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(other)); !slices.Equal(got, want) {
		t.Fatalf("sections %v, want %v", got, want)
	}
	for name := range one {
		if !bytes.Equal(one[name], other[name]) {
			t.Errorf("section %s differs", name)
		}
	}
}

// prepared begins the preparation of a swap of p, which must be possible.
func prepared(t *testing.T, p *model.Partition, m *model.Model) *model.Prepared {
	t.Helper()
	x := model.Prepare(p, m)
	if x == nil {
		t.Fatal("the swap is not prepared")
	}
	t.Cleanup(x.End)
	return x
}

// TestAPreparedSwapIsTheSwap: also where levels that nobody knew come during the preparation, and records for further
// rounds. The records while the swap is prepared are learnt beside the preparation.
func TestAPreparedSwapIsTheSwap(t *testing.T) {
	for _, c := range []struct {
		name string
		came []int // records during each round
	}{
		{"no record", []int{0}},
		{"records", []int{137}},
		{"rounds", []int{1200, 1300, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, twin, m, feed := beforeTheFirstModel(t, "")
			x := prepared(t, p, m)
			for k, n := range c.came {
				learnt := make(chan struct{})
				go func() { x.Learn(); close(learnt) }()
				feed(n)
				<-learnt
				if got, want := x.More(), k+1 < len(c.came); got != want {
					t.Fatalf("another round after %d records: %v, want %v", n, got, want)
				}
			}
			if !x.Swap() {
				t.Fatal("the prepared swap was dropped")
			}
			if err := twin.Swap(m); err != nil {
				t.Fatal(err)
			}
			sameStates(t, p, twin)
			feed(300)
			sameStates(t, p, twin)
		})
	}
}

// TestAPreparedSwapOfSeveralPartitions: levels that another partition has named come during the preparation. They get
// the codes of the model, and where no code changed before (again), the preparation is given up.
func TestAPreparedSwapOfSeveralPartitions(t *testing.T) {
	g := grown{features: 60, levels: 3000, classes: 2, partitions: 2}
	for self, again := range []bool{true, false} {
		t.Run(fmt.Sprint(self), func(t *testing.T) {
			p, twin, m, feed := beforeTheFirstModelOf(t, g, self, again, "")
			x := prepared(t, p, m)
			x.Learn()
			feed(1200)
			if got := x.More(); got == again {
				t.Errorf("another round: %v", got)
			}
			if !again {
				x.Learn()
				feed(100)
			}
			if got := x.Swap(); got == again {
				t.Errorf("the prepared swap is done: %v", got)
			}
			if !p.Trained() {
				if err := p.Swap(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := twin.Swap(m); err != nil {
				t.Fatal(err)
			}
			sameStates(t, p, twin)
			feed(300)
			sameStates(t, p, twin)
		})
	}
}

// TestAPreparedSwapIsDropped where it would not be the swap. The partition is as it was then.
func TestAPreparedSwapIsDropped(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, p *model.Partition, m *model.Model, x *model.Prepared)
		trains bool
	}{
		{"a correction", func(t *testing.T, p *model.Partition, _ *model.Model, _ *model.Prepared) {
			l := &model.Labels{N: 1, Partition: []int32{0}, Offset: []int64{aheadRecords}, Row: []int32{5}, Class: []int32{0}}
			if p.Labels(l); p.Labels(&model.Labels{N: 1, Partition: []int32{0}, Offset: []int64{aheadRecords}, Row: []int32{5},
				Class: []int32{1}}).Corrected != 1 {
				t.Fatal("the label corrects no record")
			}
		}, false},
		{"another model", func(t *testing.T, p *model.Partition, m *model.Model, _ *model.Prepared) {
			if err := p.Swap(m); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"an interruption", func(_ *testing.T, _ *model.Partition, _ *model.Model, x *model.Prepared) {
			x.Interrupt()
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, twin, m, _ := beforeTheFirstModel(t, "labels: {late: correct, window: 100h}\n")
			x := prepared(t, p, m)
			x.Learn()
			c.change(t, p, m, x)
			c.change(t, twin, m, x)
			if x.More() {
				t.Error("there is another round")
			}
			if x.Swap() {
				t.Fatal("the swap is done")
			}
			sameStates(t, p, twin)
			if p.Trained() != c.trains {
				t.Errorf("trained: %v", p.Trained())
			}
		})
	}
}

// odd is a component with a Rebase of its own.
type odd struct{ rebase func(rb *model.Rebase) error }

func (odd) Name() string                        { return "odd" }
func (f odd) New(*model.Levels) model.Component { return f }
func (odd) Learn(*model.Example)                {}
func (odd) Retract(*model.Example)              {}
func (odd) InputCount() int                     { return 0 }
func (odd) Inputs(model.Row, []float64)         {}
func (odd) AppendState(b []byte) []byte         { return b }
func (odd) LoadState([]byte) error              { return nil }
func (f odd) Rebase(rb *model.Rebase) error     { return f.rebase(rb) }

func (odd) Fit(context.Context, *model.Evidence, []byte) ([]byte, error) { return []byte{1}, nil }

// TestASwapThatCannotBePreparedIsDropped: of a component whose Rebase does not end in the way of others.
func TestASwapThatCannotBePreparedIsDropped(t *testing.T) {
	every := func(*model.Example) bool { return true }
	rebase := func(*model.Rebase) error { return nil } // of the fit
	p, twin, m, _ := beforeTheFirstModel(t, "", odd{func(rb *model.Rebase) error { return rebase(rb) }})
	for _, c := range []struct {
		name   string
		rebase func(rb *model.Rebase) error
	}{
		{"depends on the clock", func(rb *model.Rebase) error { rb.DependsOnNow(); rb.Since(every); return nil }},
		{"asks twice", func(rb *model.Rebase) error { rb.Since(every); rb.Since(every); return nil }},
		{"fails", func(*model.Rebase) error { return errors.New("a wrong part") }},
		{"fails behind the records", func(rb *model.Rebase) error { rb.Since(every); return errors.New("a wrong part") }},
		{"panics", func(*model.Rebase) error { panic("a wrong part") }},
		{"panics behind the records", func(rb *model.Rebase) error { rb.Since(every); panic("a wrong part") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rebase = c.rebase
			x := prepared(t, p, m)
			x.Learn()
			if x.Swap() {
				t.Fatal("the swap is done")
			}
			sameStates(t, p, twin)
		})
	}
	rebase = func(rb *model.Rebase) error { rb.Since(every); return nil }
	x := prepared(t, p, m)
	x.Learn()
	if !x.Swap() {
		t.Error("the swap without a fault is dropped")
	}
}

// TestShortSwapsAreNotPrepared, nor are those of partitions that serve a model, whose counts go on.
func TestShortSwapsAreNotPrepared(t *testing.T) {
	p, _, m, _ := beforeTheFirstModel(t, "")
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	if model.Prepare(p, m) != nil {
		t.Error("the swap of a partition that serves a model is prepared")
	}
	q, _, earlier, _ := beforeTheFirstModel(t, "")
	newest := *earlier
	newest.Marks = map[int32]model.Mark{0: {Clock: 2*aheadRecords - 100}}
	if model.Prepare(q, &newest) != nil {
		t.Error("a swap that learns 100 records is prepared")
	}
}
