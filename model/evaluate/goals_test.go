package evaluate

import (
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
