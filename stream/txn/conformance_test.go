package txn

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/embedded"
)

// broker is one implementation that the suite runs on.
type broker struct {
	name    string
	addrs   []string
	compact func() // nil = it compacts by itself
}

// serial makes names unique within this process, started across processes: a real broker keeps the topics of earlier
// runs.
var (
	serial  atomic.Int64
	started = time.Now().UnixMilli()
)

func unique(kind string) string { return fmt.Sprintf("txntest-%s-%d-%d", kind, started, serial.Add(1)) }

// TestConformance runs the suite on every broker there is. On the embedded broker alone it proves little, see that
// package.
func TestConformance(t *testing.T) {
	suite := []struct {
		name string
		test func(*testing.T, *broker)
	}{
		{"CommitIsVisible", testCommitIsVisible},
		{"LostMemberLeaves", testLostMemberLeaves},
		{"DiscardTouchesNothingThatIsDecided", testDiscardTouchesNothingThatIsDecided},
		{"RecordsComeBackAsTheyWere", testRecordsComeBack},
		{"EmptyTransaction", testEmptyTransaction},
		{"AbortedIsInvisible", testAbortedIsInvisible},
		{"OpenTransactionIsInvisible", testOpenTransactionIsInvisible},
		{"RecoverDecides", testRecoverDecides},
		{"ZombieIsFenced", testZombieIsFenced},
		{"ExactlyOnceUnderFaults", testExactlyOnceUnderFaults},
		{"LateRequestsHaveNoEffect", testLateRequests},
		{"StaleGeneration", testStaleGeneration},
		{"CommitsBackToBack", testCommitsBackToBack},
		{"TransactionTimeout", testTransactionTimeout},
		{"TooLarge", testTooLarge},
		{"SmallTopic", testSmallTopic},
		{"Stamps", testStamps},
		{"CompactedTopicWithAbortedData", testCompacted},
		{"ProduceOnceUnderFaults", testProduceOnce},
		{"Offsets", testOffsets},
		{"Topics", testTopics},
		{"Group", testGroup},
		{"Evict", testEvict},
		{"Check", testCheck},
	}
	run := func(b *broker) {
		t.Run(b.name, func(t *testing.T) {
			for _, s := range suite {
				t.Run(s.name, func(t *testing.T) { s.test(t, b) })
			}
		})
	}
	e, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run(&broker{name: "embedded", addrs: []string{e.Addr()}, compact: e.Compact})

	if addrs := realBroker(); addrs != nil {
		run(&broker{name: "kafka", addrs: addrs})
	} else {
		t.Run("kafka", func(t *testing.T) {
			t.Skip("NOT PROVED ON A REAL BROKER: set LIFTSTREAM_KAFKA to its addresses, " +
				"as by: eval \"$(deploy/kafka.sh env DIR)\"")
		})
	}
}

// realBroker gives the addresses of a real Apache Kafka, nil if none is offered.
func realBroker() []string {
	if addrs := os.Getenv("LIFTSTREAM_KAFKA"); addrs != "" {
		return strings.Split(addrs, ",")
	}
	return nil
}

func (b *broker) client(t *testing.T, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Brokers: b.addrs, ClientID: "txntest"}
	for _, f := range change {
		f(&cfg)
	}
	c := NewClient(cfg)
	t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustTopic(t *testing.T, c *Client, partitions int, configs map[string]string) string {
	t.Helper()
	name := unique("topic")
	if _, err := c.CreateTopics(testContext(t), TopicSpec{Name: name, Partitions: partitions, Replication: 1,
		Configs: configs}); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustProducer(t *testing.T, c *Client, id string) *Producer {
	t.Helper()
	p, err := c.NewProducer(testContext(t), id, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read gives the committed records of a partition from offset to the last stable one.
func read(t *testing.T, c *Client, topic string, partition int, offset int64) []Record {
	t.Helper()
	ctx := testContext(t)
	// A commit is answered before its markers are written.
	end, deadline := offsetAt(t, c, topic, partition, End), time.Now().Add(10*time.Second)
	for end < offsetAt(t, c, topic, partition, HighWatermark) {
		if time.Now().After(deadline) {
			t.Fatal("a transaction stays open")
		}
		time.Sleep(5 * time.Millisecond)
		end = offsetAt(t, c, topic, partition, End)
	}
	var records []Record
	next, err := c.Read(ctx, topic, partition, offset, end, func(r *Record) { records = append(records, *r) })
	if err != nil || next < end {
		t.Fatalf("read up to %d of %d: %v", next, end, err)
	}
	return records
}

func offsetAt(t *testing.T, c *Client, topic string, partition int, at Position) int64 {
	t.Helper()
	offsets, err := c.ListOffsets(testContext(t), topic, []int{partition}, at)
	if err != nil {
		t.Fatal(err)
	}
	return offsets[partition]
}

func values(records []Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, string(r.Value))
	}
	return out
}

func mustEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %d %.300v, want %d %.300v", what, len(got), got, len(want), want)
	}
}

func mustKind(t *testing.T, what string, err error, want ...Kind) {
	t.Helper()
	if !slices.Contains(want, KindOf(err)) {
		t.Errorf("%s: got %v (kind %v), want kind %v", what, err, KindOf(err), want)
	}
}

func record(topic string, partition int, value string) Record {
	return Record{Topic: topic, Partition: partition, Key: []byte("k"), Value: []byte(value), Time: time.Now()}
}

// member joins a group of one and gives its generation.
func member(t *testing.T, c *Client, group, topic string) *Generation {
	t.Helper()
	g, err := c.JoinGroup(GroupConfig{ID: group, Topics: []string{topic}, Session: 6 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	gen, err := g.Next(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return gen
}

// committedOffset returns the group's next offset for a partition, -1 if it has none.
func committedOffset(ctx context.Context, c *Client, group, topic string, partition int) (int64, error) {
	offsets, err := c.ConsumerGroup(group).Offsets(ctx, topic, []int{partition})
	return offsets[partition].Offset, err
}

func testOffsets(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 2, nil)
	var records []Record
	for i := range 10 {
		records = append(records, record(topic, 0, fmt.Sprint(i)))
	}
	if err := c.Produce(ctx, records, None); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		at   Position
		want []int64
	}{
		{"start", Start, []int64{0, 0}},
		{"end", End, []int64{10, 0}},
		{"high watermark", HighWatermark, []int64{10, 0}},
	} {
		got, err := c.ListOffsets(ctx, topic, []int{0, 1}, test.at)
		if err != nil || got[0] != test.want[0] || got[1] != test.want[1] {
			t.Errorf("%s: got %v, %v, want %v", test.name, got, err, test.want)
		}
	}
	_, err := c.ListOffsets(ctx, topic, []int{7}, Start)
	mustKind(t, "a partition that does not exist", err, NoTopic)
	_, err = c.Fetch(ctx, topic, 0, 11, 1<<20, 100*time.Millisecond)
	mustKind(t, "above the end", err, OutOfRange)
	got, err := c.Fetch(ctx, topic, 0, 10, 1<<20, 100*time.Millisecond)
	if err != nil || len(got.Records) != 0 || got.Next != 10 || got.HighWatermark != 10 || got.LogStart != 0 {
		t.Errorf("at the end: got %+v, %v", got, err)
	}
	got, err = c.Fetch(ctx, topic, 0, 4, 1, 100*time.Millisecond)
	if err != nil || len(got.Records) != 6 || got.Records[0].Offset != 4 || got.Next != 10 ||
		got.Bytes != 12+6*recordBytes {
		t.Errorf("from the middle of a batch, limit one byte: got %+v, %v", got, err)
	}
	_, err = c.Fetch(ctx, unique("missing"), 0, 0, 1<<20, 100*time.Millisecond)
	mustKind(t, "a topic that does not exist", err, NoTopic)
}

func testTopics(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	name, missing := unique("topic"), unique("missing")
	spec := TopicSpec{
		Name:        name,
		Partitions:  3,
		Replication: 1,
		Configs:     map[string]string{"cleanup.policy": "compact", "max.message.bytes": "123456"},
	}
	for i, want := range []bool{true, false} {
		created, err := c.CreateTopics(ctx, spec)
		if err != nil || len(created) != 1 || created[0] != want {
			t.Fatalf("creation %d: got %v, %v, want %v", i, created, err, want)
		}
	}
	topics, err := c.Describe(ctx, missing, name)
	if err != nil || len(topics) != 1 {
		t.Fatalf("got %v, %v, want one topic", topics, err)
	}
	if d := topics[0]; d.Name != name || d.Partitions != 3 || d.Replication < 1 ||
		d.Configs["cleanup.policy"] != "compact" ||
		d.Configs["max.message.bytes"] != "123456" {
		t.Errorf("got %+v", d)
	}
	if n, err := c.Partitions(ctx, name); err != nil || n != 3 {
		t.Errorf("partitions: got %d, %v", n, err)
	}
	_, err = c.Partitions(ctx, missing)
	mustKind(t, "partitions of a topic that does not exist", err, NoTopic)
	_, err = c.CreateTopics(ctx, TopicSpec{Name: "no/such name", Partitions: 1, Replication: 1})
	if b.name == "kafka" { // the embedded broker takes any name
		mustKind(t, "an impossible name", err, Invalid)
	}
}

func testCheck(t *testing.T, b *broker) {
	ctx := testContext(t)
	if err := b.client(t).Check(ctx); err != nil {
		t.Error(err)
	}
	// One of several is enough.
	c := b.client(t, func(cfg *Config) { cfg.Brokers = append([]string{closedPort(t)}, cfg.Brokers...) })
	if err := c.Check(ctx); err != nil {
		t.Error(err)
	}
	secure, err := LoadTLS("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	err = b.client(t, func(cfg *Config) { cfg.TLS, cfg.Timeout = secure, time.Second }).Check(ctx)
	mustKind(t, "TLS to a plain port", err, Handshake)
	t.Log(err)
}
