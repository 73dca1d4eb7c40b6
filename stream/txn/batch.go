package txn

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

// The record batch of format 2, big-endian, as a produce request carries it after a 4-byte size:
//
//	 0 base offset      8    21 attributes         2    43 producer id     8
//	 8 length after it  4    23 last offset delta  4    51 producer epoch  2
//	12 leader epoch     4    25..27 base time      8    53 base sequence   4
//	16 magic = 2        1    35 greatest time      8    57 records         4
//	17 CRC-32C of 21..  4                               61 records, compressed as one
//
// and a record, all integers zigzag varints: length of the rest, attributes (one byte), time delta, offset delta, key,
// value, number of headers, headers (key, value); a byte string is its length, -1 for null, and its bytes.
const (
	sizePrefix    = 4
	batchHeader   = 61
	crcFrom       = 21
	transactional = 1 << 4
	noTimestamp   = -1

	// keptBytes is how much encoding memory a session keeps from one transaction to the next.
	keptBytes = 4 << 20
)

type topicPartition struct {
	topic     string
	partition int32
}

func (a topicPartition) compare(b topicPartition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// batch is one encoded record batch, size prefix included.
type batch struct {
	topicPartition
	data  []byte
	plain int  // bytes before compression
	done  bool // acknowledged
}

// session is one producer id and epoch with the sequences that it has used. It is never repaired: an error ends it.
type session struct {
	client          *Client
	transactionalID string // empty = idempotent only
	id              int64
	epoch           int16
	sequence        map[topicPartition]int32 // next one
	written         map[topicPartition]int64 // offset of the last batch
	out, scratch    []byte                   // encoding buffers
	sending         time.Duration            // of the bytes of the last request, on a slow connection
}

// encode groups the records by partition, in order, splits them by size and encodes the batches, sorted by topic and
// partition. The bytes are valid until the next encode.
func (s *session) encode(records []Record, compression Compression, limit int) ([]batch, error) {
	order := make([]int, len(records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return partitionOf(&records[i]).compare(partitionOf(&records[j])) })

	type span struct {
		at              topicPartition
		from, to, plain int
	}
	var spans []span
	out := s.out[:0]
	for len(order) > 0 {
		at := partitionOf(&records[order[0]])
		n, size, limit := 0, 0, s.batchLimit(at.topic, limit)
		for ; n < len(order) && partitionOf(&records[order[n]]) == at; n++ {
			bound, err := recordBound(&records[order[n]])
			if err != nil {
				return nil, &Error{
					Op:        "Produce",
					Topic:     at.topic,
					Partition: int(at.partition),
					Kind:      TooLarge,
					Reason:    "a record has at most 2 GiB",
					Err:       err,
				}
			}
			if n > 0 && size+bound > limit {
				break
			}
			size += bound
		}
		from := len(out)
		var err error
		out, err = s.appendBatch(out, records, order[:n], compression, s.sequence[at])
		if err != nil {
			return nil, &Error{
				Op:        "Produce",
				Topic:     at.topic,
				Partition: int(at.partition),
				Kind:      Invalid,
				Reason:    "the batch cannot be encoded",
				Err:       err,
			}
		}
		spans = append(spans, span{at, from, len(out), size + batchHeader})
		s.sequence[at] = nextSequence(s.sequence[at], n)
		order = order[n:]
	}
	s.out = out
	batches := make([]batch, len(spans))
	for i, b := range spans {
		batches[i] = batch{topicPartition: b.at, data: out[b.from:b.to:b.to], plain: b.plain}
	}
	return batches, nil
}

// release gives up encoding memory that a large transaction has left, or all of it while somebody may still read it.
func (s *session) release(all bool) {
	if all || cap(s.out) > keptBytes {
		s.out = nil
	}
	if all || cap(s.scratch) > keptBytes {
		s.scratch = nil
	}
}

func partitionOf(r *Record) topicPartition { return topicPartition{r.Topic, int32(r.Partition)} }

// nextSequence counts n records on from a sequence; after 2^31-1 comes 0.
func nextSequence(sequence int32, n int) int32 {
	return int32((int64(sequence) + int64(n)) & math.MaxInt32)
}

// appendBatch appends the batch of records[order[0]], records[order[1]], ... with its size prefix.
func (s *session) appendBatch(
	dst []byte,
	records []Record,
	order []int,
	compression Compression,
	sequence int32,
) ([]byte, error) {
	base := s.timestamp(&records[order[0]])
	untimed, greatest := base == noTimestamp && !records[order[0]].Time.IsZero(), base
	for _, i := range order {
		if !untimed {
			greatest = max(greatest, milliseconds(&records[i]))
		}
	}
	at := func(i int) int64 {
		if untimed {
			return noTimestamp
		}
		return milliseconds(&records[i])
	}
	attributes := uint16(compression & 7)
	if s.transactionalID != "" {
		attributes |= transactional
	}
	start := len(dst)
	dst = append(dst, make([]byte, sizePrefix+batchHeader)...)
	if compression == None {
		for delta, i := range order {
			dst = appendRecord(dst, &records[i], at(i)-base, delta)
		}
	} else {
		codec := kafka.Compression(compression).Codec()
		if codec == nil {
			return nil, fmt.Errorf("no compression codec %d", compression)
		}
		plain := s.scratch[:0]
		for delta, i := range order {
			plain = appendRecord(plain, &records[i], at(i)-base, delta)
		}
		s.scratch = plain
		sink := appender{dst}
		w := codec.NewWriter(&sink)
		_, err := w.Write(plain)
		if err2 := w.Close(); err == nil {
			err = err2
		}
		if err != nil {
			return nil, fmt.Errorf("compressing: %w", err)
		}
		dst = sink.data
	}
	size := len(dst) - start - sizePrefix
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("a batch of %d bytes", size)
	}
	be := binary.BigEndian
	be.PutUint32(dst[start:], uint32(size))
	h := dst[start+sizePrefix:]
	be.PutUint32(h[8:], uint32(size-12))
	be.PutUint32(h[12:], math.MaxUint32) // leader epoch -1: the broker fills it in, the CRC does not cover it
	h[16] = 2
	be.PutUint16(h[21:], attributes)
	be.PutUint32(h[23:], uint32(len(order)-1))
	be.PutUint64(h[27:], uint64(base))
	be.PutUint64(h[35:], uint64(greatest))
	be.PutUint64(h[43:], uint64(s.id))
	be.PutUint16(h[51:], uint16(s.epoch))
	be.PutUint32(h[53:], uint32(sequence))
	be.PutUint32(h[57:], uint32(len(order)))
	be.PutUint32(h[17:], crc32.Checksum(h[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return dst, nil
}

// appendRecord appends a record with a timestamp of so many milliseconds after that of its batch.
func appendRecord(dst []byte, r *Record, time int64, delta int) []byte {
	n := 1 + varintLen(
		time,
	) + varintLen(
		int64(delta),
	) + bytesLen(
		r.Key,
	) + bytesLen(
		r.Value,
	) + varintLen(
		int64(len(r.Headers)),
	)
	for i := range r.Headers {
		n += varintLen(int64(len(r.Headers[i].Key))) + len(r.Headers[i].Key) + bytesLen(r.Headers[i].Value)
	}
	dst = binary.AppendVarint(dst, int64(n))
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, time)
	dst = binary.AppendVarint(dst, int64(delta))
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		dst = binary.AppendVarint(dst, int64(len(r.Headers[i].Key)))
		dst = append(dst, r.Headers[i].Key...)
		dst = appendBytes(dst, r.Headers[i].Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(int64(len(b))) + len(b)
}

func varintLen(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// recordBound is at least the encoded size of a record; an error if that does not fit the format.
func recordBound(r *Record) (int, error) {
	const lengths = 32 // length, attributes, deltas, lengths of key and value, number of headers
	n := lengths + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += 10 + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	if n > math.MaxInt32-batchHeader {
		return 0, fmt.Errorf("a record of %d bytes", n)
	}
	return n, nil
}

func milliseconds(r *Record) int64 {
	if r.Time.IsZero() {
		return noTimestamp
	}
	return r.Time.UnixMilli()
}

type appender struct{ data []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.data = append(a.data, p...)
	return len(p), nil
}

var _ io.Writer = (*appender)(nil)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
