package stream

import (
	"liftstream/model"
	"liftstream/model/drift"
)

// standing is what the board shows of a state as it stood at the end of a transaction. It is taken when the transaction
// is complete and shown once it is committed: by then the state has learnt messages of the next one.
type standing struct {
	labelled float64
	trained  bool
	losses   model.Losses
	unknown  string // the newest label that is no class
	closed   uint64 // model.ExpiryLearnt
	sifted   model.Sifted
	recency  *model.Kept // nil = no ids are remembered
	waits    model.Waits
	alarms   []drift.Found  // those that came in the transaction
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
