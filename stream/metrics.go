package stream

import (
	"github.com/prometheus/client_golang/prometheus"

	"liftstream/model"
	"liftstream/model/drift"
)

// Metrics are the stage's Prometheus metrics.
type Metrics struct {
	Records      *prometheus.CounterVec // by status of the score
	Changed      *prometheus.CounterVec // by change, see codec.Changes
	Reasons      *prometheus.CounterVec // of an effect of more than .1 nats, and a lift, by whether they agree
	Dead         *prometheus.CounterVec // by reason
	DeadShare    *prometheus.GaugeVec   // of the newest rows, by partition and stage
	Paused       *prometheus.GaugeVec   // by partition: 1 while policy.dead_share pauses it
	Labels       *prometheus.CounterVec // by outcome
	Losses       *prometheus.CounterVec // by reason, see model.Losses
	Duplicates   *prometheus.CounterVec // by outcome, see model.Sifted
	Drift        *prometheus.CounterVec // alarms, by kind
	Quality      *prometheus.GaugeVec   // of the newest scores, by partition and figure, see drift.Figures
	Waiting      *prometheus.GaugeVec   // bytes of records that wait for their labels, by partition
	WaitRecords  *prometheus.GaugeVec   // their number
	WaitOldest   *prometheus.GaugeVec   // time for which the oldest of them has waited
	ExpiryLearnt prometheus.Counter     // expired records that were taken as the class of labels.on_expiry
	Thinned      prometheus.Counter     // memories of scores that went before the labels came
	RecencyIDs   *prometheus.GaugeVec   // ids that are remembered for former records, by partition
	RecencyBytes *prometheus.GaugeVec   // of these
	Evicted      prometheus.Counter     // ids that were evicted of these
	LateWaiting  *prometheus.GaugeVec   // bytes of late labels that wait for their records, by partition
	Tombstones   *prometheus.CounterVec // by stage
	HeldSeconds  *prometheus.GaugeVec   // see Held, by partition
	HeldMessages *prometheus.GaugeVec   // see Held, by partition
	Commits      *prometheus.CounterVec // by outcome
	CommitTime   prometheus.Histogram
	Latency      prometheus.Histogram // from the timestamp of an event to the end of the commit of its score
	Lag          *prometheus.GaugeVec // records not yet read, by partition
	StateBytes   prometheus.Counter   // written to the state topic
	Restores     *prometheus.CounterVec
	Policies     *prometheus.CounterVec // by policy and action
	RestoreTime  prometheus.Histogram
	Fits         *prometheus.CounterVec // by outcome
	Parts        *prometheus.CounterVec // of fits, by component and how they came about
	FitTime      prometheus.Histogram
	Candidate    *prometheus.GaugeVec   // labelled records of the waiting model; empty where none waits
	Unfitted     *prometheus.GaugeVec   // labelled records since the last verdict; empty where the trainer runs elsewhere
	Verdicts     *prometheus.CounterVec // of the gate, by reason
	Gate         *prometheus.GaugeVec   // figures of the last verdict
	ModelVersion prometheus.Gauge
	// ServingVersion is the version that is to serve, Frozen 1 where fits or learning are off.
	ServingVersion prometheus.Gauge
	Frozen         *prometheus.GaugeVec
	// TrainerErrors counts failed steps of the trainer, TrainerFailing is 1 while the stage is not ready for them.
	TrainerErrors  prometheus.Counter
	TrainerFailing prometheus.Gauge
	InFlight       prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const space = "liftstream"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: space, Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: space, Name: name, Help: help}, labels)
		r.MustRegister(g)
		return g
	}
	seconds := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: space, Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)})
		r.MustRegister(h)
		return h
	}
	m := &Metrics{
		Records: counter("records_total", "Records scored in committed transactions, by status.", "status"),
		Changed: counter("changed_values_total", "Values of scored records that were read otherwise than they were sent: "+
			"nan and infinite (missing), rounded (to the nearest double), utf8 (U+FFFD for bad bytes), shortened (a text "+
			"longer than 1 KiB), absent (a nullable column was not there).", "change"),
		Reasons: counter("reasons_total", "Features among the reasons of scores whose effect is more than .1 nats and "+
			"that have a lift, by whether the effect follows the lift or conflicts with it.", "sign"),
		Dead: counter("dead_letters_total", "Rows and messages sent to the dead-letter topic, by reason.", "reason"),
		DeadShare: gauge("dead_share", "Share of bad rows among the newest ones, which policy.dead_share bounds.",
			"partition", "stage"),
		Paused: gauge("paused", "1 while policy.dead_share pauses the partition, until 'liftstream resume'; else 0.",
			"partition"),
		Labels: counter("labels_total", "Late labels, by what became of them.", "outcome"),
		Losses: counter("losses_total", "Records that were scored and not learnt from: their label is no class of the "+
			"configuration (unknown_class), or did not come in time (expired; labels.on_expiry can have them learnt as "+
			"a class), or they left unlearnt before their time because labels.max_bytes was full (evicted).", "reason"),
		Duplicates: counter("duplicates_total", "Records that dedup has left out because their id was there before "+
			"(left_out), and ids that it forgot within its window because dedup.max_bytes was full (forgotten).", "outcome"),
		Drift: counter("drift_alarms_total", "Alarms of drift: values or missing ones of a column, a log-loss above or "+
			"below the one that the propensities promise, or above the expectation of the model.", "kind"),
		Quality: gauge("quality", "Of the newest 2,000 scores: the log-loss and AUC that they promise before any label "+
			"(estimated_...); of the newest 2,000 labels: log-loss, the promised one of the same records, and AUC; and the "+
			"log-loss that is expected of the serving model.", "partition", "figure"),
		Waiting: gauge("waiting_bytes",
			"Bytes of the records that wait for their labels, which labels.max_bytes bounds.", "partition"),
		WaitRecords: gauge("waiting_records",
			"Records that wait for their labels, or whose class a label may still correct.", "partition"),
		WaitOldest: gauge("waiting_oldest_seconds",
			"Stream time for which the oldest of the waiting records has waited, which labels.window bounds.", "partition"),
		ExpiryLearnt: counter("expiry_learnt_total", "Records that liftstream_losses_total counts as expired, and that are "+
			"not lost: they were taken as the class of labels.on_expiry.").WithLabelValues(),
		Thinned: counter("waiting_thinned_total", "Waiting records that lost the inputs of their scores because "+
			"labels.max_bytes was full: when their label comes it is counted, and teaches the scorecard no weights.").
			WithLabelValues(),
		Commits:    counter("commits_total", "Transactions, by outcome.", "outcome"),
		CommitTime: seconds("commit_seconds", "Time from the start of a transaction's first request to its end."),
		Latency:    latency(r, space),
		RecencyIDs: gauge("recency_ids", "Ids that are remembered for since_last and count, those of each condition counted "+
			"by themselves; none where no such feature is derived.", "partition"),
		RecencyBytes: gauge("recency_bytes", "Bytes that the ids take that are remembered for since_last and count, which "+
			"memory.recency bounds; none where no such feature is derived.", "partition"),
		Evicted: counter("recency_evicted_total", "Ids that were forgotten because memory.recency was full: they are new "+
			"when they come again.").WithLabelValues(),
		LateWaiting: gauge("late_labels_bytes", "Bytes of late labels that wait until the events are processed that were in "+
			"the topic when they were read.", "partition"),
		Tombstones: counter("tombstones_total", "Messages of events and labels without a value, which say nothing.",
			"stage"),
		HeldSeconds: gauge("held_seconds", "How long an open transaction of another program has held events back, at its "+
			"last stable offset; 0 = there is none.", "partition"),
		HeldMessages: gauge("held_messages", "Messages that it holds back, from the last stable offset to the high "+
			"watermark.", "partition"),
		Lag: gauge("lag_messages", "Messages between the next event and the high watermark of the events topic.",
			"partition"),
		StateBytes: counter("state_written_bytes_total", "Bytes written to the state topic.").WithLabelValues(),
		Restores:   counter("restores_total", "States taken over, by how.", "how"),
		Policies: counter("policy_total", "Times that the world did not match the state, by policy and action.",
			"policy", "action"),
		RestoreTime: seconds("restore_seconds", "Time from assignment to the first fetch."),
		Fits:        counter("fits_total", "Fits, by outcome.", "outcome"),
		Parts: counter("fit_parts_total", "Parts of fitted models, by component and how they came about.",
			"component", "outcome"),
		FitTime: seconds("fit_seconds", "Time of a fit."),
		Candidate: gauge("candidate_records", "Labelled records that a fitted model waits for before it is compared with "+
			"the serving one, and how many of them have come; absent where no model waits in this process.", "records"),
		Unfitted: gauge("unfitted_records", "Labelled records of all snapshots since the last verdict, of which fit.records "+
			"lie between two verdicts; absent where the trainer runs in another process."),
		Verdicts: counter("gate_verdicts_total",
			"Comparisons of a new model with the serving one, by reason of the verdict.", "reason"),
		Gate: gauge("gate", "The last comparison of a new model with the serving one: their log-losses, the difference "+
			"new - serving with its 95 % interval, and the records.", "figure"),
		TrainerErrors: counter("trainer_errors_total", "Steps of the trainer that failed: fits cannot be made or models "+
			"not published.").WithLabelValues(),
		TrainerFailing: gauge("trainer_failing", "1 while the trainer of this process fails, and the stage is not ready "+
			"for that, else 0.").WithLabelValues(),
		ModelVersion: gauge("model_version", "Newest published model version known.").WithLabelValues(),
		ServingVersion: gauge("serving_version", "Published model version that is to serve: the newest, or the one that "+
			"'liftstream model pin' or 'rollback' names.").WithLabelValues(),
		Frozen: gauge("frozen", "1 while fits, or all learning, are off by 'liftstream model freeze' or learning: off.",
			"what"),
		InFlight: gauge("in_flight_bytes", "Bytes of input fetched and not yet committed.").WithLabelValues(),
	}
	begin(m)
	return m
}

// quality sets the figures of the newest scores of a partition.
func (m *Metrics) quality(partition string, f *drift.Figures) {
	for figure, x := range map[string]float64{
		"estimated_log_loss": f.Estimated, "estimated_auc": f.EstimatedAUC, "labels": float64(f.Labels),
		"log_loss": f.LogLoss, "promised_log_loss": f.Promised, "auc": f.AUC, "expected_log_loss": f.Expected,
	} {
		m.Quality.WithLabelValues(partition, figure).Set(x)
	}
}

// waits sets the figures of a model that waits for its verdict.
func (m *Metrics) waits(came float64, needed int) {
	m.Candidate.WithLabelValues("came").Set(came)
	m.Candidate.WithLabelValues("needed").Set(float64(needed))
}

// verdict sets the figures of the gate.
func (m *Metrics) verdict(v *model.Verdict) {
	m.Verdicts.WithLabelValues(v.Reason.String()).Inc()
	for figure, x := range map[string]float64{
		"log_loss": v.New, "serving_log_loss": v.Old, "difference": v.Difference(), "difference_low": v.Low,
		"difference_high": v.High, "records": float64(v.Records), "allowed": v.Gate,
	} {
		m.Gate.WithLabelValues(figure).Set(x)
	}
}

// forget takes the gauges of a partition away, which another process has now.
func forget(m *Metrics, partition string) {
	for _, g := range []*prometheus.GaugeVec{m.Lag, m.Waiting, m.WaitRecords, m.WaitOldest, m.LateWaiting, m.HeldSeconds,
		m.HeldMessages, m.Paused, m.DeadShare, m.Quality, m.RecencyIDs, m.RecencyBytes} {
		g.DeletePartialMatch(prometheus.Labels{"partition": partition})
	}
}
