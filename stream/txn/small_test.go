package txn

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
)

// TestHeadersCountInTheBytesOfAnAnswer: they lie in memory as keys and values do.
func TestHeadersCountInTheBytesOfAnAnswer(t *testing.T) {
	f := collector{c: &Client{expand: newExpander(1 << 20)}}
	var rest []byte
	for _, h := range []Header{{Key: "h", Value: []byte("four")}, {Key: "empty"}} {
		rest = appendBytes(appendBytes(rest, []byte(h.Key)), h.Value)
	}
	f.take(&parsed{key: []byte("key"), value: []byte("value"), headers: 2, rest: rest}, 0, &header{}, nil)
	if want := int64(recordBytes + 3 + 5 + 2*headerBytes + len(rest)); f.Bytes != want {
		t.Errorf("%d bytes, want %d", f.Bytes, want)
	}
}

// TestLargeBuffersAreGivenUp: each of the two encoding buffers by its own size.
func TestLargeBuffersAreGivenUp(t *testing.T) {
	for _, c := range []struct {
		out, scratch         int
		all                  bool
		keepsOut, keepsScrap bool
	}{
		{10, 10, false, true, true},
		{keptBytes, keptBytes, false, true, true},
		{10, keptBytes + 1, false, true, false},
		{keptBytes + 1, 10, false, false, true},
		{10, 10, true, false, false},
	} {
		s := session{out: make([]byte, c.out), scratch: make([]byte, c.scratch)}
		s.release(c.all)
		if (s.out != nil) != c.keepsOut || (s.scratch != nil) != c.keepsScrap {
			t.Errorf("%+v: kept %v and %v", c, s.out != nil, s.scratch != nil)
		}
	}
}

// TestTheMissingRightIsNamed: rights have Kafka's names, and a group is described with another one than it is joined.
func TestTheMissingRightIsNamed(t *testing.T) {
	for _, c := range []struct {
		op   string
		code kafka.Error
		want string
	}{
		{"Fetch", kafka.TopicAuthorizationFailed, "the right Read on the topic is missing"},
		{opProduce, kafka.TopicAuthorizationFailed, "the right Write on the topic is missing"},
		{opJoin, kafka.GroupAuthorizationFailed, "the right Read on the group is missing"},
		{"TxnOffsetCommit", kafka.GroupAuthorizationFailed, "the right Read on the group is missing"},
		{"OffsetFetch", kafka.GroupAuthorizationFailed, "the right Describe on the group is missing"},
		{"DescribeGroups", kafka.GroupAuthorizationFailed, "the right Describe on the group is missing"},
		{opInit, kafka.TransactionalIDAuthorizationFailed, "the right Write on the transactional id is missing"},
		{"CreateTopics", kafka.ClusterAuthorizationFailed, "the right Create on the cluster is missing"},
		{"Unheard", kafka.TopicAuthorizationFailed, "a right is missing"},
	} {
		if got := right(c.op, c.code); got != c.want {
			t.Errorf("%s, code %d: %q, want %q", c.op, int(c.code), got, c.want)
		}
	}
}

// TestCheckTellsTheFailureOfTheBrokerThatGotFurthest: in any order of the brokers.
func TestCheckTellsTheFailureOfTheBrokerThatGotFurthest(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	secure, err := LoadTLS("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	plain, closed := cluster.ListenAddrs()[0], closedPort(t)
	for _, brokers := range [][]string{{plain, closed}, {closed, plain}, {closed, plain, closed}} {
		c := NewClient(Config{Brokers: brokers, TLS: secure, Timeout: time.Second})
		mustKind(t, "TLS to a plain port beside one where nobody listens", c.Check(testContext(t)), Handshake)
		c.Close()
	}
}

// TestAGroupHasTheFormatThatAllItsMembersRead: the oldest of the newest ones; every member tells it alike.
func TestAGroupHasTheFormatThatAllItsMembersRead(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	b := &broker{name: "kfake", addrs: cluster.ListenAddrs()}
	for _, formats := range [][]int{{2, 3}, {3, 2}} {
		ctx, cancel := context.WithCancel(testContext(t))
		id, topic := unique("group"), ""
		found := make([]chan int, len(formats))
		for i, format := range formats {
			c := b.client(t, func(cfg *Config) { cfg.ClientID = string(rune('a' + i)) }) // members have ids in this order
			if i == 0 {
				topic = mustTopic(t, c, 2, nil)
			}
			g, err := c.JoinGroup(GroupConfig{ID: id, Topics: []string{topic}, Heartbeat: 100 * time.Millisecond,
				Format: format})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			found[i] = make(chan int, 100)
			go func() {
				for {
					gen, err := g.Next(ctx)
					if err != nil {
						return
					}
					gen.Start(func(ctx context.Context) { <-ctx.Done() })
					if len(gen.Partitions) == 1 { // both are members
						found[i] <- gen.Format
					}
				}
			}()
		}
		got := []int{<-found[0], <-found[1]}
		cancel()
		if !slices.Equal(got, []int{2, 2}) {
			t.Errorf("members that read up to %v write %v", formats, got)
		}
	}
}

// TestATimestampThatIsTooFarBecomesNow: each bound has a slack of its own, a minute and at most half of the bound, and
// an unknown bound is none.
func TestATimestampThatIsTooFarBecomesNow(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name          string
		before, after time.Duration
		at            time.Duration // from now
		kept          bool
	}{
		{"within", time.Hour, time.Hour, 0, true},
		{"old at the slack", time.Hour, 0, -59 * time.Minute, true},
		{"old within the slack", time.Hour, 0, -59*time.Minute - time.Millisecond, false},
		{"old beside a short bound of the other kind", time.Hour, time.Second, -59*time.Minute - time.Millisecond, false},
		{"old beside a long bound of the other kind", time.Minute, time.Hour, -30 * time.Second, true},
		{"old within half of a short bound", time.Minute, time.Hour, -30*time.Second - time.Millisecond, false},
		{"old without a bound", 0, time.Hour, -1000 * time.Hour, true},
		{"ahead at the slack", 0, time.Hour, 59 * time.Minute, true},
		{"ahead within the slack", 0, time.Hour, 59*time.Minute + time.Millisecond, false},
		{"ahead beside a short bound of the other kind", time.Second, time.Hour, 59*time.Minute + time.Millisecond, false},
		{"ahead beside a long bound of the other kind", time.Hour, time.Minute, 30 * time.Second, true},
		{"ahead within half of a short bound", time.Hour, time.Minute, 30*time.Second + time.Millisecond, false},
		{"ahead without a bound", time.Hour, 0, 1000 * time.Hour, true},
	} {
		client := &Client{limits: limits{by: map[string]topicLimits{"t": {before: c.before, after: c.after}}}}
		at, want := now.Add(c.at), now
		if c.kept {
			want = at
		}
		if got := client.Stamp("t", at, now); !got.Equal(want) {
			t.Errorf("%s: %v from now becomes %v", c.name, c.at, got.Sub(now))
		}
		if got := client.Stamp("other", at, now); !got.Equal(at) {
			t.Errorf("%s: a topic that is not known: %v", c.name, got.Sub(now))
		}
	}
}

// TestBoundsOfATopicAreLearnt, each for itself and anew with each look. A topic that stamps its records has no bounds.
func TestBoundsOfATopicAreLearnt(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	c := (&broker{name: "kfake", addrs: cluster.ListenAddrs()}).client(t)
	const before, after, most = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "max.message.bytes"
	for _, x := range []struct {
		name    string
		configs map[string]string
		want    topicLimits
	}{
		{"both", map[string]string{before: "3600000", after: "60000", most: "5000"},
			topicLimits{bytes: 5000, before: time.Hour, after: time.Minute}},
		{"far", map[string]string{before: "9223372036854775807", after: "1", most: "100"},
			topicLimits{bytes: leastBatch, after: time.Millisecond}},
		{"stamped", map[string]string{before: "3600000", after: "60000", most: "5000",
			"message.timestamp.type": "LogAppendTime"}, topicLimits{bytes: 5000, appends: true}},
	} {
		topic := mustTopic(t, c, 1, x.configs)
		c.limits.by[topic] = topicLimits{bytes: 7, before: 7, after: 7, appends: true}
		if err := c.LearnLimits(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
		if got := c.limits.by[topic]; got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

// TestARefusedBatchHalvesTheLimit, down to the least one, as long as it was larger.
func TestARefusedBatchHalvesTheLimit(t *testing.T) {
	for _, c := range []struct {
		known, bytes, want int
		learnt             bool
	}{
		{0, 10_000, 5000, true}, {8000, 10_000, 5000, true}, {5001, 10_000, 5000, true}, {5000, 10_000, 5000, false},
		{4000, 10_000, 4000, false}, {0, 2*leastBatch - 2, leastBatch, true}, {leastBatch + 1, 100, leastBatch, true},
		{leastBatch, 100, leastBatch, false},
	} {
		l := &limits{by: map[string]topicLimits{"t": {bytes: c.known, untimed: true}}}
		if learnt := l.refused("t", c.bytes); learnt != c.learnt || l.by["t"] != (topicLimits{bytes: c.want, untimed: true}) {
			t.Errorf("%+v: learnt %v, %+v", c, learnt, l.by["t"])
		}
	}
}
