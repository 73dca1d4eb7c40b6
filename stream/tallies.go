package stream

import (
	"errors"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/replay"
)

// tallies are the numbers of a transaction for the metrics and the status. They are told when it is committed
// (board.counted): the messages of an aborted one are read again, and would count twice.
type tallies struct {
	scored  tally
	changed codec.Changes
	learnt  []model.LabelCounts // of each message of labels
	dead    []codec.Reason      // of each dead letter
	tombs   []string            // the stage of each tombstone
}

// tombstone takes note of a message that is one.
func (c *tallies) tombstone(stage string, err error) {
	if errors.Is(err, replay.ErrTombstone) {
		c.tombs = append(c.tombs, stage)
	}
}

// reported are the figures of a state at the end of a transaction. When that is committed the state is ahead: it holds
// messages of the next transaction, and they are read again if that one is aborted.
type reported struct {
	lost     model.Losses
	unknown  string // the newest label that is no class
	closed   uint64 // model.ExpiryLearnt
	sifted   model.Sifted
	kept     *model.Kept // nil where no ids are remembered
	waits    model.Waits
	labelled float64
	trained  bool
	alarms   uint64 // of drift
}

// reportedOf are those of the present state.
func reportedOf(t *task) *reported {
	p := t.m.Part
	r := &reported{lost: p.Losses(), unknown: t.m.UnknownClass, closed: model.ExpiryLearnt(p), sifted: p.Sieve.Sifted(),
		waits: model.WaitsOf(p), labelled: p.Labelled(), trained: p.Trained()}
	if p.Recency != nil {
		kept := p.Recency.Kept()
		r.kept = &kept
	}
	if w := model.Watch(p); w != nil {
		r.alarms = w.Total()
	}
	return r
}

// counted tells the numbers of a committed transaction.
func (b *board) counted(c *tallies) {
	b.scored(&c.scored)
	b.changed(c.changed)
	for _, learnt := range c.learnt {
		b.learnt(learnt)
	}
	for _, reason := range c.dead {
		b.died(reason)
	}
	for _, stage := range c.tombs {
		b.o.Metrics.Tombstones.WithLabelValues(stage).Inc()
	}
}

// join adds the numbers of another tally.
func (c *tally) join(o *tally) {
	c.rows += o.rows
	for status, n := range o.by {
		c.by[status] += n
	}
	c.all += o.all
	c.against += o.against
}
