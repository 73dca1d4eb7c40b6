package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"liftstream/stream/embedded"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
			t.Skip("NOT PROVED ON A REAL BROKER: set LIFTSTREAM_KAFKA to its addresses, as by: eval \"$(deploy/kafka.sh env DIR)\"")
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
	if _, err := c.CreateTopics(testContext(t), TopicSpec{Name: name, Partitions: partitions, Replication: 1, Configs: configs}); err != nil {
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
	for offset < end {
		f, err := c.Fetch(ctx, topic, partition, offset, 1<<20, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if f.Next <= offset {
			t.Fatalf("the fetch at %d of %d did not advance", offset, end)
		}
		records = append(records, f.Records...)
		offset = f.Next
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

func testCommitIsVisible(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	in, out, group := mustTopic(t, c, 1, nil), mustTopic(t, c, 3, nil), unique("group")
	gen := member(t, c, group, in)
	p := mustProducer(t, c, unique("id"))
	tx := Transaction{
		Records: []Record{
			record(out, 2, "a"),
			record(out, 0, "b"),
			record(out, 2, "c"),
			record(out, 1, "d"),
			record(out, 2, "e"),
		},
		Compression: Zstd, Group: group, Member: gen.Member, Generation: gen.ID, Offsets: map[string]map[int]int64{in: {0: 7}},
	}
	if err := p.Commit(ctx, tx); err != nil {
		t.Fatal(err)
	}
	for partition, want := range [][]string{{"b"}, {"d"}, {"a", "c", "e"}} {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, out, partition, 0)), want)
	}
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if o, err := c.CommittedOffset(ctx, group, in, 0); err != nil || o != 7 {
		t.Errorf("committed offset: got %d, %v, want 7", o, err)
	}
	if o, err := c.CommittedOffset(ctx, group, out, 0); err != nil || o != -1 {
		t.Errorf("offset never committed: got %d, %v, want -1", o, err)
	}
}

// unplugged is a dialer whose connections all end at once, with no new ones until it is plugged in again.
type unplugged struct {
	mu    sync.Mutex
	off   bool
	conns []net.Conn
}

func (u *unplugged) dial(ctx context.Context, network, address string) (net.Conn, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.off {
		return nil, errCut
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		u.conns = append(u.conns, conn)
	}
	return conn, err
}

func (u *unplugged) plug(in bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.off = !in; u.off {
		for _, c := range u.conns {
			c.Close()
		}
		u.conns = nil
	}
}

// testLostMemberLeaves would take the whole session, which is longer than the test may last, if the lost member did not
// leave.
func testLostMemberLeaves(t *testing.T, b *broker) {
	ctx, u := testContext(t), &unplugged{}
	c := b.client(t, func(cfg *Config) { cfg.Dial = u.dial })
	in := mustTopic(t, c, 2, nil)
	failed := make(chan struct{}, 1000)
	g, err := c.JoinGroup(
		GroupConfig{
			ID:        unique("group"),
			Topics:    []string{in},
			Session:   5 * time.Minute,
			Rebalance: 5 * time.Minute,
			OnWait: func(error) {
				select {
				case failed <- struct{}{}:
				default:
				}
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	first, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first.Start(func(ctx context.Context) { <-ctx.Done() })
	for len(failed) > 0 {
		<-failed
	}
	u.plug(false)
	go func() {
		<-failed // its id is given up
		u.plug(true)
	}()
	second, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if second.Member == first.Member || len(second.Partitions) != 2 {
		t.Errorf("member %s after %s, with partitions %v", second.Member, first.Member, second.Partitions)
	}
	second.Start(func(ctx context.Context) { <-ctx.Done() })
}

func testDiscardTouchesNothingThatIsDecided(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	in, out, group := mustTopic(t, c, 1, nil), mustTopic(t, c, 2, nil), unique("group")
	gen := member(t, c, group, in)
	p := mustProducer(t, c, unique("id"))
	tx := func(value string, next int64) Transaction {
		return Transaction{
			Records: []Record{
				record(out, 0, value),
				record(out, 1, value),
			}, Group: group, Member: gen.Member, Generation: gen.ID,
			Offsets: map[string]map[int]int64{in: {0: next}}, Note: "note " + value,
		}
	}
	for i, v := range []string{"a", "b"} {
		if err := p.Commit(ctx, tx(v, int64(i+1))); err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Written(out, 1); !ok {
			t.Error("nothing is said to be written")
		}
		if err := p.Discard(ctx, map[string][]int{out: {1, 0}}); err != nil {
			t.Fatal(err)
		}
		if o, ok := p.Written(out, 1); ok {
			t.Errorf("offset %d is said to be written since Recover", o)
		}
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, out, partition, 0)), []string{"a", "b"})
	}
	if o, err := c.CommittedOffsets(ctx, group, in, []int{0}); err != nil || o[0] != (GroupOffset{2, "note b"}) {
		t.Errorf("committed: got %v, %v", o, err)
	}
	mustKind(
		t,
		"a producer that must recover",
		(&Producer{client: c, poisoned: errNotInitialised}).Discard(ctx, nil),
		Poisoned,
	)
}

func testRecordsComeBack(t *testing.T, b *broker) {
	ctx := testContext(t)
	c := b.client(t, func(cfg *Config) { cfg.BatchBytes = 5000 }) // several batches a partition
	stamp := time.UnixMilli(1700000000123)
	var sent []Record
	for i := range 300 {
		r := Record{
			Key:   []byte(fmt.Sprint("key", i)),
			Value: bytes.Repeat([]byte{byte(i)}, i*7%900),
			Time:  stamp.Add(time.Duration(i%17-8) * time.Second),
		}
		switch i % 5 {
		case 0:
			r.Key = nil
		case 1:
			r.Value = nil
		case 2:
			r.Key = []byte{}
		case 3:
			r.Headers = []Header{{"rows", []byte("3")}, {"null", nil}, {"", []byte{}}}
		}
		sent = append(sent, r)
	}
	sent = append(sent, Record{Key: []byte("big"), Value: bytes.Repeat([]byte("0123456789abcdef"), 30000), Time: stamp})
	for codec := None; codec <= Zstd; codec++ {
		topic := mustTopic(t, c, 1, nil)
		p := mustProducer(t, c, unique("id"))
		for i := range sent {
			sent[i].Topic = topic
		}
		for range 2 { // sequences go on over transactions
			if err := p.Commit(ctx, Transaction{Records: sent, Compression: codec}); err != nil {
				t.Fatalf("codec %d: %v", codec, err)
			}
		}
		got := read(t, c, topic, 0, 0)
		if len(got) != 2*len(sent) {
			t.Fatalf("codec %d: got %d records, want %d", codec, len(got), 2*len(sent))
		}
		last := int64(-1)
		for i, g := range got {
			w := sent[i%len(sent)]
			if !same(g.Key, w.Key) || !same(g.Value, w.Value) || !g.Time.Equal(w.Time) || len(g.Headers) != len(w.Headers) ||
				g.Offset <= last {
				t.Fatalf("codec %d: record %d came back as %.200v, sent as %.200v", codec, i, g, w)
			}
			for j := range g.Headers {
				if g.Headers[j].Key != w.Headers[j].Key || !bytes.Equal(g.Headers[j].Value, w.Headers[j].Value) {
					t.Fatalf("codec %d: record %d: header %v, sent as %v", codec, i, g.Headers[j], w.Headers[j])
				}
			}
			last = g.Offset
		}
	}
}

// same tells null from empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func testEmptyTransaction(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 1, nil)
	p := mustProducer(t, c, unique("id"))
	for range 2 {
		if err := p.Commit(ctx, Transaction{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "a")}}); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "after empty transactions", values(read(t, c, topic, 0, 0)), []string{"a"})
}

func testAbortedIsInvisible(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	topic := mustTopic(t, c, 1, nil)
	p := mustProducer(t, c, unique("id"))
	for i := range 4 { // two aborted ones between three committed ones
		if i%2 == 1 {
			f.arm(apiEndTxn, cutBefore)
		}
		err := p.Commit(
			ctx,
			Transaction{Records: []Record{record(topic, 0, fmt.Sprint("t", i, "a")), record(topic, 0, fmt.Sprint("t", i, "b"))}},
		)
		if i%2 == 0 {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		mustKind(t, "commit without EndTxn", err, Unknown)
		mustKind(t, "use before Recover", p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "x")}}), Poisoned)
		if err := p.Recover(ctx); err != nil {
			t.Fatal(err)
		}
	}
	mustEqual(t, "committed", values(read(t, c, topic, 0, 0)), []string{"t0a", "t0b", "t2a", "t2b"})
	// From inside the aborted transaction, too: its markers and abort list tell.
	for offset := range offsetAt(t, c, topic, 0, End) {
		for _, r := range read(t, c, topic, 0, offset) {
			if r.Value[1] == '1' || r.Value[1] == '3' {
				t.Errorf("from offset %d: aborted record %q at %d", offset, r.Value, r.Offset)
			}
		}
	}
}

func testOpenTransactionIsInvisible(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	topic := mustTopic(t, c, 1, nil)
	p := mustProducer(t, c, unique("id"))
	if err := p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "a")}}); err != nil {
		t.Fatal(err)
	}
	f.arm(apiEndTxn, hold)
	mustKind(t, "held EndTxn", p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "b")}}), Unknown)
	got, err := c.Fetch(ctx, topic, 0, 0, 1<<20, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "while the transaction is open", values(got.Records), []string{"a"})
	if got.LastStable >= got.HighWatermark || got.Next > got.LastStable {
		t.Errorf(
			"next %d, last stable %d, high watermark %d: an open transaction lies between the last two",
			got.Next,
			got.LastStable,
			got.HighWatermark,
		)
	}
	if end := offsetAt(t, c, topic, 0, End); end != got.LastStable {
		t.Errorf("End: got %d, want the last stable offset %d", end, got.LastStable)
	}
	if hw := offsetAt(t, c, topic, 0, HighWatermark); hw != got.HighWatermark {
		t.Errorf("HighWatermark: got %d, want %d", hw, got.HighWatermark)
	}
	f.release() // the commit arrives after all
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "after the late commit", values(read(t, c, topic, 0, 0)), []string{"a", "b"})
}

// testRecoverDecides: once Recover has returned, no transaction of this id is open anywhere, so that a restore may read
// to End.
func testRecoverDecides(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	topic := mustTopic(t, c, 2, nil)
	p := mustProducer(t, c, unique("id"))
	for i := range 20 {
		if i%2 == 1 {
			f.arm(apiEndTxn, mode(i/2%2))
		}
		err := p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "a"), record(topic, 1, "b")}})
		if (err == nil) != (i%2 == 0) {
			t.Fatal(err)
		}
		if err := p.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		for partition := range 2 {
			if end, high := offsetAt(t, c, topic, partition, End), offsetAt(t, c, topic, partition, HighWatermark); end != high {
				t.Fatalf("round %d, partition %d: End %d, high watermark %d", i, partition, end, high)
			}
		}
	}
}

func testZombieIsFenced(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	in, out, group := mustTopic(t, c, 1, nil), mustTopic(t, c, 2, nil), unique("group")
	gen := member(t, c, group, in)
	id := unique("id")
	tx := func(value string, partition int, next int64) Transaction {
		return Transaction{
			Records:    []Record{record(out, partition, value)},
			Group:      group,
			Member:     gen.Member,
			Generation: gen.ID,
			Offsets:    map[string]map[int]int64{in: {0: next}},
		}
	}
	zombie := mustProducer(t, c, id)
	if err := zombie.Commit(ctx, tx("a", 0, 1)); err != nil {
		t.Fatal(err)
	}
	owner := mustProducer(t, c, id)
	mustKind(t, "zombie, known partition", zombie.Commit(ctx, tx("z", 0, 99)), Fenced)
	mustKind(t, "zombie again", zombie.Commit(ctx, tx("z", 0, 99)), Poisoned)
	if err := owner.Commit(ctx, tx("b", 0, 2)); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "records", values(read(t, c, out, 0, 0)), []string{"a", "b"})
	if err := owner.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if o, err := c.CommittedOffset(ctx, group, in, 0); err != nil || o != 2 {
		t.Errorf("committed offset: got %d, %v, want 2", o, err)
	}
	// The step at which the zombie is caught depends on when it lost: here between producing and the end.
	f := newFaults(t)
	c2 := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	late := mustProducer(t, c2, id)
	for _, step := range []int16{apiProduce, apiAddOffsets, apiTxnOffsetCommit, apiEndTxn} {
		if err := late.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		f.arm(step, hold)
		mustKind(t, "held", late.Commit(ctx, tx("z", 1, 99)), Unknown)
		owner = mustProducer(t, c, id)
		f.release() // the former owner's request arrives when there is a new one
		if err := owner.Commit(ctx, tx(fmt.Sprint("c", step), 1, 3)); err != nil {
			t.Fatalf("step %d: the owner after a late request of its predecessor: %v", step, err)
		}
	}
	mustEqual(t, "records", values(read(t, c, out, 1, 0)), []string{"c0", "c25", "c28", "c26"})
}

// consume does the work of a task: it reads in, writes a line for each record, and commits both. It survives every
// failed commit.
type consume struct {
	t              *testing.T
	c              *Client
	p              *Producer
	in, out, group string
	gen            *Generation
	next           int64
}

func (s *consume) recover(ctx context.Context) {
	s.t.Helper()
	for {
		err := s.p.Recover(ctx)
		if err == nil {
			s.next, err = s.c.CommittedOffset(ctx, s.group, s.in, 0)
		}
		if err == nil {
			s.next = max(s.next, 0)
			return
		}
		if ctx.Err() != nil {
			s.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// once handles up to n records in one transaction and tells whether the commit succeeded.
func (s *consume) once(ctx context.Context, n int) error {
	s.t.Helper()
	f, err := s.c.Fetch(ctx, s.in, 0, s.next, 1<<20, 2*time.Second)
	if err != nil {
		return err
	}
	records := f.Records[:min(n, len(f.Records))]
	tx := Transaction{Group: s.group, Member: s.gen.Member, Generation: s.gen.ID}
	next := f.Next
	for _, r := range records {
		tx.Records = append(tx.Records, record(s.out, int(r.Offset%2), string(r.Value)))
		next = r.Offset + 1
	}
	tx.Offsets = map[string]map[int]int64{s.in: {0: next}}
	if err := s.p.Commit(ctx, tx); err != nil {
		s.recover(ctx)
		return err
	}
	s.next = next
	return nil
}

func newConsume(t *testing.T, c *Client, n int) (*consume, [][]string) {
	t.Helper()
	s := &consume{t: t, c: c, in: mustTopic(t, c, 1, nil), out: mustTopic(t, c, 2, nil), group: unique("group")}
	var records []Record
	want := make([][]string, 2)
	for i := range n {
		v := fmt.Sprintf("%06d", i)
		records = append(records, record(s.in, 0, v))
		want[i%2] = append(want[i%2], v)
	}
	if err := c.Produce(testContext(t), records, Lz4); err != nil {
		t.Fatal(err)
	}
	s.gen = member(t, c, s.group, s.in)
	s.p = mustProducer(t, c, unique("id"))
	return s, want
}

func testExactlyOnceUnderFaults(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	const records, each = 120, 5
	s, want := newConsume(t, c, records)
	steps := []int16{apiAddPartitions, apiProduce, apiAddOffsets, apiTxnOffsetCommit, apiEndTxn, apiInitProducerID}
	for i := 0; s.next < records; i++ {
		step, m, fault := steps[i/3%len(steps)], mode(i%3), i%3 != 2 // every third transaction is left alone
		if fault {
			if step == apiInitProducerID { // Recover itself fails
				f.arm(apiEndTxn, cutAfter)
			}
			f.arm(step, m)
		}
		err := s.once(ctx, each)
		if fault {
			mustKind(t, fmt.Sprintf("step %d, fault %d", step, m), err, Unknown)
			if !f.fired() {
				t.Fatalf("step %d: the fault did not strike", step)
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, s.out, partition, 0)), want[partition])
	}
}

func testLateRequests(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	const records = 60
	s, want := newConsume(t, c, records)
	for _, step := range []int16{apiAddPartitions, apiProduce, apiAddOffsets, apiTxnOffsetCommit, apiEndTxn} {
		f.arm(step, hold)
		mustKind(t, fmt.Sprintf("step %d held", step), s.once(ctx, 5), Unknown)
		f.release() // after Recover and CommittedOffset, before the next transaction
		if err := s.once(ctx, 5); err != nil {
			t.Fatalf("step %d: after the late request: %v", step, err)
		}
	}
	for s.next < records {
		if err := s.once(ctx, 7); err != nil {
			t.Fatal(err)
		}
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, s.out, partition, 0)), want[partition])
	}
}

func testStaleGeneration(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	in, out, group := mustTopic(t, c, 1, nil), mustTopic(t, c, 1, nil), unique("group")
	gen := member(t, c, group, in)
	p := mustProducer(t, c, unique("id"))
	for _, bad := range []struct {
		name       string
		member     string
		generation int
	}{
		{"generation before", gen.Member, gen.ID - 1},
		{"generation after", gen.Member, gen.ID + 1},
		{"another member", "nobody", gen.ID},
	} {
		err := p.Commit(ctx, Transaction{
			Records: []Record{record(out, 0, bad.name)}, Group: group, Member: bad.member, Generation: bad.generation,
			Offsets: map[string]map[int]int64{in: {0: 99}},
		})
		mustKind(t, bad.name, err, StaleGeneration)
		if err := p.Recover(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := c.CommittedOffset(ctx, group, in, 0); err != nil || o != -1 {
		t.Errorf("committed offset: got %d, %v, want none", o, err)
	}
	mustEqual(t, "records", values(read(t, c, out, 0, 0)), nil)
}

// testCommitsBackToBack leaves the broker no time between transactions: a real one then answers CONCURRENT_TRANSACTIONS
// now and then.
func testCommitsBackToBack(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	in, out, group := mustTopic(t, c, 1, nil), mustTopic(t, c, 2, nil), unique("group")
	gen := member(t, c, group, in)
	p := mustProducer(t, c, unique("id"))
	want := make([][]string, 2)
	const least, most = 60, 400
	n, again := 0, 0
	for ; n < least || n < most && again == 0 && b.name == "kafka"; n++ {
		v := fmt.Sprint(n)
		want[n%2] = append(want[n%2], v)
		err := p.Commit(ctx, Transaction{
			Records: []Record{
				record(out, n%2, v),
			}, Group: group, Member: gen.Member, Generation: gen.ID, Offsets: map[string]map[int]int64{in: {0: int64(n + 1)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		again = f.count(apiAddPartitions) - n - 1
	}
	t.Logf(
		"%d of %d first steps were repeated",
		again,
		n,
	) // TestDecisions proves the retry where the broker is never this busy
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if o, err := c.CommittedOffset(ctx, group, in, 0); err != nil || o != int64(n) {
		t.Errorf("committed offset: got %d, %v, want %d", o, err, n)
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, out, partition, 0)), want[partition])
	}
}

func testTransactionTimeout(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 1, nil)
	for _, timeout := range []time.Duration{0, 24 * time.Hour} {
		_, err := c.NewProducer(ctx, unique("id"), timeout)
		if b.name == "kafka" || timeout > 0 {
			mustKind(t, fmt.Sprint("a timeout of ", timeout), err, Invalid)
		}
	}
	// A broker that does not answer: Commit gives up at the transaction's own timeout, long before the client's.
	stuck := newStuck()
	slow := b.client(t, func(cfg *Config) { cfg.Dial, cfg.Timeout = stuck.dial, time.Hour })
	p, err := slow.NewProducer(ctx, unique("id"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "a")}}); err != nil {
		t.Fatal(err)
	}
	stuck.stop()
	mustKind(t, "no answer", p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "b")}}), Unknown)
	stuck.goOn()
	if ctx.Err() != nil {
		t.Fatal("Commit did not keep to the transaction's timeout")
	}
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "c")}}); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "records", values(read(t, c, topic, 0, 0)), []string{"a", "c"})
}

func testTooLarge(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 1, map[string]string{"max.message.bytes": "2000"})
	p := mustProducer(t, c, unique("id"))
	big := record(topic, 0, strings.Repeat("x", 5000))
	mustKind(
		t,
		"a record above the limit",
		p.Commit(ctx, Transaction{Records: []Record{record(topic, 0, "a"), big}}),
		TooLarge,
	)
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	mustKind(t, "outside transactions", c.Produce(ctx, []Record{big}, None), TooLarge)
	if err := p.Commit(ctx, Transaction{Records: []Record{big}, Compression: Zstd}); err != nil {
		t.Errorf("compressed it fits, but: %v", err)
	}
}

// testCompacted: after compaction every key has its last committed value, from wherever one starts, and nothing aborted
// shows.
func testCompacted(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	topic := mustTopic(t, c, 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "500", "delete.retention.ms": "100", "min.compaction.lag.ms": "0",
	})
	p := mustProducer(t, c, unique("id"))
	last := make(map[string]string)
	serial := 0
	write := func(abort bool, keys ...int) {
		t.Helper()
		var tx Transaction
		for _, k := range keys {
			serial++
			r := record(topic, 0, fmt.Sprint("v", serial))
			r.Key = []byte(fmt.Sprint("k", k))
			tx.Records = append(tx.Records, r)
			if !abort {
				last[string(r.Key)] = string(r.Value)
			}
		}
		if abort {
			f.arm(apiEndTxn, cutBefore)
		}
		err := p.Commit(ctx, tx)
		if abort {
			mustKind(t, "abort", err, Unknown)
			if err := p.Recover(ctx); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for round := range 12 {
		write(false, 0, 1, 2, 3, 4, round+10)
		write(true, 0, 1, 5, 6, round+10, round+30)
		write(false, round%7, 7, 7, 7, 7)
	}
	dense := len(read(t, c, topic, 0, 0))
	for deadline := time.Now().Add(45 * time.Second); ; {
		if b.compact != nil {
			time.Sleep(600 * time.Millisecond) // a segment is as old as this before it is closed
		}
		write(false, 99) // closes the segment before, which may then be compacted
		dense++
		if b.compact != nil {
			b.compact()
		} else {
			time.Sleep(time.Second)
		}
		if n := len(read(t, c, topic, 0, 0)); n < dense*3/4 {
			t.Logf("%d of %d records are left", n, dense)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the broker did not compact: nothing is proved")
		}
	}
	start, end := offsetAt(t, c, topic, 0, Start), offsetAt(t, c, topic, 0, End)
	for from := start; from < end; from++ {
		got := make(map[string]string)
		for _, r := range read(t, c, topic, 0, from) {
			if r.Offset < from {
				t.Fatalf("from %d: a record of offset %d", from, r.Offset)
			}
			got[string(r.Key)] = string(r.Value)
		}
		for k, v := range got {
			if last[k] != v {
				t.Fatalf("from %d: key %s has %s, last committed was %q", from, k, v, last[k])
			}
		}
		if from == start && len(got) != len(last) {
			t.Fatalf("got %d keys, want %d", len(got), len(last))
		}
	}
}

func testProduceOnce(t *testing.T, b *broker) {
	ctx, f := testContext(t), newFaults(t)
	c := b.client(t, func(cfg *Config) { cfg.Dial = f.dial })
	topic := mustTopic(t, c, 2, nil)
	want := make([][]string, 2)
	for i := range 30 {
		var records []Record
		for j := range 10 {
			v := fmt.Sprintf("%d.%d", i, j)
			records = append(records, record(topic, j%2, v))
			want[j%2] = append(want[j%2], v)
		}
		if i%3 > 0 {
			f.arm(apiProduce, mode(i%3-1))
		}
		if err := c.Produce(ctx, records, Snappy); err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 && !f.fired() {
			t.Fatal("the fault did not strike")
		}
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, topic, partition, 0)), want[partition])
	}
	err := c.Produce(ctx, []Record{record(unique("missing"), 0, "x")}, None)
	mustKind(t, "a topic that does not exist", err, NoTopic)
}

func testOffsets(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 2, nil)
	base := time.UnixMilli(1700000000000)
	var records []Record
	for i := range 10 {
		r := record(topic, 0, fmt.Sprint(i))
		r.Time = base.Add(time.Duration(i) * time.Second)
		records = append(records, r)
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
		{"the fourth", At(base.Add(3 * time.Second)), []int64{3, 0}},
		{"between", At(base.Add(3*time.Second + time.Millisecond)), []int64{4, 0}},
		{"before all", At(base.Add(-time.Hour)), []int64{0, 0}},
		{"after all", At(base.Add(time.Hour)), []int64{10, 0}},
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
	if err != nil || len(got.Records) != 6 || got.Records[0].Offset != 4 || got.Next != 10 || got.Bytes != 12 {
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
	all, err := c.Topics(ctx)
	if err != nil || !slices.ContainsFunc(all, func(t Topic) bool { return t.Name == name && t.Partitions == 3 }) {
		t.Errorf("the topic is not among %d listed: %v", len(all), err)
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

func testGroup(t *testing.T, b *broker) {
	ctx := testContext(t)
	a, z := b.client(
		t,
		func(cfg *Config) { cfg.ClientID = "member-a" },
	), b.client(
		t,
		func(cfg *Config) { cfg.ClientID = "member-z" },
	)
	events, labels, group := mustTopic(t, a, 4, nil), mustTopic(t, a, 4, nil), unique("group")
	join := func(c *Client) *Group {
		g, err := c.JoinGroup(
			GroupConfig{
				ID:        group,
				Topics:    []string{events, labels},
				Session:   6 * time.Second,
				Heartbeat: 200 * time.Millisecond,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	next := func(g *Group) *Generation {
		t.Helper()
		gen, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return gen
	}
	ga := join(a)
	first := next(ga)
	if !slices.Equal(first.Partitions, []int{0, 1, 2, 3}) {
		t.Fatalf("alone: got %v", first.Partitions)
	}
	ended := make(chan error, 1)
	first.Start(func(ctx context.Context) { <-ctx.Done(); ended <- ctx.Err() })

	gz := join(z)
	zs := make(chan *Generation, 8)
	go func() {
		for {
			gen, err := gz.Next(ctx)
			if err != nil {
				close(zs)
				return
			}
			zs <- gen
		}
	}()
	second := next(ga)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a goroutine of the generation before ended with %v", err)
	}
	other := <-zs
	for second.ID != other.ID { // they may meet a generation later
		if second.ID < other.ID {
			second = next(ga)
		} else {
			other = <-zs
		}
	}
	both := append(slices.Clone(second.Partitions), other.Partitions...)
	slices.Sort(both)
	if len(second.Partitions) != 2 || !slices.Equal(both, []int{0, 1, 2, 3}) {
		t.Fatalf("two members: %v and %v", second.Partitions, other.Partitions)
	}
	d, err := a.DescribeGroup(ctx, group)
	if err != nil || d.State != "Stable" || len(d.Members) != 2 {
		t.Fatalf("got %+v, %v", d, err)
	}
	for _, m := range d.Members {
		if !slices.Equal(m.Partitions[events], m.Partitions[labels]) || len(m.Partitions[events]) != 2 ||
			!strings.HasPrefix(m.ClientID, "member-") {
			t.Errorf("not co-partitioned: %+v", m)
		}
	}
	gz.Close()
	third := next(ga)
	for len(third.Partitions) < 4 {
		third = next(ga)
	}
	if !slices.Equal(third.Partitions, []int{0, 1, 2, 3}) {
		t.Errorf("alone again: got %v", third.Partitions)
	}
	if gone, err := a.DescribeGroup(ctx, unique("group")); err != nil || gone.State != "Dead" {
		t.Errorf("a group that does not exist: got %+v, %v", gone, err)
	}
}

// testEvict: the partitions of a member that is gone without a word are free long before its session ends.
func testEvict(t *testing.T, b *broker) {
	ctx, s := testContext(t), newStuck()
	dead := b.client(t, func(cfg *Config) { cfg.ClientID, cfg.Dial = "instance-1", s.dial })
	topic, group := mustTopic(t, dead, 2, nil), unique("group")
	join := func(c *Client) *Group {
		g, err := c.JoinGroup(
			GroupConfig{ID: group, Topics: []string{topic}, Session: 60 * time.Second, Rebalance: 60 * time.Second},
		)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	ghost := join(dead)
	t.Cleanup(func() { s.goOn(); ghost.Close() })
	if _, err := ghost.Next(ctx); err != nil {
		t.Fatal(err)
	}
	s.stop()
	c := b.client(t, func(cfg *Config) { cfg.ClientID = "instance-2" })
	if n, err := c.Evict(ctx, group, "instance-2"); err != nil || n != 0 {
		t.Fatalf("nobody to evict: got %d, %v", n, err)
	}
	if n, err := c.Evict(ctx, group, "instance-1"); err != nil || n != 1 {
		t.Fatalf("the ghost: got %d, %v", n, err)
	}
	start := time.Now()
	g := join(c)
	t.Cleanup(func() { g.Close() })
	gen, err := g.Next(ctx)
	if err != nil || len(gen.Partitions) != 2 {
		t.Fatalf("got %+v, %v", gen, err)
	}
	t.Logf("took over after %v", time.Since(start).Round(time.Millisecond))
}

func testCheck(t *testing.T, b *broker) {
	ctx := testContext(t)
	if err := b.client(t).Check(ctx); err != nil {
		t.Error(err)
	}
	// One of several is enough.
	if err := b.client(t, func(cfg *Config) { cfg.Brokers = append([]string{closedPort(t)}, cfg.Brokers...) }).Check(ctx); err != nil {
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
