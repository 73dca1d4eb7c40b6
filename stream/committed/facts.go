// Package committed decides how a task that takes a partition over comes to the state that is committed. Reader.Read
// reads the facts from the topics and the group; Decide is a pure function from these facts and the policies of the
// configuration to a Plan. COMMITTED.md describes the five steps of a takeover, of which this package has the second
// and the third. Begin at Decide.
package committed

import (
	"context"
	"errors"
	"fmt"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Facts are the things on which the state of a partition depends.
type Facts struct {
	Fingerprint uint64 // of the configuration
	Carries     bool   // the configuration can carry a state of another schema over

	// A state that this member's own task of the generation before has left may still be the committed one.
	Left *state.Done // its last transaction; nil = there is no such state
	Torn bool        // a broker had left a transaction of the partition open

	Group Group

	// The rest is read unless the left state is taken.

	Done      state.Done
	DoneErr   error              // the done record cannot be read
	Events    Bounds             // of the events
	Labels    Bounds             // of the labels; zero where there is no such topic
	Scores    scores.Tail        // read only where the done record's offsets are the committed ones
	Manifests []*state.Manifest  // newest first
	Unread    []error            // manifests that cannot be read
	Journal   uint64             // number after the newest journal record
	Empty     bool               // the state topic holds nothing of the partition
	Newer     *state.FormatError // a newer build has written a value that is needed

	// A task that fails to do as a plan says notes it here and decides again.

	Refused        map[uint64]bool // snapshots whose sections or journal are damaged, by number
	NotCarried     bool            // the state cannot be carried over to this schema
	JournalRefused bool            // the journal since the beginning is damaged
}

// Bounds are the offsets of a partition of a topic.
type Bounds struct {
	Topic  string
	First  int64 // the first that is left
	Stable int64 // one past the last that is decided
	High   int64 // one past the last
}

// Reader reads the facts of one partition.
type Reader struct {
	Client      *txn.Client
	Group       string
	Topics      topics.Names
	Partition   int
	Fingerprint uint64
	Carries     bool
	Newest      int   // format that is read
	Limit       int64 // bytes of a state
}

// Offsets asks for the group's offsets.
func (r *Reader) Offsets(ctx context.Context) (g Group, err error) {
	g.HasLabels = r.Topics.Labels != ""
	ask := func(topic string) txn.GroupOffset {
		var all map[int]txn.GroupOffset
		if err == nil {
			all, err = r.Client.CommittedOffsets(ctx, r.Group, topic, []int{r.Partition})
		}
		return all[r.Partition]
	}
	g.Events = ask(r.Topics.Events)
	if g.HasLabels {
		g.Labels = ask(r.Topics.Labels)
	}
	if err != nil {
		err = fmt.Errorf("asking for the offset of the group %s: %w", r.Group, err)
	}
	return g, err
}

// Read reads the facts, and returns the log of the state topic beside them. left and torn become Facts.Left and
// Facts.Torn. Where the left state is taken, it asks the group alone. It must follow NewProducer: then all transactions
// of the partition are decided.
func (r *Reader) Read(ctx context.Context, left *state.Done, torn bool) (*Facts, *state.Log, error) {
	f := &Facts{Fingerprint: r.Fingerprint, Carries: r.Carries, Left: left, Torn: torn}
	var err error
	if f.Group, err = r.Offsets(ctx); err != nil || f.kept() {
		return f, nil, err
	}
	log, err := r.state(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.Done, f.DoneErr = log.Done()
	f.Manifests, f.Unread = log.Manifests()
	f.Journal, f.Empty = log.JournalEnd(), log.Empty()
	for _, e := range append([]error{f.DoneErr}, f.Unread...) {
		if f.Newer == nil {
			errors.As(e, &f.Newer)
		}
	}
	if f.Events, err = r.bounds(ctx, r.Topics.Events); err != nil {
		return nil, nil, err
	}
	if r.Topics.Labels != "" {
		if f.Labels, err = r.bounds(ctx, r.Topics.Labels); err != nil {
			return nil, nil, err
		}
	}
	if at, problem := f.Group.Offsets(f.Done); problem == "" && f.Done.Number > 0 && at.Events == f.Done.Events {
		f.Scores, err = scores.ReadTail(ctx, r.Client, r.Topics.Scores, r.Partition, f.Done.ScoresFrom, f.Events.Stable)
	}
	return f, log, err
}

func (r *Reader) bounds(ctx context.Context, topic string) (b Bounds, err error) {
	b.Topic = topic
	if b.First, b.Stable, err = r.Client.Bounds(ctx, topic, r.Partition); err != nil {
		return b, err
	}
	high, err := r.Client.ListOffsets(ctx, topic, []int{r.Partition}, txn.HighWatermark)
	b.High = high[r.Partition]
	return b, err
}

// state reads the partition of the state topic. All transactions under the task's transactional id are decided, so an
// open one there belongs to another program, and the records behind it are unknown.
func (r *Reader) state(ctx context.Context) (*state.Log, error) {
	log := state.NewLog()
	log.Newest, log.Limit = r.Newest, r.Limit
	if err := log.Follow(ctx, r.Client, r.Topics.State, r.Partition); err != nil {
		return nil, err
	}
	high, err := r.Client.ListOffsets(ctx, r.Topics.State, []int{r.Partition}, txn.HighWatermark)
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	if high[r.Partition] > log.Next {
		return nil, &txn.Error{Op: "reading the state topic", Topic: r.Topics.State, Partition: r.Partition,
			Kind: txn.Environment, Reason: "its outcome decides what the state is",
			Err: errors.New("somebody else's transaction is open there")}
	}
	return log, nil
}

// kept reports whether the state that this member left is still the committed one.
func (f *Facts) kept() bool { return f.Left != nil && !f.Torn && f.Group.agrees(*f.Left) }
