package resend

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// headerReceipt is the header of a receipt, which is no dead letter.
const headerReceipt = "liftstream-receipt"

// maxSpans bounds a receipt to some 400 KB.
const maxSpans = 20_000

// span is a run of offsets, from included, to not.
type span [2]int64

// Ledger says which letters of one partition of the dead-letter topic were sent again.
type Ledger struct {
	number uint64 // of the receipt; 0 = none
	low    int64  // no letter below waits
	sent   []span // those beyond low, ascending, apart from each other
}

// Sent reports whether the letter at an offset was sent again.
func (l *Ledger) Sent(offset int64) bool {
	if offset < l.low {
		return true
	}
	i, found := slices.BinarySearchFunc(l.sent, offset, func(s span, o int64) int { return int(min(max(s[0]-o, -1), 1)) })
	return found || i > 0 && offset < l.sent[i-1][1]
}

// mark notes that no letter in [from, to) waits any more.
func (l *Ledger) mark(from, to int64) {
	if from = max(from, l.low); from >= to {
		return
	}
	i := 0
	for i < len(l.sent) && l.sent[i][1] < from {
		i++
	}
	k := i
	for k < len(l.sent) && l.sent[k][0] <= to {
		from, to = min(from, l.sent[k][0]), max(to, l.sent[k][1])
		k++
	}
	if from > l.low {
		l.sent = slices.Replace(l.sent, i, k, span{from, to})
		return
	}
	l.low, l.sent = to, slices.Delete(l.sent, i, k)
}

// wait notes that the letter at an offset waits again.
func (l *Ledger) wait(offset int64) {
	if offset < l.low {
		if offset+1 < l.low {
			l.sent = slices.Insert(l.sent, 0, span{offset + 1, l.low})
		}
		l.low = offset
		return
	}
	for i, x := range l.sent {
		if x[0] <= offset && offset < x[1] {
			var parts []span
			for _, p := range []span{{x[0], offset}, {offset + 1, x[1]}} {
				if p[0] < p[1] {
					parts = append(parts, p)
				}
			}
			l.sent = slices.Replace(l.sent, i, i+1, parts...)
			return
		}
	}
}

// receipt is the value of a record of the dead-letter topic that lies in the transaction of the messages sent again:
// the ledger after them. The newest one of a group holds.
type receipt struct {
	Number uint64 `json:"number"`
	Low    int64  `json:"low"`
	Sent   []span `json:"sent"`
	// Letters are those of this transaction, Ends the ends of their topics before it. By both a reader finds the messages
	// that a broker which died has left out.
	Letters []span             `json:"letters"`
	Ends    map[string][]int64 `json:"ends"`
}

// readReceipt reads the receipt of a group; nil where the record is none.
func readReceipt(r *txn.Record, group string) *receipt {
	if string(r.Key) != group || !IsReceipt(r) {
		return nil
	}
	x := &receipt{}
	if json.Unmarshal(r.Value, x) != nil || x.Low < 0 || x.Number == 0 || len(x.Sent) > maxSpans {
		return nil
	}
	at := x.Low
	for _, s := range x.Sent {
		if s[0] <= at || s[1] <= s[0] {
			return nil
		}
		at = s[1]
	}
	return x
}

// note is the text beside the group's offset: the number of the receipt, and an offset at or before it.
func note(number uint64, from int64) string {
	return fmt.Sprintf("liftstream-dead/%d/%d", number, from)
}

// readNote reads a note; ok is false where somebody else has set the offset.
func readNote(text string) (from int64, ok bool) {
	rest, ok := strings.CutPrefix(text, "liftstream-dead/")
	if !ok {
		return 0, false
	}
	number, at, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(number, 10, 64)
	from, malformed := strconv.ParseInt(at, 10, 64)
	return from, err == nil && malformed == nil && from >= 0
}

// Group is the consumer group of the dead-letter topic under which the dead letters of a stage are sent again.
func Group(stage string) string { return stage + "-dead-replay" }

// loaded is a ledger with the bounds of its partition.
type loaded struct {
	Ledger
	start, end int64
	last       *receipt // nil = none
}

// load reads the ledger of a partition of the dead-letter topic. An offset of the group without the note of a receipt
// was set by an operator: the letters from there on wait again.
func load(ctx context.Context, c *txn.Client, group, topic string, partition int) (*loaded, error) {
	if err := settled(ctx, c, topic, partition, longestOpen); err != nil {
		return nil, fmt.Errorf("reading what was sent again: %w", err)
	}
	return loadDecided(ctx, c, group, topic, partition)
}

// loadDecided is load of the records before the first open transaction.
func loadDecided(ctx context.Context, c *txn.Client, group, topic string, partition int) (*loaded, error) {
	fail := func(err error) (*loaded, error) {
		return nil, fmt.Errorf("reading what was sent again: %w", err)
	}
	offsets, err := c.ConsumerGroup(group).OffsetsIfAny(ctx, topic, []int{partition})
	if err != nil {
		return fail(err)
	}
	x := &loaded{}
	if x.start, x.end, err = c.Bounds(ctx, topic, partition); err != nil {
		return fail(err)
	}
	set := offsets[partition]
	from, ours := readNote(set.Note)
	if !ours {
		from = 0
	}
	if _, err := c.Read(ctx, topic, partition, max(from, x.start), x.end, func(r *txn.Record) {
		if got := readReceipt(r, group); got != nil && (x.last == nil || got.Number > x.last.Number) {
			x.last = got
		}
	}); err != nil {
		return fail(err)
	}
	switch {
	case x.last != nil:
		x.number = x.last.Number
		x.low, x.sent = x.last.Low, x.last.Sent
	case ours:
		x.low = max(set.Offset, 0) // retention has taken the receipt, and with it all letters before
	}
	if !ours && set.Offset >= 0 {
		x.low, x.sent = set.Offset, nil
	}
	x.mark(0, x.start)
	return x, nil
}

// longestOpen is how long a transaction of somebody else is waited for, brieflyOpen by a reader alone.
const (
	longestOpen = 45 * time.Second
	brieflyOpen = time.Second
)

// settled waits until all records that a partition has now are committed or aborted: a stage writes its letters in
// transactions that end soon.
func settled(ctx context.Context, c *txn.Client, topic string, partition int, longest time.Duration) error {
	high, err := c.ListOffsets(ctx, topic, []int{partition}, txn.HighWatermark)
	if err != nil {
		return err
	}
	for left := longest; ; left -= 50 * time.Millisecond {
		stable, err := c.ListOffsets(ctx, topic, []int{partition}, txn.End)
		if err != nil || stable[partition] >= high[partition] {
			return err
		}
		if left <= 0 {
			return &txn.Error{Op: "reading", Topic: topic, Partition: partition, Kind: txn.Environment,
				Reason: "'kafka-transactions.sh find-hanging' names a transaction that nobody will end",
				Err:    fmt.Errorf("a transaction is open at offset %d", stable[partition])}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Read returns the ledgers of the partitions of a dead-letter topic. A transaction that stays open, as that of a killed
// run until the broker aborts it, is not waited for: nothing in it was sent.
func Read(ctx context.Context, c *txn.Client, stage, topic string) ([]Ledger, error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("reading what was sent again: %w", err)
	}
	out := make([]Ledger, n)
	for p := range out {
		if err := settled(ctx, c, topic, p, brieflyOpen); err != nil && (txn.KindOf(err) != txn.Environment ||
			ctx.Err() != nil) {
			return nil, fmt.Errorf("reading what was sent again: %w", err)
		}
		x, err := loadDecided(ctx, c, Group(stage), topic, p)
		if err != nil {
			return nil, err
		}
		out[p] = x.Ledger
	}
	return out, nil
}

// IsReceipt reports whether a record of the dead-letter topic is a receipt of letters that were sent again.
func IsReceipt(r *txn.Record) bool {
	_, letter := deadletter.ReadReport(r)
	return !letter && slices.ContainsFunc(r.Headers, func(h txn.Header) bool { return h.Key == headerReceipt })
}
