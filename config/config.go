// Package config is the one configuration of liftstream: a strict YAML file decoded onto defaults, checked against one
// table of bounds, and dumped without its secrets. Every mistake in a file is found in one pass and is reported with
// its file and line.
//
// Begin at Load. Config has every key with its effect, bounds.go the table of bounds.
package config

import (
	"slices"
	"time"
)

// Config is a whole configuration. The value that Load and Parse return is complete: every default is filled in and
// every rule holds. It must not be changed afterwards.
type Config struct {
	// Name prefixes the default topics, the consumer group and the transactional ids. Required; letters, digits, dot,
	// underscore and hyphen, at most 200, so that Kafka accepts every name made from it.
	Name string `yaml:"name"`
	// Record lists the columns of a record. Required.
	Record Record `yaml:"record"`
	// Format says how the numbers of continuous features are written where they are texts, in files and messages alike.
	// Default: plain numbers in files; messages hold numbers and no texts of them.
	Format Numbers `yaml:"format,omitempty"`
	// Lift shapes the tables of feature sets and the searches in them.
	Lift Lift `yaml:"lift"`
	// Propensity shapes the scorecard.
	Propensity Propensity `yaml:"propensity"`
	// Local shapes the local subspaces.
	Local Local `yaml:"local"`
	// Kernel shapes the kernel learnt by linear programming.
	Kernel Kernel `yaml:"kernel"`
	// Trees shapes the boosted trees.
	Trees Trees `yaml:"trees"`
	// Drift says how the records, scores and losses are watched for changes.
	Drift Drift `yaml:"drift"`
	// Fit says when a new model is fitted and bounds the cost.
	Fit Fit `yaml:"fit"`
	// Learning off has the stage score without learning: no model is fitted and no label counted. It shapes no state: with
	// on the stage learns on from where it is. 'liftstream model freeze --learning' does the same to a running stage, and
	// 'unfreeze' does not overrule this key. Default: on.
	Learning Learning `yaml:"learning"`
	// Labels says how records wait for late labels. Nil when there is no label topic: neither this section nor
	// topics.labels is given. Giving either brings the defaults of the other.
	Labels *Labels `yaml:"labels"`
	// Dedup leaves out events that their producer has sent twice. Nil when the section is not given: then they are two.
	Dedup *Dedup `yaml:"dedup"`
	// Control flags the records that users leave untargeted. Nil when the section is not given: no record is flagged.
	Control *Control `yaml:"control"`
	// Value holds the worth of a hit and the cost of a contact. Nil when the section is not given: then no profit is
	// computed.
	Value *Value `yaml:"value"`
	// Points says how an exported scorecard counts its effects. Nil when the section is not given: in log-odds alone.
	Points *Points `yaml:"points"`
	// Segments names conditions on the features, such as gold: plan=plus & visits>10; records that meet one are counted
	// and measured together, and no score changes. A condition has =, !=, <, <=, > or >= between a feature and a value,
	// and &, | and parentheses between those. Values are numbers or levels; names and values with other signs stand in
	// quotes. A missing value meets no comparison but one with a text of record.missing; a special code (see
	// Feature.Special) lies neither below nor above a number. Default none.
	Segments map[string]string `yaml:"segments,omitempty"`
	// Derive names features that are computed from the columns of a record, live and in files alike, such as hour:
	// hour(time). derive.go has the closed list of functions; their arguments are columns under record.features (with use:
	// never where they are looked at for this alone), other derived features, or time, the time of the record. Division by
	// zero, the logarithm of a number that is not above zero and a missing argument give a missing value. An entry of
	// record.features of the same name gives use, cuts, bins and special; kind and levels are those of the function. A
	// feature of another expression is another feature. Default none; at most MaxDerived.
	Derive map[string]string `yaml:"derive,omitempty"`
	// MinCount is the least number of records of which a group, a segment, a reason of a score or a profile in a score is
	// published. Default 20; 1 publishes all.
	MinCount int `yaml:"min_count"`
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
	// Input says how events and labels are encoded.
	Input Input `yaml:"input"`
	// Registry is the schema registry, from which input.format: avro has the schemas of messages. Nil when the section is
	// not given.
	Registry *Registry `yaml:"registry"`
	// Dead shapes the dead letters.
	Dead Dead `yaml:"dead"`
	// Output shapes the scores.
	Output Output `yaml:"output"`
	// HTTP is the operator's endpoint.
	HTTP HTTP `yaml:"http"`
	// Shutdown bounds the end of a run.
	Shutdown Shutdown `yaml:"shutdown"`

	// masked holds the paths whose text came from an environment variable that holds a secret.
	masked map[string]bool
	// places tells the line of a key, for warnings of programs that know more of the values than this package does.
	places *decoder
}

// Warning is a warning of the value at a dotted path, such as record.label.classes[1], of a configuration that was read
// from a file.
func (c *Config) Warning(path, message string) Warning {
	if c.places == nil {
		return Warning{Line: 1, Message: path + ": " + message}
	}
	return Warning{c.places.file, c.places.line(path), path + ": " + message}
}

// Unseen reports whether the configuration was read without the environment (Parse) and a value of the record, of a
// segment or of a derived feature is not seen: no stage can be assembled of it.
func (c *Config) Unseen() bool {
	return c.places != nil && slices.ContainsFunc([]string{"record.", "segments.", "derive."}, c.places.unseen)
}

// Quote quotes the text at a path for a message, as the file has it: a value of the environment is not shown.
func (c *Config) Quote(path, text string) string {
	if c.places == nil {
		return quote(text)
	}
	return c.places.quote(path, text)
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
			Residuals:   ResidualsOn,
			Calibration: Calibration{Knots: 25, HalfLife: HalfLife{Records: 3000}, Prior: 20},
		},
		Local: Local{
			Theta:        AutoFloat{Auto: true},
			Neighbours:   8,
			Prototypes:   1024,
			Newest:       2048,
			Width:        0.05,
			Observation:  ObservationAveraged,
			Score:        ScoreBalanced,
			Redundancy:   RedundancyMean,
			Divergence:   DivergenceFrom,
			ReferenceSD:  0.05,
			Observations: 64,
		},
		Kernel: Kernel{
			Mode:    KernelNonneg,
			Widths:  []float64{0.1, 1, 10},
			Gamma1:  AutoFloat{Auto: true},
			Gamma2:  AutoFloat{Auto: true},
			Triples: 1500,
			Shape:   KernelGaussian,
			Groups:  KernelFeatures,
			Input:   KernelAuto,
		},
		Trees:    Trees{Rounds: 120, Leaves: 16, Rate: 0.15, Gate: 3},
		Drift:    Drift{FalseAlarms: 0.01},
		Learning: LearningOn,
		MinCount: 20,
		Fit: Fit{
			Every:     Duration(60 * time.Second),
			Records:   5000,
			Warmup:    500,
			Reservoir: Reservoir{Records: 65536, Bytes: 64 << 20},
			Budget:    Duration(20 * time.Second),
			Gate:      0.005,
			Keep:      Keep{Versions: 20},
			Seed:      1,
		},
		Topics:   Topics{Partitions: 1, Replication: 1},
		Kafka:    Kafka{Brokers: []string{"localhost:9092"}},
		Commit:   Commit{Interval: Duration(100 * time.Millisecond)},
		Snapshot: Snapshot{Interval: Duration(60 * time.Second), BytesPerSecond: 8 << 20, Share: 0.1},
		Memory: Memory{InFlight: 64 << 20, Tail: 32 << 20, Fit: 512 << 20, Message: 16 << 20, Recency: 32 << 20,
			Batch: 32 << 20, Decoded: leastDecoded},
		Policy: Policy{
			InputLost:      ReactionFail,
			TopicRecreated: ReactionFail,
			OffsetMoved:    OffsetFail,
			ModelLost:      ReactionFail,
			TopicShared:    SharedFail,
			SchemaChanged:  ReactionRebuild,
			Future:         Duration(5 * time.Minute),
			Past:           Duration(40 * 365 * day),
			Held:           Duration(15 * time.Minute),
		},
		Input: Input{Format: InputArrow, Nested: NestedOff, CloudEvents: SwitchedOff},
		Dead:  Dead{Headers: DeadHeadersOwn},
		Output: Output{Features: FeaturesNone, Format: FormatArrow, Why: 5, CloudEvents: SwitchedOff,
			Goals: GoalsPropensity},
		HTTP:     HTTP{Listen: "127.0.0.1:8080", Score: defaultScoring()},
		Shutdown: Shutdown{Grace: Duration(20 * time.Second)},
	}
	c.nameTopics()
	return c
}

// leastBatch is the smallest default of Memory.Batch: producers put many small messages into a batch.
const leastBatch = 8 << 20

// leastDecoded is the smallest default of Memory.Decoded.
const leastDecoded = 256 << 20

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
