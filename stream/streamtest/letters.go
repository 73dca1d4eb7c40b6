package streamtest

import (
	"context"
	"net"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// WriteLetters writes the dead letters of messages of partition 0 of the events, as the stage does that sees them at a
// time and cannot read them for that error. change, where set, changes each letter before.
func (w *World) WriteLetters(because error, seen time.Time, change func(*txn.Record), messages ...txn.Record) {
	w.T.Helper()
	d, err := codec.NewDecoder(w.Codec())
	if err != nil {
		w.T.Fatal(err)
	}
	from := deadletter.Origin{Name: w.Name, Topic: w.Topics.Events, Stage: codec.StageEvents}
	var out []txn.Record
	for i := range messages {
		deadletter.Make(d, &messages[i], from, nil, because, seen, func(l deadletter.Letter) {
			l.Record.Topic = w.Topics.Dead
			if change != nil {
				change(&l.Record)
			}
			out = append(out, l.Record)
		})
	}
	if err := w.Client.Produce(context.Background(), out, txn.None); err != nil {
		w.T.Fatal(err)
	}
}

// SlowClient returns a client. The connections that it opens while slow says so take so many bytes a second.
func (w *World) SlowClient(rate int, slow func() bool) *txn.Client {
	c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: func(ctx context.Context, network, address string) (
		net.Conn, error,
	) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil || !slow() {
			return c, err
		}
		return Slow(c, rate), nil
	}})
	w.T.Cleanup(c.Close)
	return c
}
