// Package skip has a stage pass a message by that an operator names: one that ends its processes, or that nobody can
// process. It writes a state.Skip into the state topic, which the next owner of the partition reads before it reads
// messages.
//
// Begin at Run.
package skip

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"liftstream/codec"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Options name the message.
type Options struct {
	Client    *txn.Client
	Name      string // of the stage
	Topics    topics.Names
	Limit     int64 // bytes of the state of a partition, see state.Bound
	Stage     string
	Partition int
	Offset    int64
	Why       string
	// Processed takes a message too that the stage has committed: a replay that needs it again passes it by.
	Processed bool
	Now       time.Time
}

// RefusedError is returned where the message cannot be passed by.
type RefusedError struct{ Problem string }

func (e *RefusedError) Error() string { return e.Problem }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// transaction is the timeout of the one transaction.
const transaction = 30 * time.Second

// Run writes the skip. No member of the group may run: a member that has read the message already would go by its own
// memory. Run takes the transactional id of the partition over, as an owner does, so a member that starts in between
// either sees the skip or makes Run fail. The message is read from its topic, to be named by its content, and not
// decoded.
func Run(ctx context.Context, o Options) (*state.Skip, error) {
	topic := o.Topics.Events
	if o.Stage == codec.StageLabels {
		topic = o.Topics.Labels
	}
	partitions, _, err := topics.Check(ctx, o.Client, o.Topics)
	if err != nil {
		return nil, err
	}
	if o.Partition >= partitions {
		return nil, refuse("%s has the partitions 0 to %d, and no %d", topic, partitions-1, o.Partition)
	}
	group, err := o.Client.ConsumerGroup(o.Name).Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the members of the group %s: %w", o.Name, err)
	}
	if n := len(group.Members); n > 0 {
		return nil, refuse("%d members of the group %s run: stop them first, and wait 10 s where one was killed", n, o.Name)
	}
	p, err := o.Client.NewProducer(ctx, o.Name+"-"+strconv.Itoa(o.Partition), transaction)
	if err != nil {
		return nil, fmt.Errorf("taking over the transactional id: %w", err)
	}
	s, err := o.find(ctx, topic)
	if err != nil {
		return nil, err
	}
	log := state.NewLog()
	log.Limit = o.Limit
	if err := log.Follow(ctx, o.Client, o.Topics.State, o.Partition); err != nil {
		return nil, err
	}
	done, err := log.Done()
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	committed := done.Events
	if o.Stage == codec.StageLabels {
		committed = done.Labels
	}
	if o.Stage == codec.StageEvents {
		// After the death of a broker the scores may be ahead of the state.
		tail, err := scores.ReadTail(ctx, o.Client, o.Topics.Scores, o.Partition, o.Name, done.ScoresFrom, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		committed = max(committed, tail.Next)
	}
	if o.Offset < committed && !o.Processed {
		return nil, refuse("the stage has processed the message at offset %d already: all below %d are committed", o.Offset,
			committed)
	}
	err = p.Commit(ctx, txn.Transaction{Records: []txn.Record{{Topic: o.Topics.State, Partition: o.Partition,
		Key: []byte(s.Key()), Value: s.Encode(state.OldestFormat), Time: o.Now}}})
	if err != nil {
		return nil, fmt.Errorf("writing the skip: %w", err)
	}
	return s, nil
}

// find names the message at the offset by its content.
func (o *Options) find(ctx context.Context, topic string) (*state.Skip, error) {
	start, end, err := o.Client.Bounds(ctx, topic, o.Partition)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", topic, err)
	}
	if start >= end {
		return nil, refuse("%s, partition %d, holds no message", topic, o.Partition)
	}
	if o.Offset < start || o.Offset >= end {
		return nil, refuse("%s, partition %d, holds the offsets %d to %d, and no %d", topic, o.Partition, start, end-1,
			o.Offset)
	}
	why := strings.ToValidUTF8(o.Why[:min(len(o.Why), state.WhyBytes)], "")
	s := &state.Skip{Stage: o.Stage, Offset: o.Offset, Why: why}
	for at := o.Offset; at <= o.Offset; {
		f, err := o.Client.Fetch(ctx, topic, o.Partition, at, 1, time.Second)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", topic, err)
		}
		for i := range f.Records {
			if r := &f.Records[i]; r.Offset <= o.Offset && o.Offset < r.Next() {
				s.Name(r.Value, r.Time, r.Unread == nil)
				return s, nil
			}
		}
		at = f.Next
	}
	return nil, refuse("%s, partition %d, has no message at offset %d: it is the end of a transaction, or aborted, or "+
		"compacted away", topic, o.Partition, o.Offset)
}
