package codec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// line reads one message under one schema, with the id 1.
func line(schema string, datum []byte) (string, error) {
	p := Plain{Schemas: schemas{1: schema}, Avro: true, Most: 1000}
	out, err := p.Line(framed(1, datum), nil)
	return string(out), err
}

// TestLinesOfAvro: every type of Avro as JSON, the values encoded by another library.
func TestLinesOfAvro(t *testing.T) {
	got, err := line(oddSchema, oddValue(t))
	if err != nil || !json.Valid([]byte(got)) {
		t.Fatalf("%s, %v", got, err)
	}
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got), &v); err != nil {
		t.Fatal(err)
	}
	for name, want := range oddLine {
		if string(v[name]) != want {
			t.Errorf("%s: %s, want %s", name, v[name], want)
		}
	}
	one := func(kind string) string {
		return `{"type":"record","name":"R","fields":[{"name":"v","type":` + kind + `}]}`
	}
	for _, c := range []struct{ kind, datum, want string }{
		{`"bytes"`, "\x04\x01\xff", `"01ff"`},
		{`{"type":"fixed","name":"F","size":2}`, "ab", `"6162"`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "\x04\xff\x85", "-1.23"},
		{`{"type":"int","logicalType":"date"}`, "\x04", `"1970-01-03T00:00:00Z"`},
		{`{"type":"long","logicalType":"timestamp-millis"}`, "\x02", `"1970-01-01T00:00:00.001Z"`},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, "\x01", `"1969-12-31T23:59:59.999999999Z"`},
		{`"double"`, "\x00\x00\x00\x00\x00\x00\xf8\x7f", "null"},
		{`"float"`, "\xcd\xcc\xcc\x3d", "0.1"},
		{`{"type":"map","values":"int"}`, "\x02\x02a\x04\x00", `{"a":2}`},
		{`{"type":"array","items":"int"}`, "\x03\x04\x02\x04\x02\x06\x00", `[1,2,3]`},
		{`["null",{"type":"enum","name":"E","symbols":["s","m"]}]`, "\x02\x02", `"m"`},
		{`"string"`, "\x06a\xffb", `"a` + "\uFFFD" + `b"`},
	} {
		if got, err := line(one(c.kind), []byte(c.datum)); err != nil || got != `{"v":`+c.want+`}` {
			t.Errorf("%s: %s, %v; want %s", c.kind, got, err, c.want)
		}
	}
}

// TestFaultsOfFramedMessages: each is an error with its reason, and no message needs more room or work than its bound.
func TestFaultsOfFramedMessages(t *testing.T) {
	const list = `{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"array","items":"null"}}]}`
	const deep = `{"type":"record","name":"R","fields":[{"name":"v","type":["null","R"]}]}`
	for _, c := range []struct {
		name, schema, datum string
		want                Reason
	}{
		{"more items than work", list, "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", ReasonTooLarge},
		{"a longer line than the bound", list, "\xd0\x0f\x00", ReasonTooLarge},
		{"records too deep in each other", deep, strings.Repeat("\x02", 500) + "\x00", ReasonTooLarge},
		{"an end inside", deep, "\x02", ReasonTruncated},
		{"bytes behind", deep, "\x00\x00", ReasonTrailing},
		{"no branch", deep, "\x04", ReasonDamaged},
		{"the least count", list, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ReasonDamaged},
		{"no record", `"int"`, "\x02", ReasonSchema},
		{"no schema", `{`, "\x02", ReasonSchema},
	} {
		_, err := line(c.schema, []byte(c.datum))
		var m *MessageError
		if !errors.As(err, &m) || m.Reason != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	done := make(chan struct{})
	close(done)
	if _, err := (&Plain{Schemas: schemas{}}).Line(framed(99, nil), done); !errors.Is(err, ErrStopped) {
		t.Errorf("a registry that is away: %v", err)
	}
	for _, p := range []*Plain{{}, {Schemas: schemas{}}} {
		var m *MessageError
		if _, err := p.Line(framed(3, []byte("x")), nil); !errors.As(err, &m) || m.Reason != ReasonUnknownSchema {
			t.Errorf("an unknown id: %v", err)
		}
	}
	for value, want := range map[string]string{"": "", "\x00\x00\x00\x00": "", "{}": "", "\xff\xff\xff\xff\x00": "",
		"\x00\x00\x00\x00\x09{}": "{}", "\x00\x00\x00\x00\x09 \n{}": "{}"} {
		if got, err := (&Plain{}).Line([]byte(value), nil); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}

// FuzzPlain: any schema with any bytes gives an error or valid JSON within its bound.
func FuzzPlain(f *testing.F) {
	f.Add(oddSchema, oddValue(f))
	f.Add(`{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"map","values":["null","R","bytes"]}}]}`,
		[]byte{2, 2, 'a', 2, 0, 0})
	f.Add(`{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"array","items":"null"}}]}`, []byte{1, 2, 0})
	f.Fuzz(func(t *testing.T, schema string, datum []byte) {
		out, err := line(schema, datum)
		var m *MessageError
		if err != nil && !errors.As(err, &m) {
			t.Fatal(err)
		}
		if err == nil && !json.Valid([]byte(out)) {
			t.Fatalf("no JSON: %s", out)
		}
	})
}

// oddLine has the values of oddValue as JSON.
var oddLine = map[string]string{"x": "-123.45", "f": "0.5", "i": "-7", "b": "true",
	"at": `"2023-11-14T22:13:20.000001Z"`, "day": `"1971-01-01T00:00:00Z"`, "e": `"m"`, "e2": `"s"`,
	"who": `"7c9e6679-7425-40de-944b-e07fc1f90ae7"`, "home": `{"city":"Oslo","geo":{"lat":59.9}}`, "many": `"text"`,
	"big": "-136112946768375385385349842972707284582.4"}
