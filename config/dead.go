package config

// Dead shapes the dead letters.
type Dead struct {
	// Headers adds further headers to a dead letter, under the names of another system: connect (__connect.errors.topic
	// and so on) or streams (__streams.errors.topic and so on). Default own: the headers liftstream-* alone, which every
	// dead letter has.
	Headers DeadHeaders `yaml:"headers"`
}

// DeadHeaders are the names of the headers of dead letters.
type DeadHeaders string

const (
	DeadHeadersOwn     DeadHeaders = "own"
	DeadHeadersConnect DeadHeaders = "connect" // also those of Kafka Connect
	DeadHeadersStreams DeadHeaders = "streams" // also those of Kafka Streams
)

func (DeadHeaders) choices() []string { return []string{"own", "connect", "streams"} }
