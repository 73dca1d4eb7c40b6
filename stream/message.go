package stream

import (
	"context"
	"fmt"
	"time"

	"liftstream/stream/txn"
)

// longMessage is how long the work on one message may take before the stage shows it. Until then it is ready.
const longMessage = 5 * time.Second

// message is the message that a task works on, under the mu of its board.
type message struct {
	topic  string
	offset int64
	row    int       // next one
	since  time.Time // zero = there is none
}

// long returns the message in words where the work on it takes long, "" where not.
func (m *message) long(now time.Time) string {
	if m.since.IsZero() || now.Sub(m.since) < longMessage {
		return ""
	}
	return fmt.Sprintf("a long message: offset %d of %s, row %d, for %v", m.offset, m.topic, m.row,
		now.Sub(m.since).Round(time.Second))
}

// during shows the message while f works on it. f may give it up while it is decoded, where patience has passed since
// the end of ctx, and between two slices of its rows, as more says: there also where the grace period is half over. A
// message that is given up leaves a state that must be dropped.
func (t *task) during(
	ctx context.Context, topic string, r *txn.Record, patience time.Duration, f func(more func(row int) bool),
) {
	now := t.s.o.Now
	t.board.works(message{topic: topic, offset: r.Offset, since: now()})
	done := make(chan struct{})
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { close(done) }) })
	t.m.Done = done
	var ended time.Time
	f(func(row int) bool {
		t.board.row(row)
		if t.course == working { // a state of the past answers nobody
			answerAsked(t)
		}
		if ctx.Err() == nil {
			return true
		}
		if ended.IsZero() {
			ended = now()
		}
		return now().Sub(ended) < patience && !t.s.hurried()
	})
	forget()
	t.m.Done = nil
	t.board.works(message{})
}

// patience is how long a task goes on with a message after the stage or its generation has ended: a message that is
// nearly done is worth it, since the next owner does one that is given up from its first row.
func (t *task) patience() time.Duration { return t.s.o.Grace / 8 }
