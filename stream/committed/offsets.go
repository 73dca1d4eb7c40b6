package committed

import (
	"fmt"
	"math"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Group holds the group's offsets of one partition, which a broker that has died may give as they were a transaction
// ago.
type Group struct {
	Events, Labels txn.GroupOffset
	HasLabels      bool // there is a topic of labels
}

// numbered reports whether each offset is that of a transaction with a number.
func (g *Group) numbered() bool {
	_, events := state.Noted(g.Events)
	_, labels := state.Noted(g.Labels)
	return events && (labels || !g.HasLabels)
}

// Number returns the number of the newest transaction of which the group tells, 0 where it tells of none.
func (g *Group) Number() uint64 {
	events, _ := state.Noted(g.Events)
	labels, _ := state.Noted(g.Labels)
	return max(events, labels)
}

// agrees reports whether a transaction committed the group's offsets.
func (g *Group) agrees(d state.Done) bool {
	same := func(o txn.GroupOffset, offset int64) bool { return o.Offset == offset && o.Note == d.Note() }
	return same(g.Events, d.Events) && (!g.HasLabels || same(g.Labels, d.Labels))
}

// Offsets decides which next offsets are committed: those of the done record, or those of the group (step 2 of
// COMMITTED.md). problem is not "" where the group's are taken though that loses messages that the record says are
// committed: another program moved or deleted an offset, or a topic was made anew.
func (g *Group) Offsets(d state.Done) (committed state.Position, problem string) {
	committed.Events, problem = offset(d, "events", d.Events, g.Events)
	if g.HasLabels {
		var also string
		if committed.Labels, also = offset(d, "labels", d.Labels, g.Labels); problem == "" {
			problem = also
		}
	}
	return committed, problem
}

// offset decides for one topic, of which the done record says own.
func offset(d state.Done, topic string, own int64, group txn.GroupOffset) (committed int64, problem string) {
	_, numbered := state.Noted(group)
	switch {
	case d.Number == 0:
		return group.Offset, "" // of a version that wrote no record, or the state topic is new
	case numbered:
		return own, "" // the broker is behind, or the transaction is in the group and not in the state
	case group.Offset >= own:
		return group.Offset, "" // an older version went on, or another program passes over messages
	case group.Offset < 0 && d.Number == 1:
		return own, "" // the first transaction answers nothing: a broker that has forgotten it does no harm
	case own == 0:
		return group.Offset, "" // nothing was read of the topic
	case group.Offset < 0:
		return group.Offset, fmt.Sprintf("the group has no offset of %s, but the state says that all below %d are done: "+
			"offsets were deleted or expired, or the topic was made anew", topic, own)
	}
	return group.Offset, fmt.Sprintf("the group's offset of %s was set to %d by somebody else, "+
		"and the state says that all below %d are done: offsets were reset", topic, group.Offset, own)
}

// Nowhere is an offset that no event has.
const Nowhere = math.MaxInt64

// Answered compares the done record with the tail of the scores (step 3 of COMMITTED.md), for the last transaction may
// be committed in the one topic and not in the other. events is the next committed event offset; events below it and
// from missing on have no scores, Nowhere = all have; next is one past the last event that has.
func Answered(d state.Done, tail scores.Tail) (events, missing, next int64) {
	switch {
	case !tail.Known:
	case tail.Next > d.Events: // it is in the scores and not in the state
		return tail.Next, Nowhere, tail.Next
	case tail.Next >= 0 && tail.Next < d.Answered: // it is in the state and not in the scores
		return d.Events, tail.Next, d.Answered
	case tail.Next < d.Answered: // and no scores before it are left after which to begin
		return d.Events, d.EventsFrom, d.Answered
	}
	return d.Events, Nowhere, d.Answered
}
