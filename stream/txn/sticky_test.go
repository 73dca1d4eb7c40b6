package txn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
)

func TestDistribute(t *testing.T) {
	for _, test := range []struct {
		name   string
		n      int
		ids    []string
		claims map[string]claim
		want   []string
	}{
		{"nobody owns anything", 5, []string{"a", "b"}, nil, []string{"a", "a", "b", "b", "a"}},
		{"a third member joins", 6, []string{"a", "b", "c"},
			map[string]claim{"a": {4, []int{0, 2, 4}, 1, ""}, "b": {4, []int{1, 3, 5}, 1, ""}},
			[]string{"a", "b", "a", "b", "c", "c"}},
		{"a member leaves", 4, []string{"b"}, map[string]claim{"b": {4, []int{1, 3}, 1, ""}},
			[]string{"b", "b", "b", "b"}},
		{"the younger claim wins", 2, []string{"a", "b"},
			map[string]claim{"a": {3, []int{0, 1}, 1, ""}, "b": {5, []int{0}, 1, ""}},
			[]string{"b", "a"}},
		{"a partition that is gone", 2, []string{"a", "b"}, map[string]claim{"a": {3, []int{1, 7}, 1, ""}},
			[]string{"b", "a"}},
		{"more members than partitions", 1, []string{"a", "b", "c"}, map[string]claim{"c": {1, []int{0}, 1, ""}},
			[]string{"c"}},
		{"no partition", 0, []string{"a"}, nil, []string{}},
		{"no member", 2, nil, nil, []string{"", ""}},
	} {
		if got := distribute(test.n, test.ids, test.claims); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// TestDistributeProperties: every partition has one owner, shares differ by one at most, and no more partitions move
// than have to.
func TestDistributeProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		n, m := rng.IntN(40), 1+rng.IntN(8)
		var ids []string
		for i := range m {
			ids = append(ids, fmt.Sprint("m", i))
		}
		claims := make(map[string]claim)
		owned := make([]int, m)
		for p := range n { // a former assignment, some of whose members are gone
			i := rng.IntN(m + 2)
			if i < m {
				c := claims[ids[i]]
				c.generation, c.partitions = 3, append(c.partitions, p)
				claims[ids[i]] = c
				owned[i]++
			}
		}
		got := distribute(n, ids, claims)
		held := make(map[string]int)
		for _, id := range got {
			held[id]++
		}
		stay := 0
		for _, id := range ids {
			if held[id] < n/m || held[id] > (n+m-1)/m {
				t.Fatalf("n %d, m %d: %s has %d", n, m, id, held[id])
			}
			for _, p := range claims[id].partitions {
				if got[p] == id {
					stay++
				}
			}
		}
		// The most that can stay: everybody's up to the share, and one more for n%m of the members with more.
		most, extra := 0, n%m
		for _, k := range owned {
			most += min(k, n/m)
			if k > n/m && extra > 0 {
				most++
				extra--
			}
		}
		if stay != most {
			t.Fatalf("n %d, owned %v: %d stay, %d could", n, owned, stay, most)
		}
		if again := distribute(n, ids, claims); !slices.Equal(got, again) {
			t.Fatal("not deterministic")
		}
	}
}

func TestAssignGroupsCoPartitions(t *testing.T) {
	s := &sticky{}
	var partitions []kafka.Partition
	for p := range 4 {
		partitions = append(partitions, kafka.Partition{Topic: "events", ID: p})
		if p < 3 {
			partitions = append(partitions, kafka.Partition{Topic: "labels", ID: p})
		}
	}
	members := []kafka.GroupMember{
		{ID: "b", Topics: []string{"events", "labels"}, UserData: appendClaim(nil, claim{2, []int{0, 3}, 1, ""})},
		{ID: "a", Topics: []string{"labels", "events"}, UserData: []byte("not ours")},
	}
	got := s.AssignGroups(members, partitions)
	if !slices.Equal(got["a"]["events"], []int{1, 2}) || !slices.Equal(got["a"]["labels"], []int{1, 2}) ||
		!slices.Equal(got["b"]["events"], []int{0, 3}) || !slices.Equal(got["b"]["labels"], []int{0}) {
		t.Errorf("got %v", got)
	}
}

// Members of another identity get no partitions, and do not hinder the others.
func TestStrangersGetNothing(t *testing.T) {
	member := func(id, identity string, generation int64, owned []int, topics ...string) kafka.GroupMember {
		return kafka.GroupMember{ID: id, Topics: topics, UserData: appendClaim(nil, claim{generation, owned, 1, identity})}
	}
	var partitions []kafka.Partition
	for p := range 4 {
		partitions = append(partitions, kafka.Partition{Topic: "events", ID: p})
	}
	for p := range 6 {
		partitions = append(partitions, kafka.Partition{Topic: "others", ID: p})
	}
	for _, c := range []struct {
		name    string
		members []kafka.GroupMember
		want    map[string]int
	}{
		{"one that runs, one that comes", []kafka.GroupMember{member("a", "x", 0, nil, "others"),
			member("b", "y", 3, []int{0, 1, 2, 3}, "events")}, map[string]int{"b": 4}},
		{"the same topics, other identities", []kafka.GroupMember{member("a", "x", 0, nil, "events"),
			member("b", "y", 3, []int{0, 1, 2, 3}, "events")}, map[string]int{"b": 4}},
		{"a second member of each", []kafka.GroupMember{member("a", "y", 0, nil, "events"),
			member("b", "y", 3, []int{0, 1, 2, 3}, "events"), member("c", "x", 2, nil, "others"),
			member("d", "x", 0, nil, "others")}, map[string]int{"a": 2, "b": 2}},
		{"both come", []kafka.GroupMember{member("a", "y", 0, nil, "others"), member("b", "x", 0, nil, "events")},
			map[string]int{"b": 4}},
		{"builds before the identity share by topics", []kafka.GroupMember{member("a", "", 3, []int{0, 1, 2, 3}, "events"),
			member("b", "x", 0, nil, "events")}, map[string]int{"a": 2, "b": 2}},
		{"builds before the identity, of other topics", []kafka.GroupMember{member("a", "", 3, []int{0, 1}, "others"),
			member("b", "x", 0, nil, "events")}, map[string]int{"a": 6}},
	} {
		got := (&sticky{}).AssignGroups(c.members, partitions)
		for _, m := range c.members {
			n := 0
			for _, ps := range got[m.ID] {
				n += len(ps)
			}
			if n != c.want[m.ID] {
				t.Errorf("%s: member %s has %d partitions, want %d", c.name, m.ID, n, c.want[m.ID])
			}
		}
	}
}

func TestClaim(t *testing.T) {
	s := &sticky{format: 3, identity: "reads a"}
	s.own(77, []int{0, 5, 300})
	data, err := s.UserData()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := parseClaim(data); err != nil || c.generation != 77 || !slices.Equal(c.partitions, []int{0, 5, 300}) ||
		c.format != 3 || c.identity != "reads a" {
		t.Errorf("got %v, %v", c, err)
	}
	before := data[:len(data)-len("reads a")-1] // of a build without identity
	if c, err := parseClaim(before); err != nil || c.format != 3 || c.identity != "" {
		t.Errorf("without identity: %v, %v", c, err)
	}
	if c, err := parseClaim(data[:len(data)-1]); err != nil || c.identity != "" {
		t.Errorf("an identity that is cut short: %v, %v", c, err)
	}
	if c, err := parseClaim(append(data, 9, 9, 9)); err != nil || c.format != 3 || len(c.partitions) != 3 {
		t.Errorf("with what a later version adds: %v, %v", c, err)
	}
	for _, bad := range [][]byte{nil, {}, {2, 0, 0}, {1}, {1, 0}, {1, 0, 1}, {1, 0, 1, 0}, {1, 0, 0, 128, 2},
		{1, 0, 2, 5, 5}, {1, 0, 255, 255, 255, 255, 15}, {1, 0, 1, 255, 255, 255, 255, 15}} {
		if c, err := parseClaim(bad); err == nil {
			t.Errorf("%v: got %v", bad, c)
		}
	}
}

// FuzzClaim: user data comes from other processes.
func FuzzClaim(f *testing.F) {
	f.Add(appendClaim(nil, claim{3, []int{0, 1, 9}, 1, ""}))
	f.Add([]byte{1, 0, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseClaim(data)
		if err != nil {
			return
		}
		back, err := parseClaim(appendClaim(nil, c))
		if err != nil || back.generation != c.generation || back.format != c.format ||
			!slices.Equal(back.partitions, c.partitions) || back.identity != c.identity {
			t.Fatalf("%v came back as %v, %v", c, back, err)
		}
		for _, id := range distribute(10, []string{"a", "b"}, map[string]claim{"a": c}) {
			if id == "" {
				t.Fatal("a partition without owner")
			}
		}
	})
}
