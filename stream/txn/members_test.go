package txn

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

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
	d, err := a.ConsumerGroup(group).Describe(ctx)
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
	if gone, err := a.ConsumerGroup(unique("group")).Describe(ctx); err != nil || gone.State != "Dead" {
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
	if n, err := c.ConsumerGroup(group).Evict(ctx, "instance-2"); err != nil || n != 0 {
		t.Fatalf("nobody to evict: got %d, %v", n, err)
	}
	if n, err := c.ConsumerGroup(group).Evict(ctx, "instance-1"); err != nil || n != 1 {
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
