package page

import (
	"math"
	"sync"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// GoalTally counts the goals of the scores of one process: the propensities of each, and how good they were for the
// records of which the goal came with the event. Its methods may be called from several goroutines. A nil one counts
// nothing.
type GoalTally struct {
	mu    sync.Mutex
	goals []goalCount
}

// goalCount counts one goal.
type goalCount struct {
	name    string
	scored  float64
	sum     float64 // of the propensities
	running *running
}

// GoalView has the figures of a goal since the process began. Figures are null where they are not defined.
type GoalView struct {
	Goal   string          `json:"goal"`
	Scored float64         `json:"scored"`          // records that a structure of the goal scored
	Mean   evaluate.Number `json:"mean_propensity"` // of these
	// Records are those of which the goal came with the event; the figures below are of them.
	Records  uint64          `json:"records"`
	Rate     evaluate.Number `json:"rate"`
	LogLoss  evaluate.Number `json:"log_loss"`
	BaseLoss evaluate.Number `json:"base_log_loss"`
	AUC      evaluate.Number `json:"auc"`
	Capture  evaluate.Number `json:"capture_at_0.1"`
	Lift     evaluate.Number `json:"lift_at_0.1"`
}

// NewGoalTally returns a tally of the goals of these names, in the order of model.Outcomes; nil of none.
func NewGoalTally(names []string) *GoalTally {
	if len(names) == 0 {
		return nil
	}
	t := &GoalTally{}
	for _, name := range names {
		t.goals = append(t.goals, goalCount{name: name, running: newRunning(2, 1)})
	}
	return t
}

// Add takes a scored batch. Of each goal the records that no structure of it scored are left out: they have its base
// rate.
func (t *GoalTally) Add(b *model.Batch, s *model.Scores) {
	if t == nil || s.N == 0 || len(s.Goals) != s.N*len(t.goals) || len(s.GoalFitted) != len(s.Goals) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.N {
		if s.Status[i] == model.StatusUntrained {
			continue
		}
		weight := 1.0
		if b.Weight != nil {
			weight = b.Weight[i]
		}
		for k := range t.goals {
			g, p := &t.goals[k], s.Goals[i*len(t.goals)+k]
			if !s.GoalFitted[i*len(t.goals)+k] || !(p >= 0 && p <= 1) {
				continue
			}
			g.scored++
			g.sum += p
			if b.Outcomes == nil {
				continue
			}
			if class := b.Outcomes[i].Of(k); class >= 0 {
				g.running.add([]float64{1 - p, p}, class, weight)
			}
		}
	}
}

// View returns the present figures, nil of no tally.
func (t *GoalTally) View() (out []GoalView) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.goals {
		g := &t.goals[k]
		q := quality([]*running{g.running})
		x := GoalView{Goal: g.name, Scored: g.scored, Mean: evaluate.Number(g.sum / g.scored), Records: q.Records,
			Rate: q.BaseRate, LogLoss: q.LogLoss, BaseLoss: q.BaseLoss, AUC: q.AUC, Capture: q.Capture, Lift: q.Lift}
		if g.scored == 0 {
			x.Mean = evaluate.Number(math.NaN())
		}
		out = append(out, x)
	}
	return out
}
