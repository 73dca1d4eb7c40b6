package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
)

// spied holds the calls of a stage to a component and its scorecard.
type spied struct {
	learnt, retracted []model.Example // of the component
	rebased           map[string]model.Rebase
	since             map[string][]model.Example
	keys              [][]uint64
	previous          map[string]string // part that a fit starts from
	offer             *model.Offer
	loaded            int
	fail, refuse      error // of a fit, and of a rebase
}

func newSpied() *spied {
	return &spied{rebased: map[string]model.Rebase{}, since: map[string][]model.Example{}, previous: map[string]string{}}
}

func (s *spied) rebase(name string, rb *model.Rebase) {
	s.rebased[name], s.since[name] = *rb, nil
	rb.Since(func(ex *model.Example) bool {
		x := *ex
		x.Row = slices.Clone(ex.Row)
		s.since[name] = append(s.since[name], x)
		return true
	})
}

// spy is the factory of a component of two inputs, whose state is the number of its records.
type spy struct{ *spied }

func (spy) Name() string                        { return "spy" }
func (f spy) New(*model.Levels) model.Component { return &spyComponent{f.spied, 0} }

func (f spy) Fit(_ context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	f.previous["spy"] = string(previous)
	return fmt.Append(nil, "part of ", ev.Len()), f.fail
}

type spyComponent struct {
	*spied
	n byte
}

func (c *spyComponent) Learn(ex *model.Example) {
	c.n++
	c.learnt = append(c.learnt, *ex)
}
func (c *spyComponent) Retract(ex *model.Example) {
	c.n--
	c.retracted = append(c.retracted, *ex)
}
func (c *spyComponent) InputCount() int                     { return 2 }
func (c *spyComponent) Inputs(row model.Row, dst []float64) { clear(dst) }
func (c *spyComponent) AppendState(b []byte) []byte         { return append(b, c.n) }

// Rebase fails in a partition, and not where a fit reads the part.
func (c *spyComponent) Rebase(rb *model.Rebase) error {
	c.rebase("spy", rb)
	if rb.Self >= 0 {
		return c.refuse
	}
	return nil
}

func (c *spyComponent) LoadState(b []byte) error {
	c.n = b[0]
	c.loaded++
	return nil
}

// spyCards makes scorecards that are watched.
type spyCards struct {
	model.ScorecardFactory
	*spied
}

func (f spyCards) New(l *model.Levels) model.Scorecard {
	return &spyCard{f.ScorecardFactory.New(l), f.spied}
}

func (f spyCards) Fit(ctx context.Context, ev *model.Evidence, in *model.Offer, previous []byte) ([]byte, error) {
	f.previous["card"], f.offer = string(previous), in
	return f.ScorecardFactory.Fit(ctx, ev, in, previous)
}

type spyCard struct {
	model.Scorecard
	*spied
}

func (c *spyCard) SetInputs(keys [][]uint64) {
	c.keys = keys
	c.Scorecard.SetInputs(keys)
}

func (c *spyCard) Rebase(rb *model.Rebase) error {
	c.rebase("card", rb)
	return c.Scorecard.Rebase(rb)
}

func spySpec(change func(o *model.Options)) (*model.Spec, *spied) {
	spec, s := newSpec(change), newSpied()
	o := propensity.Default()
	o.Blocks = []propensity.Block{{Name: "spy", Inputs: 2}}
	spec.Scorecard = spyCards{propensity.New(o, schema), s}
	spec.Components = []model.Factory{spy{s}}
	return spec, s
}

// TestAComponentIsToldEachRecordOnce with the clock at which it is learnt, also where its label came late, and a
// correction takes it out under the class that it was counted under, at the same clock.
func TestAComponentIsToldEachRecordOnce(t *testing.T) {
	spec, s := spySpec(func(o *model.Options) { o.WaitWindow = 0 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 100, 100, nil) // the warm-up, after which model 0 serves
	if !p.Trained() {
		t.Fatal("no model 0")
	}
	s.learnt = nil
	b := rows(100, 6)
	b.Weight = []float64{1, 0, 3, 1, 1, 1e300}
	truth := slices.Clone(b.Label)
	b.Label[2], b.Label[3], b.Label[4] = model.Unlabelled, model.UnknownClass, model.Unlabelled
	var out model.Scores
	p.Events(b, &out)
	if !slices.Equal(out.Terms, []string{"(spy)"}) || spec.Contribution(0) != (model.Contribution{Term: "(spy)"}) {
		t.Errorf("terms %q", out.Terms)
	}
	p.Labels(&model.Labels{N: 1, Class: truth[4:5], ID: b.ID[4:5]})
	p.Labels(&model.Labels{N: 2, Class: []int32{1 - truth[4], 1 - truth[0]}, ID: []string{b.ID[4], b.ID[0]}})
	p.Labels(&model.Labels{N: 1, Class: truth[4:5], ID: b.ID[4:5]})
	describe := func(list []model.Example) (text []string) {
		for _, ex := range list {
			text = append(text, fmt.Sprint(ex.Clock, " ", ex.Class, " ", ex.Weight, " ", ex.Time/1e9))
		}
		return text
	}
	flip := func(i int) int32 { return 1 - truth[i] }
	learnt := []string{fmt.Sprint("100 ", truth[0], " 1 100"), fmt.Sprint("101 ", truth[5], " 1e+09 105"),
		fmt.Sprint("102 ", truth[4], " 1 104"), fmt.Sprint("102 ", flip(4), " 1 104"), fmt.Sprint("100 ", flip(0), " 1 100"),
		fmt.Sprint("102 ", truth[4], " 1 104")}
	retracted := []string{fmt.Sprint("102 ", truth[4], " 1 104"), fmt.Sprint("100 ", truth[0], " 1 100"),
		fmt.Sprint("102 ", flip(4), " 1 104")}
	if got := describe(s.learnt); !slices.Equal(got, learnt) {
		t.Errorf("learnt %q, want %q", got, learnt)
	}
	if got := describe(s.retracted); !slices.Equal(got, retracted) {
		t.Errorf("retracted %q, want %q", got, retracted)
	}
}

// TestWhatARebaseIsGiven: the part of the model, the partition and its clocks, and the records since the mark of the
// fit, to the scorecard those since the mark of the renewal.
func TestWhatARebaseIsGiven(t *testing.T) {
	spec, s := spySpec(nil)
	p := model.NewPartition(spec, 3)
	feed(p, 0, 400, 100, nil)
	m, err := model.Fit(context.Background(), spec, snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	feed(p, 400, 450, 50, nil)
	renewed, err := model.Renew(context.Background(), spec, m, snapshots(p))
	if err != nil {
		t.Fatal(err)
	}
	feed(p, 450, 520, 70, nil)
	for _, x := range []struct {
		m          *model.Model
		mark, card int
	}{{m, 400, 400}, {renewed, 400, 450}} {
		q := clone(t, spec, p)
		s.loaded = 0
		if err := q.Swap(x.m); err != nil {
			t.Fatal(err)
		}
		for name, mark := range map[string]int{"spy": x.mark, "card": x.card} {
			rb, since := s.rebased[name], s.since[name]
			if rb.Self != 3 || rb.Clock != 520 || rb.Time != 519e9 || len(since) != 520-mark {
				t.Errorf("%s: partition %d, clock %v, time %d, %d records since, want %d", name, rb.Self, rb.Clock, rb.Time,
					len(since), 520-mark)
			}
			for i, ex := range since {
				if y := rows(mark+i, 1).Label[0]; ex.Clock != float64(mark+i) || ex.Class != y ||
					ex.Time != int64(mark+i)*1e9 {
					t.Fatalf("%s: record %d since the mark is %+v", name, i, ex)
				}
			}
		}
		if got := string(s.rebased["spy"].Part); got != "part of 400" {
			t.Errorf("the component is given the %q", got)
		}
		if s.loaded != 1 || !slices.EqualFunc(s.keys, [][]uint64{{1, 2}}, slices.Equal[[]uint64]) {
			t.Errorf("the state is loaded %d times, the keys are %v", s.loaded, s.keys)
		}
	}
	// A model that was made without the component leaves it empty.
	without := *m
	without.Parts = map[string][]byte{spec.Scorecard.Name(): m.Parts[spec.Scorecard.Name()]}
	delete(s.rebased, "spy")
	s.loaded = 0
	q := clone(t, spec, p)
	s.loaded = 0
	if err := q.Swap(&without); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.rebased["spy"]; ok || s.loaded != 0 || q.Snapshot()["model/spy"][0] != 0 {
		t.Errorf("a component without a part is rebased %v, loaded %d times", ok, s.loaded)
	}
}

// TestWhatAFitIsGiven: the part of the model before, which a fit anew does not see; of a stream no inputs without the
// record, of files these as well; errors name the component.
func TestWhatAFitIsGiven(t *testing.T) {
	spec, s := spySpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 300, 100, nil)
	ctx := context.Background()
	m, err := model.Fit(ctx, spec, snapshots(p), nil)
	if err != nil || s.previous["spy"] != "" || s.previous["card"] != "" {
		t.Fatalf("%v, before the first model there is %q", err, s.previous)
	}
	if in := s.offer; !slices.Equal(in.Blocks, []int{2}) || in.Without != nil || in.Inputs == nil || in.Offset == nil ||
		!slices.EqualFunc(in.Keys, [][]uint64{{1, 2}}, slices.Equal[[]uint64]) {
		t.Errorf("a stage offers %+v", in)
	}
	if _, err := model.Fit(ctx, spec, snapshots(p), m); err != nil || s.previous["spy"] != "part of 300" ||
		s.previous["card"] != string(m.Parts[spec.Scorecard.Name()]) {
		t.Errorf("%v, a fit starts from %q", err, s.previous["spy"])
	}
	if _, err := model.FitAnew(ctx, spec, snapshots(p), m); err != nil || s.previous["spy"] != "" ||
		s.previous["card"] != "" {
		t.Errorf("%v, a fit anew starts from %q", err, s.previous["spy"])
	}
	if _, err := model.Renew(ctx, spec, m, snapshots(p)); err != nil ||
		s.previous["card"] != string(m.Parts[spec.Scorecard.Name()]) {
		t.Errorf("%v, a renewal starts from another scorecard", err)
	}
	files := model.NewBuilder(spec)
	files.Add(rows(0, 300))
	if _, err := files.Fit(ctx); err != nil || s.offer.Without == nil {
		t.Errorf("%v, files offer no inputs without the record", err)
	}
	one := model.NewPartition(spec, 0)
	feed(one, 0, 200, 100, func(b *model.Batch) { clear(b.Label) })
	if _, err := model.FitAnew(ctx, spec, snapshots(one), nil); !errors.Is(err, model.ErrOneClass) {
		t.Errorf("records of one class: %v", err)
	}
	s.fail = errors.New("no fit")
	for name, fit := range map[string]func() (*model.Model, error){
		"stage": func() (*model.Model, error) { return model.Fit(ctx, spec, snapshots(p), nil) },
		"files": func() (*model.Model, error) { return files.Fit(ctx) },
	} {
		if _, err := fit(); !errors.Is(err, s.fail) || !strings.Contains(err.Error(), "fitting spy: no fit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A partition without a structure stays so when its model cannot be made.
	cold := model.NewPartition(spec, 0)
	feed(cold, 0, 300, 100, nil)
	if cold.Trained() {
		t.Error("a fit that failed has made model 0")
	}
	s.fail, s.refuse = nil, errors.New("no place")
	feed(cold, 300, 500, 100, nil)
	if cold.Trained() {
		t.Error("model 0 serves that a component has refused")
	}
	before := state(cold)
	if err := cold.Swap(m); !errors.Is(err, s.refuse) ||
		!strings.Contains(err.Error(), "swapping to model 1: rebasing spy: no place") || !bytes.Equal(before, state(cold)) {
		t.Errorf("a swap that is refused: %v", err)
	}
	s.refuse = nil
	if feed(cold, 500, 600, 100, nil); !cold.Trained() { // at the next multiple of the warm-up
		t.Error("after failures no model 0 is made")
	}
}
