package txn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// Fetched is the answer of one Fetch. It owns all its bytes: nothing else refers to them. Small keys and values share
// blocks of 64 KB, so copy the ones that are to live long.
type Fetched struct {
	Records []Record // committed ones only, by offset; may be empty while Next moves on
	Next    int64    // where to fetch from next; aborted and compacted records and markers lie between
	Bytes   int64    // of keys, values and headers

	HighWatermark int64 // one past the last replicated record
	// LastStable is one past the last record whose transaction, if any, has ended: a read-committed reader comes to here
	// and waits.
	LastStable int64
	LogStart   int64 // first offset still kept
}

const opFetch = "Fetch"

// Fetch reads committed records of a partition from offset on. It waits up to maxWait while there is nothing to read;
// nothing within that time is no error. maxBytes bounds the answer before decompression, but the first batch always
// comes whole, so that a reader never sticks. Aborted records and control markers are left out; empty batches, which
// compaction leaves, are passed over one offset at a time.
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
	limit := int32(min(max(maxBytes, 1), math.MaxInt32))
	req := &fetch.Request{
		// The partition's limit bounds the answer. kfake leaves out the aborted transactions of an answer that the request's
		// limit cuts off (01_fetch.go, "break full"): aborted records would be taken for committed.
		ReplicaID: -1, MaxWaitTime: int32(maxWait.Milliseconds()), MinBytes: 1, MaxBytes: math.MaxInt32,
		IsolationLevel: int8(kafka.ReadCommitted), SessionEpoch: -1,
		Topics: []fetch.RequestTopic{{Topic: topic, Partitions: []fetch.RequestPartition{{
			Partition: int32(
				partition,
			), CurrentLeaderEpoch: -1, FetchOffset: offset, LogStartOffset: -1, PartitionMaxBytes: limit,
		}}}},
	}
	var p *fetch.ResponsePartition
	err := led(ctx, func() error {
		m, err := c.roundTrip(ctx, req, maxWait)
		if err != nil {
			return failedAt(opFetch, topic, partition, err)
		}
		res := m.(*fetch.Response)
		if res.ErrorCode != 0 {
			return coded(opFetch, topic, partition, res.ErrorCode)
		}
		if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
			return failedAt(opFetch, topic, partition, errors.New("the answer is not about the one partition asked for"))
		}
		p = &res.Topics[0].Partitions[0]
		return coded(opFetch, topic, partition, p.ErrorCode)
	})
	if err != nil {
		return Fetched{}, err
	}
	f := Fetched{Next: offset, HighWatermark: p.HighWatermark, LastStable: p.LastStableOffset, LogStart: p.LogStartOffset}
	if err := f.collect(topic, partition, offset, p); err != nil {
		return Fetched{}, failedAt(opFetch, topic, partition, err)
	}
	return f, nil
}

// Read calls each for the committed records of a partition from the offset from on, until the offset to is reached, and
// returns the offset after them. The last answer may hold records beyond to: each sees them too. While to lies beyond
// the last stable offset, Read waits.
func (c *Client) Read(
	ctx context.Context, topic string, partition int, from, to int64, each func(*Record),
) (next int64, err error) {
	for next = from; next < to; {
		f, err := c.Fetch(ctx, topic, partition, next, 8<<20, 500*time.Millisecond)
		if err != nil {
			return next, err
		}
		for i := range f.Records {
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

// collect takes the committed records at offset and above out of an answer.
func (f *Fetched) collect(topic string, partition int, offset int64, p *fetch.ResponsePartition) error {
	stream, ok := p.RecordSet.Records.(*protocol.RecordStream)
	if !ok || len(stream.Records) == 0 {
		return nil
	}
	aborts := p.AbortedTransactions
	slices.SortFunc(
		aborts,
		func(a, b fetch.ResponseTransaction) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) },
	)
	aborted := make(map[int64]bool) // producers inside an aborted transaction at this point of the log
	enter := func(upTo int64) {     // the aborted transactions that have begun there
		for len(aborts) > 0 && aborts[0].FirstOffset <= upTo {
			aborted[aborts[0].ProducerID] = true
			aborts = aborts[1:]
		}
	}
	var bytes block
	for _, batch := range stream.Records {
		var base int64
		skip := false
		switch b := batch.(type) {
		case *protocol.ControlBatch:
			marker, err := b.ReadControlRecord()
			if errors.Is(err, io.EOF) { // compacted away
				base = b.BaseOffset
				break
			}
			if err != nil {
				return fmt.Errorf("reading a marker: %w", err)
			}
			// abort: this producer's aborted transaction ends here, even if compaction has left nothing else of it
			if marker.Type == 0 {
				enter(marker.Offset)
				delete(aborted, b.ProducerID)
			}
			f.advance(marker.Offset)
			continue
		case *protocol.RecordBatch:
			base = b.BaseOffset
			enter(base)
			skip = b.Attributes.Transactional() && aborted[b.ProducerID]
		case *protocol.MessageSet:
			base = b.BaseOffset
		}
		f.advance(base - 1) // batches come in order: the offsets below this one are gone
		for {
			r, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("reading a record: %w", err)
			}
			if r.Offset < offset || skip {
				release(r)
			} else if err := f.take(topic, partition, r, &bytes); err != nil {
				return err
			}
			f.advance(r.Offset)
		}
	}
	if f.Next == offset {
		// Batches, but nothing at or above offset: the rest of the last one was compacted away. Its length is not told.
		f.Next++
	}
	return nil
}

func (f *Fetched) advance(past int64) { f.Next = max(f.Next, past+1) }

func (f *Fetched) take(topic string, partition int, r *protocol.Record, bytes *block) error {
	key, err := bytes.read(r.Key)
	if err != nil {
		return fmt.Errorf("reading the key at offset %d: %w", r.Offset, err)
	}
	value, err := bytes.read(r.Value)
	if err != nil {
		return fmt.Errorf("reading the value at offset %d: %w", r.Offset, err)
	}
	record := Record{Topic: topic, Partition: partition, Key: key, Value: value, Offset: r.Offset}
	if r.Time.UnixMilli() != noTimestamp {
		record.Time = r.Time
	}
	f.Bytes += int64(len(key) + len(value))
	if len(r.Headers) > 0 {
		record.Headers = make([]Header, len(r.Headers))
		for i, h := range r.Headers {
			record.Headers[i] = Header{Key: h.Key, Value: h.Value}
			f.Bytes += int64(len(h.Key) + len(h.Value))
		}
	}
	f.Records = append(f.Records, record)
	return nil
}

// release gives the pages of a record that nobody wants back to kafka-go's pool.
func release(r *protocol.Record) {
	if r.Key != nil {
		r.Key.Close()
	}
	if r.Value != nil {
		r.Value.Close()
	}
}

// block hands out memory for keys and values, small ones many to an allocation.
type block struct{ free []byte }

const blockBytes = 64 << 10

func (b *block) read(src protocol.Bytes) ([]byte, error) {
	if src == nil {
		return nil, nil
	}
	defer src.Close()
	n := src.Len()
	if n == 0 {
		return []byte{}, nil // empty is not null
	}
	var dst []byte
	if n > blockBytes/8 {
		dst = make([]byte, n)
	} else {
		if n > len(b.free) {
			b.free = make([]byte, blockBytes)
		}
		dst, b.free = b.free[:n:n], b.free[n:]
	}
	if _, err := io.ReadFull(src, dst); err != nil {
		return nil, err
	}
	return dst, nil
}
