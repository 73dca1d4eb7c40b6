package evaluate

import (
	"fmt"
	"math"
	"testing"

	"liftstream/model"
)

// TestGainsOfGoals: gains and profit of a goal are those of its own propensities over the records of which it is known.
// The slow program sorts the records and counts.
func TestGainsOfGoals(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	e := NewEvaluation(s, []Method{{Name: MethodAll}}, 0, 1)
	value := Value{Hit: 3, Contact: 1}
	e.Goals([]string{"clicks", "leaves"}, map[string]Value{"clicks": value})
	const n = 4000
	var known, positives, paying, profit float64
	top := map[bool]float64{}
	for i := range n {
		p := (float64(i) + .5) / n // record i has rank n-i
		yes := float64(model.Hash(3, uint64(i))%1000)/1000 < p
		out := &model.Scores{}
		out.Reset(1, 2)
		out.P[0], out.P[1] = .5, .5
		out.Goals = []float64{p, .5}
		b := &model.Batch{N: 1, Label: []int32{0}}
		r := &Record{Index: int64(i), Batch: b, Scores: []*model.Scores{out}, Weight: 1}
		if i%4 > 0 {
			class := int32(0)
			if yes {
				class = 1
				positives++
			}
			r.outcomes = r.outcomes.With(0, class)
			known++
			if p*value.Hit >= value.Contact {
				paying++
				if profit -= value.Contact; yes {
					profit += value.Hit
				}
			}
			if i >= n-n/10 {
				top[yes]++
			}
		}
		if err := e.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Result(Run{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Goals) != 1 {
		t.Fatalf("goals %+v: nothing is known of the second one", r.Goals)
	}
	g := r.Goals[0]
	tenth := g.Gains[1]
	want := top[true] / (top[true] + top[false]) / (positives / known)
	if tenth.Share != .1 || math.Abs(float64(tenth.Lift)-want) > 1e-9 ||
		math.Abs(float64(tenth.Capture)-top[true]/positives) > 1e-9 {
		t.Errorf("the top tenth is %+v, want a lift of %v", tenth, want)
	}
	if g.Profit == nil || math.Abs(float64(g.Profit.PayingProfit)-profit) > 1e-6 ||
		math.Abs(float64(g.Profit.Paying)-paying/known) > 1e-9 {
		t.Errorf("profit %+v, want %v of %v", g.Profit, profit, paying/known)
	}
	if !(g.Gains[1].LiftInterval[0] < tenth.Lift && tenth.Lift < g.Gains[1].LiftInterval[1]) {
		t.Errorf("interval %v of the lift %v", tenth.LiftInterval, tenth.Lift)
	}
}

// TestImportanceOfGoals: the mean sizes and the curves are of the contributions to each goal, over all records that
// have them: a goal without a structure has none.
func TestImportanceOfGoals(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{
		{Name: "a", Kind: model.Continuous, Use: model.UseScore}, {Name: "b", Kind: model.Continuous, Use: model.UseScore}}}
	e := NewEvaluation(s, []Method{{Name: MethodAll}}, 0, 1)
	e.Goals([]string{"clicks", "leaves"}, nil)
	const n = 40
	b := &model.Batch{N: n, Label: make([]int32, n), Columns: make([]model.Column, 2)}
	out := &model.Scores{}
	out.Reset(n, 2)
	nan := math.NaN()
	for i := range n {
		out.P[2*i], out.P[2*i+1] = .5, .5
		out.Status[i] = model.StatusOK
		out.Goals = append(out.Goals, .5, .5)
		out.Effects = append(out.Effects, 9, 9)
		for f := range b.Columns {
			b.Columns[f].Float = append(b.Columns[f].Float, float64(i%2))
		}
		leaves := []float64{nan, nan} // the goal has a structure from the half on
		if i >= n/2 {
			leaves = []float64{-2, float64(4 * (i % 2))}
		}
		out.GoalEffects = append(append(out.GoalEffects, 1, float64(-3*(i%2))), leaves...)
	}
	for i := range n {
		r := &Record{Index: int64(i), Batch: b, Row: i, Scores: []*model.Scores{out}, Weight: 1}
		r.outcomes = r.outcomes.With(0, int32(i%2)).With(1, int32(i/2%2))
		if err := e.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Result(Run{})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []string{
		"b 1.500000: 0 20 0.000000, 1 20 -3.000000; a 1.000000: 0 20 1.000000, 1 20 1.000000; ",
		"a 2.000000: 0 10 -2.000000, 1 10 -2.000000; b 2.000000: 0 10 0.000000, 1 10 4.000000; ",
	} {
		for what, list := range map[string][]Importance{"an evaluation": r.Goals[k].Importance,
			"a fit": GoalImportanceOf(s, b, out, k)} {
			got := ""
			for _, x := range list {
				got += fmt.Sprintf("%s %.6f: %s %d %.6f, %s %d %.6f; ", x.Feature, x.Effect, x.Curve[0].Cell, x.Curve[0].N,
					x.Curve[0].Effect, x.Curve[1].Cell, x.Curve[1].N, x.Curve[1].Effect)
			}
			if got != want {
				t.Errorf("goal %d of %s: %s, want %s", k, what, got, want)
			}
		}
	}
}
