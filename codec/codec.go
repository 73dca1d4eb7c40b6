// Package codec turns messages, Arrow IPC streams unless Options.Input says otherwise, into the model's batches and the
// model's scores into messages. It knows the contract of the topics (column names, kinds, missing values, reasons) and
// nothing of Kafka.
//
// The package reads schemas and batches itself (fields.go, load.go) and checks every length and offset in them: no
// bytes make it panic, end the process, or allocate more than a bound that the configuration sets (budget.go).
//
// Begin at Decoder for events and labels, at ScoreEncoder for scores, at EventEncoder and Tables for the programs
// around a stage. CONTRACT.md is the contract.
package codec

import (
	"strings"
	"time"

	"liftstream/codec/number"
	"liftstream/model"
)

// Features says which input features the scores hand on.
type Features uint8

const (
	FeaturesNone     Features = iota
	FeaturesSelected          // those of the record's subspace, which can be none; the others null
	FeaturesAll
)

// Format is the encoding of a scores message.
type Format uint8

const (
	FormatArrow Format = iota // one Arrow IPC stream
	FormatJSONL               // one JSON object a line
	FormatJSON                // one JSON object a message, in the frame of a registry where Options has one
	FormatAvro                // one record of Avro a message, in the frame of a registry
)

// DefaultMaxMessage is the bound on a message when Options sets none.
const DefaultMaxMessage = 16 << 20

// Options is the contract between the columns of a record and the Schema.
type Options struct {
	Schema *model.Schema
	// ID, Time, Weight and Label are the names of columns; "" means that none is configured. The label column may be
	// absent from a record, the others may not.
	ID, Time, Weight, Label string
	// Treated is the column that says, beside a label, whether its record was treated; "" means that none is configured.
	// It may be absent.
	Treated string
	// Goals are further labels, each with a column of its own in events, labels and scores.
	Goals []Goal
	// GoalReasons says that scores tell the lift and the reasons of each goal.
	GoalReasons bool
	// Missing lists the texts that mean a missing value, after spaces around them are cut.
	Missing []string
	// Numbers is how the texts of continuous features are written. Where it is not plain, columns of text are taken for
	// them.
	Numbers number.Format
	// Nullable says of a feature, by name, whether it may be null. Where it says true, the column may also be absent, and
	// all its values are missing then; where it says false, a row without a value is refused. A feature that it does not
	// name may be null, and its column must be there.
	Nullable map[string]bool
	// Derived has, by name, the derivations of the features of Schema that are derived (model.Feature.Derived): they are
	// no columns of the input. Their sources are, and Nullable says of those too whether they may be absent.
	Derived map[string]Derivation
	// Recency says which features of Schema tell of the former records of an id, nil = none does. A Decoder leaves them
	// missing: model.Recency fills them where the records are known in their order.
	Recency *model.RecencyOptions
	// MaxMessage bounds the bytes of one message; 0 means DefaultMaxMessage. The memory of a decoded message is bounded by
	// sixteen times that, and by its share of Budget.
	MaxMessage int64
	// TimeUnit is the unit of times that are numbers; 0 means milliseconds, and numbers that are seconds by their size
	// are refused.
	TimeUnit time.Duration
	// Budget bounds the memory of decoded messages over all decoders that have the same one; nil = this decoder has none
	// but the bound of a message. Decode waits where others hold too much of it, so Decoder.Release must follow.
	Budget *Budget
	// Future is how far the time of a record or message may lie after Message.Now, and that of a record after its
	// message's; 0 means any time is taken.
	Future time.Duration
	// Past is how far the time of a record or message may lie before Message.Now; 0 means any time is taken.
	Past time.Duration
	// Dedup says that Carry.Leave may be called: Decode takes the memory that it needs.
	Dedup bool
	// Control says that scores tell the records of the control share.
	Control bool
	// Uplift says that scores tell the effect of the treatment.
	Uplift bool
	// Interval says that scores tell how sure the propensity of the target is.
	Interval bool
	// Unusual says that scores name the feature whose value lies outside the learnt ones.
	Unusual bool
	// Input is the encoding of the messages that a Decoder reads.
	Input Input
	// Schemas has the schemas of messages of InputAvro. Nested says that fields of records in records are columns under
	// dotted names, such as home.city.
	Schemas Schemas
	Nested  bool
	// Attributes says that the headers of a message that begin with AttributePrefix are columns of each of its rows, texts
	// under the name of the header. Messages of Arrow have none.
	Attributes bool
	// Features and Format shape the messages of a ScoreEncoder.
	Features Features
	Format   Format
	// Frame stands before the values of FormatAvro, which needs it, and of FormatJSON; nil = none.
	Frame *Frame
}

// Headers are the optional headers of a message that say something about its value; nil means absent.
type Headers struct {
	Rows   []byte // HeaderRows: number of rows over all batches, in decimal
	CRC32C []byte // HeaderCRC32C: CRC-32C (Castagnoli) of the value, eight hexadecimal digits
	// Attributes are the headers that begin with AttributePrefix, in their order.
	Attributes []Attribute
}

// Set takes a header that Headers has a field for, and ignores any other. It keeps value.
func (h *Headers) Set(name string, value []byte) {
	switch name {
	case HeaderRows:
		h.Rows = value
	case HeaderCRC32C:
		h.CRC32C = value
	default:
		if strings.HasPrefix(name, AttributePrefix) {
			h.Attributes = append(h.Attributes, Attribute{name, value})
		}
	}
}

// Names of the headers of events and labels.
const (
	HeaderRows   = "rows"
	HeaderCRC32C = "crc32c"
)

// Names of the headers of a dead letter. They follow the headers of its message.
const (
	DeadReason    = "liftstream-reason" // HeaderName stands before it
	DeadStage     = "liftstream-stage"  // one of the Stage constants
	DeadError     = "liftstream-error"
	DeadTopic     = "liftstream-topic"
	DeadPartition = "liftstream-partition"
	DeadOffset    = "liftstream-offset"
	DeadLast      = "liftstream-last-offset"   // of several messages in a batch that cannot be read; absent else
	DeadOmitted   = "liftstream-omitted-bytes" // of the message that its dead letter cannot hold; absent else
	DeadRow       = "liftstream-row"           // absent when the whole message is dead
	DeadFirstSeen = "liftstream-first-seen"    // RFC 3339
)

// HeaderName is the name of the stage that wrote a score or a dead letter.
const HeaderName = "liftstream-name"

// HeaderTime is the timestamp of the message, in milliseconds, -1 = it had none: in each dead letter, in a score whose
// topic would refuse the timestamp, and in a message that was sent again, whose topic may have another for it.
const HeaderTime = "liftstream-time"

// Stages name the step at which a message became a dead letter.
const (
	StageEvents = "events"
	StageLabels = "labels"
)

// Message is one input message.
type Message struct {
	Value     []byte
	Headers   Headers
	Partition int32
	Offset    int64
	// Time is the message's own timestamp in Unix nanoseconds, 0 = it has none: the time of records that have none.
	Time int64
	// Now is the time from which Options.Future and Past count, in Unix nanoseconds; 0 = it is not known. A caller that
	// must be able to replay keeps the time by which it refused a row or message.
	Now int64
	// Done, when closed, ends the work on the message with ErrStopped; nil = never.
	Done <-chan struct{}
}
