package resend

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// mend ends the transactions that a died broker has left open where this run reads and writes, see
// txn.Producer.Discard, and reports whether any was there after all others have ended: then the last transaction of a
// former run may be committed in some topics and not in others.
func (s *sender) mend(ctx context.Context, longest time.Duration) (torn bool, err error) {
	topics := map[string]int{s.o.Dead: 0}
	for topic, n := range s.o.Targets {
		topics[topic] = n
	}
	if topics[s.o.Dead], err = s.o.Client.Partitions(ctx, s.o.Dead); err != nil {
		return false, err
	}
	open := map[string][]int{}
	until := s.o.Now().Add(longest)
	for topic, n := range topics {
		for p := range n {
			switch err := settled(ctx, s.o.Client, topic, p, max(until.Sub(s.o.Now()), 0)); {
			case txn.KindOf(err) == txn.Environment && ctx.Err() == nil:
				open[topic] = append(open[topic], p)
			case err != nil:
				return false, err
			}
		}
	}
	if len(open) == 0 {
		return false, nil
	}
	if err := s.producer.Discard(ctx, open); err != nil {
		return false, err
	}
	// An open transaction of somebody else hides the messages behind it: nothing can be compared then.
	for topic, partitions := range open {
		for _, p := range partitions {
			if err := settled(ctx, s.o.Client, topic, p, 2*time.Second); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// compare holds the ledger of a torn transaction against the messages that its topics hold: a letter whose message is
// there does not wait, and a letter of the last receipt whose message is not there waits again.
func (s *sender) compare(ctx context.Context, at *loaded) error {
	there := map[int64]bool{}
	whole := true // no message of the last transaction can have left its topic since
	for topic, n := range s.o.Targets {
		for p := range n {
			start, end, err := s.o.Client.Bounds(ctx, topic, p)
			if err != nil {
				return err
			}
			from := start
			if at.last != nil && p < len(at.last.Ends[topic]) {
				whole = whole && start <= at.last.Ends[topic][p]
				from = max(start, at.last.Ends[topic][p])
			}
			if _, err := s.o.Client.Read(ctx, topic, p, from, end, func(r *txn.Record) {
				if offset, ok := s.letterOf(r); ok {
					there[offset] = true
				}
			}); err != nil {
				return err
			}
		}
	}
	changed := false
	for offset := range there {
		if !at.Sent(offset) && offset < at.end {
			at.mark(offset, offset+1)
			changed = true
		}
	}
	if at.last != nil && whole {
		for _, x := range at.last.Letters {
			for offset := max(x[0], at.start); offset < x[1]; offset++ {
				if !there[offset] && at.Sent(offset) {
					at.wait(offset)
					changed = true
				}
			}
		}
	}
	if !changed || s.o.DryRun {
		return nil
	}
	s.at = at
	return s.note(ctx, nil, at.Ledger, nil, nil)
}

// letterOf returns the offset of the letter of which a message was sent again, where it is of the partition in hand.
func (s *sender) letterOf(r *txn.Record) (int64, bool) {
	for _, h := range r.Headers {
		if h.Key != deadletter.HeaderLetter {
			continue
		}
		rest, ok := strings.CutPrefix(string(h.Value), fmt.Sprintf("%s/%d/", s.o.Dead, s.partition))
		if offset, err := strconv.ParseInt(rest, 10, 64); ok && err == nil && offset >= 0 {
			return offset, true
		}
	}
	return 0, false
}
