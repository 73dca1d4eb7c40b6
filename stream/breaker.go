package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"liftstream/codec"
	"liftstream/stream/replay"
	"liftstream/stream/txn"
)

// The window over which dead letters are counted holds the fewest newest messages that are at least windowMessages and
// hold at least windowRows rows, a message that cannot be read being one row for this. So it never holds more than
// windowRows messages.
const (
	windowMessages = 100
	windowRows     = 1000
)

// deadWindow counts the bad rows of the newest messages of one topic of one partition. It is a function of those
// messages alone, so a restart that reads them again comes to the same share. The zero value is empty.
type deadWindow struct {
	ring  [windowRows + 1]windowed
	first int
	n     int // messages
	lost  int // of them, cannot be read
	rows  int // of the others
	bad   int // of rows
	// from is the first offset that counts: an operator has accepted the messages below.
	from int64
}

// windowed is one message: its rows, and how many of them are bad; rows -1 = it cannot be read.
type windowed struct{ rows, bad int }

// see counts the message at an offset, unless it is accepted.
func (w *deadWindow) see(offset int64, m windowed) {
	if offset >= w.from {
		w.add(m)
	}
}

// add counts one message; the oldest ones leave as soon as the others are enough.
func (w *deadWindow) add(m windowed) {
	w.ring[(w.first+w.n)%len(w.ring)] = m
	w.count(m, 1)
	for w.n > windowMessages {
		oldest := w.ring[w.first]
		if w.rows+w.lost-max(oldest.rows, 1) < windowRows {
			return
		}
		w.count(oldest, -1)
		w.first = (w.first + 1) % len(w.ring)
	}
}

func (w *deadWindow) count(m windowed, sign int) {
	w.n += sign
	switch {
	case m.rows < 0:
		w.lost += sign
	case m.rows == 0:
		w.rows += sign // else messages without rows would fill the ring
	default:
		w.rows += sign * m.rows
		w.bad += sign * m.bad
	}
}

// full reports whether older messages would not change the share.
func (w *deadWindow) full() bool { return w.n >= windowMessages && w.rows+w.lost >= windowRows }

// share returns lost/N + (1 - lost/N) bad/R: the bad rows among all, where a message that cannot be read stands for as
// many rows as the others have on average. N counts the messages, R the rows of the readable ones; while the window is
// not full yet, the missing messages and rows count as good.
func (w *deadWindow) share() float64 {
	lost := float64(w.lost) / float64(max(w.n, windowMessages))
	rows := max(w.rows, windowRows-w.lost)
	if rows <= 0 {
		return lost
	}
	return lost + (1-lost)*float64(w.bad)/float64(rows)
}

// weighed is a decoded message of rows good ones.
func weighed(rows int, bad []codec.RowError, err error) windowed {
	if errors.Is(err, replay.ErrTombstone) {
		return windowed{}
	}
	if err != nil {
		return windowed{rows: -1}
	}
	return windowed{rows + len(bad), len(bad)}
}

// deadWindows are the windows of events and labels.
type deadWindows struct{ events, labels deadWindow }

// tripped says, in words, that more than Options.DeadShare of the newest rows of a topic are bad; "" = they are not.
func (w *deadWindows) tripped(t *task) string {
	o := &t.s.o
	if o.DeadShare <= 0 {
		return ""
	}
	for _, x := range []struct {
		w     *deadWindow
		topic string
		next  int64
	}{{&w.events, o.Topics.Events, t.m.At.Events}, {&w.labels, o.Topics.Labels, t.m.At.Labels}} {
		share := x.w.share()
		if share <= o.DeadShare {
			continue
		}
		return fmt.Sprintf("%.3g of the newest %d messages of %s, up to offset %d, cannot be used, "+
			"more than policy.dead_share, %v; they are in %s with their reasons; correct their sender, then let it go on "+
			"with 'liftstream resume --partition %d'", share, x.w.n, x.topic, x.next-1, o.DeadShare, o.Topics.Dead, t.id)
	}
	return ""
}

// publish brings the metrics of both shares up to date.
func (w *deadWindows) publish(t *task) {
	id, gauge := strconv.Itoa(t.id), t.s.o.Metrics.DeadShare
	gauge.WithLabelValues(id, codec.StageEvents).Set(w.events.share())
	if t.s.o.Topics.Labels != "" {
		gauge.WithLabelValues(id, codec.StageLabels).Set(w.labels.share())
	}
}

// lookBack fills the windows by the messages before the restored position, unless the replay has done so.
func (o *takeover) lookBack(ctx context.Context) error {
	t, topics := o.t, &o.t.s.o.Topics
	if t.s.o.DeadShare <= 0 {
		return nil
	}
	first, at, w := o.plan.First, t.m.At, &t.windows
	first.Events, first.Labels = max(first.Events, w.events.from), max(first.Labels, w.labels.from)
	err := w.events.fill(ctx, t.m, topics.Events, first.Events, at.Events, func(r *txn.Record) windowed {
		bad, err := t.m.ReadEvents(r)
		return weighed(t.m.Rows, bad, err)
	})
	if err != nil || topics.Labels == "" {
		return err
	}
	return w.labels.fill(ctx, t.m, topics.Labels, first.Labels, at.Labels, func(r *txn.Record) windowed {
		bad, err := t.m.ReadLabels(r)
		return weighed(t.m.Labels.N, bad, err)
	})
}

// fill fills a window by the messages in [first, to), as far back as needed.
func (w *deadWindow) fill(
	ctx context.Context, m *replay.Machine, topic string, first, to int64, weigh func(r *txn.Record) windowed,
) error {
	// Transactions leave offsets without messages.
	for _, back := range []int64{2 * windowMessages, 2 * windowRows} {
		if w.full() {
			return nil
		}
		*w = deadWindow{from: w.from}
		at := max(first, to-back)
		if err := m.Pass(ctx, topic, &at, to, func(r *txn.Record) { w.add(weigh(r)) }); err != nil {
			return fmt.Errorf("looking back at %s: %w", topic, err)
		}
		if to-back <= first {
			return nil
		}
	}
	return nil
}
