package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// header is the part of a batch before its records. Formats 0 and 1 have one record, or a compressed set of them, under
// a header of another layout.
type header struct {
	base, last      int64 // offsets
	first, greatest int64 // timestamps, in milliseconds
	producer        int64
	count           int32
	format          int8
	compression     Compression
	appendTime      bool // the broker has stamped all records with greatest
	transactional   bool
	control         bool
	body            int // where the records begin
}

const (
	appendTimeBit = 1 << 3
	controlBit    = 1 << 5
	formatAt      = 16
)

var (
	errCRC     = errors.New("the checksum of the batch does not fit")
	errHeader  = errors.New("the header of the batch is damaged")
	errRecords = errors.New("the records of the batch are damaged")
)

// header reads the header of a batch. After an error it has the offset alone.
func (b *rawBatch) header() (*header, error) {
	h := &header{base: b.base, last: b.base, first: noTimestamp, greatest: noTimestamp, producer: -1}
	d, be := b.data, binary.BigEndian
	if len(d) <= formatAt || b.base < 0 {
		return h, errHeader
	}
	if h.format = int8(d[formatAt]); h.format < 2 {
		return h, b.oldHeader(h)
	}
	delta := int64(0)
	if len(d) >= batchHeader {
		delta = int64(int32(be.Uint32(d[23:])))
	}
	if h.format > 2 || len(d) < batchHeader || delta < 0 || b.base+delta < b.base {
		return h, errHeader
	}
	attributes := be.Uint16(d[21:])
	h.last = b.base + delta
	h.first, h.greatest = int64(be.Uint64(d[27:])), int64(be.Uint64(d[35:]))
	h.producer, h.count = int64(be.Uint64(d[43:])), int32(be.Uint32(d[57:]))
	h.compression, h.body = Compression(attributes&7), batchHeader
	h.appendTime, h.control = attributes&appendTimeBit != 0, attributes&controlBit != 0
	h.transactional = attributes&transactional != 0
	return h, nil
}

// oldHeader reads the header of a message of format 0 or 1: after offset and length its CRC-32 (4), format (1),
// attributes (1), in format 1 the timestamp (8), then key and value with lengths of 4 bytes. The value of a compressed
// one is a set of messages; its offset is that of the last of them.
func (b *rawBatch) oldHeader(h *header) error {
	h.body = 18
	if h.format == 1 {
		h.body = 26
	}
	if h.format < 0 || len(b.data) < h.body {
		return errHeader
	}
	attributes := b.data[17]
	h.compression, h.appendTime, h.count = Compression(attributes&7), attributes&appendTimeBit != 0, 1
	if h.format == 1 {
		h.greatest = int64(binary.BigEndian.Uint64(b.data[18:]))
		h.first = h.greatest
	}
	if h.compression == None || int64(len(b.data)) < b.bytes {
		return nil
	}
	// The records are the value.
	if len(b.data) < h.body+8 {
		return errHeader
	}
	key := max(int64(int32(binary.BigEndian.Uint32(b.data[h.body:]))), 0)
	if key > int64(len(b.data)-h.body-8) {
		return errHeader
	}
	h.body += 8 + int(key)
	return nil
}

// check compares the checksum of a batch.
func (b *rawBatch) check() error {
	if int8(b.data[formatAt]) < 2 {
		if crc32.ChecksumIEEE(b.data[16:]) != binary.BigEndian.Uint32(b.data[batchStart:]) {
			return errCRC
		}
		return nil
	}
	if crc32.Checksum(b.data[crcFrom:], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b.data[17:]) {
		return errCRC
	}
	return nil
}

// time is the time of a record with that timestamp.
func (h *header) time(timestamp int64) time.Time {
	if h.appendTime {
		timestamp = h.greatest
	}
	if timestamp == noTimestamp {
		return time.Time{}
	}
	return time.UnixMilli(timestamp)
}

// marker takes the end of a transaction. A producer's aborted transaction ends by its marker, so one that cannot be
// read is an error: its later records would be left out.
func (f *collector) marker(b *rawBatch, h *header) error {
	if int64(len(b.data)) < b.bytes || h.compression != None {
		return f.badMarker(h, errHeader)
	}
	if err := b.check(); err != nil {
		if !f.damagedTwice {
			return err
		}
		return f.badMarker(h, err)
	}
	if len(b.data) == h.body { // compacted away
		f.advance(h.last - 1)
		return nil
	}
	var r parsed
	if err := r.read(&fields{b: b.data[h.body:]}); err != nil || len(r.key) != 4 {
		return f.badMarker(h, errRecords)
	}
	// abort: this producer's aborted transaction ends here, even if compaction has left nothing else of it
	if binary.BigEndian.Uint16(r.key[2:]) == 0 {
		f.enter(h.base + r.delta)
		delete(f.aborted, h.producer)
	}
	f.advance(h.last)
	return nil
}

func (f *collector) badMarker(h *header, err error) error {
	return &UnreadError{Topic: f.at.topic, Partition: int(f.at.partition), First: h.base, Last: h.last,
		Err: fmt.Errorf("reading a marker: %w", err)}
}

const (
	// recordBytes and headerBytes are the memory of a Record and of a Header beside their bytes: those of a batch can be
	// far more than its bytes.
	recordBytes = 160
	headerBytes = 48
)

// split takes the records out of a decompressed batch. more is false where the rest of the batch must wait for another
// Fetch; kept is not 0 where records refer to plain.
func (f *collector) split(plain []byte, h *header) (more bool, kept int64) {
	if h.format < 2 {
		return f.splitOld(plain, h), 0
	}
	in := &fields{b: plain}
	next := h.base
	for n := int32(0); n < h.count; n++ {
		var r parsed
		err := r.read(in)
		if err == nil && (r.delta < next-h.base || r.delta > h.last-h.base) {
			err = errRecords
		}
		if err != nil {
			f.unread(h, next, false, err)
			return true, kept
		}
		offset := h.base + r.delta
		if offset >= f.offset {
			if len(f.Records) > 0 && f.Bytes >= f.cut {
				return false, kept
			}
			r.timestamp += h.first
			kept += f.take(&r, offset, h, plain)
		}
		next = offset + 1
		f.advance(offset)
	}
	f.advance(h.last) // compaction takes records off the end of a batch
	return true, kept
}

// take copies a record out of the batch. The value that is almost all of its batch stays where it is: take then
// returns the bytes of the batch, else 0.
func (f *collector) take(r *parsed, offset int64, h *header, plain []byte) (kept int64) {
	cost := recordBytes + int64(len(r.key)+len(r.value)) + int64(r.headers)*headerBytes + int64(len(r.rest))
	if most := 2 * f.c.expand.limit; cost > most {
		f.unreadTo(h, offset, offset, true, fmt.Errorf("a record that takes %d bytes, above the limit of %d", cost, most))
		return 0
	}
	record := Record{Topic: f.at.topic, Partition: int(f.at.partition), Offset: offset, Time: h.time(r.timestamp)}
	record.Key = f.block.copy(r.key)
	if n := len(r.value); n > blockBytes && cap(plain) < n+n/8 {
		record.Value, kept = r.value[:n:n], int64(len(plain))
	} else {
		record.Value = f.block.copy(r.value)
	}
	if r.headers > 0 {
		record.Headers = make([]Header, r.headers)
		in := &fields{b: r.rest}
		for i := range record.Headers {
			key, _ := in.bytes()
			value, _ := in.bytes()
			record.Headers[i] = Header{Key: string(key), Value: f.block.copy(value)}
		}
	}
	f.Records = append(f.Records, record)
	f.Bytes += cost
	return kept
}

// parsed is a record in the bytes of its batch.
type parsed struct {
	timestamp, delta int64
	key, value       []byte
	headers          int
	rest             []byte // the headers
}

// read reads the next record, and checks all its lengths.
func (r *parsed) read(in *fields) error {
	body, err := in.bytes()
	if err != nil || len(body) == 0 {
		return errRecords
	}
	f := &fields{b: body[1:]} // attributes
	var n int64
	for _, v := range []*int64{&r.timestamp, &r.delta} {
		if *v, err = f.varint(); err != nil {
			return err
		}
	}
	for _, b := range []*[]byte{&r.key, &r.value} {
		if *b, err = f.bytes(); err != nil {
			return err
		}
	}
	if n, err = f.varint(); err != nil || n < 0 || n > int64(len(f.b)) {
		return errRecords
	}
	r.headers, r.rest = int(n), f.b
	for range n {
		if key, err := f.bytes(); err != nil || key == nil {
			return errRecords
		}
		if _, err := f.bytes(); err != nil {
			return err
		}
	}
	return nil
}

// fields reads the fields of records.
type fields struct{ b []byte }

func (f *fields) varint() (int64, error) {
	v, n := binary.Varint(f.b)
	if n <= 0 {
		return 0, errRecords
	}
	f.b = f.b[n:]
	return v, nil
}

// bytes reads a length and as many bytes; -1 gives nil.
func (f *fields) bytes() ([]byte, error) {
	n, err := f.varint()
	if err != nil || n < -1 || n > int64(len(f.b)) {
		return nil, errRecords
	}
	if n < 0 {
		return nil, nil
	}
	b := f.b[:n:n]
	f.b = f.b[n:]
	return b, nil
}

// splitOld takes the message of a batch of format 0 or 1, or the set of messages that its value holds.
func (f *collector) splitOld(plain []byte, h *header) bool {
	if h.compression == None {
		return f.takeOld(plain, h, h.base, h.first)
	}
	set := plain
	var inner []rawBatch
	for len(set) >= batchStart {
		size := int64(int32(binary.BigEndian.Uint32(set[8:])))
		if size <= 0 || size > int64(len(set)-batchStart) {
			break
		}
		n := batchStart + size
		inner = append(inner, rawBatch{base: int64(binary.BigEndian.Uint64(set)), bytes: n, data: set[:n:n]})
		set = set[n:]
	}
	if len(set) > 0 || len(inner) == 0 {
		f.unread(h, h.base, false, errRecords)
		return true
	}
	shift := int64(0)
	if h.format == 1 { // offsets count from 0 then, and the set has that of its last message
		shift = h.base - inner[len(inner)-1].base
	}
	for i := range inner {
		ih, err := inner[i].header()
		offset := inner[i].base + shift
		if err == nil && (ih.format > 1 || ih.compression != None || offset > h.base) {
			err = errRecords
		}
		if err == nil {
			err = inner[i].check()
		}
		if err != nil {
			f.unreadTo(h, max(offset, f.Next), h.base, false, err)
			return true
		}
		if ih.format == 0 || h.appendTime {
			ih.first = h.greatest
		}
		if offset >= f.offset && !f.takeOld(inner[i].data[ih.body:], ih, offset, ih.first) {
			return false
		}
		f.advance(offset)
	}
	f.advance(h.base)
	return true
}

func (f *collector) takeOld(body []byte, h *header, offset, timestamp int64) bool {
	if len(f.Records) > 0 && f.Bytes >= f.cut {
		return false
	}
	r := parsed{timestamp: timestamp}
	for _, b := range []*[]byte{&r.key, &r.value} {
		if len(body) < 4 {
			f.unreadTo(h, offset, offset, false, io.ErrUnexpectedEOF)
			return true
		}
		n := int64(int32(binary.BigEndian.Uint32(body)))
		if body = body[4:]; n > int64(len(body)) || n < -1 {
			f.unreadTo(h, offset, offset, false, errRecords)
			return true
		}
		if n >= 0 {
			*b, body = body[:n:n], body[n:]
		}
	}
	f.take(&r, offset, h, nil)
	f.advance(offset)
	return true
}

// block hands out memory for keys and values, small ones many to an allocation.
type block struct{ free []byte }

const blockBytes = 64 << 10

func (b *block) copy(src []byte) []byte {
	if src == nil {
		return nil
	}
	n := len(src)
	if n == 0 {
		return []byte{} // empty is not null
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
	copy(dst, src)
	return dst
}
