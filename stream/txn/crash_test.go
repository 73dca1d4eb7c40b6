package txn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestBrokerKilled runs a group of tasks, each owning a partition, while the broker is killed and started and a member
// comes and goes. In the end every input record must be in the output once and in order.
func TestBrokerKilled(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip(
			"THE LOSS OF A BROKER IS NOT PROVED IN A SHORT RUN: it kills and starts one three times; " +
				"run the tests without -short",
		)
	case realBroker() == nil:
		t.Skip(
			"THE LOSS OF A BROKER IS NOT PROVED: it takes a real one, as offered by LIFTSTREAM_KAFKA; " +
				"this test then starts one of its own by deploy/kafka.sh",
		)
	}
	script, err := filepath.Abs("../../deploy/kafka.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), freePorts(t, 3)
	control := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command(script, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", script, arguments, err, out)
		}
	}
	t.Cleanup(func() { control("wipe", dir) })
	control("start", dir, strconv.Itoa(port))
	addrs := []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}

	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	const partitions, records, each = 4, 2400, 15
	c := NewClient(Config{Brokers: addrs, ClientID: "txntest-main"})
	defer c.Close()
	s := &soak{
		in:    mustTopic(t, c, partitions, nil),
		out:   mustTopic(t, c, partitions, nil),
		state: mustTopic(t, c, partitions, map[string]string{"cleanup.policy": "compact"}),
		group: unique("group"),
		addrs: addrs,
		each:  each,
	}
	var input []Record
	for i := range records {
		for p := range partitions {
			input = append(input, record(s.in, p, fmt.Sprint(i)))
		}
	}
	if err := c.Produce(ctx, input, Zstd); err != nil {
		t.Fatal(err)
	}

	members, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.member(members, "a") })
	running.Go(func() { // comes and goes
		for members.Err() == nil {
			visit, end := context.WithTimeout(members, 4*time.Second)
			s.member(visit, "b")
			end()
			sleep(members, 2*time.Second)
		}
	})
	var last int64 // that the broker has told
	done := func() int64 {
		offsets, err := c.ConsumerGroup(s.group).Offsets(ctx, s.in, upTo(partitions))
		if err != nil {
			return 0
		}
		last = 0
		for _, o := range offsets {
			last += max(o.Offset, 0)
		}
		return last
	}
	await := func(n int64) {
		t.Helper()
		for done() < n {
			if !sleep(ctx, 100*time.Millisecond) {
				t.Fatalf("only %d of %d after all this time; %v", last, n, s.counts())
			}
		}
	}
	const total = partitions * records
	await(total / 8)
	control("kill", dir)
	control("start", dir)
	await(total * 3 / 8)
	control("kill", dir)
	control("start", dir)
	await(total * 5 / 8)
	control("restart", dir)
	await(total)
	stop()
	running.Wait()
	t.Log(s.counts())
	for p := range partitions {
		got := values(read(t, c, s.out, p, 0))
		if len(got) != records {
			t.Errorf("partition %d: %d records, want %d", p, len(got), records)
		}
		for i, v := range got {
			if v != fmt.Sprint(i) {
				t.Fatalf("partition %d: record %d is %s", p, i, v)
			}
		}
		journal := read(t, c, s.state, p, 0)
		if last := string(journal[len(journal)-1].Value); last != fmt.Sprint(records) {
			t.Errorf("partition %d: the journal ends at %s", p, last)
		}
	}
}

// freePorts gives the first of n ports in a row that nobody listens on, below the range that systems give to
// connections: a client that tries to reach a broker that is down could otherwise be given its very port, and keep it
// from starting again.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		port, free := 20_000+rand.IntN(10_000), true
		for i := range n {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return port
		}
	}
	t.Fatal("no ports in a row are free")
	return 0
}

// soak is a stage that copies.
type soak struct {
	in, out, state, group string
	addrs                 []string
	each                  int

	mu      sync.Mutex
	kinds   map[string]int
	commits int
}

func (s *soak) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = make(map[string]int)
	}
	s.kinds[what]++
}

func (s *soak) counts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%d commits", s.commits)
	for _, k := range sortedKeys(s.kinds) {
		text += fmt.Sprintf(", %d %s", s.kinds[k], k)
	}
	return text
}

func (s *soak) member(ctx context.Context, name string) {
	c := NewClient(Config{Brokers: s.addrs, ClientID: "txntest-" + name, Timeout: 5 * time.Second})
	defer c.Close()
	g, err := c.JoinGroup(
		GroupConfig{
			ID:      s.group,
			Topics:  []string{s.in},
			Session: 6 * time.Second,
			OnWait:  func(err error) { s.note("join: " + KindOf(err).String()) },
		},
	)
	if err != nil {
		s.note(err.Error())
		return
	}
	defer g.Close()
	for {
		gen, err := g.Next(ctx)
		if err != nil {
			return
		}
		for _, p := range gen.Partitions {
			gen.Start(func(ended context.Context) { s.task(ended, c, gen, p) })
		}
	}
}

// task owns a partition until its generation ends, or until an error says that it has ended.
func (s *soak) task(ctx context.Context, c *Client, gen *Generation, partition int) {
	for ctx.Err() == nil {
		err := s.own(ctx, c, gen, partition)
		if ctx.Err() != nil {
			return
		}
		s.note(KindOf(err).String())
		if KindOf(err) == StaleGeneration {
			return
		}
		sleep(ctx, 50*time.Millisecond)
	}
}

// next is where a task goes on: after the last record of the output. First it ends the transactions of the partition
// that a broker has left open.
func (s *soak) next(ctx context.Context, c *Client, p *Producer, partition int) (int64, error) {
	for _, topic := range []string{s.out, s.state} {
		high, err := c.ListOffsets(ctx, topic, []int{partition}, HighWatermark)
		if err != nil {
			return 0, err
		}
		stable, err := c.ListOffsets(ctx, topic, []int{partition}, End)
		if err != nil {
			return 0, err
		}
		if stable[partition] < high[partition] {
			s.note("left open in " + topic)
			if err := p.Discard(ctx, map[string][]int{s.out: {partition}, s.state: {partition}}); err != nil {
				return 0, err
			}
			break
		}
	}
	end, err := c.ListOffsets(ctx, s.out, []int{partition}, End)
	if err != nil {
		return 0, err
	}
	var next int64
	for at := int64(0); at < end[partition]; {
		f, err := c.Fetch(ctx, s.out, partition, at, 1<<20, 500*time.Millisecond)
		if err != nil {
			return 0, err
		}
		if n := len(f.Records); n > 0 {
			last, err := strconv.ParseInt(string(f.Records[n-1].Value), 10, 64)
			if err != nil {
				return 0, err
			}
			next = last + 1
		}
		at = f.Next
	}
	return next, nil
}

func (s *soak) own(ctx context.Context, c *Client, gen *Generation, partition int) error {
	p, err := c.NewProducer(ctx, fmt.Sprintf("%s-%d", s.group, partition), 15*time.Second)
	if err != nil {
		return err
	}
	next, err := s.next(ctx, c, p, partition)
	if err != nil {
		return err
	}
	if committed, err := committedOffset(ctx, c, s.group, s.in, partition); err == nil && max(committed, 0) != next {
		s.note("group's offset behind")
	}
	for ctx.Err() == nil {
		f, err := c.Fetch(ctx, s.in, partition, next, 1<<20, 500*time.Millisecond)
		if err != nil {
			return err
		}
		if len(f.Records) == 0 {
			next = f.Next
			continue
		}
		f.Records = f.Records[:min(s.each, len(f.Records))]
		next = f.Records[len(f.Records)-1].Offset + 1
		for i := range f.Records {
			f.Records[i].Topic = s.out
		}
		records := append(
			f.Records,
			Record{Topic: s.state, Partition: partition, Key: []byte("position"), Value: []byte(fmt.Sprint(next))},
		)
		err = p.Commit(context.WithoutCancel(ctx), Transaction{
			Records: records, Compression: Lz4, Group: s.group, Member: gen.Member, Generation: gen.ID,
			Offsets: map[string]map[int]int64{s.in: {partition: next}},
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.commits++
		s.mu.Unlock()
	}
	return ctx.Err()
}
