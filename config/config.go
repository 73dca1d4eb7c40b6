// Package config is the one configuration of liftstream: a strict YAML file decoded onto defaults, checked against one
// table of bounds, and dumped without its secrets. Every mistake in a file is found in one pass and is reported with
// its file and line.
package config

import "time"

// Config is a whole configuration. The value that Load and Parse return is complete: every default is filled in and
// every rule holds. It must not be changed afterwards.
type Config struct {
	// Name prefixes the default topics, the consumer group and the transactional ids. Required; letters, digits, dot,
	// underscore and hyphen, at most 200, so that Kafka accepts every name made from it.
	Name string `yaml:"name"`
	// Record lists the columns of a record. Required.
	Record Record `yaml:"record"`
	// Lift shapes the tables of feature sets and the searches in them.
	Lift Lift `yaml:"lift"`
	// Propensity shapes the scorecard.
	Propensity Propensity `yaml:"propensity"`
	// Local shapes the local subspaces.
	Local Local `yaml:"local"`
	// Kernel shapes the kernel learnt by linear programming.
	Kernel Kernel `yaml:"kernel"`
	// Fit says when a new model is fitted and bounds the cost.
	Fit Fit `yaml:"fit"`
	// Labels says how records wait for late labels. Nil when there is no label topic: neither this section nor
	// topics.labels is given. Giving either brings the defaults of the other.
	Labels *Labels `yaml:"labels"`
	// Topics names the topics and sizes the ones to create.
	Topics Topics `yaml:"topics"`
	// Kafka says how to reach the brokers.
	Kafka Kafka `yaml:"kafka"`
	// Commit paces the transactions.
	Commit Commit `yaml:"commit"`
	// Snapshot paces the snapshots of state.
	Snapshot Snapshot `yaml:"snapshot"`
	// Memory bounds the memory of the stage, in bytes.
	Memory Memory `yaml:"memory"`
	// Policy has the answers to topics, settings and data that do not fit the state.
	Policy Policy `yaml:"policy"`
	// Output shapes the scores.
	Output Output `yaml:"output"`
	// HTTP is the operator's endpoint.
	HTTP HTTP `yaml:"http"`
	// Shutdown bounds the end of a run.
	Shutdown Shutdown `yaml:"shutdown"`

	// masked holds the paths whose text came from an environment variable that holds a secret.
	masked map[string]bool
}

// Record says which columns a record has and gives their meaning.
type Record struct {
	// ID is the column that identifies who the record is about. Default none. Labels by id and audiences need it.
	ID string `yaml:"id,omitempty"`
	// Time is the column of the event's time. Default none: Kafka's timestamp of the message is taken.
	Time string `yaml:"time,omitempty"`
	// Weight is the column of the record's weight, for example the inverse of its chance to be observed. Default none:
	// every record weighs 1. A weight below 0 or not finite makes the row a bad one.
	Weight string `yaml:"weight,omitempty"`
	// Label is the outcome to be predicted. Required.
	Label Label `yaml:"label"`
	// Missing lists the texts that mean "missing" in CSV files. Default "", NA and ?. Arrow, Parquet and JSON have
	// nulls of their own. An empty list means that no text does.
	Missing []string `yaml:"missing"`
	// Features lists the columns that are looked at, at least one of them with use: score; at most MaxFeatures. Their
	// order is that of reports and breaks ties.
	Features []Feature `yaml:"features"`
}

// MaxFeatures bounds record.features.
const MaxFeatures = 10000

// MaxClasses bounds record.label.classes: the scores have one column for each.
const MaxClasses = 1000

// MaxLevels bounds the fixed levels of one feature.
const MaxLevels = 4096

// MaxText bounds a name, a class or a level, in bytes.
const MaxText = 256

// Label is the outcome.
type Label struct {
	// Column holds the class of a record. Required; it may be null or absent in the stream.
	Column string `yaml:"column"`
	// Classes lists the classes, 2 to MaxClasses, in the order of reports. Required. They are always texts: yes, 1 and
	// true need no quotes. A record of another class is scored and counted, never learnt.
	Classes []string `yaml:"classes"`
	// Positive is the class that marketers ask for: target, lift, profile and why of a score speak of it. Default
	// none: they speak of the class of the highest lift.
	Positive string `yaml:"positive,omitempty"`
}

// Feature is one column that is looked at.
type Feature struct {
	// Name is the column. Required; it must not be a column of the scores.
	Name string `yaml:"name"`
	// Kind says how its values relate to each other. Required.
	Kind Kind `yaml:"kind"`
	// Levels fixes the levels of a nominal feature and orders those of an ordinal one, for which it is required, with
	// at least two. Default none: the levels of a nominal feature are learnt, up to MaxLevels. A level that is not
	// listed counts as "(other)".
	Levels []string `yaml:"levels,omitempty"`
	// Use says where the feature may appear. Default score.
	Use Use `yaml:"use"`
}

func (f *Feature) setDefaults() { f.Use = UseScore }

// Lift shapes the tables of class counts by cells of feature sets.
type Lift struct {
	// Quantiles is the number of cells of a continuous set. Default 5. Cells of equal cut points are merged.
	Quantiles int `yaml:"quantiles"`
	// Joint says how several continuous features are cut together. Default mahalanobis.
	Joint Joint `yaml:"joint"`
	// Sets rules the search for sets of features.
	Sets Sets `yaml:"sets"`
	// Windows rules the search for windows of cells.
	Windows Windows `yaml:"windows"`
	// Profiles rules the search for profiles of values.
	Profiles Profiles `yaml:"profiles"`
}

// Sets rules the search for sets of features by eta.
type Sets struct {
	// Min is the least number of features in a set. Default 1.
	Min int `yaml:"min"`
	// Max is the largest number of features in a set. Default 3. Each further one multiplies the search by the number
	// of features.
	Max int `yaml:"max"`
	// Search says how the sets are gone through. Default auto: exhaustive where affordable, else a beam.
	Search Search `yaml:"search"`
	// Rank is the figure by which sets are ranked and extended, and the cells of windows chosen. Default leave_one_out.
	Rank SetRank `yaml:"rank"`
	// Top is the number of best sets that are kept and counted live. Default 20.
	Top int `yaml:"top"`
}

// Windows rules the search for windows: groups of cells in which the outcome depends most on the set.
type Windows struct {
	// Top is the number of best windows that are reported. Default 10; 0 searches none.
	Top int `yaml:"top"`
	// MinMass is the share of the records that a window must exceed, strictly. Default .15. 0: the best single cell wins,
	// and that is often one of a few records that happen to be of one class.
	MinMass float64 `yaml:"min_mass"`
	// Contiguous asks for windows without a gap where the cells of a set have an order: those of one ordinal feature, of
	// one continuous one, or of several cut together. Default false: any cells make a window.
	Contiguous bool `yaml:"contiguous"`
	// Overlapping is the fate of windows that share more than half of their records with a better one. Default drop.
	Overlapping Redundant `yaml:"overlapping"`
}

// Profiles rules the search for profiles: combinations of values with a high lift for a class.
type Profiles struct {
	// Top is the number of best profiles for each class. Default 20; 0 searches none.
	Top int `yaml:"top"`
	// MinSupport is the share of the complete records that a profile must exceed, strictly. Default 0.005.
	MinSupport float64 `yaml:"min_support"`
	// MaxFeatures is the largest number of features in a profile. Default 3.
	MaxFeatures int `yaml:"max_features"`
	// Of lists the classes for which profiles are searched. Default empty: all of them.
	Of []string `yaml:"of"`
	// Rank is the figure by which the profiles of a class are ranked. Default lower: by the low end of the lift on the
	// records that were searched, which prefers profiles of more records.
	Rank ProfileRank `yaml:"rank"`
	// Validate is the share of the records, the newest of a stream, that the search leaves alone and on which the lift is
	// then measured again. Default 0.2. 0 searches all records, as in the paper: no lift is validated then, and no score
	// carries a profile.
	Validate float64 `yaml:"validate"`
	// Redundant is the fate of refinements that hold the same records, and of profiles that hold nearly the same
	// records as a better one. Default drop.
	Redundant Redundant `yaml:"redundant"`
}

// Propensity shapes the live scorecard.
type Propensity struct {
	// Cells is the number of quantile cells of one continuous feature, atoms apart. Default 15.
	Cells int `yaml:"cells"`
	// HalfLives lists the horizons over which counts are kept, each once, 1 to 16 of them. Default 3, 20, 200, 2000 and 0
	// (never forget). Each costs its share of the time of a record.
	HalfLives []HalfLife `yaml:"half_lives"`
	// Prior is the number of pseudo-records of the base rate in a cell. Default 5. More shrinks small cells harder.
	Prior float64 `yaml:"prior"`
	// Step is the step of the scorecard's weights (AdaGrad). Default 0.1.
	Step float64 `yaml:"step"`
	// Linear adds the standardised continuous features themselves as inputs. Default true.
	Linear bool `yaml:"linear"`
	// Sign says whether the effect of a feature on a score may go against the lift that is published beside it. Default
	// free.
	Sign Sign `yaml:"sign"`
	// Calibration rules the calibration after the softmax.
	Calibration Calibration `yaml:"calibration"`
	// Monotone constrains, by feature, how the propensity of the positive class may move with it. Default none. Only
	// scored continuous and ordinal features, and only with record.label.positive. Such a feature takes no part
	// where no direction is held: in the neighbours' distance, the kernel and the sets that feed the scorecard.
	Monotone map[string]Direction `yaml:"monotone,omitempty"`
}

// Calibration rules the online calibration of the log-odds.
type Calibration struct {
	// Knots is the number of knots on the log-odds from -6 to 6. Default 25.
	Knots int `yaml:"knots"`
	// HalfLife is the memory of the knots' counts. Default 3000 labelled records. It should not be shorter than labels
	// are late.
	HalfLife HalfLife `yaml:"half_life"`
	// Prior is the number of pseudo-records of the identity in a knot. Default 20.
	Prior float64 `yaml:"prior"`
}

// Local shapes the local subspaces: for each record, the features that tell the classes apart there.
type Local struct {
	// Theta is the relevance, 0 to 1, below which no further feature takes part in the neighbours' distance. Default auto:
	// it and the form of the distance are chosen on the evidence at each fit. 0 takes all features. The subspace of a
	// score has no threshold: its features tell about the class beyond chance.
	Theta AutoFloat `yaml:"theta"`
	// Neighbours is the number of nearest prototypes that vote. Default 8; at most Prototypes.
	Neighbours int `yaml:"neighbours"`
	// Prototypes is the number of records that can be neighbours. Default 1024.
	Prototypes int `yaml:"prototypes"`
	// Width is the width of the kernel of a feature, as a share of its range. Default 0.05.
	Width float64 `yaml:"width"`
	// Observation is the kind of scores that a Gaussian process observes. Default averaged.
	Observation Observation `yaml:"observation"`
	// Score is the form of the score of a feature. Default balanced: under hit a value that makes a rare class likely
	// scores less than one that says nothing.
	Score ScoreForm `yaml:"score"`
	// Redundancy says how the correlation with the selected features is taken off. Default mean.
	Redundancy Redundancy `yaml:"redundancy"`
	// Observations bounds the observations of one Gaussian process. Default 64; a fit costs their cube.
	Observations int `yaml:"observations"`
	// HalfLife is the memory of the class counts along the features, from which subspaces and curves are learnt, in
	// labelled records of a partition. Default 0: never forget.
	HalfLife HalfLife `yaml:"half_life"`
}

// Kernel shapes the sparse mixture of one-feature kernels.
type Kernel struct {
	// Mode is the form of the linear programme. Default nonneg.
	Mode KernelMode `yaml:"mode"`
	// Widths lists the widths of the one-feature kernels on standardised values, each once, 1 to 16 of them. Default
	// 0.1, 1 and 10.
	Widths []float64 `yaml:"widths"`
	// Gamma1 is the price of a feature. Default auto: chosen on held-out triples at a fit.
	Gamma1 AutoFloat `yaml:"gamma1"`
	// Gamma2 is the price of the trace, as the cost of one unit of weight. Default auto, as Gamma1.
	Gamma2 AutoFloat `yaml:"gamma2"`
	// Triples is the number of comparisons drawn. Default 1500.
	Triples int `yaml:"triples"`
}

// Fit says when a model is fitted anew and bounds the cost.
type Fit struct {
	// Every is the shortest time between two fits. Default 60s.
	Every Duration `yaml:"every"`
	// Records is the number of labelled records, over all partitions, from one verdict on a new model to the next. A model
	// is fitted when four fifths of them are there, or all but 1,000 if that is later, and is compared with the serving
	// one on the rest, which neither has learnt. Default 5000.
	Records int `yaml:"records"`
	// Warmup is the number of labelled records of a partition before it builds its first structure; until then scores
	// are base rates with status untrained. Default 500.
	Warmup int `yaml:"warmup"`
	// Reservoir bounds the sample of older records.
	Reservoir Reservoir `yaml:"reservoir"`
	// Budget bounds the time of one fit. Default 20s. The results until then are kept.
	Budget Duration `yaml:"budget"`
	// Gate is how much worse, in nats of log-loss on labelled records that neither it nor the serving model has learnt, a
	// new model may be and still be published. Default 0.005.
	Gate float64 `yaml:"gate"`
	// Seed starts every random choice. Default 1. Another seed is another, equally good, sample.
	Seed int64 `yaml:"seed"`
}

// Reservoir bounds the sample of older records of a partition; the first bound that is met holds.
type Reservoir struct {
	// Records bounds their number. Default 65536.
	Records int `yaml:"records"`
	// Bytes bounds their size. Default 64MiB.
	Bytes ByteSize `yaml:"bytes"`
}

// Labels says how records wait for their labels.
type Labels struct {
	// Window is how long a record waits. Default 7d.
	Window Duration `yaml:"window"`
	// OnExpiry is the fate of a record whose label did not come: drop, or the class as which it is learnt, for
	// outcomes that only ever arrive when they happened. Default drop. A class called drop cannot be chosen.
	OnExpiry string `yaml:"on_expiry"`
	// Late is the effect of a label for a record that was already learnt. Default correct.
	Late Late `yaml:"late"`
	// MaxBytes bounds the records that wait in one partition. Default 256MiB; at the bound the oldest expire early.
	MaxBytes ByteSize `yaml:"max_bytes"`
}

// OnExpiryDrop is the value of Labels.OnExpiry that forgets the record.
const OnExpiryDrop = "drop"

func (l *Labels) setDefaults() {
	*l = Labels{Window: Duration(7 * day), OnExpiry: OnExpiryDrop, Late: LateCorrect, MaxBytes: 256 << 20}
}

// Topics names the topics; all must differ.
type Topics struct {
	// Events is the topic of records. Default <name>-events.
	Events string `yaml:"events"`
	// Scores is the topic of results. Default <name>-scores.
	Scores string `yaml:"scores"`
	// Labels brings late labels. Empty without a label topic; default <name>-labels when the section labels is given.
	Labels string `yaml:"labels,omitempty"`
	// State keeps snapshots and the journal. Default <name>-state.
	State string `yaml:"state"`
	// Model keeps the published models. Default <name>-model.
	Model string `yaml:"model"`
	// Dead takes messages and rows that cannot be processed. Default <name>-dead.
	Dead string `yaml:"dead"`
	// Partitions is the number of partitions of topics that are created. Default 1. Topics that exist keep theirs.
	Partitions int `yaml:"partitions"`
	// Replication is the replication factor of topics that are created. Default 1.
	Replication int `yaml:"replication"`
}

// Kafka says how to reach the brokers: either Brokers or Embedded.
type Kafka struct {
	// Brokers lists the brokers to ask first, as host:port. Default localhost:9092; empty with Embedded.
	Brokers []string `yaml:"brokers,omitempty"`
	// Embedded starts a broker inside the process, for development. Default none.
	Embedded *Embedded `yaml:"embedded"`
	// TLS encrypts the connections. Default none: they are plain. An empty section means the system's certificates.
	TLS *TLS `yaml:"tls"`
	// SASL authenticates. Default none.
	SASL *SASL `yaml:"sasl"`
}

// Embedded is the broker inside the process.
type Embedded struct {
	// Dir keeps its topics, relative to the working directory. Required.
	Dir string `yaml:"dir"`
}

// TLS names the files of the certificates, in PEM. They are read at each connection: a new one needs no restart.
type TLS struct {
	// CA is the file of the authorities to trust. Default none: the system's.
	CA string `yaml:"ca,omitempty"`
	// Cert is the file of the client's certificate. Default none; with Key or not at all.
	Cert string `yaml:"cert,omitempty"`
	// Key is the file of its key. Default none.
	Key string `yaml:"key,omitempty"`
}

// SASL is who the stage is to the brokers. Mechanism, Username and one of the passwords are required.
type SASL struct {
	// Mechanism is the way to authenticate.
	Mechanism Mechanism `yaml:"mechanism"`
	// Username is the name of the account.
	Username string `yaml:"username"`
	// Password is its secret, best given as ${NAME}.
	Password Secret `yaml:"password,omitempty"`
	// PasswordFile is the file that holds it instead, without line ends at its end. It is read at each connection, so a
	// new password needs no restart. Default none.
	PasswordFile string `yaml:"password_file,omitempty"`
}

// Commit paces the transactions.
type Commit struct {
	// Interval is the time after which a transaction is committed. Default 100ms. Shorter is fresher, longer carries
	// more.
	Interval Duration `yaml:"interval"`
}

// Snapshot paces the snapshots of state.
type Snapshot struct {
	// Interval is the time between snapshots of one partition. Default 60s. It bounds the replay of a restart.
	Interval Duration `yaml:"interval"`
	// BytesPerSecond bounds the bytes that snapshots add to the transactions. Default 8MiB; a larger state takes longer.
	BytesPerSecond ByteSize `yaml:"bytes_per_second"`
	// Share bounds the bytes of snapshots by those of the input that was read. Default 0.1: the next snapshot waits until
	// ten times the bytes of the one before have been read, so that a restart replays no more than that, and on a slow
	// stream the trainer looks less often. 1 leaves the interval alone to decide.
	Share float64 `yaml:"share"`
}

// Memory bounds the memory of the stage, in bytes.
type Memory struct {
	// InFlight bounds the fetched input of the process. Default 64MiB; at the bound fetching waits. With a topic of
	// labels, half of it is for these.
	InFlight ByteSize `yaml:"in_flight"`
	// Tail bounds the last coded records of one partition. Default 32MiB; the oldest leave.
	Tail ByteSize `yaml:"tail"`
	// Message bounds one input message, decoded. Default 16MiB; a larger one goes to the dead letters. At most
	// InFlight.
	Message ByteSize `yaml:"message"`
}

// Policy has the answers to topics, settings and data that do not fit the state.
type Policy struct {
	// InputLost is for events that were deleted before they were read. Default fail.
	InputLost Reaction `yaml:"input_lost"`
	// TopicRecreated is for an input topic that is not the one of the state, or a state topic that has lost it. Default
	// fail.
	TopicRecreated Reaction `yaml:"topic_recreated"`
	// SchemaChanged is for a state made under another record, lift, propensity, local or kernel section. Default
	// rebuild: where only features, their levels, classes at the end or monotone have changed, everything is
	// kept that mentions no feature that is gone or has become another: counts, weights and curves as they were. The rest
	// begins anew. Under another change all of it does.
	SchemaChanged Reaction `yaml:"schema_changed"`
	// Future is how far ahead of the clock an event's time may be; a row beyond it is bad. Default 5m.
	Future Duration `yaml:"future"`
	// DeadShare is the share of bad rows among the newest ones of a partition above which the stage stops, with exit
	// status 1, after it has committed them as dead letters. The newest are the fewest last messages that are at least 100
	// and hold at least 1,000 rows, of events and of labels apart; while there are fewer, the lacking rows count as good.
	// A message that cannot be read stands for as many rows as the others have on average. A restart counts the same
	// messages again, so it goes on only with a higher share. Default 0: it never stops for that.
	DeadShare float64 `yaml:"dead_share"`
}

// Output shapes the scores.
type Output struct {
	// Features says which features are handed on with the scores. Default none.
	Features OutputFeatures `yaml:"features"`
	// Format is that of the scores' messages. Default arrow.
	Format Format `yaml:"format"`
	// Why is the number of contributions in a score. Default 5; 0 gives none.
	Why int `yaml:"why"`
}

// HTTP is the operator's endpoint: probes, metrics, the live page, control.
type HTTP struct {
	// Listen is its address, as host:port. Default 127.0.0.1:8080; port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Token is the bearer token that requests must carry. Default none.
	Token Secret `yaml:"token,omitempty"`
}

// Shutdown bounds the end of a run.
type Shutdown struct {
	// Grace is how long a stopping stage may take to finish its work. Default 20s; then it ends by force.
	Grace Duration `yaml:"grace"`
}

// Default returns the configuration of that name with every default and no record; a file is decoded onto it.
func Default(name string) *Config {
	c := &Config{
		Name:   name,
		Record: Record{Missing: []string{"", "NA", "?"}},
		Lift: Lift{
			Quantiles: 5,
			Joint:     JointMahalanobis,
			Sets:      Sets{Min: 1, Max: 3, Search: SearchAuto, Rank: SetRankLeaveOneOut, Top: 20},
			Windows:   Windows{Top: 10, MinMass: 0.15, Overlapping: RedundantDrop},
			Profiles: Profiles{Top: 20, MinSupport: 0.005, MaxFeatures: 3, Of: []string{}, Rank: ProfileRankLower, Validate: 0.2,
				Redundant: RedundantDrop},
		},
		Propensity: Propensity{
			Cells:       15,
			HalfLives:   []HalfLife{{Records: 3}, {Records: 20}, {Records: 200}, {Records: 2000}, {}},
			Prior:       5,
			Step:        0.1,
			Linear:      true,
			Sign:        SignFree,
			Calibration: Calibration{Knots: 25, HalfLife: HalfLife{Records: 3000}, Prior: 20},
		},
		Local: Local{
			Theta:        AutoFloat{Auto: true},
			Neighbours:   8,
			Prototypes:   1024,
			Width:        0.05,
			Observation:  ObservationAveraged,
			Score:        ScoreBalanced,
			Redundancy:   RedundancyMean,
			Observations: 64,
		},
		Kernel: Kernel{
			Mode:    KernelNonneg,
			Widths:  []float64{0.1, 1, 10},
			Gamma1:  AutoFloat{Auto: true},
			Gamma2:  AutoFloat{Auto: true},
			Triples: 1500,
		},
		Fit: Fit{
			Every:     Duration(60 * time.Second),
			Records:   5000,
			Warmup:    500,
			Reservoir: Reservoir{Records: 65536, Bytes: 64 << 20},
			Budget:    Duration(20 * time.Second),
			Gate:      0.005,
			Seed:      1,
		},
		Topics:   Topics{Partitions: 1, Replication: 1},
		Kafka:    Kafka{Brokers: []string{"localhost:9092"}},
		Commit:   Commit{Interval: Duration(100 * time.Millisecond)},
		Snapshot: Snapshot{Interval: Duration(60 * time.Second), BytesPerSecond: 8 << 20, Share: 0.1},
		Memory:   Memory{InFlight: 64 << 20, Tail: 32 << 20, Message: 16 << 20},
		Policy: Policy{
			InputLost:      ReactionFail,
			TopicRecreated: ReactionFail,
			SchemaChanged:  ReactionRebuild,
			Future:         Duration(5 * time.Minute),
		},
		Output:   Output{Features: FeaturesNone, Format: FormatArrow, Why: 5},
		HTTP:     HTTP{Listen: "127.0.0.1:8080"},
		Shutdown: Shutdown{Grace: Duration(20 * time.Second)},
	}
	c.nameTopics()
	return c
}

// nameTopics gives the topics that have no name their default. The label topic gets one only when it is used.
func (c *Config) nameTopics() {
	t := &c.Topics
	for _, x := range []struct {
		topic  *string
		suffix string
	}{{&t.Events, "events"}, {&t.Scores, "scores"}, {&t.State, "state"}, {&t.Model, "model"}, {&t.Dead, "dead"}} {
		if *x.topic == "" {
			*x.topic = c.Name + "-" + x.suffix
		}
	}
	if c.Labels != nil && t.Labels == "" {
		t.Labels = c.Name + "-labels"
	}
	if c.Labels == nil && t.Labels != "" {
		c.Labels = new(Labels)
		c.Labels.setDefaults()
	}
}
