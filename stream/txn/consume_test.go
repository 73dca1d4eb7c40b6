package txn

import (
	"context"
	"fmt"
	"testing"
	"time"
)

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
			s.next, err = committedOffset(ctx, s.c, s.group, s.in, 0)
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
		f.release() // after Recover and the look at the offsets, before the next transaction
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
	if o, err := committedOffset(ctx, c, group, in, 0); err != nil || o != -1 {
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
	if o, err := committedOffset(ctx, c, group, in, 0); err != nil || o != int64(n) {
		t.Errorf("committed offset: got %d, %v, want %d", o, err, n)
	}
	for partition := range 2 {
		mustEqual(t, fmt.Sprint("partition ", partition), values(read(t, c, out, partition, 0)), want[partition])
	}
}
