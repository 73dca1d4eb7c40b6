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
	budget  Budget
	paid    int64 // of the budget
}

func (a *ahead) drop() {
	if a.budget != nil {
		a.budget.Charge(-a.paid)
	}
	a.paid, a.records, a.next = 0, nil, a.at
}

// shareWithoutBudget is the size of a fetch where no budget says another.
const shareWithoutBudget = 4 << 20

// Pass calls each for the messages of a topic from *at up to the offset to, and moves *at there.
func (m *Machine) Pass(ctx context.Context, topic string, at *int64, to int64, each func(*txn.Record)) error {
	if m.ahead == nil {
		m.ahead = map[string]*ahead{}
	}
	a := m.ahead[topic]
	if a == nil {
		a = &ahead{}
		m.ahead[topic] = a
	}
	if a.at != *at {
		a.at = *at
		a.drop()
	}
	for *at < to {
		if len(a.records) == 0 && a.next <= *at {
			if m.o.Progress != nil {
				m.o.Progress(topic, *at, to)
			}
			a.at = *at
			if err := m.fetch(ctx, topic, a); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		for len(a.records) > 0 && a.records[0].Offset < to {
			each(&a.records[0])
			m.Release()
			a.records[0] = txn.Record{}
			a.records = a.records[1:]
		}
		if *at = to; len(a.records) == 0 {
			*at = min(a.next, to)
		}
	}
	a.at = *at
	return nil
}

// fetch reads on from a.at. The messages are paid for from the budget of their topic. A machine that must wait for
// bytes drops its messages fetched ahead before: two that hold some and wait for more would wait for ever.
func (m *Machine) fetch(ctx context.Context, topic string, a *ahead) error {
	a.drop()
	share := int64(shareWithoutBudget)
	if m.o.Budget != nil {
		a.budget, share = m.o.Budget(topic)
	}
	pay := func(ctx context.Context, n int64) error {
		a.drop()
		if a.budget != nil && !a.budget.Try(n) {
			m.drop()
			if err := a.budget.Acquire(ctx, n); err != nil {
				return err
			}
		}
		a.paid = n
		return nil
	}
	if err := pay(ctx, share); err != nil {
		return err
	}
	more := pay
	if a.budget == nil {
		more = nil
	}
	f, err := m.o.Client.FetchWithin(ctx, topic, m.o.Partition, a.at, int(share), 500*time.Millisecond, more)
	if err != nil {
		a.drop()
		return err
	}
	if a.budget != nil {
		a.budget.Charge(f.Bytes - a.paid)
		a.paid = f.Bytes
	}
	a.records, a.next = f.Records, f.Next
	return nil
}

func (m *Machine) drop() {
	for _, a := range m.ahead {
		a.drop()
	}
}

// Forget drops the messages that Pass has fetched ahead.
func (m *Machine) Forget() {
	m.drop()
	m.ahead = nil
}
