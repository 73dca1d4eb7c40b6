package deadletter

import (
	"strconv"
	"time"

	"liftstream/codec"
	"liftstream/stream/txn"
)

// HeaderReplays is the header of a message that was sent again from a dead letter: how often, in decimal. A letter that
// its message becomes once more keeps it, so a loop shows.
const HeaderReplays = "liftstream-replays"

// HeaderLetter is the header of a message that was sent again: TOPIC/PARTITION/OFFSET of the dead letter.
const HeaderLetter = "liftstream-letter"

// former has the names of the headers that dead letters had before they got a prefix.
var former = map[string]string{
	"reason": codec.DeadReason, "stage": codec.DeadStage, "error": codec.DeadError, "topic": codec.DeadTopic,
	"partition": codec.DeadPartition, "offset": codec.DeadOffset, "row": codec.DeadRow, "first_seen": codec.DeadFirstSeen,
}

// Report has the facts in the headers of a dead letter.
type Report struct {
	ID
	Name      string // of the stage that wrote the letter; "" in those of before
	Partition int    // of the message
	Reason    codec.Reason
	Stage     string
	Error     string
	FirstSeen time.Time    // zero where the header cannot be read
	Time      time.Time    // timestamp of the message, zero = it had none
	Timed     bool         // Time is known; else it is that of the letter
	Last      int64        // offset of the last message, where the letter is of several; else 0
	Omitted   bool         // the letter does not hold all of the message
	Replays   int          // how often the message had been sent again before it died
	Headers   []txn.Header // of the message
}

// ReadReport reads the headers of a record of the dead-letter topic; ok is false where it is no dead letter. The stage
// writes its headers after those of the message, which may have the same names: only the last ones count.
func ReadReport(r *txn.Record) (x Report, ok bool) {
	x = Report{ID: ID{Row: -1}, Partition: -1, Time: r.Time}
	n := len(r.Headers)
	if n == 0 {
		return x, false
	}
	offset := int64(-1)
	old := r.Headers[n-1].Key == "first_seen"
	for i := n - 1; i >= 0; i-- {
		name, value := r.Headers[i].Key, string(r.Headers[i].Value)
		if old {
			name = former[name]
		}
		var err error
		switch name {
		case codec.DeadFirstSeen:
			x.FirstSeen, _ = time.Parse(time.RFC3339Nano, value)
		case codec.DeadRow:
			x.Row, err = strconv.Atoi(value)
		case codec.DeadLast:
			x.Last, err = strconv.ParseInt(value, 10, 64)
		case codec.DeadOmitted:
			x.Omitted = true
		case codec.DeadOffset:
			offset, err = strconv.ParseInt(value, 10, 64)
		case codec.DeadPartition:
			x.Partition, err = strconv.Atoi(value)
		case codec.DeadTopic:
			x.Topic = value
		case codec.DeadError:
			x.Error = value
		case codec.DeadStage:
			x.Stage = value
		case codec.DeadReason:
			x.Reason, x.Offset, x.Headers = codec.Reason(value), offset, r.Headers[:i:i]
			if i > 0 && r.Headers[i-1].Key == codec.HeaderName && !old {
				x.Name, x.Headers = string(r.Headers[i-1].Value), r.Headers[:i-1:i-1]
			}
			x.again(r)
			return x, offset >= 0 && x.Partition >= 0 && x.Topic != ""
		case codec.HeaderTime:
			if t, ok := txn.ParseMillis(value); ok {
				x.Time, x.Timed = t, true
			}
		default:
			if !further(name) {
				return x, false
			}
		}
		if err != nil {
			return x, false
		}
	}
	return x, false
}

// again takes note of how often the message was sent again, and of its time before: its topic may have given it another
// one. Letters of former builds have no time in a header, and may have been given the time at which they were written,
// by the stage or by the broker: that is not before the message was first seen.
func (x *Report) again(r *txn.Record) {
	if !x.Timed {
		x.Timed = r.Time.IsZero() || !x.FirstSeen.IsZero() && r.Time.UnixMilli() < x.FirstSeen.UnixMilli()
	}
	for _, h := range x.Headers {
		switch h.Key {
		case HeaderReplays:
			if k, err := strconv.Atoi(string(h.Value)); err == nil && k > 0 {
				x.Replays = k
			}
		case codec.HeaderTime:
			if t, ok := txn.ParseMillis(string(h.Value)); ok && x.Replays > 0 {
				x.Time, x.Timed = t, true
			}
		}
	}
}
