package txn

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/segmentio/kafka-go"
)

// sticky is a group balancer that moves as few partitions as it can and gives partition p of every topic to the same
// member.
//
// The partitions that a member owned last travel in its user data, so that it keeps them over a change of member id:
//
//	version = 1 (one byte) | generation (varint) | count (uvarint) | partitions (uvarints, ascending) | format (uvarint)
//	| length (uvarint) and bytes of the identity
//
// Builds before the identity end with the format. The bytes behind are for later versions, and passed over. Members of
// another identity get no partitions, see eldest.
type sticky struct {
	format     int    // see GroupConfig
	identity   string // see GroupConfig
	mu         sync.Mutex
	generation int64
	owned      []int
}

const claimVersion = 1

// maxPartition bounds partition numbers in user data, which comes from other processes.
const maxPartition = 1 << 20

// maxFormat bounds formats in user data, maxIdentity the bytes of an identity.
const (
	maxFormat   = 255
	maxIdentity = 4 << 10
)

func (s *sticky) own(generation int64, partitions []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation, s.owned = generation, slices.Clone(partitions)
}

// ProtocolName must be the same for all members.
func (*sticky) ProtocolName() string { return "liftstream-sticky" }

// UserData is asked for at every join.
func (s *sticky) UserData() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return appendClaim(nil, claim{s.generation, s.owned, s.format, s.identity}), nil
}

// claim names the partitions that a member owned, in which generation, the newest format that it reads, and its
// identity.
type claim struct {
	generation int64
	partitions []int
	format     int
	identity   string
}

func appendClaim(dst []byte, c claim) []byte {
	dst = append(dst, claimVersion)
	dst = binary.AppendVarint(dst, c.generation)
	dst = binary.AppendUvarint(dst, uint64(len(c.partitions)))
	for _, p := range c.partitions {
		dst = binary.AppendUvarint(dst, uint64(p))
	}
	dst = binary.AppendUvarint(dst, uint64(c.format))
	dst = binary.AppendUvarint(dst, uint64(len(c.identity)))
	return append(dst, c.identity...)
}

var errClaim = errors.New("malformed user data of a group member")

func parseClaim(b []byte) (claim, error) {
	var c claim
	if len(b) == 0 || b[0] != claimVersion {
		return c, errClaim
	}
	b = b[1:]
	generation, n := binary.Varint(b)
	if n <= 0 {
		return c, errClaim
	}
	b = b[n:]
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)-n) { // at least one byte each
		return c, errClaim
	}
	b = b[n:]
	c.generation, c.partitions = generation, make([]int, count)
	for i := range c.partitions {
		p, n := binary.Uvarint(b)
		if n <= 0 || p >= maxPartition || (i > 0 && int(p) <= c.partitions[i-1]) {
			return claim{}, errClaim
		}
		c.partitions[i], b = int(p), b[n:]
	}
	format, n := binary.Uvarint(b)
	if n <= 0 || format > maxFormat {
		return claim{}, errClaim
	}
	c.format = int(format)
	b = b[n:]
	if size, n := binary.Uvarint(b); n > 0 && size <= min(uint64(len(b)-n), maxIdentity) {
		c.identity = string(b[n : n+int(size)])
	}
	return c, nil
}

// peer is the part of a member that says whether it belongs to the same group of programs.
type peer struct {
	topics     string // that it reads, "" = it does not say
	identity   string // "" = it does not say
	generation int64  // in which it last owned partitions, 0 = none
}

func newPeer(topics []string, c claim) peer {
	return peer{strings.Join(slices.Sorted(slices.Values(topics)), " "), c.identity, c.generation}
}

// stranger reports whether two members must not share partitions: they read other topics or have other identities.
func (p peer) stranger(o peer) bool {
	if p.topics == "" || o.topics == "" {
		return false
	}
	return p.topics != o.topics || p.identity != "" && o.identity != "" && p.identity != o.identity
}

// eldest returns the peer to whose kind the group belongs: the one that owned partitions in the youngest generation.
// Among members that owned none the order of their texts decides, equally at every member.
func eldest(peers []peer) peer {
	return slices.MinFunc(peers, func(a, b peer) int {
		unsaid := func(p peer) int {
			if p.identity == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(b.generation, a.generation), cmp.Compare(unsaid(a), unsaid(b)),
			cmp.Compare(a.topics, b.topics), cmp.Compare(a.identity, b.identity))
	})
}

// AssignGroups is called at the leader. A member whose user data cannot be read simply owned nothing.
func (s *sticky) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	claims := make(map[string]claim, len(members))
	peers := make([]peer, len(members))
	for i, m := range members {
		if c, err := parseClaim(m.UserData); err == nil {
			claims[m.ID] = c
		}
		peers[i] = newPeer(m.Topics, claims[m.ID])
	}
	ids := make([]string, 0, len(members))
	var topics []string
	assignments := make(kafka.GroupMemberAssignments, len(members))
	for i, m := range members {
		assignments[m.ID] = make(map[string][]int)
		if !peers[i].stranger(eldest(peers)) {
			ids = append(ids, m.ID)
			topics = append(topics, m.Topics...)
		}
	}
	slices.Sort(ids)
	slices.Sort(topics)
	topics = slices.Compact(topics)

	count := make(map[string]int)
	n := 0
	for _, p := range partitions {
		if slices.Contains(topics, p.Topic) {
			count[p.Topic] = max(count[p.Topic], p.ID+1)
			n = max(n, p.ID+1)
		}
	}
	owner := distribute(n, ids, claims)
	for p, id := range owner {
		for _, topic := range topics {
			if p < count[topic] {
				assignments[id][topic] = append(assignments[id][topic], p)
			}
		}
	}
	return assignments
}

// distribute gives each of n partitions an owner. Each member keeps the partitions that it claims, up to a fair share,
// the younger claim winning; the rest goes to the members with the least. Shares differ by one at most. The result
// depends on nothing but the arguments.
func distribute(n int, ids []string, claims map[string]claim) []string {
	owner := make([]string, n)
	if len(ids) == 0 {
		return owner
	}
	// Members by age of claim, youngest first, so that of two that claim a partition the later owner has it.
	claimants := slices.Clone(ids)
	slices.SortStableFunc(
		claimants,
		func(a, b string) int { return cmp.Compare(claims[b].generation, claims[a].generation) },
	)
	claimed := make(map[string][]int, len(ids))
	for _, id := range claimants {
		for _, p := range claims[id].partitions {
			if p < n && owner[p] == "" {
				owner[p] = id
				claimed[id] = append(claimed[id], p)
			}
		}
	}
	share, extra := n/len(ids), n%len(ids) // extra members may have one more
	held := make(map[string]int, len(ids))
	for _, id := range claimants {
		keep := share
		if len(claimed[id]) > share && extra > 0 {
			keep++
			extra--
		}
		for i, p := range claimed[id] {
			if i >= keep {
				owner[p] = ""
			}
		}
		held[id] = min(keep, len(claimed[id]))
	}
	next := 0
	for p := range owner {
		if owner[p] != "" {
			continue
		}
		// ids are filled up to the share first, then given the extra ones, in order.
		for next < len(ids) && held[ids[next]] >= share {
			next++
		}
		id := ""
		if next < len(ids) {
			id = ids[next]
		} else {
			for _, candidate := range ids {
				if held[candidate] == share {
					id = candidate
					break
				}
			}
		}
		owner[p] = id
		held[id]++
	}
	return owner
}
