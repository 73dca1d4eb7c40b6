package live

import (
	"github.com/prometheus/client_golang/prometheus"

	"liftstream/cmd/liftstream/internal/page"
)

// goalMetrics are gauges of the goals of this process, by the column of the goal.
type goalMetrics struct {
	tally                               *page.GoalTally
	records, mean, labelled             *prometheus.Desc
	rate, logLoss, baseLogLoss, rankAUC *prometheus.Desc
}

func newGoalMetrics(t *page.GoalTally) *goalMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("liftstream_goal_"+name, help, []string{"goal"}, nil)
	}
	return &goalMetrics{t,
		desc("records", "Records since the process began that a structure of the goal (record.goals) scored."),
		desc("mean_propensity", "Mean propensity of these records for the goal."),
		desc("labelled_records", "Records of which the goal came with the event; the following gauges are of them."),
		desc("rate", "Share of the positive class of the goal."),
		desc("log_loss", "Log-loss of the propensities of the goal, each given before its record was learnt, in nats."),
		desc("base_log_loss", "Log-loss of the rate of the goal in place of its propensities."),
		desc("auc", "AUC of the propensities of the goal.")}
}

// Describe is that of a prometheus.Collector.
func (m *goalMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.records, m.mean, m.labelled, m.rate, m.logLoss, m.baseLogLoss, m.rankAUC} {
		ch <- d
	}
}

// Collect is that of a prometheus.Collector. Figures of no record are left out.
func (m *goalMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, g := range m.tally.View() {
		send := func(d *prometheus.Desc, x float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, g.Goal)
		}
		send(m.records, g.Scored)
		if g.Scored > 0 {
			send(m.mean, float64(g.Mean))
		}
		send(m.labelled, float64(g.Records))
		if g.Records > 0 {
			send(m.rate, float64(g.Rate))
			send(m.logLoss, float64(g.LogLoss))
			send(m.baseLogLoss, float64(g.BaseLoss))
			send(m.rankAUC, float64(g.AUC))
		}
	}
}
