package stream

import (
	"github.com/prometheus/client_golang/prometheus"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/stream/committed"
)

// begin makes the series whose labels are known, at 0. Prometheus sees no increase in a series that appears with its
// first count, so an alert on a rare count would miss it.
func begin(m *Metrics) {
	of := func(c *prometheus.CounterVec, values ...string) {
		for _, v := range values {
			c.WithLabelValues(v)
		}
	}
	for _, s := range []model.Status{model.StatusOK, model.StatusUntrained, model.StatusDegraded} {
		of(m.Records, s.String())
	}
	for _, r := range codec.Reasons() {
		of(m.Dead, string(r))
	}
	of(m.Labels, "learnt", "waiting", "corrected", "repeated", "unmatched", "misrouted", "unknown", "learning_off")
	of(m.Losses, "unknown_class", "expired", "evicted")
	of(m.Commits, "committed", "aborted")
	for k := drift.Values; k <= drift.OverExpectation; k++ {
		of(m.Drift, k.String())
	}
	for _, r := range model.VerdictReasons() {
		of(m.Verdicts, r.String())
	}
	of(m.Fits, "published", "refused", "dropped", "failed")
	of(m.Tombstones, codec.StageEvents, codec.StageLabels)
	for c := committed.Damaged; c <= committed.TopicShared; c++ {
		m.Policies.WithLabelValues(c.String(), "fail")
		m.Policies.WithLabelValues(c.String(), "rebuild")
	}
	m.Policies.WithLabelValues("dead_share", "pause")
}

// latency is the histogram of the time from an event to its score. It has buckets up to 20 minutes, and, for a scraper
// that asks for native histograms, at most 100 finer ones.
func latency(r prometheus.Registerer, space string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: space, Name: "event_to_score_seconds",
		Help: "Time from the timestamp of an event's message to the end of the transaction that commits its scores. " +
			"Events of a backlog count with their age.",
		Buckets:                     []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1200},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100})
	r.MustRegister(h)
	return h
}
