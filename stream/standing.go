package stream

import (
	"liftstream/model"
	"liftstream/model/drift"
)

// standing has the figures of a state at the end of a transaction, for the board. They are taken when that is complete,
// and shown once it is committed: by then the state has learnt messages of the next transaction.
type standing struct {
	labelled float64
	trained  bool
	losses   model.Losses
	unknown  string // the newest label that is no class
	closed   uint64 // model.ExpiryLearnt
	sifted   model.Sifted
	recency  *model.Kept // nil = no ids are remembered
	waits    model.Waits
	alarms   []drift.Found  // new ones of the transaction
	figures  *drift.Figures // nil = they are not due
	kept     []drift.Found  // all alarms that the state has, beside figures
}

// stand takes the figures of the state of a task. The alarms that it takes are not taken again.
func (b *board) stand(t *task) standing {
	p := t.m.Part
	now := standing{
		unknown:  t.m.UnknownClass,
		labelled: p.Labelled(), trained: p.Trained(), losses: p.Losses(), closed: model.ExpiryLearnt(p),
		waits: model.WaitsOf(p), sifted: p.Sieve.Sifted(),
	}
	if p.Recency != nil {
		kept := p.Recency.Kept()
		now.recency = &kept
	}
	b.watch.stand(p, &now)
	return now
}
