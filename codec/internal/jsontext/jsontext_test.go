package jsontext_test

import (
	"encoding/json"
	"testing"

	"liftstream/codec/internal/jsontext"
)

// TestEscapesAreReadAsJSONHasThem compares with encoding/json: half of a surrogate pair is a replacement character, and
// an escape that follows it is read for itself.
func TestEscapesAreReadAsJSONHasThem(t *testing.T) {
	for _, text := range []string{
		`"a\"\\\/\b\f\n\r\tz"`, `"\u0041\u20ac"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`,
		`"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u0041\ude00"`, `"\ude00\ud83d"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		p, scratch := jsontext.Parser{B: []byte(text)}, []byte(nil)
		if got, err := p.Text(&scratch); err != nil || string(got) != want || p.I != len(text) {
			t.Errorf("%s is read as %q up to byte %d of %d (%v), want %q", text, got, p.I, len(text), err, want)
		}
	}
}
