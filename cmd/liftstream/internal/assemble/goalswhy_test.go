package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
)

// reasoned is a record's lift and reasons of one outcome.
type reasoned struct {
	p, lift float64
	why     []model.Reason
}

// reasonsOf runs a stage over the stream, with re-fits, and returns the reasons of its label, or of that goal.
func reasonsOf(t *testing.T, s *Stage, src evaluate.Source, goal int) (out []reasoned) {
	t.Helper()
	spec := s.Scoring("lift")
	spec.Options.WaitBytes, spec.Options.WaitWindow, spec.Options.Correct = 0, 0, false
	spec.Options.Why, spec.Options.GoalReasons, spec.Options.Effects = -1, goal >= 0, true
	_, err := evaluate.Prequential(context.Background(), spec.Schema, src,
		[]evaluate.Method{evaluate.Stage("all", spec)}, evaluate.Options{Refit: 500}, func(r *evaluate.Record) error {
			var got model.Scores
			got.Reset(0, 2)
			got.Append(r.Scores[0], r.Row) // the copy has them too
			x := reasoned{got.P[1], got.Lift[0], got.WhyOf(0)}
			if goal >= 0 {
				x = reasoned{got.Goals[goal], got.GoalLift[goal], got.GoalWhyOf(0, goal)}
				sameEffects(t, &got, goal, len(spec.Schema.Features))
			} else if len(got.GoalLift)+len(got.GoalWhy) > 0 {
				t.Fatal("reasons of goals that nobody asked for")
			}
			out = append(out, x)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameEffects: the contributions of the features to a goal are those of its reasons, and NaN without a structure.
func sameEffects(t *testing.T, got *model.Scores, goal, features int) {
	t.Helper()
	if len(got.GoalEffects) != len(got.Goals)*features {
		t.Fatalf("%d contributions to %d goals", len(got.GoalEffects), len(got.Goals))
	}
	want := make([]float64, features)
	for _, r := range got.GoalWhyOf(0, goal) {
		if r.Feature >= 0 {
			want[r.Feature] = r.Effect
		}
	}
	for f, e := range got.GoalEffects[goal*features : (goal+1)*features] {
		if !got.GoalFitted[goal] && math.IsNaN(e) {
			continue
		}
		if math.Float64bits(e) != math.Float64bits(want[f]) || !got.GoalFitted[goal] {
			t.Fatalf("feature %d adds %v to goal %d, its reason %v", f, e, goal, want[f])
		}
	}
}

// TestReasonsOfAGoalAreThoseOfAStageOfItsOwn: lift and reasons of a goal are bit for bit those of the method lift of a
// stage of that label alone, and with all their terms the reasons sum to the log-odds of the propensity.
func TestReasonsOfAGoalAreThoseOfAStageOfItsOwn(t *testing.T) {
	const records = 1200
	together := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	for k, alone := range []string{clicked, left} {
		got := reasonsOf(t, together, labelled(records, goalRecords), k)
		own := reasonsOf(t, goalsStage(t, alone, "correct"), labelled(records,
			func(from, to int) (*model.Batch, []int32, []int32, []int32) {
				b, _, clicked, left := goalRecords(from, to)
				return b, [][]int32{clicked, left}[k], nil, nil
			}), -1)
		told := 0
		for i := range own {
			g, w := got[i], own[i]
			if i < 60 {
				if !math.IsNaN(g.lift) || len(g.why) > 0 {
					t.Fatalf("record %d has reasons %v of a goal without a structure", i, g.why)
				}
				continue
			}
			same := math.Float64bits(g.lift) == math.Float64bits(w.lift) && len(g.why) == len(w.why)
			sum := 0.
			for j := range g.why {
				sum += g.why[j].Effect
				x, y := g.why[j], w.why[j]
				same = same && x.Feature == y.Feature && math.Float64bits(x.Effect) == math.Float64bits(y.Effect) &&
					(x.Lift == y.Lift || math.IsNaN(x.Lift) && math.IsNaN(y.Lift))
				if !math.IsNaN(x.Lift) {
					told++
				}
			}
			if !same {
				t.Fatalf("goal %d, record %d: lift %v, reasons %v; alone %v, %v", k, i, g.lift, g.why, w.lift, w.why)
			}
			if d := sum - math.Log(g.p/(1-g.p)); !(math.Abs(d) < 1e-9) {
				t.Fatalf("goal %d, record %d: the reasons sum to %v more than the log-odds", k, i, d)
			}
		}
		if k == 0 && told == 0 {
			t.Error("no reason has a lift")
		}
	}
}

// TestTheReportOfGoals: a fit tells of each goal how frequent it is and which features tell of it, its sets have its
// own counts, and a goal that no record tells is said to be unfitted.
func TestTheReportOfGoals(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	x := model.NewBuilder(s.Spec)
	b, y, c, _ := goalRecords(0, 600)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	yes := 0.
	for i := range b.N {
		b.Outcomes[i] = goalOutcomes(c[i], -1)
		yes += float64(c[i])
		if i%5 == 0 { // the report of a goal has the records of which the label is unknown
			b.Label[i] = model.Unlabelled
		}
	}
	x.Add(b)
	m, err := x.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Report("x", 600, x.Exchangeable(), m)
	if err != nil {
		t.Fatal(err)
	}
	s.ReportGoals(x, m, r)
	if len(r.Goals) != 2 || r.Labelled != 480 {
		t.Fatalf("%d goals, %d labelled", len(r.Goals), r.Labelled)
	}
	g := r.Goals[0]
	if g.Goal != "clicked" || !g.Fitted || g.Records != 600 || math.Abs(float64(g.BaseRate)-yes/600) > 1e-12 {
		t.Errorf("clicked: %+v", g)
	}
	var plan, age report.Number
	for _, f := range g.Features {
		switch f.Name {
		case "plan":
			plan = f.InformationValue
		case "age":
			age = f.InformationValue
		}
	}
	if !(plan > .5 && age < .2) {
		t.Errorf("information %v of plan, on which clicks hang, %v of age", plan, age)
	}
	for _, set := range g.Sets {
		var all, clicks report.Number
		for _, n := range set.Counts {
			all, clicks = all+n[0]+n[1], clicks+n[1]
		}
		if math.Abs(float64(clicks/all)-yes/600) > 1e-9 {
			t.Errorf("set %v has %v clicks of %v records, want %v of 600", set.Features, clicks, all, yes)
		}
	}
	if g := r.Goals[1]; g.Goal != "left" || g.Fitted || g.Records != 0 || len(g.Sets)+len(g.Features) > 0 {
		t.Errorf("left, of which nothing is known: %+v", g)
	}
}

// TestTheReportOfGoalsHasNoOrder: a file that is sorted by a goal and a feature has the report of any other order; its
// order would make that feature rank the goal inside the blocks of its records.
func TestTheReportOfGoalsHasNoOrder(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	b, y, c, _ := goalRecords(0, 2400)
	said := func(sorted bool) string {
		order := make([]int, b.N)
		for i := range order {
			order[i] = i
		}
		if sorted {
			plan := b.Columns[2].Code
			slices.SortStableFunc(order, func(i, j int) int {
				return cmp.Or(cmp.Compare(c[i], c[j]), cmp.Compare(plan[j], plan[i]))
			})
		}
		x := model.NewBuilder(s.Spec)
		o := *b
		o.Columns, o.Label, o.Outcomes = slices.Clone(b.Columns), make([]int32, b.N), make([]model.Outcomes, b.N)
		for f := range o.Columns {
			from, to := b.Columns[f], &o.Columns[f]
			if from.Float != nil {
				to.Float = make([]float64, b.N)
			} else {
				to.Code = make([]uint32, b.N)
			}
			for i, k := range order {
				if from.Float != nil {
					to.Float[i] = from.Float[k]
				} else {
					to.Code[i] = from.Code[k]
				}
			}
		}
		for i, k := range order {
			o.Label[i], o.Outcomes[i] = y[k], goalOutcomes(c[k], -1)
		}
		x.Add(&o)
		m, err := x.Fit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Report("x", b.N, x.Exchangeable(), m)
		if err != nil {
			t.Fatal(err)
		}
		s.ReportGoals(x, m, r)
		text, err := json.Marshal(r.Goals)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := said(true), said(false); got != want || strings.Contains(want, "blocks of") {
		t.Errorf("sorted:\n%s\nwant\n%s", got, want)
	}
}

// TestTheBaseHasTheGoals: a partition of Base, as that of 'score --method lift', has the propensities and the reasons
// of the goals, which no other component has a part in.
func TestTheBaseHasTheGoals(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	s.Spec.Options.GoalReasons = true
	x := model.NewBuilder(s.Spec)
	b, y, c, l := goalRecords(0, 600)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		b.Outcomes[i] = goalOutcomes(c[i], l[i])
	}
	x.Add(b)
	m, err := x.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b.Outcomes = nil
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	var got [2]model.Scores
	for k, spec := range []*model.Spec{s.Spec, s.Base()} {
		p := model.NewPartition(spec, 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		p.Events(b, &got[k])
	}
	if want := got[0].Goals; len(want) != 2*b.N || !slices.Equal(got[1].Goals, want) ||
		len(got[0].GoalWhy) == 0 || len(got[1].GoalWhy) != len(got[0].GoalWhy) {
		t.Errorf("%d propensities of goals, want %d; %d reasons, want %d", len(got[1].Goals), len(want),
			len(got[1].GoalWhy), len(got[0].GoalWhy))
	}
}

// TestAFoldLearnsNothingFromItsGoals: the scores of a fold do not depend on the goals of its own records, also of those
// without a label.
func TestAFoldLearnsNothingFromItsGoals(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	spec := s.Scoring("lift")
	fold := func() evaluate.Fold { return func(i int64, _ int32) int { return int(i % 2) } }
	scores := func(flipped bool) (goals []float64) {
		src := labelled(800, func(from, to int) (*model.Batch, []int32, []int32, []int32) {
			b, y, c, l := goalRecords(from, to)
			for i := range y {
				if i%4 == 0 {
					y[i] = model.Unlabelled
				}
				if flipped && i%2 == 0 {
					c[i] = 1 - c[i]
				}
			}
			return b, y, c, l
		})
		_, err := evaluate.Folds(t.Context(), spec.Schema, src, []evaluate.Method{evaluate.Stage("all", spec)}, 2, fold,
			func(r *evaluate.Record) error {
				if out := r.Scores[0]; r.Index%2 == 0 {
					goals = append(goals, out.Goals[2*r.Row])
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return goals
	}
	if got, want := scores(true), scores(false); len(want) != 400 || !slices.Equal(got, want) {
		t.Errorf("the scores of %d records of a fold change with their goals", len(want))
	}
}

// TestGoalsOfAModelArePrinted: each goal by its name, one without a structure by the weights of its classes, and
// nothing of a model without goals. A part cut short is an error.
func TestGoalsOfAModelArePrinted(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	x := model.NewBuilder(s.Spec)
	b, y, c, _ := goalRecords(0, 600)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		left := int32(-1)
		if i < 30 {
			left = 1
		}
		b.Outcomes[i] = goalOutcomes(c[i], left)
	}
	x.Add(b)
	m, err := x.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	printed := func(names []string) string {
		var out strings.Builder
		if err := PrintGoals(&out, m, names); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	lines := strings.Split(printed(s.GoalNames()), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "clicked ") || !strings.Contains(lines[2], " fitted ") ||
		!strings.HasPrefix(lines[3], "left ") || !strings.Contains(lines[3], "no structure") ||
		!strings.Contains(lines[3], "weight 30, 30 of them of the positive class") {
		t.Errorf("printed\n%s", strings.Join(lines, "\n"))
	}
	for _, names := range [][]string{nil, {"one"}} { // of no configuration, and of one with other goals
		if lines := strings.Split(printed(names), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[2], "1 ") {
			t.Errorf("without names:\n%s", strings.Join(lines, "\n"))
		}
	}
	part := m.Parts[model.GoalsName]
	for n := range len(part) {
		m.Parts[model.GoalsName] = part[:n]
		if PrintGoals(io.Discard, m, nil) == nil {
			t.Fatalf("%d of %d bytes are read", n, len(part))
		}
	}
	delete(m.Parts, model.GoalsName)
	if got := printed(nil); got != "" {
		t.Errorf("without goals: %s", got)
	}
}
