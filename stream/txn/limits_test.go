package txn

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go"

	"liftstream/stream/embedded"
)

var codecs = []Compression{None, Gzip, Snappy, Lz4, Zstd}

// places lists offsets and values of records, and the ranges of unreadable records.
func places(records []Record) (out []string) {
	for _, r := range records {
		if r.Unread == nil {
			out = append(out, fmt.Sprint(r.Offset))
			continue
		}
		kind := "damaged"
		if r.Unread.TooLarge {
			kind = "large"
		}
		out = append(out, fmt.Sprintf("%d-%d %s", r.Unread.First, r.Unread.Last, kind))
	}
	return out
}

// allocated is the memory that f takes from the heap in all: the least of three runs, as a sync.Pool drops some of its
// values under the race detector.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// TestABombIsNotExpanded: a batch beyond the limit is named and passed over; the batches around it are read.
func TestABombIsNotExpanded(t *testing.T) {
	const limit, bomb = 1 << 20, 64 << 20
	for _, c := range codecs[1:] {
		zeros := raw(-1, 1, 3, 0, c, nil, rawRecord{1, nil, make([]byte, bomb)}, rawRecord{2, nil, nil},
			rawRecord{3, nil, nil})
		for _, around := range codecs {
			before := raw(-1, 0, 0, 0, around, nil, rawRecord{0, []byte("k"), []byte("v")})
			after := raw(-1, 4, 4, 0, around, nil, rawRecord{4, nil, []byte("w")})
			var f *collector
			var err error
			n := allocated(func() { f, err = collected(limit, 0, nil, before, zeros, after) })
			if err != nil {
				t.Fatalf("codec %d: %v", c, err)
			}
			mustEqual(t, fmt.Sprintf("codec %d", c), places(f.Records), []string{"0", "1-3 large", "4"})
			if f.Next != 5 || n > 24<<20 {
				t.Errorf("codec %d: next is %d; %d bytes were allocated for a limit of %d", c, f.Next, n, limit)
			}
			if text := f.Records[1].Unread.Error(); !strings.Contains(text, "offsets 1 to 3 of t/0") ||
				!strings.Contains(text, "1048576") {
				t.Errorf("codec %d: %q names neither offsets nor limit", c, text)
			}
			if !f.c.expand.budget.TryAcquire(limit) {
				t.Errorf("codec %d: a part of the budget was not given back", c)
			}
		}
	}
}

// TestAtTheLimit: a batch of exactly the limit is read, one byte more is not.
func TestAtTheLimit(t *testing.T) {
	const limit = 1 << 20
	for _, c := range codecs[1:] {
		for _, over := range []int{0, 1} {
			record := len(appendRecord(nil, &Record{Value: make([]byte, limit-100), Time: time.UnixMilli(1000)}, 0, 0))
			b := raw(-1, 0, 0, 0, c, nil, rawRecord{0, nil, make([]byte, limit-100+limit-record+over)})
			f, err := collected(limit, 0, nil, b)
			if err != nil {
				t.Fatal(err)
			}
			want := "0"
			if over > 0 {
				want = "0-0 large"
			}
			mustEqual(t, fmt.Sprintf("codec %d, %d bytes over", c, over), places(f.Records), []string{want})
		}
	}
}

// TestZstandardSaysMore: frames that announce too much, a window larger than the limit, and many frames.
func TestZstandardSaysMore(t *testing.T) {
	const limit = 1 << 20
	pack := func(window, n int) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(make([]byte, n))
		_ = w.Close()
		return b.Bytes()
	}
	frames := bytes.Repeat(pack(1<<10, limit/2), 200)
	plain, a, err := newExpander(limit).expand(context.Background(), pack(512<<20, limit/2), Zstd, nil)
	if err != nil || len(plain) != limit/2 {
		t.Errorf("a large window and little in it: %d bytes, %v", len(plain), err)
	}
	a.release()
	for name, packed := range map[string][]byte{
		"a large window": pack(512<<20, 1<<21), "many frames": frames, "an announced size": {
			0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0},
	} {
		e := newExpander(limit)
		n := allocated(func() {
			_, a, err := e.expand(context.Background(), packed, Zstd, nil)
			a.release()
			if !errors.Is(err, errExpands) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if n > 20<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

// TestSnappySaysMore: the framing of Java's writer, whose blocks say their sizes.
func TestSnappySaysMore(t *testing.T) {
	e := newExpander(1 << 20)
	block := binary.AppendUvarint(nil, 1<<31)
	for _, packed := range [][]byte{
		block,
		append(append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00"), byte(len(block))), block...),
	} {
		if _, a, err := e.expand(context.Background(), packed, Snappy, nil); !errors.Is(err, errExpands) {
			t.Errorf("%x: %v", packed, err)
		} else {
			a.release()
		}
	}
}

// TestDamageInTheMiddle: the records before it are read, the others of the batch are named, and no error of a later
// batch is passed over.
func TestDamageInTheMiddle(t *testing.T) {
	record := func(i int) []byte {
		return appendRecord(nil, &Record{Value: []byte("v"), Time: time.UnixMilli(1000)}, 0, i)
	}
	var good []byte
	for i := range 3 {
		good = append(good, record(i)...)
	}
	bad := append(bytes.Clone(good), 0x30, 0, 0, 6, 0xff) // a record that says it is longer than the batch
	for _, c := range codecs {
		first := raw(-1, 0, 0, 0, c, nil, rawRecord{0, nil, []byte("a")})
		middle := rawOf(-1, 1, 6, 0, c, nil, 6, bad)
		last := raw(-1, 7, 7, 0, c, nil, rawRecord{7, nil, []byte("z")})
		f, err := collected(1<<20, 0, nil, first, middle, last)
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, fmt.Sprintf("codec %d: the records", c), places(f.Records),
			[]string{"0", "1", "2", "3", "4-6 damaged", "7"})
		if f.Next != 8 {
			t.Errorf("next is %d", f.Next)
		}
		again, err := collected(1<<20, 4, nil, middle, last)
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "from the damaged record on", places(again.Records), []string{"4-6 damaged", "7"})
		fewer := rawOf(-1, 1, 6, 0, c, nil, 6, good)
		f, err = collected(1<<20, 0, nil, fewer, last)
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "fewer records than the header says", places(f.Records), []string{"1", "2", "3", "4-6 damaged", "7"})
		flipped := raw(-1, 1, 2, 0, c, nil, rawRecord{1, nil, []byte("b")}, rawRecord{2, nil, []byte("c")})
		flipped.data[len(flipped.data)-1] ^= 1
		f, err = collected(1<<20, 0, nil, first, flipped, last)
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "a flipped bit", places(f.Records), []string{"0", "1-2 damaged", "7"})
	}
}

// TestManyHeaders: the memory of a record is far more than its bytes where it has millions of headers.
func TestManyHeaders(t *testing.T) {
	const limit = 1 << 20
	record := []byte{0, 0, 0, 1, 1} // attributes, deltas, no key, no value
	n := 900_000 / 2
	record = binary.AppendVarint(record, int64(n))
	record = append(record, bytes.Repeat([]byte{0, 1}, n)...) // an empty key, no value
	plain := append(binary.AppendVarint(nil, int64(len(record))), record...)
	b := rawOf(-1, 0, 0, 0, Zstd, nil, 1, plain)
	var f *collector
	allocated := allocated(func() {
		var err error
		if f, err = collected(limit, 0, nil, b); err != nil {
			t.Error(err)
		}
	})
	mustEqual(t, "the record", places(f.Records), []string{"0-0 large"})
	if allocated > 16<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// TestAnAnswerIsCut: within a batch too, where the memory of its records is more than the reader has.
func TestAnAnswerIsCut(t *testing.T) {
	const n = 10_000
	var records []rawRecord
	for i := range n {
		records = append(records, rawRecord{int64(i), nil, nil})
	}
	b := raw(-1, 0, n-1, 0, Gzip, nil, records...)
	var got []string
	for at := int64(0); at < n; {
		f := &collector{c: &Client{expand: newExpander(1 << 20)}, at: topicPartition{"t", 0}, offset: at, reserved: 16_000}
		f.Next = at
		if err := f.collect(context.Background(), &answer{batches: []rawBatch{b}}); err != nil {
			t.Fatal(err)
		}
		if f.Bytes > 600_000 {
			t.Fatalf("%d bytes", f.Bytes)
		}
		got, at = append(got, places(f.Records)...), f.Next
	}
	if len(got) != n || got[n-1] != fmt.Sprint(n-1) {
		t.Errorf("got %d records", len(got))
	}
}

// TestAppendTime: the times of a topic that stamps its records are the broker's.
func TestAppendTime(t *testing.T) {
	f, err := collected(1<<20, 0, nil,
		raw(-1, 0, 1, appendTimeBit, None, nil, rawRecord{0, nil, nil}, rawRecord{1, nil, nil}),
		raw(-1, 2, 2, 0, None, nil, rawRecord{2, nil, nil}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{5000, 5000, 1002} {
		if got := f.Records[i].Time.UnixMilli(); got != want {
			t.Errorf("record %d: %d, want %d", i, got, want)
		}
	}
}

// TestOldFormats reads messages of formats 0 and 1 as kafka-go writes them, alone and in sets.
func TestOldFormats(t *testing.T) {
	message := func(offset int64, format, attributes byte, value []byte) []byte {
		b := make([]byte, 16, 64)
		binary.BigEndian.PutUint64(b, uint64(offset))
		b = append(b, format, attributes)
		if format == 1 {
			b = binary.BigEndian.AppendUint64(b, uint64(7000+offset))
		}
		b = binary.BigEndian.AppendUint32(b, 1<<32-1) // no key
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(value))), value...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-batchStart))
		binary.BigEndian.PutUint32(b[batchStart:], crc32.ChecksumIEEE(b[16:]))
		return b
	}
	batch := func(b []byte) rawBatch {
		return rawBatch{base: int64(binary.BigEndian.Uint64(b)), bytes: int64(len(b)), data: b}
	}
	for format := range byte(2) {
		shift := int64(0)
		if format == 1 {
			shift = 10
		}
		set := append(message(10-shift, format, 0, []byte("a")), message(12-shift, format, 0, []byte("b"))...)
		sink := appender{}
		w := kafka.Compression(Gzip).Codec().NewWriter(&sink)
		_, _ = w.Write(set)
		_ = w.Close()
		f, err := collected(1<<20, 0, nil, batch(message(9, format, 0, []byte("z"))),
			batch(message(12, format, byte(Gzip), sink.data)))
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, fmt.Sprintf("format %d", format), places(f.Records), []string{"9", "10", "12"})
		mustEqual(t, fmt.Sprintf("format %d", format), values(f.Records), []string{"z", "a", "b"})
		if format == 1 && f.Records[1].Time.UnixMilli() != 7000 {
			t.Errorf("time %v", f.Records[1].Time)
		}
	}
}

// TestBudgetOfOneProcess: many decompressions at a time take no more memory than the limit together, and all end.
func TestBudgetOfOneProcess(t *testing.T) {
	const limit = 1 << 20
	e := newExpander(limit)
	packed := raw(-1, 0, 0, 0, Lz4, nil, rawRecord{0, nil, make([]byte, limit/2)}).data[batchHeader:]
	done := make(chan error)
	const n = 16
	for range n {
		go func() {
			for range 20 {
				plain, a, err := e.expand(context.Background(), packed, Lz4, nil)
				if err != nil || len(plain) < limit/2 {
					done <- fmt.Errorf("%d bytes, %v", len(plain), err)
					return
				}
				e.reuse(plain)
				a.release()
			}
			done <- nil
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if !e.budget.TryAcquire(limit) {
		t.Error("a part of the budget was not given back")
	}
}

// FuzzRecords: no bytes make the reader of batches panic, stand still or take more memory than its limits.
func FuzzRecords(f *testing.F) {
	for _, c := range codecs {
		b := raw(1, 5, 6, transactional, c, nil, rawRecord{5, []byte("k"), []byte("v")}, rawRecord{6, nil, nil})
		f.Add(b.data, int64(5), true)
	}
	m := marker(1, 5, abort)
	f.Add(m.data, int64(0), false)
	f.Fuzz(func(t *testing.T, data []byte, offset int64, mend bool) {
		if len(data) < batchStart || offset < 0 {
			return
		}
		data = bytes.Clone(data)
		if mend && len(data) >= batchHeader { // else the checksum stops most inputs
			binary.BigEndian.PutUint32(data[17:], crc32.Checksum(data[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
		}
		b := rawBatch{base: int64(binary.BigEndian.Uint64(data)), bytes: int64(len(data)), data: data}
		got, err := collected(1<<16, offset, nil, b)
		if err == nil && got.Next <= offset && got.Next >= 0 && offset < 1<<62 {
			t.Errorf("it does not move on from %d", offset)
		}
		if got.Bytes > 1<<22 {
			t.Errorf("%d bytes", got.Bytes)
		}
	})
}

// FuzzAnswer does the same for the frame around the batches.
func FuzzAnswer(f *testing.F) {
	body := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	body = append(body, make([]byte, 24)...)
	body = append(body, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	b := data(1, 5, 5, 6)
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(b.data))), b.data...)
	for version := range int16(12) {
		f.Add(body, version, int64(1000))
	}
	f.Fuzz(func(t *testing.T, body []byte, version int16, allow int64) {
		a, in := &answer{}, &answerReader{in: bytes.NewReader(body), left: int64(len(body))}
		a.read(in, version%12, allow)
		in.discard(in.left)
		for _, b := range a.batches {
			if int64(len(b.data)) > b.bytes {
				t.Errorf("a batch of %d bytes has %d", b.bytes, len(b.data))
			}
		}
	})
}

// TestFetchedBombs goes through a broker: bombs of all codecs, and a batch beyond the memory that a reader has at
// first, between readable records.
func TestFetchedBombs(t *testing.T) {
	e, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b := &broker{addrs: []string{e.Addr()}}
	c := b.client(t, func(c *Config) { c.ExpandBytes = 1 << 20 })
	topic := mustTopic(t, c, 1, map[string]string{"max.message.bytes": "16000000"})
	ctx := testContext(t)
	big := b.client(t)
	noise := make([]byte, 900_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	var want []string
	send := func(value []byte, c Compression, place string) {
		if err := big.Produce(ctx, []Record{{Topic: topic, Value: value}}, c); err != nil {
			t.Fatal(err)
		}
		want = append(want, place)
	}
	for i, c := range codecs[1:] {
		send([]byte("small"), c, fmt.Sprint(3*i))
		send(make([]byte, 12<<20), c, fmt.Sprintf("%d-%d large", 3*i+1, 3*i+1))
		send(noise, c, fmt.Sprint(3*i+2))
	}
	send(make([]byte, 2<<20), None, fmt.Sprintf("%d-%d large", len(want), len(want)))
	send([]byte("last"), None, fmt.Sprint(len(want)))
	for _, bounded := range []bool{false, true} {
		var got []string
		held, most := int64(64<<10), int64(0)
		for at := int64(0); at < int64(len(want)); {
			var more func(context.Context, int64) error
			if bounded {
				more = func(_ context.Context, n int64) error { held = n; return nil }
			}
			f, err := c.FetchWithin(ctx, topic, 0, at, int(held), time.Second, more)
			if err != nil {
				t.Fatal(err)
			}
			if bounded && f.Bytes > held+blockBytes+recordBytes {
				t.Errorf("%d bytes within %d", f.Bytes, held)
			}
			most = max(most, held)
			got, at, held = append(got, places(f.Records)...), f.Next, 64<<10
		}
		mustEqual(t, "the records", got, want)
		if bounded && (most < int64(len(noise)) || most > 2<<20) {
			t.Errorf("%d bytes were asked for", most)
		}
	}
}
