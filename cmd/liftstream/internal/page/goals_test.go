package page

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// TestGoalTally: the figures are those of an evaluation of the same records with their weights; records that no model
// scored, those with the base rate of a goal, and goals that no event tells, do not count.
func TestGoalTally(t *testing.T) {
	board := NewBoard(schema(1, "no", "yes"), 0)
	board.Goals = NewGoalTally([]string{"clicks", "leaves"})
	set, scored, sum := evaluate.NewSet(2), 0, 0.
	for m := range 40 {
		const n = 50
		b := &model.Batch{N: n, Offset: int64(m), Label: make([]int32, n), Outcomes: make([]model.Outcomes, n),
			Weight: make([]float64, n), Columns: []model.Column{{Float: make([]float64, n)}}}
		s := &model.Scores{}
		s.Reset(n, 2)
		s.Goals, s.GoalFitted = make([]float64, 2*n), make([]bool, 2*n)
		for i := range n {
			at := uint64(n*m + i)
			p := .05 + .9*float64(model.Hash(1, at)%1000)/1000
			clicks := int32(0)
			if float64(model.Hash(2, at)%1000)/1000 < p {
				clicks = 1
			}
			fitted := m > 1 // model 0 of m = 1 knows the second goal alone
			b.Label[i], b.Weight[i] = model.Unlabelled, .5+float64(clicks)+float64(at%3)
			s.GoalFitted[2*i], s.GoalFitted[2*i+1] = fitted, true
			s.P[2*i], s.P[2*i+1] = .5, .5
			s.Goals[2*i], s.Goals[2*i+1] = p, .25
			if m == 0 {
				s.Status[i] = model.StatusUntrained
			}
			if i%3 > 0 {
				b.Outcomes[i] = b.Outcomes[i].With(0, clicks)
			}
			if !fitted {
				continue
			}
			scored++
			sum += p
			if i%3 > 0 {
				if err := set.Add(int64(at), []float64{1 - p, p}, clicks, b.Weight[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		board.Scores(0, b, s, nil)
		board.Scores(0, b, s, nil) // an aborted transaction shows it again
	}
	v := board.Goals.View()
	if len(v) != 2 {
		t.Fatalf("%d goals", len(v))
	}
	g := v[0]
	if g.Goal != "clicks" || g.Scored != float64(scored) || math.Abs(float64(g.Mean)-sum/float64(scored)) > 1e-12 ||
		g.Records != uint64(set.Len()) {
		t.Errorf("%+v of %d records, %d known", g, scored, set.Len())
	}
	if math.Abs(float64(g.LogLoss)-set.LogLoss()) > 1e-9 || math.Abs(float64(g.AUC)-set.AUC()) > .002 {
		t.Errorf("log-loss %v and AUC %v, want %v and %v", g.LogLoss, g.AUC, set.LogLoss(), set.AUC())
	}
	if !(g.LogLoss < g.BaseLoss) {
		t.Errorf("log-loss %v, of base rates %v", g.LogLoss, g.BaseLoss)
	}
	if g := v[1]; g.Records != 0 || g.Scored != float64(scored+50) || math.Abs(float64(g.Mean)-.25) > 1e-12 ||
		!math.IsNaN(float64(g.LogLoss)) {
		t.Errorf("a goal that no event tells: %+v", g)
	}
	if none := NewGoalTally(nil); none != nil || none.View() != nil {
		t.Error("a tally of no goals")
	}
	goalsShown(t, v, board.View())
}

// goalsShown: two goals have a row each in the part of the page, and without goals it is empty.
func goalsShown(t *testing.T, v []GoalView, view View) {
	t.Helper()
	parts, err := render(&moment{Live: Live{Goals: v, View: view}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.ID == "goals" && (strings.Count(string(p.HTML), `scope="row"`) != 2 ||
			!strings.Contains(string(p.HTML), "25.0 %")) {
			t.Errorf("the part of the goals is %s", p.HTML)
		}
		if p.ID == "goals" && p.HTML == "" {
			t.Error("no part of the goals")
		}
	}
	if parts, err = render(&moment{Live: Live{View: view}}); err != nil || parts[3].HTML != "" {
		t.Errorf("a page without goals has a part of them: %v", err)
	}
}
