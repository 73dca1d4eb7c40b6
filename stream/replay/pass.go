package replay

import (
	"context"
	"time"

	"liftstream/stream/txn"
)

// ahead holds the messages of an answer beyond the place of a replay. A journal goes forward by a few messages at a
// time, and a fetch for each step would bring the same messages again and again.
type ahead struct {
	at      int64 // where the replay is
	records []txn.Record
	next    int64 // where they end
}

// Pass calls each for the messages of a topic from *at up to the offset to, and moves *at there.
func (m *Machine) Pass(ctx context.Context, topic string, at *int64, to int64, each func(*txn.Record)) error {
	a := m.ahead[topic]
	if a.at != *at {
		a = ahead{next: *at}
	}
	for *at < to {
		if len(a.records) == 0 && a.next <= *at {
			if m.o.Progress != nil {
				m.o.Progress(topic, *at, to)
			}
			f, err := m.o.Client.Fetch(ctx, topic, m.o.Partition, *at, 4<<20, 500*time.Millisecond)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a.records, a.next = f.Records, f.Next
		}
		for len(a.records) > 0 && a.records[0].Offset < to {
			each(&a.records[0])
			m.Release()
			a.records = a.records[1:]
		}
		if *at = to; len(a.records) == 0 {
			*at = min(a.next, to)
		}
	}
	a.at = *at
	if m.ahead == nil {
		m.ahead = map[string]ahead{}
	}
	m.ahead[topic] = a
	return nil
}

// Forget drops the messages that Pass has fetched ahead.
func (m *Machine) Forget() { m.ahead = nil }
