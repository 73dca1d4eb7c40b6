package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
)

// wideSchema has that many continuous features.
func wideSchema(features int) *model.Schema {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for f := range features {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("x", f)})
	}
	return s
}

// wideBatch holds rows whose class depends on the third feature from the end.
func wideBatch(features, rows, offset int) *model.Batch {
	b := &model.Batch{N: rows, Offset: int64(offset), Columns: make([]model.Column, features)}
	for i := range rows {
		for f := range features {
			v := float64(model.Hash(1, uint64(offset), uint64(i), uint64(f))>>11) / (1 << 53)
			b.Columns[f].Float = append(b.Columns[f].Float, v)
		}
		y := int32(0)
		if b.Columns[features-3].Float[i] > .5 {
			y = 1
		}
		b.Label, b.Time, b.Row = append(b.Label, y), append(b.Time, int64(offset+i)), append(b.Row, int32(i))
	}
	return b
}

// greedy is a component that notes the budget it is given and asks for more than the loop has.
type greedy struct {
	model.Factory
	work   []int64
	strict []bool
}

func (g *greedy) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	g.work, g.strict = append(g.work, ev.Work), append(g.strict, ev.Strict)
	if _, err := ev.Afford(1, func(int) float64 { return 2 * model.LoopWork }); err != nil {
		return nil, err
	}
	return g.Factory.Fit(ctx, ev, previous)
}

func wideSpec(features int, f ...model.Factory) *model.Spec {
	s := wideSchema(features)
	return &model.Spec{Schema: s, Components: f, Scorecard: propensity.New(propensity.Default(), s),
		Options: model.Options{Fingerprint: 1, Warmup: 50, TailBytes: 1 << 20, ReservoirRecords: 10, ReservoirBytes: 1 << 20,
			ExpireAs: model.Unlabelled, Seed: 1}}
}

// TestTheLoopFitsWithinItsWork: a partition whose first model would take longer than its budget between two records
// stays at base rates; the trainer's model makes it score, and a replay with the same swap gives the same state.
func TestTheLoopFitsWithinItsWork(t *testing.T) {
	for _, x := range []struct {
		features int
		trained  bool
	}{{15, true}, {1500, false}} {
		spec := wideSpec(x.features)
		run := func(m *model.Model) (*model.Partition, *model.Model) {
			p := model.NewPartition(spec, 0)
			var out model.Scores
			p.Events(wideBatch(x.features, 60, 0), &out)
			if p.Trained() != x.trained {
				t.Fatalf("%d features: trained %v", x.features, p.Trained())
			}
			var err error
			if m == nil {
				if m, err = model.FitAnew(t.Context(), spec, model.Held{0: p.Snapshot()}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Swap(m); err != nil {
				t.Fatal(err)
			}
			p.Events(wideBatch(x.features, 20, 1), &out)
			if !p.Trained() || out.Status[0] != model.StatusOK {
				t.Errorf("%d features: trained %v, status %v", x.features, p.Trained(), out.Status[0])
			}
			return p, m
		}
		first, m := run(nil)
		again, _ := run(m)
		if !maps.EqualFunc(first.Snapshot(), again.Snapshot(), bytes.Equal) {
			t.Errorf("%d features: the replay has another state", x.features)
		}
	}
}

// TestTheLoopLeavesOutWhatItCannotAfford: a component that needs more than the budget of the loop has no part in model
// 0, and one in the models of the trainer, whose budgets are larger: that of the first one is smaller than the others'.
func TestTheLoopLeavesOutWhatItCannotAfford(t *testing.T) {
	g := &greedy{Factory: counting{}}
	spec := wideSpec(3, g)
	p := model.NewPartition(spec, 0)
	var out model.Scores
	p.Events(wideBatch(3, 120, 0), &out)
	if !p.Trained() {
		t.Fatal("no model 0")
	}
	for i, w := range g.work {
		if w != model.LoopWork || !g.strict[i] {
			t.Errorf("fit %d has a budget of %d, strict %v", i, w, g.strict[i])
		}
	}
	if p.Component("counting").InputCount() != 0 {
		t.Error("the component has a part")
	}
	g.work = nil
	states := model.Held{0: p.Snapshot()}
	m, err := model.FitAnew(t.Context(), spec, states, nil)
	if err != nil || len(g.work) != 1 || g.work[0] != model.FirstWork {
		t.Fatalf("%v, budgets %d", err, g.work)
	}
	if _, err := model.FitAnew(t.Context(), spec, states, m); err != nil || g.work[1] != model.StageWork {
		t.Fatalf("%v, budgets %d", err, g.work)
	}
	if _, err := model.Fit(t.Context(), spec, states, nil); err != nil || g.work[2] != model.StageWork {
		t.Fatalf("%v, budgets %d", err, g.work)
	}
	if err := p.Swap(m); err != nil || p.Component("counting").InputCount() != 1 {
		t.Errorf("%v, %d inputs", err, p.Component("counting").InputCount())
	}
	spec.Options.Work = 1 << 29
	if _, err := model.FitAnew(t.Context(), spec, states, nil); err != nil || g.work[3] != 1<<29 {
		t.Errorf("%v, budgets %d", err, g.work)
	}
}

// counting is a component of one input that says nothing.
type counting struct{}

func (counting) Name() string                                                 { return "counting" }
func (counting) New(*model.Levels) model.Component                            { return &silent{} }
func (counting) Fit(context.Context, *model.Evidence, []byte) ([]byte, error) { return []byte{1}, nil }

type silent struct{ on bool }

func (*silent) Learn(*model.Example)   {}
func (*silent) Retract(*model.Example) {}
func (s *silent) InputCount() int {
	if s.on {
		return 1
	}
	return 0
}
func (*silent) Inputs(_ model.Row, dst []float64) { clear(dst) }
func (s *silent) AppendState(b []byte) []byte {
	if s.on {
		return append(b, 1)
	}
	return append(b, 0)
}
func (s *silent) LoadState(b []byte) error      { s.on = len(b) > 0 && b[0] == 1; return nil }
func (s *silent) Rebase(rb *model.Rebase) error { s.on = len(rb.Part) > 0; return nil }

// TestStrongest: the rule by which features are left out finds the one that tells, among noise, constants and missing
// values, keeps the order of the configuration, and does not look further than it must.
func TestStrongest(t *testing.T) {
	const features = 40
	spec := wideSpec(features)
	b := model.NewBuilder(spec)
	b.Add(wideBatch(features, 3000, 0))
	var all []int32
	for f := range int32(features) {
		all = append(all, f)
	}
	for _, n := range []int{1, 5, features, features + 3} {
		got, err := b.Evidence().Strongest(t.Context(), all, n)
		if err != nil || len(got) != min(n, features) || !slices.IsSorted(got) || !slices.Contains(got, features-3) {
			t.Errorf("%d of %d: %v, %v", n, features, got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Evidence().Strongest(ended, all, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestAfford: the largest number within the budget, all or none where the evidence is strict.
func TestAfford(t *testing.T) {
	square := func(n int) float64 { return float64(n) * float64(n) }
	for _, x := range []struct {
		work   int64
		strict bool
		n      int
		err    error
	}{{0, false, 100, nil}, {0, true, 100, nil}, {10000, true, 100, nil}, {9999, false, 99, nil}, {100, false, 10, nil},
		{0, false, 100, nil}, {1, false, 1, nil}, {9999, true, 0, model.ErrTooMuchWork}} {
		ev := &model.Evidence{Work: x.work, Strict: x.strict}
		if n, err := ev.Afford(100, square); n != x.n || !errors.Is(err, x.err) {
			t.Errorf("work %d, strict %v: %d, %v; want %d, %v", x.work, x.strict, n, err, x.n, x.err)
		}
	}
}

// TestWork: a budget ends once, and nil has none.
func TestWork(t *testing.T) {
	w := model.NewWork(10)
	if !w.Spend(4) || w.Left() != 6 || w.Spent() || !w.Spend(6) || !w.Spent() || w.Spend(1) || w.Left() != 0 {
		t.Errorf("%+v", w)
	}
	if none := model.NewWork(0); none != nil || !none.Spend(1<<62) || none.Spent() {
		t.Error("a budget of 0 has a bound")
	}
}

// TestALongBatchIsGivenUpBetweenRows: there is a question before each row, the questions change nothing, and no row is
// taken after the answer no.
func TestALongBatchIsGivenUpBetweenRows(t *testing.T) {
	const features, rows = 1500, 150
	spec := wideSpec(features)
	b := wideBatch(features, rows, 0)
	var out model.Scores
	whole, asked := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	whole.Events(b, &out)
	var at []int
	if !model.EventsWhile(asked, b, &out, func(row int) bool { at = append(at, row); return true }) {
		t.Fatal("not taken to the end")
	}
	if !maps.EqualFunc(whole.Snapshot(), asked.Snapshot(), bytes.Equal) {
		t.Error("the questions change the state")
	}
	for i, row := range at {
		if row != i || len(at) != rows {
			t.Fatalf("question %d of %d is before row %d", i, len(at), row)
		}
	}
	stopped := model.NewPartition(spec, 0)
	if model.EventsWhile(stopped, b, &out, func(row int) bool { return row < 50 }) || stopped.Seen() != 50 {
		t.Errorf("%d rows taken after the answer no", stopped.Seen())
	}
}

// TestAModelSaysWhatItLeavesOut: the features that components have not looked at stand in words beside the model, and
// in none that has looked at all.
func TestAModelSaysWhatItLeavesOut(t *testing.T) {
	spec := wideSpec(3, picky{})
	p := model.NewPartition(spec, 0)
	var out model.Scores
	p.Events(wideBatch(3, 120, 0), &out)
	for work, want := range map[int64][]string{0: nil, 2: {"picky looks at the 2 strongest of 3 features"}} {
		spec.Options.Work = work
		if work == 2 {
			spec.Scorecard = modest{spec.Scorecard}
		}
		m, err := model.FitAnew(t.Context(), spec, model.Held{0: p.Snapshot()}, nil)
		if err != nil || !slices.Equal(m.Narrowed, want) {
			t.Errorf("work %d: %v, leaves out %q", work, err, m.Narrowed)
		}
	}
}

// picky is a component that looks at as many features as it has steps.
type picky struct{ counting }

func (picky) Name() string { return "picky" }

func (picky) Fit(ctx context.Context, ev *model.Evidence, _ []byte) ([]byte, error) {
	n, err := ev.Afford(3, func(n int) float64 { return float64(n) })
	if err == nil {
		_, err = ev.Strongest(ctx, []int32{0, 1, 2}, n)
	}
	return []byte{1}, err
}

// modest is a scorecard for which any budget is enough.
type modest struct{ model.ScorecardFactory }

func (f modest) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	all := *ev
	all.Work = 0
	return f.ScorecardFactory.Fit(ctx, &all, in, previous)
}
