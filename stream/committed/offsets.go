package committed

import (
	"fmt"
	"math"
	"strings"

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
// COMMITTED.md). Another program may have moved the offsets of the group; committed then holds the later one of each
// topic.
func (g *Group) Offsets(d state.Done) (committed state.Position, moved Moved) {
	committed.Events, moved.Events = offset(d, d.Events, g.Events)
	if g.HasLabels {
		committed.Labels, moved.Labels = offset(d, d.Labels, g.Labels)
	}
	return committed, moved
}

// offset decides for one topic, of which the done record says own.
func offset(d state.Done, own int64, group txn.GroupOffset) (committed int64, m Move) {
	_, numbered := state.Noted(group)
	switch {
	case d.Number == 0:
		return group.Offset, m // of a version that wrote no record, or the state topic is new
	case numbered:
		return own, m // the broker is behind, or the transaction is in the group and not in the state
	case group.Offset < 0 && own == 0:
		return group.Offset, m // nothing was read of the topic
	case group.Offset < 0, group.Offset == own:
		return own, m // it was deleted, or has expired: brokers forget those of a group that is empty for long
	}
	return max(own, group.Offset), Move{own, group.Offset}
}

// Move is an offset of the group that another program has set; the zero value stands for none.
type Move struct {
	Own   int64 // next offset that the state says
	Group int64 // next offset that the group says
}

// Back reports whether messages that are done lie behind the group's offset.
func (m Move) Back() bool { return m.Group < m.Own }

// Ahead reports whether messages that are not done lie before the group's offset.
func (m Move) Ahead() bool { return m.Group > m.Own }

// Moved holds the moved offsets of a partition.
type Moved struct{ Events, Labels Move }

// Any reports whether an offset was moved.
func (m *Moved) Any() bool { return *m != Moved{} }

// String tells the moves in words.
func (m *Moved) String() string {
	var out []string
	for _, x := range []struct {
		topic string
		Move
	}{{"events", m.Events}, {"labels", m.Labels}} {
		if x.Move != (Move{}) {
			out = append(out, fmt.Sprintf("somebody else set the group's offset of %s to %d, and the state has done all below "+
				"%d", x.topic, x.Group, x.Own))
		}
	}
	return strings.Join(out, "; ")
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
