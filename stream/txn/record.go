package txn

import (
	"strconv"
	"time"
)

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a partition. A nil Key or Value is Kafka's null (a null value is a tombstone in a compacted
// topic); an empty one is empty. Time is the producer's, or the broker's in topics that stamp records when they are
// appended.
type Record struct {
	Topic     string
	Partition int
	Key       []byte
	Value     []byte
	Headers   []Header
	Time      time.Time // kept to the millisecond; the zero time is sent and read as "no timestamp"
	Offset    int64     // set by Fetch, ignored when sent
	// Unread is set by Fetch in place of records that it cannot read, from Offset to Unread.Last; Key, Value and Headers
	// are nil then.
	Unread *UnreadError
}

// Next is the offset after the record, or after those in whose place it stands.
func (r *Record) Next() int64 {
	if r.Unread != nil {
		return r.Unread.Last + 1
	}
	return r.Offset + 1
}

// FormatMillis writes the time of a record as its milliseconds, -1 = no timestamp.
func FormatMillis(t time.Time) string { return strconv.FormatInt(milliseconds(&Record{Time: t}), 10) }

// ParseMillis is the inverse of FormatMillis.
func ParseMillis(text string) (t time.Time, ok bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms == noTimestamp {
		return time.Time{}, err == nil
	}
	return time.UnixMilli(ms), true
}

// Compression of record batches, by Kafka's numbers.
type Compression int8

// The codecs that every broker of today reads.
const (
	None Compression = iota
	Gzip
	Snappy
	Lz4
	Zstd
)
