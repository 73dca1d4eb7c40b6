package model_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
)

// spyGoals is the Spec of a stage of two goals, of each of which a component and a scorecard are watched.
func spyGoals(change func(o *model.Options)) (*model.Spec, []*model.Spec, []*spied) {
	spec := newSpec(change)
	var specs []*model.Spec
	var spies []*spied
	for range 2 {
		own, s := spySpec(nil)
		specs, spies = append(specs, own), append(spies, s)
	}
	spec.Components = []model.Factory{model.NewGoals(specs)}
	o := propensity.Default()
	o.Blocks = propensity.BlocksOf(spec)
	spec.Scorecard = propensity.New(o, schema)
	return spec, specs, spies
}

// goalOutcome is the class of a goal of record i: a coin.
func goalOutcome(i, goal int) int32 { return int32(model.Hash(21, uint64(i), uint64(goal)) & 1) }

// withGoals gives the records of a batch the outcomes of both goals.
func withGoals(b *model.Batch) {
	b.Outcomes = make([]model.Outcomes, b.N)
	for i := range b.N {
		n := int(b.Offset) + int(b.Row[i])
		b.Outcomes[i] = b.Outcomes[i].With(0, goalOutcome(n, 0)).With(1, goalOutcome(n, 1))
	}
}

// TestAGoalThatIsToldLaterIsLearntAsOfNow: with the clock of the partition then, and the goal that its record had
// already with that of the record.
func TestAGoalThatIsToldLaterIsLearntAsOfNow(t *testing.T) {
	spec, _, spies := spyGoals(func(o *model.Options) { o.WaitWindow = 0 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 100, withGoals)
	if !p.Trained() {
		t.Fatal("no model 0")
	}
	for _, s := range spies {
		s.learnt = nil
	}
	feed(p, 200, 230, 10, func(b *model.Batch) {
		withGoals(b)
		for i := range b.N {
			b.Outcomes[i] = b.Outcomes[i].With(1, model.Unlabelled)
		}
	})
	tell := func(record int) model.LabelCounts {
		return p.Labels(&model.Labels{N: 1, Class: []int32{model.Unlabelled}, ID: rows(record, 1).ID,
			Outcomes: []model.Outcomes{model.Outcomes(0).With(1, goalOutcome(record, 1))}})
	}
	for k, record := range []int{203, 229, 200} {
		if c := tell(record); c.Learnt != 1 {
			t.Fatalf("record %d: %+v", record, c)
		}
		feed(p, 230+k, 231+k, 1, func(b *model.Batch) { b.Outcomes = nil })
	}
	var first, second []string
	for i := range 30 {
		first = append(first, fmt.Sprint(200+i, " ", goalOutcome(200+i, 0)))
	}
	for k, record := range []int{203, 229, 200} {
		second = append(second, fmt.Sprint(230+k, " ", goalOutcome(record, 1)))
	}
	for goal, want := range [][]string{first, second} {
		var got []string
		for _, ex := range spies[goal].learnt {
			got = append(got, fmt.Sprint(ex.Clock, " ", ex.Class))
		}
		if !slices.Equal(got, want) {
			t.Errorf("goal %d is learnt at the clocks and as the classes %q, want %q", goal, got, want)
		}
	}
}

// TestACorrectionOfAGoalLeavesTheOthers: a label that tells all goals of a learnt record, one of them otherwise, has
// that one taken back and learnt. The goals that it repeats are learnt once.
func TestACorrectionOfAGoalLeavesTheOthers(t *testing.T) {
	spec, _, spies := spyGoals(func(o *model.Options) { o.WaitWindow = 0 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 100, withGoals)
	const record = 150
	for turned := range 2 {
		for _, s := range spies {
			s.learnt, s.retracted = nil, nil
		}
		told := model.Outcomes(0).With(0, goalOutcome(record, 0)).With(1, goalOutcome(record, 1))
		is := goalOutcome(record, turned)
		told = told.With(turned, 1-is)
		label := &model.Labels{N: 1, Class: []int32{model.Unlabelled}, ID: rows(record, 1).ID,
			Outcomes: []model.Outcomes{told}}
		if c := p.Labels(label); c.Corrected != 1 || c.Learnt+c.Repeated != 0 {
			t.Fatalf("goal %d turned: %+v", turned, c)
		}
		if ex := learntAt(p, record); ex.Outcomes != told || ex.Class != rows(record, 1).Label[0] {
			t.Errorf("goal %d turned: the tail has class %d and outcomes %b, want %b", turned, ex.Class, ex.Outcomes, told)
		}
		if turned == 1 { // the first goal is turned back with it
			for k, s := range spies {
				if len(s.learnt) != 1 || len(s.retracted) != 1 || s.learnt[0].Class != told.Of(k) {
					t.Errorf("both turned: goal %d is learnt as %v in place of %v", k, s.learnt, s.retracted)
				}
			}
			break
		}
		own, other := spies[0], spies[1]
		if len(own.learnt) != 1 || len(own.retracted) != 1 || own.learnt[0].Class != 1-is || own.retracted[0].Class != is {
			t.Errorf("the turned goal is learnt as %v in place of %v", own.learnt, own.retracted)
		}
		if len(other.learnt)+len(other.retracted) > 0 {
			t.Errorf("the other goal is learnt as %v in place of %v", other.learnt, other.retracted)
		}
		if c := p.Labels(label); c.Repeated != 1 || len(own.learnt) != 1 {
			t.Errorf("the same label again: %+v", c)
		}
	}
}

// learntAt is the record of the tail with that clock.
func learntAt(p *model.Partition, clock int) model.Example {
	for _, ex := range model.LearntExamples(p) {
		if ex.Clock == float64(clock) {
			return *ex
		}
	}
	return model.Example{Class: model.UnknownClass}
}

// TestAClassThatComesAfterTheGoals of its record is learnt once, and may be corrected like any other.
func TestAClassThatComesAfterTheGoals(t *testing.T) {
	spec, _, _ := spyGoals(func(o *model.Options) { o.WaitWindow = 0 })
	p := model.NewPartition(spec, 0)
	const record = 150
	feed(p, 0, 200, 100, func(b *model.Batch) {
		withGoals(b)
		for i := range b.N {
			if b.Row[i] == record {
				b.Label[i] = model.Unlabelled
			}
		}
	})
	goals := learntAt(p, record).Outcomes
	before, _ := model.ClassCounts(p)
	before = slices.Clone(before)
	for _, c := range []struct {
		class int32
		want  model.LabelCounts
	}{{1, model.LabelCounts{Learnt: 1}}, {1, model.LabelCounts{Repeated: 1}}, {0, model.LabelCounts{Corrected: 1}}} {
		got := p.Labels(&model.Labels{N: 1, Class: []int32{c.class}, ID: rows(record, 1).ID})
		if got != c.want {
			t.Errorf("class %d counts as %+v, want %+v", c.class, got, c.want)
		}
		if ex := learntAt(p, record); ex.Class != c.class || ex.Outcomes != goals {
			t.Errorf("class %d: the tail has class %d and outcomes %b, want %b", c.class, ex.Class, ex.Outcomes, goals)
		}
		want := slices.Clone(before)
		want[c.class]++
		if sum, _ := model.ClassCounts(p); !slices.Equal(sum, want) {
			t.Errorf("class %d: the classes count %v, want %v", c.class, sum, want)
		}
	}
}

// TestGoalsOfAForgottenRecordAreTakenBack from each goal that it told, with its class or without one: before there is a
// model the counts are those without the record, to the bit.
func TestGoalsOfAForgottenRecordAreTakenBack(t *testing.T) {
	spec, _, spies := spyGoals(func(o *model.Options) { o.WaitWindow = 0 })
	const record = 40
	outcomes := func(b *model.Batch) {
		withGoals(b)
		for i := range b.N {
			if b.Row[i] == record+1 {
				b.Label[i], b.Outcomes[i] = model.Unlabelled, b.Outcomes[i].With(0, model.Unlabelled)
			}
		}
	}
	ids := []string{fmt.Sprint("c", record), fmt.Sprint("c", record+1)}
	knew, never := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(knew, 0, 60, 60, outcomes)
	before := knew.Snapshot()["model/goals"]
	feed(never, 0, 60, 60, func(b *model.Batch) {
		outcomes(b)
		b.Keep(func(i int) bool { return !slices.Contains(ids, b.ID[i]) })
	})
	model.Forget(knew, erasure(1, ids...))
	const clock = 2 + 8 // a format, the number of goals, and the records with a class: that is a clock, which stays
	got, want := knew.Snapshot()["model/goals"][clock:], never.Snapshot()["model/goals"][clock:]
	if knew.Trained() || bytes.Equal(before[clock:], want) {
		t.Fatal("the goals count nothing of the records: the test would say nothing")
	}
	if !bytes.Equal(got, want) {
		t.Errorf("without a model the goals are % x, want % x", got, want)
	}
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 100, outcomes)
	for _, s := range spies {
		s.retracted = nil
	}
	found, _ := model.Forget(p, erasure(1, ids...))
	if !p.Trained() || found.Counts != 2 {
		t.Fatalf("trained %v, found %+v", p.Trained(), found)
	}
	for goal, s := range spies {
		var got, want []string
		for _, ex := range s.retracted {
			got = append(got, fmt.Sprint(ex.Clock, " ", ex.Class))
		}
		for i := record; i <= record+goal; i++ { // the second tells one goal
			want = append(want, fmt.Sprint(i, " ", goalOutcome(i, goal)))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("goal %d: %q are taken back, want %q", goal, got, want)
		}
	}
}

// TestWhatARebaseOfAGoalIsGiven: its component the records since the mark of the fit, its scorecard those since the
// mark of the renewal; after a return neither any, and the clock is ahead of either mark by itself.
func TestWhatARebaseOfAGoalIsGiven(t *testing.T) {
	spec, _, spies := spyGoals(nil)
	p := model.NewPartition(spec, 3)
	feed(p, 0, 400, 100, withGoals)
	m, err := model.Fit(context.Background(), spec, snapshots(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	feed(p, 400, 450, 50, withGoals)
	renewed, err := model.Renew(context.Background(), spec, m, snapshots(p))
	if err != nil {
		t.Fatal(err)
	}
	feed(p, 450, 520, 70, withGoals)
	for _, x := range []struct {
		m          *model.Model
		mark, card int
		anew       bool
	}{{m, 400, 400, false}, {renewed, 400, 450, false}, {m, 400, 400, true}, {renewed, 400, 450, true}} {
		q := clone(t, spec, p)
		if x.anew {
			err = model.Return(q, x.m, 0)
		} else {
			err = q.Swap(x.m)
		}
		if err != nil {
			t.Fatal(err)
		}
		for goal, s := range spies {
			for name, mark := range map[string]int{"spy": x.mark, "card": x.card} {
				rb, since, n, ahead := s.rebased[name], s.since[name], 520-mark, 0.
				if x.anew {
					n, ahead = 0, float64(n)
				}
				if rb.Self != 3 || rb.Clock != 520 || rb.Ahead != ahead || len(since) != n {
					t.Errorf("goal %d, %s, a return %v: partition %d, clock %v, ahead by %v, want %v; %d records since, want %d",
						goal, name, x.anew, rb.Self, rb.Clock, rb.Ahead, ahead, len(since), n)
				}
				for i, ex := range since {
					if ex.Clock != float64(mark+i) || ex.Class != goalOutcome(mark+i, goal) || ex.Outcomes != 0 {
						t.Fatalf("goal %d, %s: record %d since the mark is %+v", goal, name, i, ex)
					}
				}
			}
		}
	}
}

// TestAGoalOfOneClassKeepsItsModel: where the records of a fit or of a renewal tell one class of a goal alone, it has
// the parts of the model before, and none where that had none. The other goals are fitted.
func TestAGoalOfOneClassKeepsItsModel(t *testing.T) {
	spec, specs, _ := spyGoals(func(o *model.Options) { o.Warmup = 1000 })
	both, one := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	feed(both, 0, 300, 100, withGoals)
	feed(one, 300, 500, 100, func(b *model.Batch) {
		withGoals(b)
		for i := range b.N {
			b.Outcomes[i] = b.Outcomes[i].With(1, 0)
		}
	})
	ctx := context.Background()
	parts := func(m *model.Model, err error) (*model.Model, []map[string][]byte) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.GoalParts(specs, m)
		if err != nil {
			t.Fatal(err)
		}
		return m, p
	}
	card := spec.Scorecard.Name()
	first, was := parts(model.Fit(ctx, spec, snapshots(both), nil))
	next, now := parts(model.Fit(ctx, spec, snapshots(one), first))
	_, renewed := parts(model.Renew(ctx, spec, next, snapshots(one)))
	_, fresh := parts(model.Fit(ctx, spec, snapshots(one), nil))
	for name, part := range was[1] {
		if string(now[1][name]) != string(part) || string(renewed[1][name]) != string(part) {
			t.Errorf("a goal of one class has %d bytes of %s, %d after a renewal, the model before has %d", len(now[1][name]),
				name, len(renewed[1][name]), len(part))
		}
	}
	if len(was[1]) != 2 || len(now[1]) != 2 || len(renewed[1]) != 2 || len(fresh[1]) != 0 {
		t.Errorf("%d parts, then %d, %d after a renewal, %d without a model before", len(was[1]), len(now[1]),
			len(renewed[1]), len(fresh[1]))
	}
	if string(now[0]["spy"]) != "part of 200" || string(now[0][card]) == string(was[0][card]) ||
		string(fresh[0]["spy"]) != "part of 200" {
		t.Errorf("the other goal has the %q and the %q", now[0]["spy"], fresh[0]["spy"])
	}
}

// carriedSpy is a spy that is carried over, with its second input alone.
type carriedSpy struct{ spy }

func (carriedSpy) CarryState(_ *model.Change, state []byte) ([]byte, []int, error) {
	return state, []int{1}, nil
}

// carriedCards note the change that a scorecard is carried over by.
type carriedCards struct {
	spyCards
	by *model.Change
}

func (f *carriedCards) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	*f.by = *c
	f.by.Inputs = slices.Clone(c.Inputs)
	return f.ScorecardFactory.(model.Carrier).CarryState(c, state)
}

// TestCarriedGoalsKeepTheirInputs: the scorecard of each goal is told which inputs of its component stay, between the
// schemas of the goal.
func TestCarriedGoalsKeepTheirInputs(t *testing.T) {
	spec, _, _ := spyGoals(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 300, 100, withGoals)
	to := *schema
	to.Features = append(slices.Clone(schema.Features), model.Feature{Name: "new", Kind: model.Continuous})
	next, _, _ := spyGoals(nil)
	next.Schema = &to
	var specs []*model.Spec
	var by [2]model.Change
	for k := range by {
		s, own := newSpied(), to
		own.Classes = []string{"no", fmt.Sprint("yes", k)}
		o := propensity.Default()
		o.Blocks = []propensity.Block{{Name: "spy", Inputs: 2}}
		specs = append(specs, &model.Spec{Schema: &own, Components: []model.Factory{carriedSpy{spy{s}}},
			Scorecard: &carriedCards{spyCards{propensity.New(o, &own), s}, &by[k]}})
	}
	next.Components = []model.Factory{model.NewGoals(specs)}
	o := propensity.Default()
	o.Blocks = propensity.BlocksOf(next)
	next.Scorecard = propensity.New(o, &to)
	if _, _, err := p.Carry(next); err != nil {
		t.Fatal(err)
	}
	for k, c := range by {
		if fmt.Sprint(c.Inputs) != "[[1]]" {
			t.Errorf("goal %d: the inputs that stay are %v", k, c.Inputs)
		}
		if c.To != specs[k].Schema || !slices.Equal(c.From.Classes, specs[k].Schema.Classes) ||
			len(c.From.Features) != len(schema.Features) {
			t.Errorf("goal %d is carried over from %+v to %+v", k, c.From, c.To)
		}
	}
}
