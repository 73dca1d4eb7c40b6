package txn

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

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
		Compression: Zstd, Group: group, Member: gen.Member, Generation: gen.ID,
		Offsets: map[string]map[int]int64{in: {0: 7}},
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
	if o, err := committedOffset(ctx, c, group, in, 0); err != nil || o != 7 {
		t.Errorf("committed offset: got %d, %v, want 7", o, err)
	}
	if o, err := committedOffset(ctx, c, group, out, 0); err != nil || o != -1 {
		t.Errorf("offset never committed: got %d, %v, want -1", o, err)
	}
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
	if o, err := c.ConsumerGroup(group).Offsets(ctx, in, []int{0}); err != nil || o[0] != (GroupOffset{2, "note b"}) {
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
	if o, err := committedOffset(ctx, c, group, in, 0); err != nil || o != 2 {
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
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "500", "delete.retention.ms": "100",
		"min.compaction.lag.ms": "0",
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
