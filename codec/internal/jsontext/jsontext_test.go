package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"liftstream/codec/internal/jsontext"
)

// TestEscapesAreReadAsJSONHasThem compares with encoding/json, where half of a surrogate pair is a replacement
// character, and an escape that follows it is read for itself. Here a half is three bytes that are not UTF-8.
func TestEscapesAreReadAsJSONHasThem(t *testing.T) {
	for _, text := range []string{
		`"a\"\\\/\b\f\n\r\tz"`, `"\u0041\u20ac"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`,
		`"\ud800"`, `"\udfff"`, `"\uffff"`, `"\ufffd"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`,
		`"\ud83d\u0041\ude00"`, `"\ude00\ud83d"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		p, scratch := jsontext.Parser{B: []byte(text)}, []byte(nil)
		got, err := p.Text(&scratch)
		if err != nil || replaced(string(got)) != want || p.I != len(text) {
			t.Errorf("%s is read as %q up to byte %d of %d (%v), want %q", text, got, p.I, len(text), err, want)
		}
	}
}

// replaced has one replacement character in place of each half of a surrogate pair.
func replaced(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			n = 3
		}
		b.WriteRune(r)
		text = text[n:]
	}
	return b.String()
}

// TestHalvesOfPairsAreNoText: they are bytes that are not UTF-8, different ones for each half.
func TestHalvesOfPairsAreNoText(t *testing.T) {
	for text, want := range map[string]string{`"\ud800"`: "\xed\xa0\x80", `"\udbff"`: "\xed\xaf\xbf",
		`"\udc00"`: "\xed\xb0\x80", `"\uDFFF!"`: "\xed\xbf\xbf!"} {
		p, scratch := jsontext.Parser{B: []byte(text)}, []byte(nil)
		if got, err := p.Text(&scratch); err != nil || string(got) != want {
			t.Errorf("%s is % x, want % x (%v)", text, got, want, err)
		}
	}
}
