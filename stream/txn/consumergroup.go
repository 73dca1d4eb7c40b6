package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
)

// ConsumerGroup is a consumer group, of which its coordinator tells members and others. A Group is a membership in one.
type ConsumerGroup struct {
	client *Client
	id     string
}

// ConsumerGroup names a group, which need not exist.
func (c *Client) ConsumerGroup(id string) ConsumerGroup { return ConsumerGroup{c, id} }

// GroupOffset is a group's committed offset of a partition.
type GroupOffset struct {
	Offset int64  // the next one to read; -1 = none
	Note   string // committed beside it (Transaction.Note)
}

// Offsets returns the group's next offset for each of the partitions of a topic, with the note beside it. A
// broker may give an offset that an earlier transaction committed. Right after a Commit it often does, and one that was
// killed was seen to do so even after Producer.Recover. A caller that must not do anything twice writes the offset into
// a topic, in the same transaction, and reads it there after Recover: when the last stable offset of that partition is
// its high watermark, the last such record is the truth.
func (g ConsumerGroup) Offsets(ctx context.Context, topic string, partitions []int) (map[int]GroupOffset, error) {
	const op = "OffsetFetch"
	req := &offsetfetch.Request{
		GroupID: g.id,
		Topics:  []offsetfetch.RequestTopic{{Name: topic, PartitionIndexes: int32s(partitions)}},
	}
	var res *offsetfetch.Response
	err := g.client.patiently(ctx, func() error {
		m, err := g.client.roundTrip(ctx, req, 0)
		if err != nil {
			return failed(op, err)
		}
		res = m.(*offsetfetch.Response)
		if kafka.Error(res.ErrorCode) == kafka.GroupIdNotFound { // some brokers say so of a group that they have forgotten
			res = &offsetfetch.Response{}
			return nil
		}
		if res.ErrorCode != 0 {
			return coded(op, "", 0, res.ErrorCode)
		}
		for _, t := range res.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return coded(op, t.Name, int(p.PartitionIndex), p.ErrorCode)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	offsets := make(map[int]GroupOffset, len(partitions))
	for _, p := range partitions {
		offsets[p] = GroupOffset{Offset: -1}
	}
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			offsets[int(p.PartitionIndex)] = GroupOffset{p.CommittedOffset, p.Metadata}
		}
	}
	return offsets, nil
}

// OffsetsIfAny is Offsets of a group that may not exist yet: then it has no offsets.
func (g ConsumerGroup) OffsetsIfAny(ctx context.Context, topic string, partitions []int) (map[int]GroupOffset, error) {
	d, err := g.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if d.State != "Dead" {
		return g.Offsets(ctx, topic, partitions)
	}
	offsets := make(map[int]GroupOffset, len(partitions))
	for _, p := range partitions {
		offsets[p] = GroupOffset{Offset: -1}
	}
	return offsets, nil
}

// GroupDescription is the state of a consumer group.
type GroupDescription struct {
	State   string // Empty, PreparingRebalance, CompletingRebalance, Stable, Dead
	Members []GroupMember
}

// GroupMember is one member of a group. Partitions, by topic, are sorted.
type GroupMember struct {
	ID         string
	ClientID   string
	Host       string
	Partitions map[string][]int
	Topics     []string // that it reads, sorted; none while the group rebalances
	Format     int      // see GroupConfig; 0 when it does not say
	Identity   string   // see GroupConfig; "" when it does not say

	generation int64 // in which it last owned partitions
}

// Describe tells the state of a group and its members, by member id. A group that does not exist is Dead.
func (g ConsumerGroup) Describe(ctx context.Context) (GroupDescription, error) {
	const op = "DescribeGroups"
	var d GroupDescription
	err := g.client.patiently(ctx, func() error {
		res, err := g.client.kafka.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{g.id}})
		if err != nil {
			return failed(op, err)
		}
		if len(res.Groups) != 1 {
			return failed(op, errors.New("the answer is not about the one group asked for"))
		}
		found := res.Groups[0]
		if found.Error != nil {
			if errors.Is(found.Error, kafka.GroupIdNotFound) {
				d = GroupDescription{State: "Dead"}
				return nil
			}
			return failed(op, found.Error)
		}
		d = GroupDescription{State: found.GroupState}
		for _, m := range found.Members {
			member := GroupMember{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Partitions: make(map[string][]int)}
			if c, err := parseClaim(m.MemberMetadata.UserData); err == nil {
				member.Format, member.Identity, member.generation = c.format, c.identity, c.generation
			}
			member.Topics = slices.Sorted(slices.Values(m.MemberMetadata.Topics))
			for _, t := range m.MemberAssignments.Topics {
				member.Partitions[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
			}
			d.Members = append(d.Members, member)
		}
		slices.SortFunc(d.Members, func(a, b GroupMember) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
	return d, err
}

// Evict makes the group's members of that client id leave at once and tells how many there were. A process that was
// killed leaves a ghost that keeps its partitions until its session ends; the process that takes its place may evict
// it, if its client id is its own alone.
func (g ConsumerGroup) Evict(ctx context.Context, clientID string) (int, error) {
	const op = "LeaveGroup"
	d, err := g.Describe(ctx)
	if err != nil {
		return 0, err
	}
	req := &kafka.LeaveGroupRequest{GroupID: g.id}
	for _, m := range d.Members {
		if m.ClientID == clientID {
			req.Members = append(req.Members, kafka.LeaveGroupRequestMember{ID: m.ID})
		}
	}
	if len(req.Members) == 0 {
		return 0, nil
	}
	res, err := g.client.kafka.LeaveGroup(ctx, req)
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return 0, failed(op, err)
	}
	n := 0
	for _, m := range res.Members {
		switch {
		case m.Error == nil:
			n++
		case !errors.Is(m.Error, kafka.UnknownMemberId): // it has just gone by itself
			return n, failed(op, m.Error)
		}
	}
	return n, nil
}

// Strangers returns a *StrangerError where the group belongs to members of another identity, nil where it does not, or
// where the group does not tell at present.
func (g ConsumerGroup) Strangers(ctx context.Context, topics []string, identity string) error {
	d, err := g.Describe(ctx)
	if err != nil {
		return err
	}
	if other, found := d.rules(topics, identity); d.told() && found {
		return &StrangerError{Group: g.id, Member: other}
	}
	return nil
}

// told reports whether all members have named the topics that they read.
func (d *GroupDescription) told() bool {
	return !slices.ContainsFunc(d.Members, func(m GroupMember) bool { return len(m.Topics) == 0 })
}

// rules returns a member to whose kind the group belongs, where that is not the kind of a member that reads the topics
// and has the identity.
func (d *GroupDescription) rules(topics []string, identity string) (GroupMember, bool) {
	if len(d.Members) == 0 {
		return GroupMember{}, false
	}
	peers := make([]peer, len(d.Members))
	for i, m := range d.Members {
		peers[i] = newPeer(m.Topics, claim{generation: m.generation, identity: m.Identity})
	}
	first := eldest(peers)
	return d.Members[slices.Index(peers, first)], first.stranger(newPeer(topics, claim{identity: identity}))
}

// StrangerError is returned where the members of a group have another identity than the one that asks, or read other
// topics.
type StrangerError struct {
	Group  string
	Member GroupMember // one of the others
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the group %s has members that read other topics: %s at %s reads %s", e.Group,
		e.Member.ClientID, strings.TrimPrefix(e.Member.Host, "/"), strings.Join(e.Member.Topics, " and "))
}

// retire makes a member leave that nobody speaks for any more. It does so again and again until ctx ends: a broker that
// has just started may load the group twice, and knows the member again the second time.
func (g ConsumerGroup) retire(ctx context.Context, member string) {
	req := &kafka.LeaveGroupRequest{GroupID: g.id, Members: []kafka.LeaveGroupRequestMember{{ID: member}}}
	for {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, _ = g.client.kafka.LeaveGroup(once, req) // an unknown member is the aim, and all other errors are tried again
		cancel()
		if !sleep(ctx, joinBackoff) {
			return
		}
	}
}
