package live

import (
	"github.com/prometheus/client_golang/prometheus"

	"liftstream/model/groups"
)

// groupMetrics are gauges of the groups of this process: at most 22 of a feature of use: report, and one of a segment,
// whose column is "(segment)", as no feature is called.
type groupMetrics struct {
	tally                      *groups.Tally
	records, mean, rate, error *prometheus.Desc
}

func newGroupMetrics(t *groups.Tally) *groupMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("liftstream_group_"+name, help, []string{"column", "group"}, nil)
	}
	return &groupMetrics{t,
		desc("records", "Records of a group with a trained score since the process began: of a value of a feature of use: "+
			"report, or of a segment. Groups of fewer than min_count records are in (other)."),
		desc("mean_propensity", "Mean propensity of the records of a group."),
		desc("rate", "Share of the positive class among those whose label came with them, from min_count on."),
		desc("mean_error", "Mean propensity of the same records less that rate.")}
}

// Describe is that of a prometheus.Collector.
func (m *groupMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.records, m.mean, m.rate, m.error} {
		ch <- d
	}
}

// Collect is that of a prometheus.Collector.
func (m *groupMetrics) Collect(ch chan<- prometheus.Metric) {
	v := m.tally.View()
	one := func(column string, f *groups.Figures) {
		send := func(d *prometheus.Desc, x float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, column, f.Group)
		}
		send(m.records, float64(f.Records))
		send(m.mean, float64(f.Mean))
		if f.Labelled > 0 {
			send(m.rate, float64(f.Rate))
			send(m.error, float64(f.Error))
		}
	}
	for i := range v.Columns {
		c := &v.Columns[i]
		for k := range c.Groups {
			one(c.Column, &c.Groups[k])
		}
	}
	for k := range v.Segments {
		one("(segment)", &v.Segments[k])
	}
}
