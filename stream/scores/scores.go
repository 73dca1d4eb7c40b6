// Package scores knows the messages of the scores topic: the headers that name the event of each, and how far the
// topic answers the events.
//
// Begin at Headers, which a stage writes, and at ReadTail, which a takeover reads.
package scores

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"liftstream/codec"
	"liftstream/stream/txn"
)

// Headers of a scores message, beside those of its event.
const (
	HeaderRows   = "liftstream-rows"
	HeaderModel  = "liftstream-model"
	HeaderOffset = "liftstream-offset" // of the event that it answers
	HeaderName   = codec.HeaderName
	// HeaderPart is there where the scores of one event do not fit into one message: "2/3" is the second of three.
	// HeaderLimit is the largest value that they were made for.
	HeaderPart  = "liftstream-part"
	HeaderLimit = "liftstream-limit"
	// HeaderJudged is there where the event, or one before it in the same transaction, was refused for its time, or a row
	// of it: the time by which the event was judged, in Unix nanoseconds.
	HeaderJudged = "liftstream-judged"
)

// Headers returns the headers of the scores message with which the stage of that name answers an event, of so many
// rows, scored with that version of the model: those of the event, without the two that describe the event's own value,
// then the stage's.
func Headers(event *txn.Record, name string, rows int, version int64) []txn.Header {
	out := make([]txn.Header, 0, len(event.Headers)+4)
	for _, h := range event.Headers {
		if h.Key != codec.HeaderRows && h.Key != codec.HeaderCRC32C {
			out = append(out, h)
		}
	}
	return append(out,
		txn.Header{Key: HeaderName, Value: []byte(name)},
		txn.Header{Key: HeaderRows, Value: strconv.AppendInt(nil, int64(rows), 10)},
		txn.Header{Key: HeaderModel, Value: strconv.AppendInt(nil, version, 10)},
		txn.Header{Key: HeaderOffset, Value: strconv.AppendInt(nil, event.Offset, 10)})
}

// PartHeaders adds the headers of part i of n to those of a message.
func PartHeaders(h []txn.Header, i, n, limit int) []txn.Header {
	return append(h, txn.Header{Key: HeaderPart, Value: fmt.Appendf(nil, "%d/%d", i+1, n)},
		txn.Header{Key: HeaderLimit, Value: strconv.AppendInt(nil, int64(limit), 10)})
}

// LargestHeaders returns headers at least as large as those of any message that answers the event: every header of the
// stage, each with its longest value.
func LargestHeaders(event *txn.Record, name string) []txn.Header {
	h := PartHeaders(Headers(event, name, math.MaxInt32, math.MaxInt64), math.MaxInt32-1, math.MaxInt32, math.MaxInt32)
	return append(JudgedHeader(h, math.MinInt64), txn.Header{Key: codec.HeaderTime,
		Value: strconv.AppendInt(nil, math.MinInt64, 10)})
}

// NameOf returns the name of the stage that has written a scores message, "" where it does not say: builds of before
// wrote none. The event may be a scores message itself, of another stage, whose headers come first: the name stands
// before the other headers of the stage, as Headers writes them.
func NameOf(r *txn.Record) string {
	at := len(r.Headers) - 1
	for at >= 0 && r.Headers[at].Key != HeaderOffset {
		at--
	}
	if at < 3 || r.Headers[at-1].Key != HeaderModel || r.Headers[at-2].Key != HeaderRows ||
		r.Headers[at-3].Key != HeaderName {
		return ""
	}
	return string(r.Headers[at-3].Value)
}

// Other returns the name in a scores message where it is another one than the given, else "".
func Other(r *txn.Record, name string) string { return otherThan(NameOf(r), name) }

// OtherPublisher is Other of the headers of a model.
func OtherPublisher(headers []txn.Header, name string) string {
	for _, h := range headers {
		if h.Key == HeaderName {
			return otherThan(string(h.Value), name)
		}
	}
	return ""
}

func otherThan(of, name string) string {
	if of != name {
		return of
	}
	return ""
}

// LastName returns the name of the stage that has written the newest scores message of a partition, "" where there is
// none, or it does not say. It looks at the last 64 offsets or more: behind the last message lie the markers of
// transactions, and, after crashes, aborted messages.
func LastName(ctx context.Context, c *txn.Client, topic string, partition int) (name string, err error) {
	start, stable, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return "", fmt.Errorf("reading the scores: %w", err)
	}
	for high, step := stable, int64(2); high > start && stable-high < 64; step *= 2 {
		floor := max(high-step, start)
		found := false
		if _, err := c.Read(ctx, topic, partition, floor, high, func(r *txn.Record) {
			if _, err := EventOf(r); err == nil {
				found, name = true, NameOf(r)
			}
		}); err != nil {
			return "", fmt.Errorf("reading the scores: %w", err)
		}
		if found {
			return name, nil
		}
		high = floor
	}
	return "", nil
}

// JudgedHeader adds the header of a judgement.
func JudgedHeader(h []txn.Header, judged int64) []txn.Header {
	return append(h, txn.Header{Key: HeaderJudged, Value: strconv.AppendInt(nil, judged, 10)})
}

// own returns the value of a header that the stage has written behind HeaderOffset. The headers of the event come
// before, and may have the same names.
func own(r *txn.Record, name string) (value []byte, ok bool) {
	for _, h := range slices.Backward(r.Headers) {
		switch h.Key {
		case name:
			return h.Value, true
		case HeaderOffset:
			return nil, false
		}
	}
	return nil, false
}

// LimitOf returns the limit for which a scores message was made; 0 where it answers its event alone.
func LimitOf(r *txn.Record) int {
	limit, _ := own(r, HeaderLimit)
	n, _ := strconv.Atoi(string(limit))
	return n
}

// TimeOf returns the timestamp of the event that a scores message answers.
func TimeOf(r *txn.Record) time.Time {
	if at, ok := own(r, codec.HeaderTime); ok {
		if t, ok := txn.ParseMillis(string(at)); ok {
			return t
		}
	}
	return r.Time
}

// Answer says which event a scores message answers, and by which time that was judged, 0 = it was not.
type Answer struct{ Event, Judged int64 }

// Since returns the answers of a stage to the events in [first, end) in the order of the topic. They are its last ones
// there, and none lies before the offset from.
func Since(ctx context.Context, c *txn.Client, topic string, partition int, name string, from, first, end int64) (
	out []Answer, err error,
) {
	start, high, err := c.Bounds(ctx, topic, partition)
	before := false // an answer to an event before the first was met
	for low, step := max(start, from), int64(64); err == nil && !before && high > low; step *= 8 {
		floor := max(high-step, low)
		var found []Answer
		_, err = c.Read(ctx, topic, partition, floor, high, func(r *txn.Record) {
			of, err := EventOf(r)
			if err != nil || Other(r, name) != "" || r.Offset >= high { // Read may go beyond
				return
			}
			if before = before || of < first; of < first || of >= end {
				return
			}
			judged, _ := own(r, HeaderJudged)
			at, _ := strconv.ParseInt(string(judged), 10, 64)
			found = append(found, Answer{of, at})
		})
		out, high = append(found, out...), floor
	}
	if err != nil {
		return nil, fmt.Errorf("reading the scores: %w", err)
	}
	return out, nil
}

var errForeign = errors.New("somebody else writes to the scores topic")

// EventOf returns the offset of the event that a scores message answers.
func EventOf(r *txn.Record) (int64, error) {
	for _, h := range slices.Backward(r.Headers) { // the event's own headers come first
		if h.Key == HeaderOffset {
			of, err := strconv.ParseInt(string(h.Value), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("scores message %d: %w", r.Offset, err)
			}
			return of, nil
		}
	}
	return 0, fmt.Errorf("scores message %d has no header %s: %w", r.Offset, HeaderOffset, errForeign)
}

// Tail says how far the messages at the end of the scores topic answer the events.
type Tail struct {
	Next  int64 // one past the last event that has scores, -1 = none has
	Known bool  // false where retention has taken the messages that would tell
	// Anew: the topic ends before the offset from which on the messages were to lie, so it was made anew since.
	Anew bool
}

// ReadTail reads the messages of a stage in a partition of the scores topic backward, down to the offset from, until
// one answers an event below the offset end. Messages that answer events which do not exist, or name another stage,
// come from another writer.
func ReadTail(ctx context.Context, c *txn.Client, topic string, partition int, name string, from, end int64) (
	Tail, error,
) {
	start, stable, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return Tail{}, fmt.Errorf("reading the scores: %w", err)
	}
	if stable < from {
		return Tail{Next: -1, Anew: true}, nil
	}
	low := max(start, from)
	next := int64(-1)
	for high, step := stable, int64(64); next < 0 && high > low; step *= 8 {
		floor := max(high-step, low)
		if _, err := c.Read(ctx, topic, partition, floor, high, func(r *txn.Record) {
			if of, err := EventOf(r); err == nil && of < end && Other(r, name) == "" {
				next = max(next, of+1)
			}
		}); err != nil {
			return Tail{}, fmt.Errorf("reading the scores: %w", err)
		}
		high = floor
	}
	return Tail{Next: next, Known: next >= 0 || start <= from}, nil
}
