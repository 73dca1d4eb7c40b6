package cluster

import (
	"fmt"

	"liftstream/codec"
	"liftstream/config"
)

// Encoding writes rows of tables as the values of messages.
type Encoding struct {
	// Single says that a message holds one record.
	Single bool
	// Append appends the value of a message that holds the given rows of a table.
	Append func(dst []byte, t *codec.Table, rows []int) ([]byte, error)
}

// EncodingOf returns the encoding of a configuration's events and labels.
func EncodingOf(c *config.Config) Encoding {
	switch c.Input.Format {
	case config.InputJSONL:
		return Encoding{Append: appendLines}
	case config.InputJSON:
		return Encoding{Single: true, Append: appendLines}
	}
	return arrowEncoding()
}

func arrowEncoding() Encoding {
	e := codec.NewEventEncoder()
	return Encoding{Append: func(dst []byte, t *codec.Table, rows []int) ([]byte, error) {
		out, err := e.Encode(dst, t, rows)
		if err != nil {
			return dst, fmt.Errorf("encoding events: %w", err)
		}
		return out, nil
	}}
}

func appendLines(dst []byte, t *codec.Table, rows []int) ([]byte, error) {
	for _, i := range rows {
		dst = append(t.AppendJSON(dst, i), '\n')
	}
	return dst, nil
}
