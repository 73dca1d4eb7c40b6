package show

import (
	"bytes"
	"encoding/json"
)

// jsonLines returns a message of JSON objects, one a line, nil for any other. An object may have the frame of a schema
// registry before it, and line breaks inside.
func jsonLines(value []byte) []byte {
	const frame = 5
	if len(value) > frame && value[0] == 0 {
		value = value[frame:]
	}
	b := bytes.TrimLeft(value, " \t\r\n")
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	var one bytes.Buffer
	if json.Compact(&one, b) == nil {
		return one.Bytes()
	}
	return b
}
