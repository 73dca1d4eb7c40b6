// Package committed decides how a task that takes a partition over comes to the state that is committed. Reader.Read
// reads the facts from the topics and the group; Decide is a pure function from these facts and the policies of the
// configuration to a Plan. COMMITTED.md describes the five steps of a takeover, of which this package has the second
// and the third. Begin at Decide.
package committed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Facts are the things on which the state of a partition depends.
type Facts struct {
	Fingerprint uint64      // of the configuration
	Carries     bool        // the configuration can carry a state of another schema over
	Stage       state.Owner // name and topics of this stage

	// A state that this member's own task of the generation before has left may still be the committed one.
	Left *state.Done // its last transaction; nil = there is no such state
	Torn bool        // a broker had left a transaction of the partition open

	Group Group

	// The rest is read unless the left state is taken.

	Owner     state.Owner     // whose state the partition holds; zero = it does not say
	Seen      state.Seen      // messages that the state's stage has read
	Bootstrap state.Bootstrap // of a state that was learnt from files
	Done      state.Done
	DoneErr   error              // the done record cannot be read
	Lesser    []error            // the records of owner or seen messages cannot be read
	Events    Bounds             // of the events
	Labels    Bounds             // of the labels; zero where there is no such topic
	Scores    scores.Tail        // read only where the done record's offsets are the committed ones
	ScoresOf  string             // name of the stage that wrote the newest scores; "" = none is told
	Manifests []*state.Manifest  // newest first
	Unread    []error            // manifests that cannot be read
	Journal   uint64             // number after the newest journal record
	Empty     bool               // the state topic holds nothing of the partition
	Newer     *state.FormatError // a newer build has written a value that is needed

	// A task that fails to do as a plan says notes it here and decides again.

	Refused        map[uint64]bool // snapshots whose sections or journal are damaged, by number
	NotCarried     bool            // the state cannot be carried over to this schema
	JournalRefused bool            // the journal since the beginning is damaged
	ModelLost      string          // a model of the journal cannot be had, in words; "" = none was missed
}

// Likeness says whether a topic is the one of which the state tells.
type Likeness uint8

const (
	Untold Likeness = iota // the state tells no message of it
	Same                   // the message that the state tells is there, or so old that it was deleted
	Other                  // another message is there: the topic was made anew
)

// Bounds are the offsets of a partition of a topic.
type Bounds struct {
	Topic  string
	First  int64 // the first that is left
	Stable int64 // one past the last that is decided
	High   int64 // one past the last
	Likeness
}

// Reader reads the facts of one partition.
type Reader struct {
	Client      *txn.Client
	Group       string // the name of the stage
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
			all, err = r.Client.ConsumerGroup(r.Group).Offsets(ctx, topic, []int{r.Partition})
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
	f := &Facts{Fingerprint: r.Fingerprint, Carries: r.Carries, Left: left, Torn: torn, Stage: r.owner()}
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
	f.lesser(log)
	for _, e := range append(append([]error{f.DoneErr}, f.Unread...), f.Lesser...) {
		if f.Newer == nil {
			errors.As(e, &f.Newer)
		}
	}
	if f.Events, err = r.bounds(ctx, r.Topics.Events, f.Seen.Events); err != nil {
		return nil, nil, err
	}
	if r.Topics.Labels != "" {
		if f.Labels, err = r.bounds(ctx, r.Topics.Labels, f.Seen.Labels); err != nil {
			return nil, nil, err
		}
	}
	if f.ScoresOf, err = scores.LastName(ctx, r.Client, r.Topics.Scores, r.Partition); err != nil {
		return nil, nil, err
	}
	if f.Done.Number == 0 {
		return f, log, nil
	}
	if f.Owner.Scores != "" && f.Owner.Scores != r.Topics.Scores {
		f.Scores = scores.Tail{Next: -1, Anew: true}
		return f, log, nil
	}
	f.Scores, err = scores.ReadTail(ctx, r.Client, r.Topics.Scores, r.Partition, r.Group, f.Done.ScoresFrom,
		f.Events.Stable)
	return f, log, err
}

// owner returns the record that this stage writes of itself.
func (r *Reader) owner() state.Owner {
	t := &r.Topics
	return state.Owner{Stage: r.Group, Events: t.Events, Labels: t.Labels, Scores: t.Scores, Dead: t.Dead, State: t.State,
		Models: t.Model}
}

// NewOwner returns the owner record that the partition must hold. A topic of labels stays named while the stage reads
// none.
func (f *Facts) NewOwner() state.Owner {
	owner := f.Stage
	if owner.Labels == "" && owner.Events == f.Owner.Events {
		owner.Labels = f.Owner.Labels
	}
	return owner
}

// lesser reads the records without which a takeover goes on.
func (f *Facts) lesser(log *state.Log) {
	var err error
	if f.Owner, err = log.Owner(); err != nil {
		f.Lesser = append(f.Lesser, err)
	}
	if f.Seen, err = log.Seen(); err != nil {
		f.Lesser = append(f.Lesser, err)
	}
	if f.Bootstrap, err = log.Bootstrap(); err != nil {
		f.Lesser = append(f.Lesser, err)
	}
	if f.Owner.Events != "" && f.Owner.Events != f.Stage.Events {
		f.Seen.Events = state.Message{}
	}
	if f.Owner.Labels != "" && f.Owner.Labels != f.Stage.Labels {
		f.Seen.Labels = state.Message{}
	}
}

// bounds asks for the offsets of a topic, of which the state tells the message seen.
func (r *Reader) bounds(ctx context.Context, topic string, seen state.Message) (b Bounds, err error) {
	b.Topic = topic
	if b.First, b.Stable, err = r.Client.Bounds(ctx, topic, r.Partition); err != nil {
		return b, err
	}
	high, err := r.Client.ListOffsets(ctx, topic, []int{r.Partition}, txn.HighWatermark)
	if err != nil {
		return b, err
	}
	b.High = high[r.Partition]
	b.Likeness, err = r.compare(ctx, &b, seen)
	return b, err
}

// compare looks whether the message that the state tells lies in its topic.
func (r *Reader) compare(ctx context.Context, b *Bounds, seen state.Message) (Likeness, error) {
	at := seen.Next - 1
	switch {
	case at < 0:
		return Untold, nil
	case at < b.First:
		return Same, nil
	case at >= b.High:
		return Other, nil
	case at >= b.Stable:
		return Untold, nil
	}
	found, err := r.Client.Fetch(ctx, b.Topic, r.Partition, at, 1, time.Second)
	if err != nil {
		return Untold, fmt.Errorf("looking whether %s is the topic of the state: %w", b.Topic, err)
	}
	if found.Next <= at {
		return Untold, nil
	}
	for i := range found.Records {
		if found.Records[i].Offset == at && state.MessageOf(&found.Records[i]) == seen {
			return Same, nil
		}
	}
	return Other, nil
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
