package config

import "time"

// Labels says how records wait for their labels.
type Labels struct {
	// Window is how long a record waits. Default 7d.
	Window Duration `yaml:"window"`
	// OnExpiry is the fate of a record whose label did not come: drop, or the class as which it is learnt, for
	// outcomes that only ever arrive when they happened. Default drop. A class called drop cannot be chosen. With a class
	// each record is learnt when its window has closed, and not before, so that no class comes sooner than another; until
	// the first window has closed, scores are untrained.
	OnExpiry string `yaml:"on_expiry"`
	// Late is the effect of a label for a record that was already learnt. Default correct.
	Late Late `yaml:"late"`
	// Correct is how long after its window a record that on_expiry has learnt can be corrected by its label, where late
	// is correct. Default 0, as long as the window. A later label finds no record.
	Correct Duration `yaml:"correct"`
	// Match says which records a label by an id means, of those of the id that wait: newest, first, by record.time, or
	// all. Default newest. A record never becomes on_expiry where another one of its id has got the label.
	Match Match `yaml:"match"`
	// MaxBytes bounds the records that wait in one partition. Default 320MiB; at the bound the oldest leave unlearnt,
	// under any OnExpiry, and are counted. 'liftstream lint' says how many records fit.
	MaxBytes ByteSize `yaml:"max_bytes"`
}

// OnExpiryDrop is the value of Labels.OnExpiry that forgets the record.
const OnExpiryDrop = "drop"

func (l *Labels) setDefaults() {
	*l = Labels{Window: Duration(7 * day), OnExpiry: OnExpiryDrop, Late: LateCorrect, Match: MatchNewest,
		MaxBytes: 320 << 20}
}

// Dedup says which events are duplicates. A record of the same id whose time is at most Window away from that of an
// earlier one is: it is not learnt, has no score, and is counted. A record with a label is none where the earlier one
// had no label. Partitions are looked at apart, and so a producer must send both to the same one.
type Dedup struct {
	// By is the property that duplicates share. Default id, that of record.id, which the section needs.
	By DedupBy `yaml:"by"`
	// Window is the distance in record time within which a record counts as sent again. Default 1h.
	Window Duration `yaml:"window"`
	// MaxBytes bounds the ids that one partition remembers, 96 bytes for each. Default 16MiB, which is 174,000 ids; at the
	// bound the oldest are forgotten, and counted.
	MaxBytes ByteSize `yaml:"max_bytes"`
}

func (d *Dedup) setDefaults() {
	*d = Dedup{By: DedupByID, Window: Duration(time.Hour), MaxBytes: 16 << 20}
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

// SASL is who the stage is to the brokers. Mechanism is required, and Username with one of the passwords, or OAuth with
// the mechanism OAUTHBEARER.
type SASL struct {
	// Mechanism is the way to authenticate.
	Mechanism Mechanism `yaml:"mechanism"`
	// Username is the name of the account.
	Username string `yaml:"username,omitempty"`
	// Password is its secret, best given as ${NAME}.
	Password Secret `yaml:"password,omitempty"`
	// PasswordFile is the file that holds it instead, without line ends at its end. It is read at each connection, so a
	// new password needs no restart. Default none.
	PasswordFile string `yaml:"password_file,omitempty"`
	// OAuth has the tokens of the mechanism OAUTHBEARER. Nil without it.
	OAuth *OAuth `yaml:"oauth"`
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
	// Fit bounds the records of all partitions that a fit holds, before its work on them. Default 512MiB. Where tails and
	// reservoirs of all partitions are more, each partition gives its share: half of it the newest records, and half a
	// sample of the older ones.
	Fit ByteSize `yaml:"fit"`
	// Message bounds one input message, decoded. Default 16MiB; a larger one goes to the dead letters. At most
	// InFlight.
	Message ByteSize `yaml:"message"`
	// Batch bounds one batch of Kafka messages, decompressed, and all batches that are decompressed at a time. Default
	// twice Message, and 8MiB where that is less. A larger batch becomes one dead letter that names its offsets. At
	// least Message and 1MiB.
	Batch ByteSize `yaml:"batch"`
	// Decoded bounds the memory of decoded messages, over all partitions of the process. Default 256MiB, and eight times
	// Message where that is more. One message may take half of it; a larger one goes to the dead letters. At the bound
	// decoding waits. At least four times Message.
	Decoded ByteSize `yaml:"decoded"`
	// Recency bounds the times that a partition remembers of its ids, for derived features such as count(30d). Default
	// 32MiB, some 150,000 ids of few records; at the bound the ids of the oldest last records leave. It shapes a state:
	// another value carries the state over.
	Recency ByteSize `yaml:"recency"`
}

// Policy has the answers to topics, settings and data that do not fit the state.
type Policy struct {
	// InputLost is for events that were deleted before they were read. Default fail.
	InputLost Reaction `yaml:"input_lost"`
	// TopicRecreated is for an input topic that is not the one of the state, or a state topic that has lost it. Default
	// fail.
	TopicRecreated Reaction `yaml:"topic_recreated"`
	// OffsetMoved is for an offset of the group that another program has set, back or ahead. Default fail. skip takes
	// the later of its offset and the state's: nothing is scored twice, and events between the two are learnt without a
	// score. rescore takes the earlier one: nothing is left out; where the offset was set back, the state is learnt anew
	// from the first events that are left, and those behind the offset are scored again. Offsets that have expired are
	// not moved: the state knows them.
	OffsetMoved OffsetReaction `yaml:"offset_moved"`
	// ModelLost is for a state that needs a model which its topic does not hold any more. Default fail. rebuild learns
	// the state anew from the first events that are left, and scores none of them twice.
	ModelLost Reaction `yaml:"model_lost"`
	// TopicShared is for a topic of scores or models of which another stage, of another name, has written the newest
	// message. Default fail; a stage that works already goes on and is not ready. accept goes on: scores of several stages
	// may lie in one topic, and each names its stage in the header liftstream-name. Models may not: accept them where the
	// other stage has ended. Dead letters of several stages may always lie in one topic.
	TopicShared SharedReaction `yaml:"topic_shared"`
	// SchemaChanged is for a state made under another record, lift, propensity, local, kernel or trees section. Default
	// rebuild: where only features, their levels, classes at the end or monotone have changed, everything is
	// kept that mentions no feature that is gone or has become another: counts, weights and curves as they were. The rest
	// begins anew. Under another change all of it does.
	SchemaChanged Reaction `yaml:"schema_changed"`
	// Future is how far ahead of the clock the time of an event, of a label or of their message may be; a row or message
	// beyond it is bad. The time of a row may not be further ahead of its message's either. Default 5m; 0 takes any time.
	Future Duration `yaml:"future"`
	// Past is how far behind the clock these times may be; a row or message beyond it is bad. Default 14600d, forty years,
	// which a clock that says 1970 is beyond and history is not; 0 takes any time.
	Past Duration `yaml:"past"`
	// Held is how long late labels wait for events that an open transaction of another program holds back. Then they are
	// learnt without these events, and the stage is not ready until the transaction ends. Default 15m, the longest one
	// that brokers allow unless they are set otherwise.
	Held Duration `yaml:"held"`
	// DeadShare is the share of bad rows among the newest ones of a partition above which the partition pauses, after it
	// has committed them as dead letters: /readyz is red and says why, until 'liftstream resume'. The newest are the
	// fewest last messages that are at least 100 and hold at least 1,000 rows, of events and of labels apart; while there
	// are fewer, the lacking rows count as good. A message that cannot be read stands for as many rows as the others have
	// on average. A restart counts the same messages again, but no message that a resume has accepted. Default 0: it never
	// pauses.
	DeadShare float64 `yaml:"dead_share"`
}

// Output shapes the scores.
type Output struct {
	// Features says which features are handed on with the scores. Default none.
	Features OutputFeatures `yaml:"features"`
	// Format is that of the scores' messages. Default arrow.
	Format Format `yaml:"format"`
	// Subject is the subject of the registry under which the stage registers the schema of its scores, of avro and json.
	// Default: the scores topic and -value, as clients of Confluent's name it.
	Subject string `yaml:"subject,omitempty"`
	// CloudEvents gives each message of scores the headers of a CloudEvent in binary mode. Default off.
	CloudEvents Switched `yaml:"cloudevents"`
	// Why is the number of contributions in a score. Default 5; 0 gives none.
	Why int `yaml:"why"`
	// Goals says which columns scores have of each goal (record.goals). Default propensity; why adds lift_<column> and
	// why_<column>, as many contributions as Why says.
	Goals OutputGoals `yaml:"goals"`
	// Interval adds how sure the propensity of the target is: the columns propensity_low and propensity_high, between
	// which its true value lies in that share of the records. From 50% to 99%. Default off.
	Interval Percent `yaml:"interval"`
	// Unusual adds the column unusual: the feature whose value lies outside the learnt ones, null where none does. At most
	// that share of ordinary records is called so. From 0.01% to 10%, from the next fit on; 1% is a good choice. Default
	// off.
	Unusual FewPercent `yaml:"unusual"`
}

// HTTP is the operator's endpoint: probes, metrics, the live page, control.
type HTTP struct {
	// Listen is its address, as host:port. Default 127.0.0.1:8080; port 0 takes a free one. Other hosts than this
	// machine's own need a Token.
	Listen string `yaml:"listen"`
	// Token is the bearer token that requests must carry. Default none.
	Token Secret `yaml:"token,omitempty"`
	// Hosts lists the names by which browsers and probes may call the endpoint, beside the names of the machine itself
	// and the host of Listen. Default none.
	Hosts []string `yaml:"hosts,omitempty"`
	// Score bounds the requests for scores at once, or switches them off. Default on.
	Score Scoring `yaml:"score"`
}

// Shutdown bounds the end of a run.
type Shutdown struct {
	// Grace is how long a stopping stage may take to finish its work. Default 20s; then it ends by force.
	Grace Duration `yaml:"grace"`
}
