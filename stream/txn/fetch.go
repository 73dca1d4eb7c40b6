package txn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// Fetched is the answer of one Fetch. It owns all its bytes: nothing else refers to them. Small keys and values share
// blocks of 64 KB, so copy the ones that are to live long.
type Fetched struct {
	Records []Record // committed ones only, by offset; may be empty while Next moves on
	Next    int64    // where to fetch from next; aborted and compacted records and markers lie between
	Bytes   int64    // memory of the records

	HighWatermark int64 // one past the last replicated record
	// LastStable is one past the last record whose transaction, if any, has ended: a read-committed reader comes to here
	// and waits.
	LastStable int64
	LogStart   int64 // first offset still kept
}

const opFetch = "Fetch"

// UnreadError says why records cannot be read. Fetch puts it in their place, see Record.Unread.
type UnreadError struct {
	Topic       string
	Partition   int
	First, Last int64 // offsets
	TooLarge    bool  // a limit is in the way; else the bytes are damaged
	Err         error
}

func (e *UnreadError) Error() string {
	where := fmt.Sprintf("offset %d", e.First)
	if e.Last > e.First {
		where = fmt.Sprintf("offsets %d to %d", e.First, e.Last)
	}
	return fmt.Sprintf("%s of %s/%d cannot be read: %v", where, e.Topic, e.Partition, e.Err)
}

// Unwrap gives the cause.
func (e *UnreadError) Unwrap() error { return e.Err }

// Fetch reads committed records of a partition from offset on. It waits up to maxWait while there is nothing to read;
// nothing within that time is no error. maxBytes bounds the answer before decompression and, by about a batch, after
// it, but the first batch always comes whole, so that a reader never sticks. Aborted records and control markers are
// left out; empty batches, which compaction leaves, are passed over one offset at a time.
//
// A batch is decompressed within Config.ExpandBytes. One that takes more, or whose bytes are damaged, gives one record
// with Unread; so do the records of a batch after a damaged one.
//
// An offset outside the log is an Error of Kind OutOfRange. A Fetch has no effect on the broker: after any error it may
// be repeated. It waits for a leader that moves.
func (c *Client) Fetch(
	ctx context.Context,
	topic string,
	partition int,
	offset int64,
	maxBytes int,
	maxWait time.Duration,
) (Fetched, error) {
	return c.FetchWithin(ctx, topic, partition, offset, maxBytes, maxWait, nil)
}

// FetchWithin is Fetch for a reader that has reserved maxBytes of memory. Where the first batch alone needs n bytes,
// more than that, FetchWithin drops the answer and calls more: the reader gives its reservation back and waits for
// one of n bytes.
func (c *Client) FetchWithin(
	ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration,
	more func(ctx context.Context, n int64) error,
) (Fetched, error) {
	at := topicPartition{topic, int32(partition)}
	f := collector{c: c, at: at, offset: offset, reserved: int64(max(maxBytes, 1)), bounded: more != nil}
	defer func() { f.own.release() }()
	// Kept beside the reservation: a batch up to the usual limit of brokers.
	allow := max(f.reserved, DefaultBatchBytes+DefaultBatchBytes/10)
	for again := false; ; {
		a, err := f.ask(ctx, allow, maxWait)
		if err != nil {
			return Fetched{}, err
		}
		f.Fetched = Fetched{
			Next: offset, HighWatermark: a.HighWatermark, LastStable: a.LastStableOffset, LogStart: a.LogStartOffset,
		}
		err = f.collect(ctx, a)
		var needs *needsError
		switch {
		case err == nil:
			f.learnRatio()
			return f.Fetched, nil
		case errors.Is(err, errCRC) && !again:
			again = true // once more: the bytes may have been damaged on their way
		case errors.As(err, &needs) && needs.raw && f.own == nil:
			f.Fetched = Fetched{}
			if f.own, err = c.expand.whole(ctx); err != nil {
				return Fetched{}, failedAt(opFetch, topic, partition, err)
			}
			allow = c.expand.limit
		case errors.As(err, &needs) && !needs.raw && more != nil && needs.n > f.reserved:
			// Nothing of the budget of decompression is held while the reader waits: the one may wait for the other.
			f.Fetched = Fetched{}
			f.own.release()
			f.own, f.reserved = nil, needs.n
			if err := more(ctx, needs.n); err != nil {
				return Fetched{}, failedAt(opFetch, topic, partition, err)
			}
		default:
			return Fetched{}, f.failed(err)
		}
		f.damagedTwice = again
		maxWait = 0
	}
}

// ask sends one fetch request to the leader of the partition. Batches above allow come without their records.
func (f *collector) ask(ctx context.Context, allow int64, maxWait time.Duration) (a *answer, err error) {
	topic, partition, limit := f.at.topic, int(f.at.partition), f.packedBytes()
	err = led(ctx, func() error {
		req := &rawFetch{clientID: f.c.cfg.ClientID, allow: allow, Request: &fetch.Request{
			// The partition's limit bounds the answer. kfake leaves out the aborted transactions of an answer that the request's
			// limit cuts off (01_fetch.go, "break full"): aborted records would be taken for committed.
			ReplicaID: -1, MaxWaitTime: int32(maxWait.Milliseconds()), MinBytes: 1, MaxBytes: math.MaxInt32,
			IsolationLevel: int8(kafka.ReadCommitted), SessionEpoch: -1,
			Topics: []fetch.RequestTopic{{Topic: topic, Partitions: []fetch.RequestPartition{{
				Partition: f.at.partition, CurrentLeaderEpoch: -1, FetchOffset: f.offset, LogStartOffset: -1,
				PartitionMaxBytes: int32(min(max(limit, 1), math.MaxInt32)),
			}}}},
		}}
		m, err := f.c.roundTrip(ctx, req, maxWait)
		if err != nil {
			return failedAt(opFetch, topic, partition, err)
		}
		a = m.(*answer)
		if a.code != 0 {
			return coded(opFetch, topic, partition, a.code)
		}
		if a.parts != 1 {
			return failedAt(opFetch, topic, partition, errors.New("the answer is not about the one partition asked for"))
		}
		return coded(opFetch, topic, partition, a.ErrorCode)
	})
	return a, err
}

// packedBytes is how many bytes of the log to ask for, so that their records take about that many. Without it a
// well-compressed log would be asked for again and again.
func (f *collector) packedBytes() int64 {
	if ratio, ok := f.c.ratios.Load(f.at); ok {
		return max(int64(float64(f.reserved)/ratio.(float64)), min(f.reserved, 64<<10))
	}
	return f.reserved
}

func (f *collector) learnRatio() {
	if f.packed > 0 && f.Bytes > 0 {
		f.c.ratios.Store(f.at, max(float64(f.Bytes)/float64(f.packed), 1))
	}
}

// Read calls each for the committed records of a partition from the offset from on, until the offset to is reached, and
// returns the offset after them. The last answer may hold records beyond to: each sees them too. While to lies beyond
// the last stable offset, Read waits. Damaged bytes are an error; batches beyond the limit of decompression come as
// records with Unread, without key and value.
func (c *Client) Read(
	ctx context.Context, topic string, partition int, from, to int64, each func(*Record),
) (next int64, err error) {
	for next = from; next < to; {
		f, err := c.Fetch(ctx, topic, partition, next, 2<<20, 500*time.Millisecond)
		if err != nil {
			return next, err
		}
		for i := range f.Records {
			if u := f.Records[i].Unread; u != nil && !u.TooLarge {
				return next, damaged(u)
			}
			each(&f.Records[i])
		}
		next = f.Next
		if ctx.Err() != nil {
			return next, ctx.Err()
		}
	}
	return next, nil
}

// led repeats a request to a partition's leader while the answer is that it leads no longer, or not quite yet. The
// client's metadata tell of the new one within metadataTTL; after twice that it is no move but a sickness of the
// cluster, and the error is returned.
func led(ctx context.Context, f func() error) error {
	const pause = 50 * time.Millisecond
	for range 2 * metadataTTL / pause {
		err := f()
		switch kafka.Error(codeOf(err)) {
		case kafka.LeaderNotAvailable, kafka.NotLeaderForPartition, kafka.OffsetNotAvailable: // 5, 6, 78
		default:
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
	}
	return f()
}

// needsError is returned by collect where the first batch needs n bytes more than there are: of its packed form where
// raw is set, which the budget of decompression pays for, else of its records, for which the reader pays.
type needsError struct {
	n   int64
	raw bool
}

func (e *needsError) Error() string { return fmt.Sprintf("a batch of %d bytes", e.n) }

// collector takes the committed records at offset and above out of an answer.
type collector struct {
	Fetched
	c        *Client
	at       topicPartition
	offset   int64
	reserved int64
	bounded  bool       // more bytes than reserved must be asked for
	own      *allowance // all of the budget of decompression, where it is held over the whole answer; nil = not
	packed   int64      // bytes of the batches that gave the records
	block    block
	cut      int64 // memory of records at which a batch is left to the next Fetch

	damagedTwice bool
	aborts       []fetch.ResponseTransaction
	aborted      map[int64]bool // producers inside an aborted transaction at this point of the log
}

// failed names the place of damaged bytes that a reader cannot pass over.
func (f *collector) failed(err error) error {
	var u *UnreadError
	if errors.As(err, &u) {
		return damaged(u)
	}
	return failedAt(opFetch, f.at.topic, int(f.at.partition), err)
}

// damaged is the error of a reader to which every record matters.
func damaged(u *UnreadError) error {
	return &Error{Op: opFetch, Topic: u.Topic, Partition: u.Partition, Kind: Invalid,
		Reason: "the bytes in the topic are damaged", Err: u}
}

// enter begins the aborted transactions that have begun below or at an offset.
func (f *collector) enter(upTo int64) {
	for len(f.aborts) > 0 && f.aborts[0].FirstOffset <= upTo {
		f.aborted[f.aborts[0].ProducerID] = true
		f.aborts = f.aborts[1:]
	}
}

func (f *collector) collect(ctx context.Context, a *answer) error {
	f.packed, f.block, f.aborts = 0, block{}, slices.Clone(a.AbortedTransactions)
	f.aborted = make(map[int64]bool)
	slices.SortFunc(f.aborts,
		func(a, b fetch.ResponseTransaction) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) })
	for i := range a.batches {
		b := &a.batches[i]
		more, err := f.batch(ctx, b)
		b.data = nil
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if f.Next == f.offset && len(a.batches) > 0 {
		// Batches, but nothing at or above offset: the rest of the last one was compacted away. Its length is not told.
		f.Next++
	}
	return nil
}

// batch takes the records of a batch; more is false where the next ones must wait for another Fetch.
func (f *collector) batch(ctx context.Context, b *rawBatch) (more bool, err error) {
	h, err := b.header()
	if err != nil {
		if !f.damagedTwice {
			return false, errCRC
		}
		f.unread(h, h.base, false, err)
		return true, nil
	}
	if h.last < f.offset {
		if h.control {
			return true, f.marker(b, h)
		}
		return true, nil
	}
	f.advance(h.base - 1) // batches come in order: the offsets below this one are gone
	if h.control {
		return true, f.marker(b, h)
	}
	f.enter(h.base)
	if h.transactional && f.aborted[h.producer] {
		f.advance(h.last)
		return true, nil
	}
	first := len(f.Records) == 0
	if int64(len(b.data)) < b.bytes {
		switch {
		case b.bytes > f.c.expand.limit:
			f.unread(h, h.base, true, fmt.Errorf("a batch of %d bytes, above the limit of %d (memory.batch)", b.bytes,
				f.c.expand.limit))
			return true, nil
		case !first:
			return false, nil
		}
		return false, &needsError{n: b.bytes, raw: true}
	}
	if err := b.check(); err != nil {
		if !f.damagedTwice {
			return false, err
		}
		f.unread(h, h.base, false, err)
		return true, nil
	}
	return f.records(ctx, b, h, first)
}

// records decompresses a batch and takes its records.
func (f *collector) records(ctx context.Context, b *rawBatch, h *header, first bool) (more bool, err error) {
	plain := b.data[h.body:]
	if h.compression != None {
		var a *allowance
		plain, a, err = f.c.expand.expand(ctx, plain, h.compression, f.own)
		if a != f.own {
			defer a.release()
		}
		switch {
		case errors.Is(err, errExpands):
			f.unread(h, h.base, true, fmt.Errorf("a batch of %d bytes that decompresses to more than the limit of %d "+
				"(memory.batch)", b.bytes, f.c.expand.limit))
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			f.unread(h, h.base, false, err)
			return true, nil
		}
	}
	// Four times the bytes are for usual records. More of them than that take their batch in several answers.
	n := int64(len(plain))
	need := min(n+int64(max(h.count, 0))*recordBytes, 4*n+blockBytes)
	if f.bounded && f.Bytes+need > f.reserved {
		switch {
		case first && need > f.reserved:
			return false, &needsError{n: need}
		case !first && n > blockBytes:
			return false, nil
		}
	}
	f.cut = max(f.reserved, f.Bytes+need)
	more, kept := f.split(plain, h)
	f.packed += b.bytes
	if h.compression != None && kept == 0 {
		f.c.expand.reuse(plain)
	}
	return more && f.Bytes < f.reserved, nil
}

func (f *collector) advance(past int64) { f.Next = max(f.Next, past+1) }

// unread puts one record in the place of those of a batch from an offset on.
func (f *collector) unread(h *header, from int64, tooLarge bool, err error) {
	f.unreadTo(h, from, h.last, tooLarge, err)
}

func (f *collector) unreadTo(h *header, from, to int64, tooLarge bool, err error) {
	from = max(from, f.offset)
	if to < from {
		return
	}
	r := Record{Topic: f.at.topic, Partition: int(f.at.partition), Offset: from, Time: h.time(h.greatest)}
	r.Unread = &UnreadError{Topic: r.Topic, Partition: r.Partition, First: from, Last: to, TooLarge: tooLarge, Err: err}
	f.Records = append(f.Records, r)
	f.Bytes += recordBytes
	f.advance(to)
}
