package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// rawFetch is a fetch request whose answer is kept as the broker's bytes. The client's own reader of answers
// decompresses every batch without a bound, leaves out the rest of a batch that it cannot read, and ignores errors of
// all batches but the first; so batches are read here (batch.go has their layout), one by one, after the budget allows
// it. It belongs to one request.
type rawFetch struct {
	*fetch.Request
	clientID string
	allow    int64 // the largest batch that is kept
	version  int16
}

// Required implements protocol.RawExchanger: it learns the version of the connection, and takes the exchange over.
func (r *rawFetch) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// exchangeID is the correlation id of each request: a connection carries one request at a time.
const exchangeID = 1

// RawExchange implements protocol.RawExchanger.
func (r *rawFetch) RawExchange(conn io.ReadWriter) (protocol.Message, error) {
	if err := protocol.WriteRequest(conn, r.version, exchangeID, r.clientID, r.Request); err != nil {
		return nil, err
	}
	in := &answerReader{in: conn, left: 8}
	size, id := in.int32(), in.int32()
	if in.err != nil {
		return nil, in.err
	}
	if id != exchangeID || size < 4 {
		return nil, fmt.Errorf("an answer of %d bytes to request %d, asked was %d", size, id, exchangeID)
	}
	in.left = int64(size) - 4
	a := &answer{}
	a.read(in, r.version, r.allow)
	in.discard(in.left)
	return a, in.err
}

// answer is the answer of a broker about one partition. It implements protocol.Message.
type answer struct {
	fetch.ResponsePartition
	code    int16 // of the whole request
	parts   int   // partitions that it is about
	batches []rawBatch
}

// ApiKey implements protocol.Message.
func (a *answer) ApiKey() protocol.ApiKey { return protocol.Fetch }

// rawBatch is one record batch as the broker has it.
type rawBatch struct {
	base  int64
	bytes int64  // of the whole batch
	data  []byte // all of it from the base offset on, or its header alone where it is larger than allowed
}

func (a *answer) read(in *answerReader, version int16, allow int64) {
	if version >= 1 {
		in.int32() // throttled
	}
	if version >= 7 {
		a.code = in.int16()
		in.int32() // session
	}
	for range in.count() {
		in.discard(int64(in.int16())) // topic
		for range in.count() {
			a.parts++
			a.readPartition(in, version, allow)
		}
	}
}

func (a *answer) readPartition(in *answerReader, version int16, allow int64) {
	a.Partition, a.ErrorCode, a.HighWatermark = in.int32(), in.int16(), in.int64()
	a.LastStableOffset, a.LogStartOffset = -1, -1
	if version >= 4 {
		a.LastStableOffset = in.int64()
	}
	if version >= 5 {
		a.LogStartOffset = in.int64()
	}
	if version >= 4 {
		for range in.count() {
			a.AbortedTransactions = append(a.AbortedTransactions,
				fetch.ResponseTransaction{ProducerID: in.int64(), FirstOffset: in.int64()})
		}
	}
	if version >= 11 {
		in.int32() // preferred replica
	}
	size := int64(max(in.int32(), 0))
	if in.err != nil || size > in.left {
		in.fail(io.ErrUnexpectedEOF)
		return
	}
	rest := in.left - size
	for in.err == nil && in.left-rest >= batchStart {
		start := in.take(batchStart, nil)
		b := rawBatch{base: int64(binary.BigEndian.Uint64(start))}
		length := int64(int32(binary.BigEndian.Uint32(start[8:])))
		b.bytes = batchStart + length
		if in.err != nil || length <= 0 || length > in.left-rest {
			break // the broker cuts the answer at its size: the last batch is not whole
		}
		keep := length
		if b.bytes > allow {
			keep = min(length, batchHeader-batchStart)
		}
		b.data = in.take(keep, start)
		in.discard(length - keep)
		if in.err == nil {
			a.batches = append(a.batches, b)
		}
	}
	in.discard(in.left - rest)
}

// batchStart is the number of bytes of a batch that hold its base offset and its length.
const batchStart = 12

// answerReader reads the numbers of an answer. After an error it gives zeros.
type answerReader struct {
	in   io.Reader
	left int64 // of the answer
	err  error
	buf  [8]byte
}

func (r *answerReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *answerReader) fixed(n int64) []byte {
	b := r.buf[:n]
	switch {
	case r.err != nil:
		clear(b)
	case n > r.left:
		r.fail(io.ErrUnexpectedEOF)
		clear(b)
	default:
		_, err := io.ReadFull(r.in, b)
		r.left -= n
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if r.err = err; err != nil {
			clear(b)
		}
	}
	return b
}

func (r *answerReader) int16() int16 { return int16(binary.BigEndian.Uint16(r.fixed(2))) }
func (r *answerReader) int32() int32 { return int32(binary.BigEndian.Uint32(r.fixed(4))) }
func (r *answerReader) int64() int64 { return int64(binary.BigEndian.Uint64(r.fixed(8))) }

// count reads the length of an array, of which each element takes bytes of the answer.
func (r *answerReader) count() int64 {
	n := int64(r.int32())
	if r.err != nil {
		return 0
	}
	return min(max(n, 0), r.left)
}

// take appends the next n bytes to dst. It trusts no length: memory grows as bytes come.
func (r *answerReader) take(n int64, dst []byte) []byte {
	const step = 1 << 20
	if r.err == nil && n > r.left {
		r.fail(io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return append(dst, make([]byte, min(n, batchStart))...)
	}
	dst = append(make([]byte, 0, int64(len(dst))+min(n, step)), dst...)
	for n > 0 {
		at := len(dst)
		if cap(dst) == at {
			grown := make([]byte, at, min(2*int64(at), int64(at)+n))
			copy(grown, dst)
			dst = grown
		}
		k := min(n, int64(cap(dst)-at))
		dst = dst[:int64(at)+k]
		got, err := io.ReadFull(r.in, dst[at:])
		r.left -= int64(got)
		n -= int64(got)
		if err != nil {
			r.fail(io.ErrUnexpectedEOF)
			break
		}
	}
	return dst
}

// discard passes over n bytes.
func (r *answerReader) discard(n int64) {
	n = min(max(n, 0), r.left)
	if r.err != nil || n == 0 {
		return
	}
	got, err := io.CopyN(io.Discard, r.in, n)
	r.left -= got
	if err != nil {
		r.fail(io.ErrUnexpectedEOF)
	}
}
