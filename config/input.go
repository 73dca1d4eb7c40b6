package config

// Input says how events and labels are encoded.
type Input struct {
	// Format is that of the messages of events and labels. Default arrow.
	Format InputFormat `yaml:"format"`
	// Nested makes the fields of records in Avro records columns, under dotted names such as home.city. Default off: a
	// record in a record is no column.
	Nested Nested `yaml:"nested"`
	// CloudEvents makes the headers ce_id, ce_time, ce_type, ce_subject and so on of a message columns of its rows, which
	// record may name. It is for JSON and Avro. Default off.
	CloudEvents Switched `yaml:"cloudevents"`
}

// Switched is on or off.
type Switched string

const (
	SwitchedOff Switched = "off"
	SwitchedOn  Switched = "on"
)

func (Switched) choices() []string { return []string{"on", "off"} }

// InputFormat is the encoding of events and labels.
type InputFormat string

const (
	InputArrow InputFormat = "arrow" // one Arrow stream a message
	InputJSONL InputFormat = "jsonl" // JSON objects, one a line
	InputJSON  InputFormat = "json"  // one JSON object a message
	InputAvro  InputFormat = "avro"  // one Avro record a message, whose schema the registry has
)

func (InputFormat) choices() []string { return []string{"arrow", "jsonl", "json", "avro"} }

// Nested says whether records in records have columns.
type Nested string

const (
	NestedOff Nested = "off"
	NestedOn  Nested = "on"
)

func (Nested) choices() []string { return []string{"on", "off"} }
