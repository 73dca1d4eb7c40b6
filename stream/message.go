package stream

import (
	"context"
	"fmt"
	"time"

	"liftstream/model"
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

// sliceWork is the number of cells, of rows and features, between two looks of during at the end of ctx.
const sliceWork = 1 << 12

// slice is the number of rows between two such looks.
func slice(s *model.Schema) int { return max(sliceWork/(len(s.Features)+1), 1) }

// during shows the message while f works on it, and answers questions for scores before each of its rows. f may give it
// up while it is decoded, where patience has passed since the end of ctx, and between two slices of its rows, as more
// says: there also where the grace period is half over. A message that is given up leaves a state that must be dropped.
func (t *task) during(
	ctx context.Context, topic string, r *txn.Record, patience time.Duration, f func(more func(row int) bool),
) {
	now := t.s.o.Now
	t.board.works(message{topic: topic, offset: r.Offset, since: now()})
	done := make(chan struct{})
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { close(done) }) })
	t.m.Done = done
	var ended time.Time
	look, rows := 0, slice(t.s.o.Spec.Schema)
	f(func(row int) bool {
		if t.course == working { // a state of the past answers nobody
			answerAsked(t)
		}
		if row < look {
			return true
		}
		look = row + rows
		t.board.row(row)
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
