package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"liftstream/stream/txn"
)

// patience is how long Follow waits for brokers that are away, as 'run' does.
const patience = 5 * time.Minute

// Following says how Follow reads.
type Following struct {
	Topic string
	From  txn.Position
	Wait  bool // at the end of a partition, for more; otherwise it ends where the topic ended at the call
	// Away is called with the error when brokers go away while Follow waits, and with nil when they are back.
	Away func(error)
}

// Follow reads the committed records of all partitions of a topic and hands them to f, the records of one partition in
// order, until f returns false or fails. While it waits, brokers may go away and come back within patience.
func (k *Cluster) Follow(ctx context.Context, o Following, f func([]txn.Record) (more bool, err error)) error {
	r, err := k.follower(ctx, o)
	if err != nil {
		return fmt.Errorf("reading %s: %w", o.Topic, err)
	}
	for {
		idle := true
		for p := range r.partitions {
			for o.Wait || r.next[p] < r.end[p] {
				records, moved, err := r.fetch(ctx, p)
				if err != nil {
					return err
				}
				if !o.Wait { // a fetch may bring records that came after the call
					records = slices.DeleteFunc(records, func(x txn.Record) bool { return x.Offset >= r.end[p] })
				}
				if len(records) > 0 {
					idle = false
					more, err := f(records)
					if err != nil || !more {
						return err
					}
				}
				if !moved || o.Wait {
					break // with several partitions each has its turn
				}
			}
		}
		if !o.Wait {
			return nil
		}
		if idle {
			if err := Pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// follower is the place of Follow in a topic.
type follower struct {
	Following
	client     *txn.Client
	partitions int
	next, end  map[int]int64
	lost       time.Time // since when the brokers are away; zero = they are there
}

func (k *Cluster) follower(ctx context.Context, o Following) (*follower, error) {
	r := &follower{Following: o, client: k.Client}
	var err error
	if r.partitions, err = k.Partitions(ctx, o.Topic); err != nil {
		return nil, err
	}
	if r.next, err = k.ListOffsets(ctx, o.Topic, UpTo(r.partitions), o.From); err != nil {
		return nil, err
	}
	r.end, err = k.ListOffsets(ctx, o.Topic, UpTo(r.partitions), txn.End)
	return r, err
}

// fetch reads the next records of a partition; moved is false at its end.
func (r *follower) fetch(ctx context.Context, p int) (records []txn.Record, moved bool, err error) {
	const most, wait = 4 << 20, 10 * time.Millisecond
	for {
		got, err := r.client.Fetch(ctx, r.Topic, p, r.next[p], most, wait)
		if err != nil {
			if err := r.bear(ctx, err); err != nil {
				return nil, false, err
			}
			continue // the same offset again: a fetch has no effect
		}
		if !r.lost.IsZero() {
			r.lost = time.Time{}
			r.Away(nil)
		}
		moved := got.Next > r.next[p]
		r.next[p] = got.Next
		return got.Records, moved, nil
	}
}

// bear waits a little after an error that may pass, and returns any other error.
func (r *follower) bear(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A broker that has just come back may not know all of its topics yet.
	kind, first := txn.KindOf(err), r.lost.IsZero()
	passing := kind == txn.Environment || kind == txn.Unknown || kind == txn.NoTopic && !first
	if !r.Wait || !passing || !first && time.Since(r.lost) >= patience {
		return fmt.Errorf("reading %s: %w", r.Topic, err)
	}
	if first {
		r.lost = time.Now()
		r.Away(err)
	}
	return Pause(ctx, time.Second)
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
