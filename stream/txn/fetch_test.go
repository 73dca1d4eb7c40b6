package txn

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"liftstream/stream/embedded"
)

// rawRecord is a record of a batch of a test.
type rawRecord struct {
	offset int64
	key    []byte
	value  []byte
}

// raw is a batch as a broker has it. change, where it is not nil, sees its bytes before the checksum is made.
func raw(producer, base, last int64, attributes uint16, c Compression, change func(b []byte), records ...rawRecord,
) rawBatch {
	var plain []byte
	for _, r := range records {
		plain = appendRecord(plain, &Record{Key: r.key, Value: r.value, Time: time.UnixMilli(1000 + r.offset)}, r.offset,
			int(r.offset-base))
	}
	return rawOf(producer, base, last, attributes, c, change, len(records), plain)
}

func rawOf(producer, base, last int64, attributes uint16, c Compression, change func(b []byte), n int, plain []byte,
) rawBatch {
	b := make([]byte, batchHeader)
	if c == None {
		b = append(b, plain...)
	} else {
		sink := appender{b}
		w := kafka.Compression(c).Codec().NewWriter(&sink)
		_, _ = w.Write(plain)
		_ = w.Close()
		b = sink.data
	}
	be := binary.BigEndian
	be.PutUint64(b, uint64(base))
	be.PutUint32(b[8:], uint32(len(b)-batchStart))
	b[formatAt] = 2
	be.PutUint16(b[21:], attributes|uint16(c))
	be.PutUint32(b[23:], uint32(last-base))
	be.PutUint64(b[27:], 1000)
	be.PutUint64(b[35:], 5000)
	be.PutUint64(b[43:], uint64(producer))
	be.PutUint32(b[57:], uint32(n))
	if change != nil {
		change(b)
	}
	be.PutUint32(b[17:], crc32.Checksum(b[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return rawBatch{base: base, bytes: int64(len(b)), data: b}
}

// data is a batch of a producer, in a transaction unless producer is negative, with records at the given offsets.
func data(producer, base int64, offsets ...int64) rawBatch {
	var records []rawRecord
	last := base
	for _, o := range offsets {
		records, last = append(records, rawRecord{o, nil, []byte(fmt.Sprint(o))}), max(last, o)
	}
	attributes := uint16(0)
	if producer >= 0 {
		attributes = transactional
	}
	return raw(producer, base, last, attributes, None, nil, records...)
}

const abort, commit = 0, 1

func marker(producer, offset int64, kind byte) rawBatch {
	return raw(producer, offset, offset, transactional|controlBit, None, nil,
		rawRecord{offset, []byte{0, 0, 0, kind}, []byte{0, 0, 0, 0, 0, 0}})
}

// compactedMarker is a control batch whose record compaction has removed.
func compactedMarker(producer, offset int64) rawBatch {
	return raw(producer, offset, offset, transactional|controlBit, None, nil)
}

// collected collects an answer as Fetch does, an answer of the same bytes again included.
func collected(limit, offset int64, aborted []fetch.ResponseTransaction, batches ...rawBatch) (*collector, error) {
	f := &collector{c: &Client{expand: newExpander(limit)}, at: topicPartition{"t", 0}, offset: offset,
		reserved: 1 << 30, damagedTwice: true}
	f.Next = offset
	a := &answer{batches: slices.Clone(batches)}
	a.AbortedTransactions = aborted
	return f, f.collect(context.Background(), a)
}

func TestCollect(t *testing.T) {
	type aborted = []fetch.ResponseTransaction
	for _, test := range []struct {
		name    string
		offset  int64
		aborted aborted
		batches []rawBatch
		want    []string
		next    int64
	}{
		{"nothing", 5, nil, nil, nil, 5},
		{"committed", 0, nil, []rawBatch{data(1, 0, 0, 1), marker(1, 2, commit)}, []string{"0", "1"}, 3},
		{"outside transactions", 0, aborted{{ProducerID: 1, FirstOffset: 0}}, []rawBatch{data(-1, 0, 0, 1)},
			[]string{"0", "1"}, 2},
		{"from the middle of a batch", 1, nil, []rawBatch{data(1, 0, 0, 1, 2)}, []string{"1", "2"}, 3},
		{
			"aborted, then committed", 0, aborted{{ProducerID: 1, FirstOffset: 0}},
			[]rawBatch{data(1, 0, 0, 1), marker(1, 2, abort), data(1, 3, 3),
				marker(1, 4, commit)}, []string{"3"}, 5,
		},
		{
			"two producers, one aborts", 0, aborted{{ProducerID: 2, FirstOffset: 1}},
			[]rawBatch{data(1, 0, 0), data(2, 1, 1), data(1, 2, 2), marker(2, 3, abort), data(2, 4, 4),
				marker(1, 5, commit)}, []string{"0", "2", "4"}, 6,
		},
		{
			"two aborts of one producer, in any order", 0, aborted{{ProducerID: 1, FirstOffset: 4},
				{ProducerID: 1, FirstOffset: 0}},
			[]rawBatch{data(1, 0, 0), marker(1, 1, abort), data(1, 2, 2), marker(1, 3, commit), data(1, 4, 4),
				marker(1, 5, abort), data(1, 6, 6)},
			[]string{"2", "6"}, 7,
		},
		{
			"an abort whose records are compacted away", 0, aborted{{ProducerID: 1, FirstOffset: 0}},
			[]rawBatch{marker(1, 2, abort), data(1, 3, 3), marker(1, 4, commit)}, []string{"3"}, 5,
		},
		{"a transaction that is aborted beyond the answer", 0, aborted{{ProducerID: 1, FirstOffset: 0}},
			[]rawBatch{data(1, 0, 0, 1)}, nil, 2},
		{"the end of a batch compacted away", 12, nil, []rawBatch{data(1, 10, 10, 11)}, nil, 13},
		{"an empty batch at the end", 10, nil, []rawBatch{data(1, 10)}, nil, 11},
		{"an empty batch before another", 10, nil, []rawBatch{data(1, 10), data(1, 20, 22)}, []string{"22"}, 23},
		{"two empty batches", 10, nil, []rawBatch{data(1, 10), data(1, 20)}, nil, 21},
		{"an empty marker", 10, nil, []rawBatch{compactedMarker(1, 10)}, nil, 11},
		{"an empty marker before data", 10, nil, []rawBatch{compactedMarker(1, 10), data(1, 11, 11)},
			[]string{"11"}, 12},
	} {
		f, err := collected(1<<20, test.offset, test.aborted, test.batches...)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		mustEqual(t, test.name, values(f.Records), test.want)
		if f.Next != test.next {
			t.Errorf("%s: next is %d, want %d", test.name, f.Next, test.next)
		}
	}
}

func TestCollectDamagedMarker(t *testing.T) {
	bad := raw(1, 7, 7, transactional|controlBit, None, nil, rawRecord{7, []byte("x"), nil})
	f, err := collected(1<<20, 0, nil, bad)
	err = f.failed(err)
	mustKind(t, "a damaged marker", err, Invalid)
	if !strings.Contains(err.Error(), "offset 7 of t/0") {
		t.Errorf("%v does not name the offset", err)
	}
}

// benchmarkBrokers are the embedded one and, if there is one, the real one.
func benchmarkBrokers(b *testing.B, f func(b *testing.B, c *Client)) {
	run := func(name string, addrs []string) {
		b.Run(name, func(b *testing.B) {
			c := NewClient(Config{Brokers: addrs})
			defer c.Close()
			f(b, c)
		})
	}
	e, err := embedded.Start(embedded.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	run("embedded", []string{e.Addr()})
	if addrs := realBroker(); addrs != nil {
		run("kafka", addrs)
	}
}

func benchmarkTopic(b *testing.B, c *Client, partitions int) string {
	name := unique("bench")
	_, err := c.CreateTopics(b.Context(), TopicSpec{
		Name: name, Partitions: partitions, Replication: 1, Configs: map[string]string{"max.message.bytes": "20000000",
			"retention.ms": "60000", "segment.bytes": "67108864"},
	})
	if err != nil {
		b.Fatal(err)
	}
	return name
}

func BenchmarkFetch(b *testing.B) {
	benchmarkBrokers(b, func(b *testing.B, c *Client) {
		for _, size := range []int{200, 100_000} {
			for _, codec := range []Compression{None, Lz4} {
				b.Run(fmt.Sprintf("codec=%d/record=%d", codec, size), func(b *testing.B) {
					topic := benchmarkTopic(b, c, 1)
					records, bytes := payload(16<<20, size)
					for i := range records {
						records[i].Topic = topic
					}
					if err := c.Produce(b.Context(), records, codec); err != nil {
						b.Fatal(err)
					}
					b.SetBytes(bytes)
					b.ReportAllocs()
					for b.Loop() {
						n := 0
						for offset := int64(0); n < len(records); {
							f, err := c.Fetch(b.Context(), topic, 0, offset, 4<<20, time.Second)
							if err != nil {
								b.Fatal(err)
							}
							n, offset = n+len(f.Records), f.Next
						}
					}
				})
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	benchmarkBrokers(b, func(b *testing.B, c *Client) {
		for _, size := range []int{1_000, 1 << 20, 8 << 20} {
			b.Run(fmt.Sprint(size), func(b *testing.B) {
				out, state := benchmarkTopic(b, c, 1), benchmarkTopic(b, c, 1)
				p, err := c.NewProducer(b.Context(), unique("id"), 30*time.Second)
				if err != nil {
					b.Fatal(err)
				}
				records, bytes := payload(size, min(size, 100_000))
				for i := range records {
					records[i].Topic = out
				}
				records = append(records, Record{Topic: state, Key: []byte("journal"), Value: []byte("position")})
				b.SetBytes(bytes)
				for b.Loop() {
					err := p.Commit(b.Context(), Transaction{
						// a group without members takes this
						Records: records, Group: out, Generation: -1, Offsets: map[string]map[int]int64{out: {0: 1}},
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

func BenchmarkProduce(b *testing.B) {
	benchmarkBrokers(b, func(b *testing.B, c *Client) {
		topic := benchmarkTopic(b, c, 4)
		records, bytes := payload(8<<20, 50_000)
		for i := range records {
			records[i].Topic, records[i].Partition = topic, i%4
		}
		b.SetBytes(bytes)
		for b.Loop() {
			if err := c.Produce(b.Context(), records, None); err != nil {
				b.Fatal(err)
			}
		}
	})
}
