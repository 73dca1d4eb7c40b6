package config

// Format is that of the scores' messages.
type Format string

const (
	FormatArrow Format = "arrow" // one Arrow stream a message
	FormatJSONL Format = "jsonl" // one JSON object a line
	FormatJSON  Format = "json"  // one JSON object a message, in the frame of the registry where there is one
	FormatAvro  Format = "avro"  // one Avro record a message, whose schema the stage registers
)

func (Format) choices() []string { return []string{"arrow", "jsonl", "json", "avro"} }

// Framed reports whether the messages of scores begin with the id of a schema of the registry.
func (c *Config) Framed() bool {
	return c.Output.Format == FormatAvro || c.Output.Format == FormatJSON && c.Registry != nil
}

// checkOutput holds the format of the scores against the registry.
func checkOutput(d checker, c *Config) {
	if c.Input.CloudEvents == SwitchedOn && c.Input.Format == InputArrow {
		d.report("input.cloudevents", "", "input.cloudevents is for input.format json, jsonl and avro: the rows of an Arrow "+
			"message have their own columns")
	}
	if c.Output.Format == FormatAvro && c.Registry == nil {
		d.report("output.format", "", "output.format: avro needs registry.url, where the schema of the scores is registered")
	} else if c.Output.Subject != "" && !c.Framed() {
		d.report("output.subject", "", "output.subject is for scores in avro, or in json with registry.url: no other format "+
			"has a schema in the registry")
	}
}
