package stream

import (
	"fmt"
	"math"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// largeValues is the size of a message's scores after which their memory is not used again.
const largeValues = 4 << 20

// scoring scores one events message at a time, and makes the messages that answer it.
type scoring struct {
	values []byte // of the answers; the transactions keep its bytes
	start  int    // where those to the message begin
	last   int    // bytes of those to the message before
	limit  int    // largest value of one of them
	tally  tally
}

// begin begins with a message that is not read yet.
func (s *scoring) begin(t *task, r *txn.Record) {
	s.values = roomFor(s.values, s.last)
	fixed := txn.RecordBytes(&txn.Record{Key: r.Key,
		Headers: scores.LargestHeaders(answered(t, r, math.MaxInt32), t.s.o.Name)})
	s.start, s.limit, s.tally = len(s.values), max(t.s.o.Client.Limit(t.s.o.Topics.Scores)-fixed, 1), tally{}
}

// valuesBytes is the size of the memory that the scores of several messages share.
const valuesBytes = 1 << 20

// roomFor returns the memory for the scores of the next message, behind those of the messages before; last is the size
// of the last message's. It begins anew where as many again have no room: append would copy the ones before, and keep
// them all for as long as the memory is used. It begins anew behind a message that has made append do so, too.
func roomFor(values []byte, last int) []byte {
	room := max(last+last/8, valuesBytes/16)
	if cap(values)-len(values) < room || cap(values) > max(2*room, valuesBytes) {
		return make([]byte, 0, max(room, valuesBytes))
	}
	return values
}

// answered is the event of a scores message, with the headers that its scores repeat.
func answered(t *task, r *txn.Record, part int) *txn.Record {
	if t.s.o.CloudEvents == "" {
		return r
	}
	event := *r
	event.Topic, event.Partition = t.s.o.Topics.Events, t.id
	return scores.AsCloudEvent(&event, t.s.o.Name, t.s.o.CloudEvents, part)
}

// score takes the message, which the task's machine has read, into the state.
func (s *scoring) score(t *task, r *txn.Record, more func(row int) bool) error {
	t.m.BeginScores(s.limit)
	return t.m.Score(more, func(b *model.Batch, from int) (err error) {
		if s.values, err = t.m.AppendScores(s.values, b, from); err != nil {
			return fmt.Errorf("encoding the scores of offset %d: %w", r.Offset, err)
		}
		if t.s.o.OnScores != nil {
			t.s.o.OnScores(int32(t.id), b, &t.m.Scores, t.m.Part.Levels())
		}
		s.tally.add(&t.m.Scores, b.N)
		return nil
	})
}

// drop drops the scores of a message that was given up.
func (s *scoring) drop() { s.values = s.values[:s.start] }

// write adds the answers to a transaction. partial says that they lack rows of the message.
func (s *scoring) write(t *task, x *transaction, r *txn.Record, parts []codec.Part, partial bool) {
	o := &t.s.o
	judged := t.m.Judged.Event(r.Offset)
	if x.judging.kept {
		judged = x.judging.now.UnixNano()
	}
	for i, p := range parts {
		part := 0
		if len(parts) > 1 || partial {
			part = i + 1
		}
		h := scores.Headers(answered(t, r, part), o.Name, p.Rows, t.m.Part.ModelVersion())
		if judged != 0 {
			h = scores.JudgedHeader(h, judged)
		}
		if part > 0 {
			h = scores.PartHeaders(h, i, len(parts), s.limit)
		}
		x.add(stamped(o.Client, txn.Record{Topic: o.Topics.Scores, Partition: t.id, Key: r.Key, Time: r.Time, Headers: h,
			Value: s.values[p.Start:p.End:p.End]}, o.Now()))
	}
	if s.last = len(s.values) - s.start; s.last > largeValues {
		s.values, s.last = nil, 0 // most transactions need less
	}
}

// stamped returns a scores message with a timestamp that its topic takes. The message's own is in a header then.
func stamped(c *txn.Client, r txn.Record, now time.Time) txn.Record {
	at := c.Stamp(r.Topic, r.Time, now)
	if !at.Equal(r.Time) {
		r.Headers = append(r.Headers, txn.Header{Key: codec.HeaderTime, Value: []byte(txn.FormatMillis(r.Time))})
		r.Time = at
	}
	return r
}

// tally counts scores, by status, and their reasons.
type tally struct {
	rows         int
	by           [3]int
	all, against int // reasons
}

func (c *tally) add(s *model.Scores, n int) {
	c.rows += n
	for _, status := range s.Status[:n] {
		c.by[status]++
	}
	for i := range s.Why {
		if s.Why[i].Counts() {
			c.all++
		}
		if s.Why[i].Conflicts() {
			c.against++
		}
	}
}
