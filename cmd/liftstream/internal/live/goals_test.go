package live

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model"
)

// TestGoalMetricsBeginWithAStructure: a goal has no figures of quality, and no mean propensity, while its propensities
// are base rates, though a model scores the label.
func TestGoalMetricsBeginWithAStructure(t *testing.T) {
	tally := page.NewGoalTally([]string{"clicks"})
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(newGoalMetrics(tally))
	b := &model.Batch{N: 1, Label: []int32{1}, Outcomes: []model.Outcomes{model.Outcomes(0).With(0, 1)}}
	s := &model.Scores{}
	s.Reset(1, 2)
	s.Status[0], s.Goals, s.GoalFitted = model.StatusOK, []float64{.25}, []bool{false}
	tally.Add(b, s)
	is := func(names ...string) {
		t.Helper()
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			got = append(got, strings.TrimPrefix(f.GetName(), "liftstream_goal_"))
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("series %v, want %v", got, names)
		}
	}
	is("labelled_records", "records")
	s.GoalFitted[0] = true
	tally.Add(b, s)
	is("auc", "base_log_loss", "labelled_records", "log_loss", "mean_propensity", "rate", "records")
	if v := tally.View()[0]; v.Scored != 1 || v.Records != 1 {
		t.Errorf("%+v after one score of a structure", v)
	}
}
