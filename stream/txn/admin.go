package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// Topic describes a topic of the cluster.
type Topic struct {
	Name        string
	Partitions  int
	Replication int               // of partition 0
	Leaderless  []int             // partitions that have no leader at present
	Configs     map[string]string // effective settings; only filled by Describe
}

// TopicSpec is a topic to create. Replication 0 means the broker's default.
type TopicSpec struct {
	Name        string
	Partitions  int
	Replication int
	Configs     map[string]string // such as cleanup.policy
}

// Position names an offset by its place in the log.
type Position int64

const (
	// Start is the first offset still kept.
	Start Position = -2
	// End is the last stable offset: where a read-committed reader waits for more.
	End Position = -1
	// HighWatermark is one past the last replicated record, whether its transaction has ended or not.
	HighWatermark Position = -1 << 62
)

func topicOf(t metadata.ResponseTopic) Topic {
	topic := Topic{Name: t.Name, Partitions: len(t.Partitions)}
	for _, p := range t.Partitions {
		if p.PartitionIndex == 0 {
			topic.Replication = len(p.ReplicaNodes)
		}
		if p.LeaderID < 0 {
			topic.Leaderless = append(topic.Leaderless, int(p.PartitionIndex))
		}
	}
	return topic
}

// Partitions is the number of partitions of a topic; an Error of Kind NoTopic if the cluster has none of that name. At
// most two seconds old.
func (c *Client) Partitions(ctx context.Context, topic string) (int, error) {
	known, err := c.metadata(ctx, []string{topic})
	if err != nil {
		return 0, err
	}
	t := known[0]
	if t.ErrorCode != 0 {
		return 0, coded("Metadata", topic, -1, t.ErrorCode)
	}
	return len(t.Partitions), nil
}

// Describe tells partitions and effective settings of the named topics, in that order. Topics that do not exist are
// left out.
func (c *Client) Describe(ctx context.Context, names ...string) ([]Topic, error) {
	const op = "DescribeConfigs"
	if len(names) == 0 {
		return nil, nil
	}
	known, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	var topics []Topic
	req := &describeconfigs.Request{}
	for _, t := range known {
		switch {
		case kafka.Error(t.ErrorCode) == kafka.UnknownTopicOrPartition:
			continue
		case t.ErrorCode != 0:
			return nil, coded("Metadata", t.Name, -1, t.ErrorCode)
		}
		topics = append(topics, topicOf(t))
		req.Resources = append(
			req.Resources,
			describeconfigs.RequestResource{ResourceType: int8(kafka.ResourceTypeTopic), ResourceName: t.Name},
		)
	}
	if len(topics) == 0 {
		return nil, nil
	}
	m, err := c.roundTrip(ctx, req, 0)
	if err != nil {
		return nil, failed(op, err)
	}
	for _, r := range m.(*describeconfigs.Response).Resources {
		if r.ErrorCode != 0 {
			return nil, coded(op, r.ResourceName, -1, r.ErrorCode)
		}
		i := slices.IndexFunc(topics, func(t Topic) bool { return t.Name == r.ResourceName })
		if i < 0 {
			continue
		}
		topics[i].Configs = make(map[string]string, len(r.ConfigEntries))
		for _, e := range r.ConfigEntries {
			topics[i].Configs[e.ConfigName] = e.ConfigValue
		}
	}
	return topics, nil
}

// CreateTopics creates the topics that do not exist and tells, in the order of specs, whether each was created now. A
// topic that exists already is left as it is. CreateTopics returns when the leaders of the new partitions answer, which
// they do not at once.
func (c *Client) CreateTopics(ctx context.Context, specs ...TopicSpec) (created []bool, err error) {
	const op = "CreateTopics"
	if len(specs) == 0 {
		return nil, nil
	}
	req := &createtopics.Request{TimeoutMs: int32(c.cfg.Timeout.Milliseconds() / 2)}
	for _, s := range specs {
		t := createtopics.RequestTopic{
			Name:              s.Name,
			NumPartitions:     int32(s.Partitions),
			ReplicationFactor: int16(s.Replication),
		}
		if s.Replication == 0 {
			t.ReplicationFactor = -1
		}
		for _, name := range sortedKeys(s.Configs) {
			t.Configs = append(t.Configs, createtopics.RequestConfig{Name: name, Value: s.Configs[name]})
		}
		req.Topics = append(req.Topics, t)
	}
	m, err := c.roundTrip(ctx, req, 0)
	if err != nil {
		return nil, failed(op, err)
	}
	created = make([]bool, len(specs))
	var failures []error
	for _, t := range m.(*createtopics.Response).Topics {
		switch code := kafka.Error(t.ErrorCode); {
		case code == 0:
			i := slices.IndexFunc(specs, func(s TopicSpec) bool { return s.Name == t.Name })
			if i >= 0 {
				created[i] = true
			}
		case code != kafka.TopicAlreadyExists:
			failures = append(failures, failedAt(op, t.Name, -1, told(code, t.ErrorMessage)))
		}
	}
	if len(failures) > 0 {
		return created, errors.Join(failures...)
	}
	for i, s := range specs {
		if !created[i] {
			continue
		}
		err := c.patiently(ctx, func() error {
			n, err := c.Partitions(ctx, s.Name)
			if err == nil {
				_, err = c.ListOffsets(ctx, s.Name, upTo(n), Start)
			}
			var e *Error
			if errors.As(err, &e) && e.Kind == NoTopic {
				e.Kind, e.Reason = Environment, "created just now: not every broker knows it yet"
			}
			return err
		})
		if err != nil {
			return created, err
		}
	}
	return created, nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// told adds the broker's own words to its code.
func told(code kafka.Error, message string) error {
	if message == "" {
		return code
	}
	return fmt.Errorf("%w: %s", code, message)
}

// ListOffsets finds the offsets of a position in the named partitions of a topic. It waits for leaders that move.
func (c *Client) ListOffsets(ctx context.Context, topic string, partitions []int, at Position) (map[int]int64, error) {
	const op = "ListOffsets"
	if len(partitions) == 0 {
		return map[int]int64{}, nil
	}
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	isolation, stamp := kafka.ReadCommitted, int64(at)
	if at == HighWatermark {
		isolation, stamp = kafka.ReadUncommitted, int64(End)
	}
	req := &listoffsets.Request{
		ReplicaID:      -1,
		IsolationLevel: int8(isolation),
		Topics:         []listoffsets.RequestTopic{{Topic: topic}},
	}
	for _, p := range partitions {
		if p < 0 || p >= n { // kafka-go would ask any broker, which answers in its own time
			return nil, failedAt(op, topic, p, protocol.ErrNoPartition)
		}
		req.Topics[0].Partitions = append(
			req.Topics[0].Partitions,
			listoffsets.RequestPartition{Partition: int32(p), CurrentLeaderEpoch: -1, Timestamp: stamp},
		)
	}
	var res *listoffsets.Response
	err = led(ctx, func() error {
		m, err := c.roundTrip(ctx, req, 0)
		if err != nil {
			return failed(op, err)
		}
		res = m.(*listoffsets.Response)
		for _, t := range res.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return coded(op, topic, int(p.Partition), p.ErrorCode)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	offsets := make(map[int]int64, len(partitions))
	var beyond []int
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			if p.Offset < 0 { // nothing as young as that
				beyond = append(beyond, int(p.Partition))
				continue
			}
			offsets[int(p.Partition)] = p.Offset
		}
	}
	if len(beyond) > 0 && at >= 0 {
		ends, err := c.ListOffsets(ctx, topic, beyond, End)
		if err != nil {
			return nil, err
		}
		for _, p := range beyond {
			offsets[p] = ends[p]
		}
	}
	return offsets, nil
}

// patiently repeats a request that only reads while the cluster is not ready for it, within one timeout.
func (c *Client) patiently(ctx context.Context, f func() error) error {
	const pause = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	for {
		err := f()
		var e *Error
		if !errors.As(err, &e) || e.Code == 0 || e.Kind != Environment || !sleep(ctx, pause) {
			return err
		}
	}
}

func int32s(ints []int) []int32 {
	out := make([]int32, len(ints))
	for i, v := range ints {
		out[i] = int32(v)
	}
	return out
}

// Bounds returns the first offset that a partition still holds and the one after its last stable record.
func (c *Client) Bounds(ctx context.Context, topic string, partition int) (start, end int64, err error) {
	low, err := c.ListOffsets(ctx, topic, []int{partition}, Start)
	if err != nil {
		return 0, 0, err
	}
	high, err := c.ListOffsets(ctx, topic, []int{partition}, End)
	if err != nil {
		return 0, 0, err
	}
	return low[partition], high[partition], nil
}
