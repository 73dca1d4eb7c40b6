package txn

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

func testSession(transactionalID string) *session {
	return &session{
		transactionalID: transactionalID,
		id:              0x1122334455667788,
		epoch:           0x0102,
		sequence:        make(map[topicPartition]int32),
		written:         make(map[topicPartition]int64),
	}
}

// TestBatchGolden: bytes written out by hand from the description of the format; the CRC is of an independent
// implementation (Python's crc32c).
func TestBatchGolden(t *testing.T) {
	s := testSession("id")
	s.sequence[topicPartition{"t", 3}] = 0x0a0b0c0d
	records := []Record{
		{Topic: "t", Partition: 3, Key: []byte("k"), Value: []byte("hello"), Time: time.UnixMilli(1000)},
		{
			Topic:     "t",
			Partition: 3,
			Value:     []byte{},
			Time:      time.UnixMilli(999),
			Headers:   []Header{{"h", nil}, {"", []byte("x")}},
		},
	}
	batches, err := s.encode(records, None, 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := "00000057" + // size of the rest
		"0000000000000000" + "0000004b" + "ffffffff" + "02" + goldenCRC + "0010" + "00000001" +
		"00000000000003e8" + "00000000000003e8" + "1122334455667788" + "0102" + "0a0b0c0d" + "00000002" +
		"18" + "00" + "00" + "00" + "026b" + "0a68656c6c6f" + "00" +
		"18" + "00" + "01" + "02" + "01" + "00" + "04" + "0268" + "01" + "00" + "0278"
	if got := hex.EncodeToString(batches[0].data); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := s.sequence[topicPartition{"t", 3}]; got != 0x0a0b0c0f {
		t.Errorf("next sequence: got %x", got)
	}
}

const goldenCRC = "10a66bde"

// TestBatchLikeKafkaGo: kafka-go's own encoder gives the same bytes, except for the fields that it cannot set.
func TestBatchLikeKafkaGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		records, theirs := randomRecords(rng, 1+rng.IntN(40))
		s := testSession("")
		s.id, s.epoch, s.sequence[topicPartition{"t", 0}] = -1, -1, -1
		batches, err := s.encode(records, None, math.MaxInt)
		if err != nil || len(batches) != 1 {
			t.Fatalf("got %d batches, %v", len(batches), err)
		}
		var want bytes.Buffer
		rs := protocol.RecordSet{Version: 2, Records: kafka.NewRecordReader(theirs...)}
		if _, err := rs.WriteTo(&want); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(batches[0].data, want.Bytes()) {
			t.Fatalf("got  %x\nwant %x", batches[0].data, want.Bytes())
		}
	}
}

func randomRecords(rng *rand.Rand, n int) ([]Record, []kafka.Record) {
	blob := func() []byte {
		switch rng.IntN(5) {
		case 0:
			return nil
		case 1:
			return []byte{}
		}
		b := make([]byte, rng.IntN(1+rng.IntN(300)))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	var ours []Record
	var theirs []kafka.Record
	for range n {
		r := Record{Topic: "t", Key: blob(), Value: blob(), Time: time.UnixMilli(1 + rng.Int64N(2e12))}
		for range rng.IntN(3) {
			r.Headers = append(r.Headers, Header{string(blob()), blob()})
		}
		k := kafka.Record{Key: kafka.NewBytes(r.Key), Value: kafka.NewBytes(r.Value), Time: r.Time}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		ours, theirs = append(ours, r), append(theirs, k)
	}
	return ours, theirs
}

// decode reads batches back by kafka-go's decoder.
func decode(t *testing.T, data []byte) (out []Record, batch *protocol.RecordBatch) {
	t.Helper()
	var rs protocol.RecordSet
	if _, err := rs.ReadFrom(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	batch = rs.Records.(*protocol.RecordStream).Records[0].(*protocol.RecordBatch)
	whole := func(b protocol.Bytes) []byte {
		if b == nil {
			return nil
		}
		v, err := io.ReadAll(b)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for {
		r, err := batch.ReadRecord()
		if err == io.EOF {
			return out, batch
		}
		if err != nil {
			t.Fatal(err)
		}
		record := Record{Topic: "t", Key: whole(r.Key), Value: whole(r.Value), Offset: r.Offset}
		if r.Time.UnixMilli() != noTimestamp {
			record.Time = r.Time
		}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, Header{Key: h.Key, Value: h.Value})
		}
		out = append(out, record)
	}
}

func TestBatchesDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for codec := None; codec <= Zstd; codec++ {
		for _, limit := range []int{1, 500, 5000, math.MaxInt} {
			s := testSession("id")
			at := topicPartition{"t", 0}
			s.sequence[at] = math.MaxInt32 - 50 // the sequence wraps
			var records []Record
			sequence := s.sequence[at]
			for range 3 {
				more, _ := randomRecords(rng, 100)
				batches, err := s.encode(more, codec, limit)
				if err != nil {
					t.Fatal(err)
				}
				records = more
				var got []Record
				for _, b := range batches {
					decoded, batch := decode(t, b.data)
					if batch.ProducerID != s.id || batch.ProducerEpoch != s.epoch || batch.BaseSequence != sequence ||
						!batch.Attributes.Transactional() {
						t.Fatalf("codec %d: batch %+v, want sequence %d", codec, batch, sequence)
					}
					sequence = int32((int64(sequence) + int64(len(decoded))) % (1 << 31))
					got = append(got, decoded...)
				}
				if limit == 1 && len(batches) != 100 || limit == math.MaxInt && len(batches) != 1 ||
					limit == 5000 && (len(batches) < 3 || len(batches) > 30) {
					t.Errorf("limit %d: %d batches", limit, len(batches))
				}
				if len(got) != len(records) {
					t.Fatalf("codec %d: got %d records, want %d", codec, len(got), len(records))
				}
				for i := range got {
					if !same(got[i].Key, records[i].Key) || !same(got[i].Value, records[i].Value) ||
						!got[i].Time.Equal(records[i].Time) ||
						len(got[i].Headers) != len(records[i].Headers) {
						t.Fatalf("codec %d: record %d: got %v, want %v", codec, i, got[i], records[i])
					}
				}
			}
		}
	}
}

func TestEncodeSortsAndKeepsOrder(t *testing.T) {
	s := testSession("id")
	var records []Record
	for i := range 60 {
		records = append(records, Record{Topic: []string{"b", "a"}[i%2], Partition: i % 3, Value: []byte(fmt.Sprint(i))})
	}
	batches, err := s.encode(records, None, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if len(batches) != 6 {
		t.Fatalf("got %d batches", len(batches))
	}
	for i, b := range batches {
		if i > 0 && batches[i-1].compare(b.topicPartition) >= 0 {
			t.Errorf("batch %d is not in order", i)
		}
		got, _ := decode(t, b.data)
		last := -1
		for _, r := range got {
			var v int
			fmt.Sscan(string(r.Value), &v)
			if v <= last || records[v].Topic != b.topic || int32(records[v].Partition) != b.partition {
				t.Errorf("%v: record %d after %d", b.topicPartition, v, last)
			}
			if !r.Time.IsZero() {
				t.Errorf("a record without timestamp came back with %v", r.Time)
			}
			last = v
		}
	}
}

func TestEncodeUnknownCodec(t *testing.T) {
	_, err := testSession("").encode([]Record{{Topic: "t"}}, 7, 100)
	mustKind(t, "codec 7", err, Invalid)
}

// FuzzBatch: kafka-go's decoder reads back all encoded records.
func FuzzBatch(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), "header", []byte{}, int64(1234), int8(4), 3)
	f.Add([]byte{}, []byte{}, "", []byte("x"), int64(-1), int8(0), 1)
	f.Fuzz(func(t *testing.T, key, value []byte, name string, header []byte, stamp int64, codec int8, n int) {
		n = 1 + int(uint(n)%20)
		r := Record{
			Topic:   "t",
			Key:     key,
			Value:   value,
			Headers: []Header{{name, header}},
			Time:    time.UnixMilli(stamp % (1 << 45)),
		}
		records := make([]Record, n)
		for i := range records {
			records[i] = r
		}
		batches, err := testSession("x").encode(records, Compression(uint8(codec)%5), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := decode(t, batches[0].data)
		if len(got) != n {
			t.Fatalf("got %d records, want %d", len(got), n)
		}
		for _, g := range got {
			if !bytes.Equal(g.Key, key) || !bytes.Equal(g.Value, value) || len(g.Headers) != 1 || g.Headers[0].Key != name ||
				!bytes.Equal(g.Headers[0].Value, header) {
				t.Fatalf("got %v, want %v", g, r)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for _, codec := range []struct {
		name string
		c    Compression
	}{{"none", None}, {"lz4", Lz4}, {"zstd", Zstd}} {
		for _, size := range []int{200, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", codec.name, size), func(b *testing.B) {
				records, bytes := payload(4<<20, size)
				s := testSession("id")
				b.SetBytes(bytes)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.encode(records, codec.c, DefaultBatchBytes); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// payload is about total bytes of records that compress about as columns of numbers do.
func payload(total, size int) ([]Record, int64) {
	rng := rand.New(rand.NewPCG(5, 6))
	var records []Record
	for n := 0; n < total; n += size {
		v := make([]byte, size)
		for i := range v {
			if i%8 < 3 {
				v[i] = byte(rng.Uint32())
			}
		}
		records = append(
			records,
			Record{Topic: "t", Key: []byte("key"), Value: v, Time: time.UnixMilli(int64(1700000000000 + n))},
		)
	}
	return records, int64(total)
}
