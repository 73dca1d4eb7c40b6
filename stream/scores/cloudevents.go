package scores

import (
	"slices"
	"strconv"
	"time"

	"liftstream/stream/txn"
)

// CloudEventType is the attribute type of a message of scores.
const CloudEventType = "liftstream.score"

// contentType is the header of the media type of a value, by the binding of CloudEvents for Kafka.
const contentType = "content-type"

// replaced are the headers of an event that say something about the event itself.
var replaced = []string{"ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "ce_dataschema", contentType}

// AsCloudEvent returns the event with the headers of its scores as a CloudEvent in binary mode (CloudEvents 1.0, Kafka
// protocol binding, 3.2): those of the stage in place of the event's own. ce_id is TOPIC/PARTITION/OFFSET
// of the event, and /PART behind it for part counted from 1, 0 = the message has no parts: equal for scores that are
// made again. ce_time is the time of the event, ce_subject and extensions stay. The result shares all but the headers.
func AsCloudEvent(event *txn.Record, name, content string, part int) *txn.Record {
	out := *event
	out.Headers = slices.DeleteFunc(slices.Clone(event.Headers), func(h txn.Header) bool {
		return slices.Contains(replaced, h.Key)
	})
	id := strconv.AppendInt(append([]byte(event.Topic), '/'), int64(event.Partition), 10)
	id = strconv.AppendInt(append(id, '/'), event.Offset, 10)
	if part > 0 {
		id = strconv.AppendInt(append(id, '/'), int64(part), 10)
	}
	add := func(key, value string) {
		out.Headers = append(out.Headers, txn.Header{Key: key, Value: []byte(value)})
	}
	add("ce_specversion", "1.0")
	add("ce_id", string(id))
	add("ce_source", "liftstream/"+name)
	add("ce_type", CloudEventType)
	if !event.Time.IsZero() {
		add("ce_time", event.Time.UTC().Format(time.RFC3339Nano))
	}
	add(contentType, content)
	return &out
}
