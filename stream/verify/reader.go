package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/txn"
)

// scoreReader reads a partition of the scores topic in order.
type scoreReader struct {
	c         *txn.Client
	topic     string
	partition int
	name      string // of the stage: another one's scores are passed over
	next      int64
	records   []txn.Record
	skipped   bool // the messages before are not compared
	waited    int
}

// peek returns the next scores message and the offset of the event that it answers; nil at the end.
func (r *scoreReader) peek(ctx context.Context) (*txn.Record, int64, error) {
	for len(r.records) == 0 {
		_, end, err := r.c.Bounds(ctx, r.topic, r.partition)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the scores: %w", err)
		}
		if r.next >= end {
			// A broker writes the markers of a transaction after it has answered, partition by partition: the group's offset
			// may be there before the scores.
			high, err := r.c.ListOffsets(ctx, r.topic, []int{r.partition}, txn.HighWatermark)
			if err != nil {
				return nil, 0, fmt.Errorf("reading the scores: %w", err)
			}
			if high[r.partition] <= r.next {
				return nil, 0, nil
			}
			if r.waited++; r.waited > 600 {
				return nil, 0, errors.New("reading the scores: a transaction is open there for half a minute")
			}
			select {
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		r.waited = 0
		f, err := r.c.Fetch(ctx, r.topic, r.partition, r.next, 4<<20, 500*time.Millisecond)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the scores: %w", err)
		}
		r.records, r.next = slices.DeleteFunc(f.Records, func(x txn.Record) bool {
			return x.Unread == nil && scores.Other(&x, r.name) != ""
		}), f.Next
	}
	if u := r.records[0].Unread; u != nil {
		return nil, 0, fmt.Errorf("reading the scores: %w", u)
	}
	of, err := scores.EventOf(&r.records[0])
	return &r.records[0], of, err
}

func (r *scoreReader) drop() { r.records = r.records[1:] }
