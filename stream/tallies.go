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
