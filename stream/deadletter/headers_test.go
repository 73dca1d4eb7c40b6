package deadletter_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
)

// TestHeadersOfOtherSystems: a letter has them where they are asked for, readers know them for its own, and its message
// has the headers that it had.
func TestHeadersOfOtherSystems(t *testing.T) {
	d, r, _ := received(t)
	fault := &codec.MessageError{Reason: codec.ReasonSchema, Err: errors.New("by the test")}
	for style, c := range map[deadletter.Headers]struct {
		prefix string
		want   map[string]string
	}{
		deadletter.HeadersOwn: {"__", map[string]string{}},
		deadletter.HeadersConnect: {"__connect.errors.", map[string]string{"topic": "events", "partition": "4",
			"offset": "12", "exception.class.name": "liftstream.schema", "exception.message": fault.Error(),
			"connector.name": "s",
			"task.id":        "4", "stage": "VALUE_CONVERTER"}},
		deadletter.HeadersStreams: {"__streams.errors.", map[string]string{"topic": "events", "partition": "4",
			"offset": "12", "exception": "liftstream.schema", "message": fault.Error()}},
	} {
		from := deadletter.Origin{Name: "s", Topic: "events", Stage: codec.StageEvents, Partition: 4, Headers: style}
		var got deadletter.Letter
		deadletter.Make(d, r, from, nil, fault, time.Unix(9, 0), func(l deadletter.Letter) { got = l })
		found := map[string]string{}
		for _, h := range got.Record.Headers {
			if name, ok := strings.CutPrefix(h.Key, c.prefix); ok {
				found[name] = string(h.Value)
			}
		}
		if !maps.Equal(found, c.want) {
			t.Errorf("style %d: %v, want %v", style, found, c.want)
		}
		x, ok := deadletter.ReadReport(&got.Record)
		if !ok || x.Name != "s" || x.Offset != 12 || len(x.Headers) != 1 || x.Headers[0].Key != "trace" {
			t.Errorf("style %d is read as %v, %+v", style, ok, x)
		}
	}
}
