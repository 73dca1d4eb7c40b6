package streamtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"

	"liftstream/codec"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// World is a broker with the topics of one stage. Its methods fail the test on errors.
type World struct {
	T       testing.TB
	Name    string // of the stage
	Brokers []string
	Topics  topics.Names
	Client  *txn.Client
	N       int   // partitions
	Next    []int // records produced so far, by partition
	Invert  bool  // Message gives each record the other class
}

// Brokers runs f on every broker that is there: always the embedded one, and a real one when LIFTSTREAM_KAFKA names it.
func Brokers(t *testing.T, f func(t *testing.T, addr string)) {
	t.Run("embedded", func(t *testing.T) {
		b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		f(t, b.Addr())
	})
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("LIFTSTREAM_KAFKA")
		if addr == "" {
			t.Skip("NOT RUN ON A REAL KAFKA: set LIFTSTREAM_KAFKA to the address of one (deploy/kafka.sh starts it)")
		}
		f(t, addr)
	})
}

// NewTopic makes a topic of one partition at an embedded broker of its own.
func NewTopic(t testing.TB, name string) *txn.Client {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
	t.Cleanup(c.Close)
	if _, err := c.CreateTopics(t.Context(), txn.TopicSpec{Name: name, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return c
}

// NewWorld makes the topics at a broker.
func NewWorld(t testing.TB, addr string, partitions int) *World {
	t.Helper()
	return NewWorldAt(t, txn.Config{Brokers: strings.Split(addr, ",")}, partitions)
}

// NewWorldAt reaches its broker as cfg says. The topics have a replica at each of up to three addresses.
func NewWorldAt(t testing.TB, cfg txn.Config, partitions int) *World {
	t.Helper()
	name := fmt.Sprintf("t%d", time.Now().UnixNano())
	w := &World{T: t, Brokers: cfg.Brokers, N: partitions, Next: make([]int, partitions), Name: name, Topics: topics.Names{
		Events: name + "-events", Scores: name + "-scores", Labels: name + "-labels", State: name + "-state",
		Model: name + "-model", Dead: name + "-dead",
	}}
	w.Client = txn.NewClient(cfg)
	t.Cleanup(w.Client.Close)
	specs := topics.Specs(w.Topics, partitions, min(len(cfg.Brokers), 3), 4<<20)
	// On a busy machine a Kafka of one node loses touch with itself for seconds.
	Eventually(t, time.Minute, "the topics cannot be made", func() bool {
		_, err := w.Client.CreateTopics(context.Background(), specs...)
		if err != nil && txn.KindOf(err) != txn.Environment {
			t.Fatal(err)
		}
		return err == nil
	})
	return w
}

// Codec returns the columns of the messages.
func (w *World) Codec() codec.Options {
	return codec.Options{Schema: sample.Schema, ID: "id", Label: "y"}
}

// Message encodes records [from, from+n) of a partition; labelled says whether they carry their class.
func (w *World) Message(partition, from, n int, labelled bool) []byte {
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64},
			{Name: "c", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String, Nullable: true},
			{Name: "extra", Type: arrow.PrimitiveTypes.Float64}},
		nil,
	)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	x := sample.Records(partition*1_000_000+from, n)
	for i := range n {
		b.Field(4).(*array.Float64Builder).Append(float64(i % 7)) // a column that most configurations ignore
		b.Field(0).(*array.StringBuilder).Append(RecordID(partition, from+i))
		b.Field(1).(*array.Float64Builder).Append(x.Columns[0].Float[i])
		b.Field(2).(*array.StringBuilder).Append(x.Columns[1].Levels[x.Columns[1].Code[i]])
		if labelled {
			y := x.Label[i]
			if w.Invert {
				y = 1 - y
			}
			b.Field(3).(*array.StringBuilder).Append(sample.Schema.Classes[y])
		} else {
			b.Field(3).AppendNull()
		}
	}
	v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
	if err != nil {
		w.T.Fatal(err)
	}
	return v
}

// RecordID is the id of record i of a partition.
func RecordID(partition, i int) string { return fmt.Sprintf("p%d-%06d", partition, i) }

// Produce sends the next n records to every partition, rows a message.
func (w *World) Produce(n, rows int, labelled bool) {
	w.T.Helper()
	for p := range w.N {
		var out []txn.Record
		for i := 0; i < n; i += rows {
			k := min(rows, n-i)
			out = append(
				out,
				txn.Record{
					Topic:     w.Topics.Events,
					Partition: p,
					Key:       []byte(fmt.Sprint("key", p)),
					Value:     w.Message(p, w.Next[p], k, labelled),
					Time: time.UnixMilli(
						1_700_000_000_000 + int64(w.Next[p]),
					),
					Headers: []txn.Header{{Key: "trace", Value: []byte("7")}},
				},
			)
			w.Next[p] += k
		}
		if err := w.Client.Produce(context.Background(), out, txn.Lz4); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Patiently repeats a request without effects while leaders move or are missing.
func (w *World) Patiently(f func() error) {
	w.T.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if k := txn.KindOf(err); k != txn.Environment && k != txn.Unknown || time.Now().After(deadline) {
			w.T.Fatal(err)
		}
	}
}

// Bounds are the first offset and the last stable one of a partition.
func (w *World) Bounds(topic string, partition int) (start, end int64) {
	w.T.Helper()
	w.Patiently(func() (err error) {
		start, end, err = w.Client.Bounds(context.Background(), topic, partition)
		return err
	})
	return start, end
}

// Records reads a partition of a topic, read committed, to its end.
func (w *World) Records(topic string, partition int) (out []txn.Record) {
	w.T.Helper()
	ctx := context.Background()
	var at, end int64
	// a broker writes a transaction's markers after it has answered
	for high := int64(-1); high != end; time.Sleep(5 * time.Millisecond) {
		w.Patiently(func() error {
			h, err := w.Client.ListOffsets(ctx, topic, []int{partition}, txn.HighWatermark)
			high = h[partition]
			return err
		})
		at, end = w.Bounds(topic, partition)
	}
	for at < end {
		w.Patiently(func() error {
			f, err := w.Client.Fetch(ctx, topic, partition, at, 4<<20, time.Second)
			if err == nil {
				out, at = append(out, f.Records...), f.Next
			}
			return err
		})
	}
	return out
}

// IDs returns the ids of the scores of a partition, in the order of the topic.
func (w *World) IDs(partition int) (ids []string) {
	w.T.Helper()
	for _, r := range w.Records(w.Topics.Scores, partition) {
		for tab, err := range codec.Tables(r.Value, 64<<20) {
			if err != nil {
				w.T.Fatal(err)
			}
			c := tab.Column("id")
			for i := range tab.Rows() {
				id, _ := tab.Text(c, i)
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Committed returns the stage's committed event offset of a partition.
func (w *World) Committed(partition int) int64 {
	w.T.Helper()
	got, err := w.Client.ConsumerGroup(w.Name).Offsets(context.Background(), w.Topics.Events, []int{partition})
	if err != nil {
		w.T.Fatal(err)
	}
	return got[partition].Offset
}

// ExactlyOnce compares the scores with the produced records.
func (w *World) ExactlyOnce() {
	w.T.Helper()
	for p := range w.N {
		got := w.IDs(p)
		for i := range max(len(got), w.Next[p]) {
			if i >= len(got) || i >= w.Next[p] || got[i] != RecordID(p, i) {
				at := "(end)"
				if i < len(got) {
					at = got[i]
				}
				w.T.Fatalf(
					"partition %d: score %d is %s, want %s; %d scores of %d records",
					p,
					i,
					at,
					RecordID(p, i),
					len(got),
					w.Next[p],
				)
			}
		}
	}
}

// SendLabels sends the classes of records [from, from+n) of every partition.
func (w *World) SendLabels(from, n int, headers ...txn.Header) {
	w.T.Helper()
	s := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "y", Type: arrow.BinaryTypes.String}},
		nil,
	)
	for p := range w.N {
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		x := sample.Records(p*1_000_000+from, n)
		for i := range n {
			b.Field(0).(*array.StringBuilder).Append(RecordID(p, from+i))
			b.Field(1).(*array.StringBuilder).Append(sample.Schema.Classes[x.Label[i]])
		}
		v, err := codec.NewEventEncoder().Encode(nil, codec.NewTable(b.NewRecord()), nil)
		b.Release()
		if err != nil {
			w.T.Fatal(err)
		}
		at := time.UnixMilli(1_700_000_000_000 + int64(from+n))
		if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Labels, Partition: p, Value: v,
			Time: at, Headers: headers}}, txn.Lz4); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Mortal is a network whose process can die: all connections break at once and none can be opened.
type Mortal struct {
	mu    sync.Mutex
	conns []net.Conn
	dead  atomic.Bool
}

// Dial opens a connection, while the process lives.
func (m *Mortal) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if m.dead.Load() {
		return nil, errors.New("dead")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		m.mu.Lock()
		m.conns = append(m.conns, c)
		m.mu.Unlock()
	}
	return c, err
}

// Die ends the process.
func (m *Mortal) Die() {
	m.dead.Store(true)
	m.Cut()
}

// Cut ends the connections; new ones can be opened.
func (m *Mortal) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		_ = c.Close()
	}
}

// Endless returns a connection that ends where a transaction would.
func Endless(c net.Conn) net.Conn { return endless{c} }

type endless struct{ net.Conn }

func (c endless) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 26 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// KeepsTimeouts skips a test that needs a transactional id whose timeout changes, on the embedded broker.
func KeepsTimeouts(t *testing.T) {
	t.Helper()
	if !strings.HasSuffix(t.Name(), "/real") {
		t.Skip("NOT RUN ON THE EMBEDDED BROKER: its library keeps the first timeout of a transactional id")
	}
}

// Slow returns a connection that takes so many bytes a second.
func Slow(c net.Conn, rate int) net.Conn { return slow{c, rate} }

type slow struct {
	net.Conn
	rate int
}

func (c slow) Write(b []byte) (n int, err error) {
	const step = 20 * time.Millisecond
	for n < len(b) && err == nil {
		var k int
		k, err = c.Conn.Write(b[n:min(len(b), n+max(int(int64(c.rate)*int64(step)/int64(time.Second)), 1))])
		if n += k; n < len(b) {
			time.Sleep(step)
		}
	}
	return n, err
}

// Send sends values to partition 0 of a topic, one record each.
func (w *World) Send(topic string, values ...string) {
	w.T.Helper()
	var out []txn.Record
	for _, v := range values {
		out = append(out, txn.Record{Topic: topic, Value: []byte(v)})
	}
	if err := w.Client.Produce(context.Background(), out, txn.None); err != nil {
		w.T.Fatal(err)
	}
}

// DeadLetters counts the dead letters of each message.
func (w *World) DeadLetters() map[string]int {
	w.T.Helper()
	letters := map[string]int{}
	for _, l := range w.Records(w.Topics.Dead, 0) {
		h := map[string]string{}
		for _, x := range l.Headers {
			h[x.Key] = string(x.Value)
		}
		letters[h[codec.DeadTopic]+" "+h[codec.DeadOffset]]++
	}
	return letters
}

// WithoutErrors is a log in which an error fails the test.
func WithoutErrors(t *testing.T) *zap.Logger {
	return zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel), zaptest.WrapOptions(zap.Hooks(func(e zapcore.Entry) error {
		if e.Level >= zap.ErrorLevel {
			t.Errorf("logged as an error: %s", e.Message)
		}
		return nil
	})))
}
