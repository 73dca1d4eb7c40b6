package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// UnmarshalJSON reads a number, or null as NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*n = Number(math.NaN())
		return nil
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*n = Number(v)
	return nil
}

// UnmarshalJSON reads the object in the order of its entries.
func (t *Tests) UnmarshalJSON(b []byte) error {
	*t = nil
	return members(b, func(key string, d *json.Decoder) error {
		x := Test{Feature: key}
		if err := d.Decode(&x.Cell); err != nil {
			return fmt.Errorf("reading the cell of %q: %w", key, err)
		}
		*t = append(*t, x)
		return nil
	})
}

// UnmarshalJSON reads the object in the order of its entries.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	*s = nil
	return members(b, func(key string, d *json.Decoder) error {
		x := Second{Step: key}
		if err := d.Decode(&x.Seconds); err != nil {
			return fmt.Errorf("reading the seconds of %q: %w", key, err)
		}
		*s = append(*s, x)
		return nil
	})
}

// members calls read for each entry of a JSON object, null has none; read takes the value from the decoder.
func members(b []byte, read func(key string, d *json.Decoder) error) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("reading an object: %s is none", b[:min(len(b), 40)])
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("reading a key: %w", err)
		}
		if err := read(key.(string), d); err != nil {
			return err
		}
	}
	return nil
}
