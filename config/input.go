package config

// Input says how events and labels are encoded.
type Input struct {
	// Format is that of the messages of events and labels. Default arrow.
	Format InputFormat `yaml:"format"`
}

// InputFormat is the encoding of events and labels.
type InputFormat string

const (
	InputArrow InputFormat = "arrow" // one Arrow stream a message
	InputJSONL InputFormat = "jsonl" // JSON objects, one a line
	InputJSON  InputFormat = "json"  // one JSON object a message
)

func (InputFormat) choices() []string { return []string{"arrow", "jsonl", "json"} }
