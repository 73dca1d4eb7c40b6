// Package resend sends the messages of dead letters again, each exactly once: the messages, a receipt in the
// dead-letter topic and the offset of the group NAME-dead-replay are one transaction. The next run goes on where a
// killed one ended, and two runs at once cannot both send: the later one fences the earlier.
//
// Begin at Run.
package resend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// Outcome is the fate of a picked letter.
type Outcome uint8

// The outcomes. All but the first three leave the letter waiting.
const (
	Sent        Outcome = iota // its message is in the topic again
	Retimed                    // Sent, and its topic gives it another timestamp; codec.HeaderTime has the first
	Untimed                    // Sent, with the timestamp of the letter: the letter does not know that of the message
	Exhausted                  // the message was sent again Options.Most times already
	Foreign                    // the letter is another stage's, or the topic of its message is
	NoPartition                // the topic of the message has no such partition
	TooLarge                   // the topic does not take a message of that size
	Partial                    // the letter does not hold its message
)

var outcomes = [...]string{
	"sent", "sent with a new time", "sent, time not known", "sent too often",
	"of another topic", "no such partition", "too large", "not in the letter",
}

// String returns the outcome in words.
func (o Outcome) String() string { return outcomes[o] }

// Sent reports whether the message of the letter is in its topic again.
func (o Outcome) Sent() bool { return o <= Untimed }

// Letter is a dead letter and its place.
type Letter struct {
	deadletter.Report
	At     deadletter.Place
	Record *txn.Record

	outcome Outcome // of a letter that is sent
}

// Options of Run.
type Options struct {
	Client  *txn.Client
	Name    string // of the stage
	Dead    string
	Targets map[string]int // topics to which messages may go, and their partitions
	Filter  deadletter.Filter
	Most    int // a message that was sent again so often stays; 0 = no bound
	// DryRun has nothing sent or noted.
	DryRun   bool
	Patience time.Duration // with brokers that are away
	Now      func() time.Time
	// Each is told of each picked letter, once its fate is certain. The record is valid during the call.
	Each func(l *Letter, o Outcome)

	longestOpen, timeout time.Duration // for tests; 0 = the constants
}

// The bounds of one transaction.
const (
	batchLetters = 500
	batchBytes   = 4 << 20
	// timeout is how long the broker keeps the open transaction of a killed run. One that needs more time, as on a slow
	// connection, gets twice as much, up to longestTimeout.
	timeout        = 30 * time.Second
	longestTimeout = 8 * time.Minute
)

// sender works through the partitions one after another.
type sender struct {
	o        Options
	group    string
	producer *txn.Producer
	failed   bool // the producer must recover
	timeout  time.Duration
	outlived bool // the last transaction took all of its time
	torn     bool // the last transaction of a former run may be committed in part

	// Of the partition in hand:

	partition int
	at        *loaded
	end       int64          // letters beyond are those of messages that this run has sent
	next      int64          // where it reads on
	batch     []Letter       // of the next transaction
	bytes     int64          // of the batch
	alone     int64          // letters below travel alone
	large     map[int64]bool // letters whose messages are too large
	told      int64          // the letters below that stay were told
}

// Run sends the picked letters that wait, in their order. Letters that come while it runs wait for the next run, so a
// message that dies again does not go round.
func Run(ctx context.Context, o Options) error {
	n, err := o.Client.Partitions(ctx, o.Dead)
	if err != nil {
		return fmt.Errorf("sending dead letters again: %w", err)
	}
	s := &sender{o: o, group: Group(o.Name), timeout: cmp.Or(o.timeout, timeout)}
	if !o.DryRun {
		if s.producer, err = o.Client.NewProducer(ctx, s.group, s.timeout); err != nil {
			return fmt.Errorf("taking over the transactional id %s: %w", s.group, err)
		}
		if s.torn, err = s.mend(ctx, cmp.Or(o.longestOpen, longestOpen)); err != nil {
			return fmt.Errorf("ending what a broker has left open: %w", err)
		}
	}
	// Without the right to ask, refused batches tell later which timestamps and sizes the topics take.
	_ = o.Client.LearnLimits(ctx, append(slices.Collect(maps.Keys(o.Targets)), o.Dead)...)
	for p := range n {
		if err := s.whole(ctx, p); err != nil {
			return fmt.Errorf("sending dead letters again: partition %d of %s: %w", p, o.Dead, err)
		}
	}
	return nil
}

// whole works through a partition, and begins again from the receipts after a failed transaction.
func (s *sender) whole(ctx context.Context, partition int) error {
	s.partition, s.at, s.end, s.batch = partition, nil, -1, nil
	s.alone, s.told, s.large = 0, 0, map[int64]bool{}
	var since time.Time
	for {
		err := s.attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch kind := txn.KindOf(err); {
		case kind == txn.Invalid && txn.Shrunk(err): // the next attempt sends without the refused timestamps
		case kind == txn.TooLarge:
			s.narrow()
			s.batch = nil
		case kind == txn.Fenced:
			return fmt.Errorf("another 'dead replay' of this stage has begun, and this one ends: %w", err)
		case kind == txn.Environment, kind == txn.Unknown:
			if since.IsZero() {
				since = s.o.Now()
			}
			if s.o.Now().Sub(since) > s.o.Patience {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
		default:
			return err
		}
		s.failed = s.producer != nil
	}
}

// narrow takes note of a transaction that was too large: its letters travel alone, and one that did so stays.
func (s *sender) narrow() {
	if len(s.batch) == 1 {
		s.large[s.batch[0].At.Offset] = true
		return
	}
	s.alone = s.batch[len(s.batch)-1].At.Offset + 1
}

// attempt works from the receipts to the end of the partition.
func (s *sender) attempt(ctx context.Context) error {
	if s.failed {
		if err := s.recover(ctx); err != nil {
			return err
		}
		s.failed = false
	}
	before, failed := s.batch, s.at
	s.batch, s.bytes = nil, 0
	at, err := load(ctx, s.o.Client, s.group, s.o.Dead, s.partition)
	if err != nil {
		s.batch = before
		return err
	}
	if s.end < 0 {
		s.end = at.end
		if s.torn {
			if err := s.compare(ctx, at); err != nil {
				s.end = -1
				return err
			}
		}
	}
	if len(before) > 0 && failed != nil && at.number == failed.number+1 {
		s.sent(before) // the transaction without an answer was committed
	}
	s.at, s.next = at, max(at.low, at.start)
	for s.next < s.end {
		f, err := s.o.Client.Fetch(ctx, s.o.Dead, s.partition, s.next, 4<<20, 500*time.Millisecond)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range f.Records {
			if f.Records[i].Offset >= s.end {
				break
			}
			if err := s.take(ctx, &f.Records[i]); err != nil {
				return err
			}
		}
		s.at.mark(s.next, min(f.Next, s.end))
		s.next = f.Next
	}
	return s.commit(ctx)
}

// recover makes the producer usable, with more time where the last transaction has taken all of its own.
func (s *sender) recover(ctx context.Context) error {
	if !s.outlived || s.timeout >= longestTimeout {
		return s.producer.Recover(ctx)
	}
	longer := min(2*s.timeout, longestTimeout)
	p, err := s.o.Client.NewProducer(ctx, s.group, longer)
	if txn.KindOf(err) == txn.Invalid {
		return s.producer.Recover(ctx) // the broker takes no such long timeout
	}
	if err != nil {
		return err
	}
	s.producer, s.timeout, s.outlived = p, longer, false
	return nil
}

// take takes the next record of the partition.
func (s *sender) take(ctx context.Context, r *txn.Record) error {
	s.at.mark(s.next, r.Offset) // no letters lie between
	s.next = r.Next()
	if r.Unread != nil || s.at.Sent(r.Offset) {
		return nil
	}
	x, ok := deadletter.ReadReport(r)
	if !ok {
		s.at.mark(r.Offset, r.Offset+1)
		return nil
	}
	l := Letter{Report: x, At: deadletter.Place{Partition: s.partition, Offset: r.Offset}, Record: r}
	if !s.o.Filter.Match(l.At, &x) {
		return nil
	}
	if l.outcome = s.fate(&l); !l.outcome.Sent() {
		s.stays(&l, l.outcome)
		return nil
	}
	if len(s.batch) > 0 && (len(s.batch) >= batchLetters || s.bytes+int64(len(r.Value)) > batchBytes ||
		s.batch[0].At.Offset < s.alone) {
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	s.batch = append(s.batch, l)
	s.bytes += int64(len(r.Value))
	return nil
}

// fate returns the outcome of a letter, as far as it is known before it is sent.
func (s *sender) fate(l *Letter) Outcome {
	n, ok := s.o.Targets[l.Topic]
	switch {
	case !ok || l.Name != "" && l.Name != s.o.Name:
		return Foreign
	case l.Partition >= n:
		return NoPartition
	case l.Omitted:
		return Partial
	case s.o.Most > 0 && l.Replays >= s.o.Most:
		return Exhausted
	case s.large[l.At.Offset]:
		return TooLarge
	}
	return s.timing(l)
}

// timing returns the outcome of a letter that is sent.
func (s *sender) timing(l *Letter) Outcome {
	switch {
	case !l.Timed:
		return Untimed
	case !s.o.Client.Keeps(l.Topic, l.Time, s.o.Now()):
		return Retimed
	}
	return Sent
}

// sent tells of letters whose messages are committed.
func (s *sender) sent(letters []Letter) {
	for i := range letters {
		s.o.Each(&letters[i], letters[i].outcome)
	}
}

// stays tells of a letter that waits on, once, though an attempt may come by it again.
func (s *sender) stays(l *Letter, o Outcome) {
	if l.At.Offset >= s.told {
		s.o.Each(l, o)
		s.told = l.At.Offset + 1
	}
}

// commit sends the messages of the batch in one transaction with the receipt and the offset of the group.
func (s *sender) commit(ctx context.Context) error {
	if len(s.batch) == 0 {
		return nil
	}
	if s.o.DryRun {
		s.sent(s.batch)
		s.batch, s.bytes = nil, 0
		return nil
	}
	ends, err := s.ends(ctx)
	if err != nil {
		return err
	}
	var letters []span
	after := Ledger{number: s.at.number, low: s.at.low, sent: append([]span(nil), s.at.sent...)}
	records := make([]txn.Record, 0, len(s.batch)+1)
	for i := range s.batch {
		l := &s.batch[i]
		after.mark(l.At.Offset, l.At.Offset+1)
		if n := len(letters); n > 0 && letters[n-1][1] == l.At.Offset {
			letters[n-1][1]++
		} else {
			letters = append(letters, span{l.At.Offset, l.At.Offset + 1})
		}
		m := message(l, s.o.Dead)
		m.Time = s.o.Client.Stamp(m.Topic, m.Time, s.o.Now())
		records = append(records, m)
	}
	if err := s.note(ctx, records, after, letters, ends); err != nil {
		return err
	}
	s.sent(s.batch)
	s.batch, s.bytes = nil, 0
	return nil
}

// note commits records with the receipt of a ledger and the offset of the group.
func (s *sender) note(
	ctx context.Context, records []txn.Record, after Ledger, letters []span, ends map[string][]int64,
) error {
	if len(after.sent) > maxSpans {
		return fmt.Errorf("the letters that wait lie in more than %d runs between sent ones; send more of them at a time, "+
			"with fewer filters", maxSpans)
	}
	after.number++
	x := receipt{after.number, after.low, after.sent, letters, ends}
	value, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	records = append(records, txn.Record{Topic: s.o.Dead, Partition: s.partition, Key: []byte(s.group), Value: value,
		Headers: []txn.Header{{Key: headerReceipt, Value: []byte("dead replay")}}, Time: s.o.Now()})
	began := s.o.Now()
	// An interrupted run finishes the transaction under way.
	if err := s.producer.Commit(context.WithoutCancel(ctx), txn.Transaction{
		Records: records, Compression: txn.Lz4, Group: s.group, Generation: -1,
		Offsets: map[string]map[int]int64{s.o.Dead: {s.partition: after.low}}, Note: note(x.Number, s.at.end),
	}); err != nil {
		s.outlived = s.o.Now().Sub(began) >= s.timeout*9/10
		return err
	}
	s.at.Ledger = after
	return nil
}

// ends returns the ends of the topics to which the messages of the batch go.
func (s *sender) ends(ctx context.Context) (map[string][]int64, error) {
	out := map[string][]int64{}
	for i := range s.batch {
		topic := s.batch[i].Topic
		if out[topic] != nil {
			continue
		}
		n := s.o.Targets[topic]
		all := make([]int, n)
		for p := range all {
			all[p] = p
		}
		ends, err := s.o.Client.ListOffsets(ctx, topic, all, txn.End)
		if err != nil {
			return nil, err
		}
		out[topic] = make([]int64, n)
		for p, at := range ends {
			out[topic][p] = at
		}
	}
	return out, nil
}

// message returns the message of a letter as it is sent again: key, time, value and headers as they were, where the
// letter is of one row with the number and the sum of that row. One header counts how often it was sent again, one has
// the time where the letter knows it.
func message(l *Letter, dead string) txn.Record {
	r := l.Record
	h := make([]txn.Header, 0, len(l.Headers)+3)
	again := false // the headers from here on are of a former replay
	row := codec.EventHeaders(r.Value, 1)
	for _, x := range l.Headers {
		switch x.Key {
		case deadletter.HeaderReplays, deadletter.HeaderLetter:
			again = true
			continue
		case codec.HeaderTime:
			if again {
				continue
			}
		case codec.HeaderRows:
			if l.Row >= 0 {
				x.Value = row.Rows
			}
		case codec.HeaderCRC32C:
			if l.Row >= 0 {
				x.Value = row.CRC32C
			}
		}
		h = append(h, x)
	}
	h = append(h, txn.Header{Key: deadletter.HeaderReplays, Value: strconv.AppendInt(nil, int64(l.Replays)+1, 10)},
		txn.Header{Key: deadletter.HeaderLetter, Value: fmt.Appendf(nil, "%s/%d/%d", dead, l.At.Partition, l.At.Offset)})
	if l.Timed {
		h = append(h, txn.Header{Key: codec.HeaderTime, Value: []byte(txn.FormatMillis(l.Time))})
	}
	return txn.Record{Topic: l.Topic, Partition: l.Partition, Key: r.Key, Value: r.Value, Time: l.Time, Headers: h}
}
