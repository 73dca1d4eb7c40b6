// Package stream runs the models between Kafka topics: one task for each input partition, which drives a
// model.Partition by its three commands and commits scores, dead letters, input offsets and journal in one transaction;
// snapshots of the states; the trainer, where partition 0 is owned; the model topic.
package stream

import (
	"liftstream/stream/committed"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// Options make a Stage. All fields are needed unless they say otherwise.
type Options struct {
	Name   string // prefix of the group and of the transactional ids
	Spec   *model.Spec
	Codec  codec.Options
	Client *txn.Client
	Topics topics.Names

	Commit time.Duration // longest time that a score waits for its transaction
	// Snapshot is the time between two snapshots of a partition; SnapshotRate the bytes a second that they may write.
	Snapshot     time.Duration
	SnapshotRate int64
	// SnapshotShare bounds the bytes of snapshots by those of the input: the next one waits until the bytes that the one
	// before wrote are at most that share of what was read since it began. 0 or 1 and more = no such bound.
	SnapshotShare float64
	InFlight      int64 // bytes of fetched and not yet committed input, over all partitions; half of it labels, where there are any
	Grace         time.Duration
	// Patience is how long a sick environment is waited for before Run returns its last error; 0 = 5 minutes.
	Patience time.Duration
	// Session is how long a member that has gone silent keeps its partitions; 0 = 10 s. Brokers take 6 s and more.
	Session time.Duration

	FitEvery   time.Duration // shortest time between two fits
	FitRecords int           // labelled records from one verdict to the next; a fit is model.Compared of them earlier
	FitBudget  time.Duration // longest time of one fit, and of one comparison

	committed.Policies
	// Under returns the specification and the columns that this configuration would have with another schema. With it,
	// SchemaChanged Rebuild carries a state of that schema over, as far as the change does not touch it. nil = such
	// states begin anew.
	Under func(s *model.Schema, fingerprint uint64) (*model.Spec, codec.Options, error)

	// DeadShare is the share of bad rows among the newest of a partition above which Run commits what it has taken in and
	// returns a PolicyError; 0 = it never does. The newest are the fewest last messages that are at least 100 and hold at
	// least 1,000 rows; a message that cannot be read stands for as many rows as the others have on average (deadWindow).
	// Events and labels are counted apart. A restart counts the same messages again.
	DeadShare float64

	// Format bounds the format of what is written, so that a build that reads no later one can take over; 0 = what all
	// members of the group read.
	Format int

	// Instance is the client id of Client when no other process uses it: what a killed process left of it in the group is
	// evicted at the start, instead of keeping its partitions until its session ends. "" = nobody is evicted.
	Instance string

	// Initial is the model that serves before the first fitted one, as `run --model` gives it; nil = none. The trainer
	// publishes it as version 1, and a partition whose state is empty takes it before its first event. Every process of
	// the group needs it.
	Initial *model.Model

	Log     *zap.Logger
	Metrics *Metrics
	Now     func() time.Time
	// OnScores, when set, sees every scored batch before it is committed; after a restart some may be seen again. It
	// must return quickly, must not keep what it is given, and is called from several partitions at once.
	OnScores func(partition int32, b *model.Batch, s *model.Scores, l *model.Levels)
}

// PartitionStatus is where one owned partition stands.
type PartitionStatus struct {
	Partition int32
	Phase     Phase
	Doing     string // the phase in words, with its details
	Offset    int64  // next event offset to commit
	End       int64  // where the events topic ended at the last fetch
	Labelled  float64
	Scored    uint64 // records scored by this process
	Dead      uint64 // dead letters made by this process
	Model     int64
	Trained   bool
}

// Status is where the stage stands.
type Status struct {
	Live       bool
	Ready      bool
	Waiting    []string // what is waited for, in words; empty when ready
	Generation int
	Partitions []PartitionStatus
	Model      int64 // newest published version known
	Fits       uint64
	Refused    uint64             // fits that the gate refused
	Verdict    *state.GateVerdict // the last one in the model topic, whichever process gave it; nil = none yet
}

// Metrics are the stage's Prometheus metrics.
type Metrics struct {
	Records      *prometheus.CounterVec // by status of the score
	Reasons      *prometheus.CounterVec // of an effect of more than .1 nats, and a lift, by whether they agree
	Dead         *prometheus.CounterVec // by reason
	DeadShare    *prometheus.GaugeVec   // of the newest rows, by partition and stage
	Labels       *prometheus.CounterVec // by what became of them
	Losses       *prometheus.CounterVec // by reason, see model.Losses
	Waiting      *prometheus.GaugeVec   // bytes of records that wait for their labels, by partition
	Commits      *prometheus.CounterVec // by outcome
	CommitTime   prometheus.Histogram
	Lag          *prometheus.GaugeVec // records not yet read, by partition
	StateBytes   prometheus.Counter   // written to the state topic
	Restores     *prometheus.CounterVec
	Policies     *prometheus.CounterVec // by policy and what was done
	RestoreTime  prometheus.Histogram
	Fits         *prometheus.CounterVec // by outcome
	Parts        *prometheus.CounterVec // of fits, by component and how they came about
	FitTime      prometheus.Histogram
	Verdicts     *prometheus.CounterVec // of the gate, by reason
	Gate         *prometheus.GaugeVec   // figures of the last verdict
	ModelVersion prometheus.Gauge
	InFlight     prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "liftstream", Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	hist := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "liftstream", Name: name, Help: help, Buckets: buckets})
		r.MustRegister(h)
		return h
	}
	seconds := prometheus.ExponentialBuckets(0.001, 2, 16)
	m := &Metrics{
		Records: vec("records_total", "Records scored, by status.", "status"),
		Reasons: vec("reasons_total",
			"Features among the reasons of scores whose effect is more than .1 nats and that have a lift, by whether the effect "+
				"follows the lift or conflicts with it.", "sign"),
		Dead:    vec("dead_letters_total", "Rows and messages sent to the dead-letter topic, by reason.", "reason"),
		Labels:  vec("labels_total", "Late labels, by what became of them.", "outcome"),
		Commits: vec("commits_total", "Transactions, by outcome.", "outcome"),
		Losses: vec("losses_total", "Records that were scored and not learnt from: their label is no class of the configuration (unknown_class), "+
			"or did not come in time (expired; labels.on_expiry can have them learnt as a class).", "reason"),
		Waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "liftstream", Name: "waiting_bytes",
			Help: "Bytes of the records that wait for their labels, which labels.max_bytes bounds."}, []string{"partition"}),
		CommitTime: hist("commit_seconds", "Time from the start of a transaction's first request to its end.", seconds),
		StateBytes: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "liftstream", Name: "state_written_bytes_total", Help: "Bytes written to the state topic."}),
		Lag:        prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "liftstream", Name: "lag_messages", Help: "Messages between the committed offset and the end of the events topic."}, []string{"partition"}),
		DeadShare: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "liftstream", Name: "dead_share",
			Help: "Share of bad rows among the newest ones, which policy.dead_share bounds."}, []string{"partition", "stage"}),
		Policies:    vec("policy_total", "Times that the world did not match the state, by policy and action.", "policy", "action"),
		Restores:    vec("restores_total", "States taken over, by how.", "how"),
		RestoreTime: hist("restore_seconds", "Time from assignment to the first fetch.", seconds),
		Fits:        vec("fits_total", "Fits, by outcome.", "outcome"),
		Parts:       vec("fit_parts_total", "Parts of fitted models, by component and how they came about.", "component", "outcome"),
		FitTime:     hist("fit_seconds", "Time of a fit.", seconds),
		Verdicts:    vec("gate_verdicts_total", "Comparisons of a new model with the serving one, by reason of the verdict.", "reason"),
		Gate: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "liftstream", Name: "gate",
			Help: "The last comparison of a new model with the serving one: their log-losses, the difference new - serving with its 95 % interval, and the records."}, []string{"figure"}),
		ModelVersion: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "liftstream", Name: "model_version",
			Help: "Newest published model version known."}),
		InFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "liftstream", Name: "in_flight_bytes",
			Help: "Bytes of input fetched and not yet committed."}),
	}
	r.MustRegister(m.StateBytes, m.Lag, m.DeadShare, m.Waiting, m.Gate, m.ModelVersion, m.InFlight)
	return m
}

// verdict sets the figures of the gate.
func (m *Metrics) verdict(v *model.Verdict) {
	m.Verdicts.WithLabelValues(v.Reason.String()).Inc()
	for figure, x := range map[string]float64{"log_loss": v.New, "serving_log_loss": v.Old, "difference": v.Difference(), "difference_low": v.Low, "difference_high": v.High,
		"records": float64(v.Records), "allowed": v.Gate} {
		m.Gate.WithLabelValues(figure).Set(x)
	}
}
