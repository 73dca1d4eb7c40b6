// Package deadletter makes the dead letters of a message and reads the letters of a topic. Each bad row of a message
// gives one letter, an Arrow stream of that row alone; a message that cannot be read gives one, its value as it came.
//
// Begin at Make and Read.
package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"liftstream/codec"
	"liftstream/stream/txn"
)

const (
	// Bytes is the size that a dead letter is reckoned to have beside its row and the repeated key and headers of its
	// message.
	Bytes = 1 << 10
	// TopicBytes is added to the largest message of the other topics for the largest one of the dead letters: the
	// headers of a letter never take more.
	TopicBytes = Bytes << 10
)

// ID says which row of which message a dead letter is about; Row -1 = the whole message.
type ID struct {
	Topic  string
	Offset int64
	Row    int
}

// Origin says where a message comes from. Name is that of the stage that reads it, Stage one of the Stage constants of
// codec.
type Origin struct {
	Name, Topic, Stage string
	Partition          int
	Headers            Headers // of its letters, beside their own
}

// Letter is a dead letter. Its Record lacks the topic and partition to which it goes.
type Letter struct {
	ID
	Reason codec.Reason
	Record txn.Record
}

// Bound returns the error that stands for a message whose bad rows would make dead letters of more than four times
// largest bytes, 0 = codec.DefaultMaxMessage; nil for any other message. Letters of one message lie in memory together
// and in one transaction, and a few bytes of Arrow can stand for millions of rows.
func Bound(d *codec.Decoder, r *txn.Record, bad []codec.RowError, largest int64) error {
	if len(bad) == 0 {
		return nil
	}
	each := int64(Bytes + len(r.Key) + len(d.DeadRow(r.Value, bad[0].Row)))
	for _, h := range r.Headers {
		each += int64(len(h.Key) + len(h.Value))
	}
	if int64(len(bad))*each <= 4*cmp.Or(largest, codec.DefaultMaxMessage) {
		return nil
	}
	return &codec.MessageError{Reason: codec.ReasonTooLarge,
		Err: fmt.Errorf("dead letters of %d rows, the first of them %w", len(bad), bad[0])}
}

// Make calls write for each dead letter of the message r, the last one that d has read, with the bad rows or the error
// that it has returned. now becomes the time at which the message was first seen: of one that was refused for its time,
// or a row of it, the time by which it was judged. A header has the timestamp of the message: that of the letter may be
// another.
func Make(
	d *codec.Decoder, r *txn.Record, from Origin, bad []codec.RowError, err error, now time.Time, write func(Letter),
) {
	at := r.Time
	if at.After(now) || at.Before(time.Unix(0, 0)) && !at.IsZero() {
		at = now // brokers refuse times that are too far from theirs
	}
	letter := func(value []byte, reason codec.Reason, text string, row int32) {
		h := slices.Clone(r.Headers)
		put := func(k, v string) { h = append(h, txn.Header{Key: k, Value: []byte(v)}) }
		put(codec.HeaderName, from.Name) // first, so that builds of before take it for one of the message
		put(codec.DeadReason, string(reason))
		from.Headers.put(from, r.Offset, reason, text, put) // after the reason, so that readers know them for its own
		put(codec.DeadStage, from.Stage)
		put(codec.DeadError, text)
		put(codec.DeadTopic, from.Topic)
		put(codec.DeadPartition, strconv.Itoa(from.Partition))
		put(codec.DeadOffset, strconv.FormatInt(r.Offset, 10))
		if r.Next() > r.Offset+1 {
			put(codec.DeadLast, strconv.FormatInt(r.Next()-1, 10))
		}
		if r.Unread != nil {
			put(codec.DeadOmitted, "all")
		}
		if row >= 0 {
			put(codec.DeadRow, strconv.Itoa(int(row)))
		}
		if r.Unread == nil {
			put(codec.HeaderTime, txn.FormatMillis(r.Time))
		}
		put(codec.DeadFirstSeen, now.UTC().Format(time.RFC3339Nano))
		write(Letter{ID{from.Topic, r.Offset, int(row)}, reason,
			txn.Record{Key: r.Key, Value: value, Time: at, Headers: h}})
	}
	if err != nil {
		reason := codec.ReasonDamaged
		var m *codec.MessageError
		if errors.As(err, &m) {
			reason = m.Reason
		}
		letter(r.Value, reason, err.Error(), -1)
		return
	}
	for _, b := range bad {
		letter(d.DeadRow(r.Value, b.Row), b.Reason, b.Error(), b.Row)
	}
}

// Fit returns a letter that takes at most limit bytes, as txn.Client.Limit tells them of its topic. It leaves out, as
// far as needed, the value, then the key and the headers of the message, of which there are so many; a header says
// how many bytes are missing. The message itself is in its own topic.
func Fit(r txn.Record, copied, limit int) txn.Record {
	const note = 64 // the added header
	size := txn.RecordBytes(&r)
	if size <= limit {
		return r
	}
	whole := size
	r.Value = []byte{}
	if size = txn.RecordBytes(&r); size+note > limit {
		r.Key, r.Headers = nil, slices.Clone(r.Headers[copied:])
		if over := txn.RecordBytes(&r) + note - limit; over > 0 {
			for i, h := range r.Headers {
				if h.Key == codec.DeadError {
					r.Headers[i].Value = h.Value[:max(len(h.Value)-over, 0)]
				}
			}
		}
		size = txn.RecordBytes(&r)
	}
	r.Headers = append(slices.Clip(r.Headers), txn.Header{Key: codec.DeadOmitted, Value: strconv.AppendInt(nil,
		int64(whole-size), 10)})
	return r
}

// Known are dead letters that lie in their topic.
type Known struct {
	IDs map[ID]bool
	// Judged has, by messages (Row -1), the times by which messages were judged that were refused for their own times,
	// or rows of them.
	Judged map[ID]time.Time
}

// Read returns the dead letters of a stage, of one partition of its input, that a partition of the dead-letter topic
// holds from offset from on, up to its last stable offset. Letters of before, without a name, are taken for its own.
func Read(ctx context.Context, c *txn.Client, topic string, partition int, name string, from int64, input int) (
	Known, error,
) {
	out := Known{map[ID]bool{}, map[ID]time.Time{}}
	start, end, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return out, fmt.Errorf("reading the dead letters: %w", err)
	}
	if _, err := c.Read(ctx, topic, partition, max(start, from), end, func(r *txn.Record) {
		x, ok := ReadReport(r)
		if !ok || x.Partition != input || x.Name != "" && x.Name != name {
			return
		}
		out.IDs[x.ID] = true
		if x.Reason.Untimely() && !x.FirstSeen.IsZero() {
			out.Judged[ID{x.Topic, x.Offset, -1}] = x.FirstSeen
		}
	}); err != nil {
		return out, fmt.Errorf("reading the dead letters: %w", err)
	}
	return out, nil
}
