// Package stream runs the models between Kafka topics. Begin with New and Stage.Run, and with Options.
//
// A Stage is one process's share of the work. For each input partition that it owns it runs a task, which drives a
// model.Partition by its three commands and commits scores, dead letters, input offsets and journal in one transaction.
// A task first takes its partition over (takeover), then its pipeline fills one transaction while the one before is
// being committed. The trainer runs where partition 0 is owned; it fits models from the snapshots of all partitions and
// publishes them in the model topic.
//
// The parts lie in packages of their own: state has the bytes of the state and model topics, committed decides how a
// partition is taken over, replay takes messages into a state, deadletter and scores know the messages of their topics,
// topics the topics, verify replays and compares, txn is the protocol of transactions, embedded a broker in the
// process, operator serves health and metrics, and streamtest is the kit of the tests.
package stream

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/state"
	"liftstream/stream/topics"
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
	// SnapshotShare bounds the bytes of snapshots by those of the input: the next snapshot waits until the bytes that the
	// one before wrote are at most that share of the bytes read since it began. 0 or 1 and more = no such bound.
	SnapshotShare float64
	// InFlight bounds the bytes of fetched and not yet committed input, over all partitions; half of it is for labels,
	// where there are any.
	InFlight int64
	Grace    time.Duration
	// Patience is how long Run waits for a sick environment before it returns its last error; 0 = 5 minutes.
	Patience time.Duration
	// Session is how long a member that has gone silent keeps its partitions; 0 = 10 s. Brokers take 6 s and more.
	Session time.Duration

	// LearningOff has the stage score without learning: neither fits nor counts. An order can do the same (state.Order).
	LearningOff bool

	FitEvery   time.Duration // shortest time between two fits
	FitRecords int           // labelled records from one verdict to the next; a fit is model.Compared of them earlier
	EarlyFits  bool          // fewer records are enough after an alarm of drift that says that the log-loss has risen
	FitBudget  time.Duration // longest time of one fit, and of one comparison
	Keep       state.Keep    // the versions that stay in the model topic

	committed.Policies
	// Under returns the specification and the columns that this configuration would have with another schema. With it,
	// SchemaChanged Rebuild carries a state of that schema over, as far as the change does not touch it. nil = such
	// states begin anew.
	Under func(s *model.Schema, fingerprint uint64) (*model.Spec, codec.Options, error)

	// DeadShare is the share of bad rows among the newest of a partition above which its task commits the processed
	// messages and pauses until Resume; 0 = it never does. The newest are the fewest last messages that are at least 100
	// and hold at least 1,000 rows; a message that cannot be read stands for as many rows as the others have on average
	// (deadWindow). Events and labels are counted apart. A restart counts the same messages again, except accepted ones.
	DeadShare float64
	// CloudEvents gives scores the headers of CloudEvents, of data of this content type; "" = it does not.
	CloudEvents string
	// DeadHeaders are further names of the headers of dead letters.
	DeadHeaders deadletter.Headers

	// Held is how long late labels wait for events that an open transaction of another program holds back; after that they
	// are learnt without them, and the stage is not ready. 0 = 15 minutes.
	Held time.Duration

	// Format bounds the format of written values, so that a build that reads no later one can take over; 0 = the newest
	// that all members of the group read.
	Format int

	// Replication is the number of copies below which a topic is unusual; 0 = any number will do.
	Replication int

	// Instance is the client id of Client when no other process uses it: a member that a killed process has left under it
	// is evicted at the start, and so does not keep its partitions until its session ends. "" = nobody is evicted.
	Instance string

	// Initial is the model that serves before the first fitted one, as `run --model` gives it; nil = none. The trainer
	// publishes it as version 1, and a partition whose state is empty takes it before its first event. Every process of
	// the group needs it.
	Initial *model.Model

	// Lacks names a service that the stage waits for beside the brokers, such as a registry; "" = none, nil = none ever.
	Lacks func() string

	// Before is called before the stage joins its group. It may wait for such a service until ctx ends, and its error ends
	// the run; nil = there is nothing to do before.
	Before func(ctx context.Context) error

	Log     *zap.Logger
	Metrics *Metrics
	Tracer  trace.Tracer // of a span for each transaction, and of spans of its messages; nil = none
	Now     func() time.Time
	// OnScores, when set, sees every scored batch before it is committed; of a large message parts, in turn. After a
	// restart some may be seen again. It must return quickly, must not keep its arguments, and is called from several
	// partitions at once.
	OnScores func(partition int32, b *model.Batch, s *model.Scores, l *model.Levels)

	transaction time.Duration // timeout of the first transactions, for tests; 0 = transactionTimeout
}

func (o *Options) transactionTimeout() time.Duration {
	return cmp.Or(o.transaction, transactionTimeout)
}

// PartitionStatus is where one owned partition stands.
type PartitionStatus struct {
	Partition int32
	Phase     Phase
	Doing     string // the phase in words, with its details
	Offset    int64  // next event offset to commit
	End       int64  // high watermark of the events topic at the last fetch
	Held      *Held  // nil = all events below End can be read
	Labelled  float64
	Scored    uint64 // records scored by this process
	Dead      uint64 // dead letters made by this process
	// UnknownClass and Expired are the losses of the state (model.Losses): records with a label that is no class, and
	// those whose label did not come in time.
	UnknownClass, Expired uint64
	Model                 int64
	Trained               bool
	// Watch has the figures of the newest scores, Alarms the newest alarms of drift, oldest first; nil where nothing is
	// watched.
	Watch   *drift.Figures `json:",omitempty"`
	Alarms  []drift.Found  `json:",omitempty"`
	Recency *model.Kept    `json:",omitempty"` // ids that are remembered for former records; nil = none are
	Message string         // in words, the message on which the work takes long; "" = none
}

// Status is where the stage stands.
type Status struct {
	Live    bool
	Ready   bool
	Waiting []string // the things for which it waits, in words; empty when ready
	Held    []string // open transactions of other programs that hold events or labels back, in words
	Unusual []string // settings of topics that it has warned of, in words
	// Lacking says in words why there is no model yet, or names the features and records that the newest one leaves out.
	// The trainer of this process tells it; it is empty where the trainer runs elsewhere.
	Lacking    []string
	Generation int
	Partitions []PartitionStatus
	Model      int64 // newest published version known
	Serving    int64 // the version that is to serve: the newest, or that of Order
	// Order is the newest order on the models; nil = none was given yet.
	Order   *state.Order `json:",omitempty"`
	Fits    uint64
	Refused uint64             // fits that the gate refused
	Verdict *state.GateVerdict // the last one in the model topic, of any process; nil = none yet
}
