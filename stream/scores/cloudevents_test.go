package scores_test

import (
	"math"
	"testing"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// TestCloudEvents: the attributes of an event that speak of itself give way, the others stay, and the name of the stage
// is found behind them.
func TestCloudEvents(t *testing.T) {
	event := &txn.Record{Topic: "t", Partition: 3, Offset: 12, Time: time.UnixMilli(1500).In(time.FixedZone("x", 3600)),
		Headers: []txn.Header{header("ce_specversion", "1.0"), header("ce_id", "7"), header("ce_type", "visit"),
			header("ce_source", "shop"), header("ce_time", "2020-01-01T00:00:00Z"), header("ce_dataschema", "urn:x"),
			header("content-type", "text/plain"), header("ce_subject", "anna"), header("ce_traceparent", "00-1"),
			header("trace", "7")}}
	whole, part := scores.AsCloudEvent(event, "shop", "application/json", 0), scores.AsCloudEvent(event, "shop", "x", 2)
	answer := &txn.Record{Headers: scores.Headers(whole, "shop", 1, 9)}
	got := map[string]string{}
	for _, h := range answer.Headers {
		if _, twice := got[h.Key]; twice {
			t.Errorf("%s is there twice", h.Key)
		}
		got[h.Key] = string(h.Value)
	}
	for k, v := range map[string]string{"ce_specversion": "1.0", "ce_id": "t/3/12", "ce_type": "liftstream.score",
		"ce_source": "liftstream/shop", "ce_time": "1970-01-01T00:00:01.5Z", "content-type": "application/json",
		"ce_subject": "anna", "ce_traceparent": "00-1", "trace": "7"} {
		if got[k] != v {
			t.Errorf("%s: %q, want %q", k, got[k], v)
		}
	}
	if _, ok := got["ce_dataschema"]; ok || scores.NameOf(answer) != "shop" || len(event.Headers) != 10 {
		t.Errorf("headers %v of the stage %q; the event has %d", got, scores.NameOf(answer), len(event.Headers))
	}
	if id := lastOf(part.Headers, "ce_id"); id != "t/3/12/2" {
		t.Errorf("the second part has the id %s", id)
	}
	if id := lastOf(scores.AsCloudEvent(event, "shop", "x", 1).Headers, "ce_id"); id != "t/3/12/1" {
		t.Errorf("the first of several parts has the id %s", id)
	}
	event.Time = time.Time{}
	if at := lastOf(scores.AsCloudEvent(event, "shop", "x", 0).Headers, "ce_time"); at != "" {
		t.Errorf("an event without a time has %s", at)
	}
	largest := txn.RecordBytes(&txn.Record{Headers: scores.AsCloudEvent(event, "shop", "x", math.MaxInt32).Headers})
	if n := txn.RecordBytes(&txn.Record{Headers: part.Headers}); n > largest+len("1970-01-01T00:00:01.5Z")+16 {
		t.Errorf("a part has headers of %d bytes, the largest %d", n, largest)
	}
}
