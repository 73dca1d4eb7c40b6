package stream

import (
	"liftstream/model"
	"liftstream/model/drift"
)

// totals are the figures of a state that take no time, so that a pipeline takes them before each message: one that is
// given up leaves a state of which nothing may be told.
type totals struct {
	labelled float64
	trained  bool
	losses   model.Losses
	unknown  string // the newest label that is no class
	closed   uint64 // model.ExpiryLearnt
	sifted   model.Sifted
	recency  model.Kept
	alarms   uint64 // number of all alarms of drift
}

// standing has the figures of a state at the end of a transaction, for the board. They are taken when that is complete,
// and shown once it is committed: by then the state has learnt messages of the next transaction.
type standing struct {
	totals
	waits   model.Waits
	shown   uint64         // number of the alarms that a transaction before has
	found   []drift.Found  // the kept alarms, where figures are due or one is new
	figures *drift.Figures // nil = they are not due
}

func totalsOf(t *task) totals {
	p := t.m.Part
	now := totals{
		unknown: t.m.UnknownClass, labelled: p.Labelled(), trained: p.Trained(), losses: p.Losses(),
		closed: model.ExpiryLearnt(p), sifted: p.Sieve.Sifted(), recency: p.Recency.Kept(),
	}
	if x := model.Watch(p); x != nil {
		now.alarms = x.Total()
	}
	return now
}

// stand takes the figures of the state of a task. The alarms that it takes are not new the next time.
func (b *board) stand(t *task) standing {
	now := standing{totals: totalsOf(t), waits: model.WaitsOf(t.m.Part)}
	b.watch.stand(t.m.Part, &now)
	return now
}

// standAt takes the figures of a state that has a part of a message too many: the totals are of the position before it,
// the waiting records of the transaction before.
func (b *board) standAt(t *task, whole totals, before *standing) standing {
	now := standing{totals: whole, waits: before.waits}
	b.watch.standAt(t.m.Part, &now)
	return now
}
