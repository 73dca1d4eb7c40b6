package assemble

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/modeltest"
)

const goalsText = `
name: x
record:
  label: %s
  features: [{name: visits, kind: continuous}, {name: age, kind: continuous}, {name: plan, kind: nominal}]
labels: {late: %s}
local: off
kernel: off
trees: off
fit: {warmup: 60, records: 500}
`

const (
	bought  = "{column: bought, classes: [no, yes], positive: yes}"
	clicked = "{column: clicked, classes: [no, yes], positive: yes}"
	left    = "{column: left, classes: [stays, leaves], positive: leaves}"
)

// goalsStage is the stage of these labels.
func goalsStage(t *testing.T, labels, late string) *Stage {
	t.Helper()
	return stage(t, fmt.Sprintf(goalsText, labels, late))
}

// goalRecords are records of three labels: bought hangs on age, clicked on plan, and left is a coin.
func goalRecords(from, to int) (b *model.Batch, bought, clicked, left []int32) {
	b = drawn(0, from, to)
	for i := range b.N {
		h := model.Hash(9, uint64(from+i))
		u := func(k int) float64 { return float64(h>>(16*k)&0xffff) / (1 << 16) }
		yes := func(p, u float64) int32 {
			if u < p {
				return 1
			}
			return 0
		}
		bought = append(bought, yes(.1+.5*b.Columns[1].Float[i], u(0)))
		clicked = append(clicked, yes(.2+.3*float64(b.Columns[2].Code[i]), u(1)))
		left = append(left, yes(.3, u(2)))
	}
	return b, bought, clicked, left
}

// labelled is the stream of the records in messages, with label y, and two goals where they are given.
func labelled(records int, of func(from, to int) (b *model.Batch, y, first, second []int32)) evaluate.Source {
	return func(yield func(*model.Batch, error) bool) {
		for from := 0; from < records; from += 100 {
			b, y, first, second := of(from, from+100)
			b.Label, b.Outcomes = y, nil
			if first != nil {
				b.Outcomes = make([]model.Outcomes, b.N)
				for i := range b.N {
					b.Outcomes[i] = b.Outcomes[i].With(0, first[i]).With(1, second[i])
				}
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// propensities runs a stage over the stream, with re-fits, and returns those of the second class and of the goals.
func propensities(t *testing.T, s *Stage, src evaluate.Source, delay int) (p []float64, goals [][]float64) {
	t.Helper()
	spec := s.Scoring("lift")
	spec.Options.WaitBytes, spec.Options.WaitWindow, spec.Options.Correct = 0, 0, false
	if delay > 0 {
		spec.Options.WaitBytes = 1 << 30
	}
	o := evaluate.Options{Delay: delay, Refit: 500}
	methods := []evaluate.Method{evaluate.Stage("all", spec)}
	run, err := evaluate.Prequential(context.Background(), spec.Schema, src, methods, o,
		func(r *evaluate.Record) error {
			out := r.Scores[0]
			p = append(p, out.P[2*r.Row+1])
			n := len(out.Goals) / out.N
			goals = append(goals, append([]float64(nil), out.Goals[n*r.Row:n*(r.Row+1)]...))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if run.Fits < 2 {
		t.Errorf("%d fits: the test is to see a re-fit", run.Fits)
	}
	return p, goals
}

// TestAGoalIsAStageOfItsOwn: where the labels of a record come together, the propensities of a goal are bit for bit
// those of the method lift of a stage of that label alone, after model 0 and re-fits too, at once and with late
// labels; and the label's are those of a stage without goals.
func TestAGoalIsAStageOfItsOwn(t *testing.T) {
	modeltest.Computes(t)
	const records = 1800
	together := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	for _, delay := range []int{0, 150} {
		p, goals := propensities(t, together, labelled(records, goalRecords), delay)
		for k, alone := range []string{bought, clicked, left} {
			own, none := propensities(t, goalsStage(t, alone, "correct"), labelled(records,
				func(from, to int) (*model.Batch, []int32, []int32, []int32) {
					b, bought, clicked, left := goalRecords(from, to)
					return b, [][]int32{bought, clicked, left}[k], nil, nil
				}), delay)
			if len(none[0]) != 0 {
				t.Fatal("a stage without goals has propensities of goals")
			}
			for i := range own {
				got := p[i]
				if k > 0 {
					got = goals[i][k-1]
				}
				untrained := i < 60+delay // base rates count pseudo-records in another way there
				if math.Float64bits(got) != math.Float64bits(own[i]) && (k == 0 || !untrained) {
					t.Fatalf("delay %d, label %d, record %d: %v beside the others, %v alone", delay, k, i, got, own[i])
				}
			}
		}
	}
}

// goalOutcomes are the outcomes of two goals, -1 = unknown.
func goalOutcomes(first, second int32) model.Outcomes {
	return model.Outcomes(0).With(0, first).With(1, second)
}

// TestGoalsOneByOne: labels that tell the goals of a record one after the other leave the counts of a partition that
// was told all at once, in any order; a goal that is told again is counted as repeated, and another class of it as
// corrected.
func TestGoalsOneByOne(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	first := model.NewPartition(s.Spec, 0)
	var out model.Scores
	b, y, c, l := goalRecords(0, 300)
	b.Label = make([]int32, b.N)
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	first.Events(b, &out)
	tell := func(i int, class int32, o model.Outcomes) model.LabelCounts {
		return first.Labels(&model.Labels{N: 1, Class: []int32{class}, Outcomes: []model.Outcomes{o},
			Partition: []int32{0}, Offset: []int64{0}, Row: []int32{int32(i)}})
	}
	for i := range 300 {
		var counts [3]model.LabelCounts
		switch i % 3 {
		case 0:
			counts[0] = tell(i, y[i], 0)
			counts[1] = tell(i, model.Unlabelled, goalOutcomes(c[i], -1))
			counts[2] = tell(i, model.Unlabelled, goalOutcomes(-1, l[i]))
		case 1:
			counts[0] = tell(i, model.Unlabelled, goalOutcomes(-1, l[i]))
			counts[1] = tell(i, model.Unlabelled, goalOutcomes(c[i], -1))
			counts[2] = tell(i, y[i], 0)
		default:
			counts[0] = tell(i, model.Unlabelled, goalOutcomes(c[i], l[i]))
			counts[1] = tell(i, model.Unlabelled, goalOutcomes(c[i], -1))
			counts[2] = tell(i, y[i], 0)
		}
		for k, x := range counts {
			if repeated := i%3 == 2 && k == 1; x.Learnt != 1 && !repeated || x.Repeated != 1 && repeated || x.Unmatched > 0 {
				t.Fatalf("record %d, label %d is counted as %+v", i, k, x)
			}
		}
	}
	if first.Labelled() != 300 {
		t.Errorf("the clock is %v after 300 records", first.Labelled())
	}
	if x := tell(7, 1-y[7], goalOutcomes(1-c[7], -1)); x.Corrected != 1 {
		t.Errorf("another class is counted as %+v", x)
	}
	if x := tell(7, y[7], goalOutcomes(c[7], -1)); x.Corrected != 1 {
		t.Errorf("the class before it is counted as %+v", x)
	}
	if x := tell(7, y[7], goalOutcomes(c[7], l[7])); x.Repeated != 1 {
		t.Errorf("the same class is counted as %+v", x)
	}
	// The state knows all of it again, and goes on alike.
	again, err := model.RestorePartition(s.Spec, first.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if !first.Trained() {
		t.Error("no model 0 of 300 records")
	}
	next, y, c, l := goalRecords(300, 500)
	next.Label, next.Outcomes = y, make([]model.Outcomes, next.N)
	for i := range next.N {
		next.Outcomes[i] = goalOutcomes(c[i], l[i])
	}
	var one, other model.Scores
	first.Events(next, &one)
	again.Events(next, &other)
	for i := range one.Goals {
		if math.Float64bits(one.Goals[i]) != math.Float64bits(other.Goals[i]) {
			t.Fatalf("goal %d of record %d: %v, %v after the restart", i%2, i/2, one.Goals[i], other.Goals[i])
		}
	}
	if x, y := first.Snapshot(), again.Snapshot(); !maps.EqualFunc(x, y, bytes.Equal) {
		t.Error("the states differ after a restart")
	}
	// Clicks hang on the plan, leaving is a coin.
	var clicks, leaves [3][2]float64
	for i := 100; i < next.N; i++ {
		plan := next.Columns[2].Code[i]
		clicks[plan][0] += one.Goals[2*i]
		leaves[plan][0] += one.Goals[2*i+1]
		clicks[plan][1]++
		leaves[plan][1]++
	}
	if d := clicks[2][0]/clicks[2][1] - clicks[0][0]/clicks[0][1]; d < .3 {
		t.Errorf("plans of .2 and .8 clicks are %.3f apart", d)
	}
	if d := leaves[2][0]/leaves[2][1] - leaves[0][0]/leaves[0][1]; math.Abs(d) > .15 {
		t.Errorf("plans that tell nothing of leaving are %.3f apart", d)
	}
}

// TestACorrectedGoalCountsUnderItsClassAlone: the counts of goals whose labels were wrong at first are those of goals
// whose labels were right at once. The goals without a correction keep theirs.
func TestACorrectedGoalCountsUnderItsClassAlone(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	const n = 30
	counts := func(wrong func(i int) bool) []byte {
		p := model.NewPartition(s.Spec, 0)
		b, y, c, l := goalRecords(0, n)
		b.Label = slices.Repeat([]int32{model.Unlabelled}, n)
		p.Events(b, &model.Scores{})
		tell := func(i int, class int32, o model.Outcomes) model.LabelCounts {
			return p.Labels(&model.Labels{N: 1, Class: []int32{class}, Outcomes: []model.Outcomes{o}, Partition: []int32{0},
				Offset: []int64{0}, Row: []int32{int32(i)}})
		}
		for i := range n {
			if !wrong(i) {
				tell(i, y[i], goalOutcomes(c[i], l[i]))
				continue
			}
			tell(i, y[i], goalOutcomes(1-c[i], l[i]))
			if x := tell(i, y[i], goalOutcomes(c[i], l[i])); x.Corrected != 1 {
				t.Fatalf("record %d: a correction is counted as %+v", i, x)
			}
		}
		if p.Trained() {
			t.Fatalf("a model of %d records: counts go along with weights", n)
		}
		return p.Snapshot()["model/"+model.GoalsName]
	}
	right := counts(func(int) bool { return false })
	for name, wrong := range map[string]func(i int) bool{"one": func(i int) bool { return i == 7 },
		"a third": func(i int) bool { return i%3 == 1 }, "all": func(int) bool { return true }} {
		if got := counts(wrong); !bytes.Equal(got, right) || len(got) == 0 {
			t.Errorf("%s wrong at first: the counts of the goals are others than those of labels that are right at once", name)
		}
	}
}

// TestTheFirstModelWaitsForClasses: a partition that has learnt many records by their goals makes model 0 when so many
// have a class as the warm-up asks for, and not when the first ones do.
func TestTheFirstModelWaitsForClasses(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	p := model.NewPartition(s.Spec, 0)
	var out model.Scores
	b, y, c, _ := goalRecords(0, 200)
	b.Outcomes = make([]model.Outcomes, b.N)
	for i := range b.N {
		b.Label[i], b.Outcomes[i] = model.Unlabelled, goalOutcomes(c[i], -1)
	}
	p.Events(b, &out)
	for i := range 60 {
		if p.Trained() {
			t.Fatalf("a model of %d classes", i)
		}
		if i == 40 { // the trainer may come first
			if _, err := model.FitAnew(context.Background(), s.Spec, model.Held{0: p.Snapshot()}, nil); err != nil {
				t.Fatal(err)
			}
		}
		p.Labels(&model.Labels{N: 1, Class: y[i : i+1], Partition: []int32{0}, Offset: []int64{0}, Row: []int32{int32(i)}})
	}
	if !p.Trained() || p.Labelled() != 200 {
		t.Errorf("trained %v by 60 classes of %v records", p.Trained(), p.Labelled())
	}
}

// TestARecordOfGoalsAlone: a record whose label never comes is learnt for the goals that are known, and the label's
// counts and models know nothing of it.
func TestARecordOfGoalsAlone(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "ignore")
	p := model.NewPartition(s.Spec, 0)
	b, y, c, _ := goalRecords(0, 900)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		if i%2 == 0 {
			b.Label[i] = model.Unlabelled
		}
		b.Outcomes[i] = goalOutcomes(c[i], -1)
	}
	var out model.Scores
	p.Events(b, &out)
	states := model.Held{0: p.Snapshot()}
	m, err := model.Fit(context.Background(), s.Spec, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	if m, err = model.Renew(context.Background(), s.Spec, m, states); err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	rate := 0.
	for i := 1; i < len(y); i += 2 {
		rate += float64(y[i]) / float64(len(y)/2)
	}
	next, _, _, _ := goalRecords(900, 1000)
	for i := range next.Label {
		next.Label[i] = model.Unlabelled
	}
	p.Events(next, &out)
	if out.Status[0] != model.StatusOK || math.Abs(out.BaseRate[0]-rate) > .01 {
		t.Errorf("base rate %v with status %v, want %v: half of the records have no label", out.BaseRate[0], out.Status[0],
			rate)
	}
	if out.Goals[1] != .5 {
		t.Errorf("a goal that is never known has the propensity %v", out.Goals[1])
	}
}

// TestALabelOfNoClassBesideAGoal: a late label whose text is no class, beside that of a goal, tells the goal alone, at
// first and later: the state is the one without that text, and can be read again.
func TestALabelOfNoClassBesideAGoal(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	state := func(none int32) map[string][]byte {
		p := model.NewPartition(s.Spec, 0)
		b, y, c, l := goalRecords(0, 200)
		b.Label = slices.Repeat([]int32{model.Unlabelled}, b.N)
		p.Events(b, &model.Scores{})
		tell := func(i int, class int32, o model.Outcomes) model.LabelCounts {
			return p.Labels(&model.Labels{N: 1, Class: []int32{class}, Outcomes: []model.Outcomes{o}, Partition: []int32{0},
				Offset: []int64{0}, Row: []int32{int32(i)}})
		}
		for i := range b.N {
			if i%3 > 0 {
				tell(i, y[i], goalOutcomes(c[i], l[i]))
				continue
			}
			if x := tell(i, none, goalOutcomes(c[i], -1)); x.Learnt != 1 {
				t.Fatalf("record %d: its first goal is counted as %+v", i, x)
			}
			if x := tell(i, none, goalOutcomes(-1, l[i])); x.Learnt != 1 {
				t.Fatalf("record %d: its other goal is counted as %+v", i, x)
			}
		}
		return p.Snapshot()
	}
	want, got := state(model.Unlabelled), state(model.UnknownClass)
	if !maps.EqualFunc(got, want, bytes.Equal) {
		t.Error("a text that is no class changes the state")
	}
	if _, err := model.RestorePartition(s.Spec, got); err != nil {
		t.Errorf("the state is not read again: %v", err)
	}
}

// TestFilesOfGoals: a model of files does not depend on the order of the rows, also of rows that differ by a goal
// alone, and a file in which a goal has one class gives a model without that goal.
func TestFilesOfGoals(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	s.Time() // as fit does
	fit := func(backwards bool) *model.Model {
		x := model.NewBuilder(s.Spec)
		for k := range 6 {
			from := 100 * k
			if backwards {
				from = 500 - from
			}
			b, y, c, _ := goalRecords(from, from+100)
			b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
			for i := range b.N {
				b.Outcomes[i] = goalOutcomes(c[i], 0)
				if i%7 == 0 {
					b.Label[i] = model.Unlabelled
				}
				b.Columns[0].Float[i], b.Columns[1].Float[i] = 1, math.Round(4*b.Columns[1].Float[i])
			}
			x.Add(b)
		}
		m, err := x.Fit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if n := x.Evidence().Len(); n != 510 || x.Len() != n || x.Exchangeable().Len() != n || m.Info.Records != 600 {
			t.Errorf("%d and %d records with a class, %d of the model; want 510 and 600", n, x.Len(), m.Info.Records)
		}
		return m
	}
	m := fit(false)
	if !maps.EqualFunc(m.Parts, fit(true).Parts, bytes.Equal) {
		t.Error("the order of the rows changes the model")
	}
	p := model.NewPartition(s.Spec, 0)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	b, _, _, _ := goalRecords(700, 800)
	for i := range b.N {
		b.Label[i] = model.Unlabelled
		b.Columns[0].Float[i], b.Columns[1].Float[i] = 1, 2
	}
	var out model.Scores
	p.Events(b, &out)
	if out.Goals[1] != 1./602 || out.Goals[0] == .5 {
		t.Errorf("propensities %v of a goal that was fitted and of one that none of 600 records has", out.Goals[:2])
	}
	if len(out.GoalFitted) != len(out.Goals) || !out.GoalFitted[0] || out.GoalFitted[1] {
		t.Errorf("fitted are %v", out.GoalFitted[:2])
	}
}
