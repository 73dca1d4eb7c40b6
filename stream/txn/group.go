package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// GroupConfig describes a consumer group. Partition p of every topic goes to the same member: the topics are
// co-partitioned.
type GroupConfig struct {
	ID     string
	Topics []string // the first one's partitions are handed out; the others' follow by number

	// Heartbeat is the interval of signs of life, and how late a member learns of a new generation; 0 = 500 ms.
	Heartbeat time.Duration
	// Session is how long a silent member keeps its partitions; 0 = 10 s. Brokers take 6 s to 30 min by default. Tasks
	// must end within it when their generation does, for the signs of life stop then.
	Session time.Duration
	// Rebalance is how long the others wait for a member to come back; 0 = 30 s.
	Rebalance time.Duration
	// Format is the newest format of the group's shared values that this member reads; 1 and more, 0 = 1.
	Format int
	// Identity is a text that all members of the group must share, at most 4 KiB long, beside the topics that they read;
	// "" = the topics alone. Next refuses a member whose group belongs to another identity, see StrangerError.
	Identity string
	// OnWait, if not nil, is told why Next still waits, at every failed attempt. It must not block.
	OnWait func(error)
}

// Group is a membership in a consumer group. Next belongs to one goroutine; Close may be called from any.
//
// Nothing is committed through it and its offsets are not used: they are stale where transactions commit them.
type Group struct {
	cfg    GroupConfig
	seen   ConsumerGroup // from outside
	group  *kafka.ConsumerGroup
	sticky *sticky
	joined bool   // there was a generation
	member string // of the last one; "" = it has been given up
}

// Generation is a membership that owns partitions until it ends. ID and Member belong into every Transaction of its
// tasks.
type Generation struct {
	ID         int
	Member     string
	Partitions []int // sorted; may be empty, when there are more members than partitions
	// Format is the newest format that all members read; 1 when the group does not tell.
	Format int

	generation *kafka.Generation
}

const (
	joinBackoff = 200 * time.Millisecond // kafka-go's own 5 s would be felt at each start
	opJoin      = "JoinGroup"
)

// JoinGroup begins to join. The partitions come by Next.
func (c *Client) JoinGroup(cfg GroupConfig) (*Group, error) {
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 500 * time.Millisecond
	}
	if cfg.Session <= 0 {
		cfg.Session = 10 * time.Second
	}
	if cfg.Rebalance <= 0 {
		cfg.Rebalance = 30 * time.Second
	}
	if len(cfg.Identity) > maxIdentity {
		return nil, &Error{Op: opJoin, Kind: Invalid, Reason: "the group's settings",
			Err: fmt.Errorf("an identity of %d bytes", len(cfg.Identity))}
	}
	s := &sticky{format: max(cfg.Format, 1), identity: cfg.Identity}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: cfg.ID, Brokers: c.cfg.Brokers, Topics: cfg.Topics,
		Dialer: &kafka.Dialer{
			ClientID: c.cfg.ClientID, Timeout: c.cfg.Timeout, SASLMechanism: c.cfg.SASL,
			DialFunc: secured(c.cfg.Dial, c.cfg.TLS),
		},
		GroupBalancers:    []kafka.GroupBalancer{s},
		HeartbeatInterval: cfg.Heartbeat, SessionTimeout: cfg.Session, RebalanceTimeout: cfg.Rebalance,
		JoinGroupBackoff: joinBackoff, Timeout: c.cfg.Timeout,
	})
	if err != nil {
		return nil, &Error{Op: opJoin, Kind: Invalid, Reason: "the group's settings", Err: err}
	}
	return &Group{cfg: cfg, seen: c.ConsumerGroup(cfg.ID), group: group, sticky: s}, nil
}

// Next waits for the next generation; the one before must have ended, which it does by itself at a rebalance. It goes
// on trying while the coordinator is away, starting or moving, and tells OnWait. A member that has lost its coordinator
// joins anew as another one; the former leaves as soon as there is a coordinator again, instead of keeping its
// partitions until its session ends. It returns an error when ctx ends, the group is closed, or trying again cannot
// help: Denied, Invalid, and before the first generation Credentials and Handshake; later these mean that passwords or
// certificates are being changed.
func (g *Group) Next(ctx context.Context) (*Generation, error) {
	retire, stop := context.WithCancel(ctx)
	var retiring sync.WaitGroup
	defer retiring.Wait()
	defer stop()
	for {
		gen, err := g.group.Next(ctx)
		if err == nil {
			format, err := g.consult(ctx)
			if err != nil {
				return nil, err
			}
			partitions := make([]int, 0, len(gen.Assignments[g.cfg.Topics[0]]))
			for _, a := range gen.Assignments[g.cfg.Topics[0]] {
				partitions = append(partitions, a.ID)
			}
			slices.Sort(partitions)
			g.joined = true
			g.sticky.own(int64(gen.ID), partitions)
			g.member = gen.MemberID
			return &Generation{
				ID:         int(gen.ID),
				Member:     gen.MemberID,
				Partitions: partitions,
				Format:     format,
				generation: gen,
			}, nil
		}
		if errors.Is(err, kafka.ErrGroupClosed) || ctx.Err() != nil {
			return nil, &Error{Op: opJoin, Kind: Unknown, Reason: "given up", Err: err}
		}
		if former := g.member; former != "" &&
			!errors.Is(err, kafka.RebalanceInProgress) { // the one error after which kafka-go keeps its id
			g.member = ""
			retiring.Go(func() { g.seen.retire(retire, former) })
		}
		e := failed(opJoin, err)
		switch e.Kind {
		case Denied, Invalid:
			return nil, e
		case Credentials, Handshake:
			if !g.joined {
				return nil, e
			}
		}
		if g.cfg.OnWait != nil {
			g.cfg.OnWait(e)
		}
	}
}

// consult asks for the newest format that all members read, 1 where the group does not tell, and returns a
// *StrangerError where the group belongs to members of another identity. The members told each other when they joined,
// but the protocol's answer shows it to the leader alone.
func (g *Group) consult(ctx context.Context) (format int, err error) {
	var d GroupDescription
	for range 20 { // members do not tell while others join, and then the next generation comes soon
		d, err = g.seen.Describe(ctx)
		if err == nil && d.told() || !sleep(ctx, joinBackoff/2) {
			break
		}
	}
	if err != nil || !d.told() {
		return 1, nil
	}
	if other, found := d.rules(g.cfg.Topics, g.cfg.Identity); found {
		return 0, &StrangerError{Group: g.cfg.ID, Member: other}
	}
	format = g.sticky.format
	for _, m := range d.Members {
		format = min(format, max(m.Format, 1))
	}
	return format, nil
}

// Close ends the generation, waits for its goroutines and leaves the group, so that others take over at once.
func (g *Group) Close() error { return g.group.Close() }

// Start runs f in a goroutine of this generation. Its context ends when the generation does; the next generation is
// joined only when all goroutines have returned. A goroutine that returns while the generation lives ends it for the
// whole member, which then joins again.
func (g *Generation) Start(f func(ctx context.Context)) {
	g.generation.Start(func(ended context.Context) {
		// kafka-go's context has an error of its own; this one is context.Canceled like everybody else's.
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stop := context.AfterFunc(ended, cancel)
		defer stop()
		f(ctx)
	})
}
