package stream

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// admin sends the broker a request that the stage itself never makes.
func (a administrator) admin(req kmsg.Request) {
	a.T.Helper()
	conn, err := net.Dial("tcp", a.Brokers[0])
	if err != nil {
		a.T.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err == nil {
		_, err = readFrame(conn)
	}
	if err != nil {
		a.T.Fatal(err)
	}
}

func (a administrator) deleteEvents(partition int, before int64) {
	a.deleteRecords(a.Topics.Events, partition, before)
}

func (a administrator) deleteRecords(topic string, partition int, before int64) {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = int32(partition), before
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 1, 5000
	req.Topics = append(req.Topics, t)
	a.admin(req)
}

func (a administrator) recreateEvents() {
	a.recreate(a.Topics.Events)
	clear(a.Next)
}

func (a administrator) recreate(topic string) {
	specs := topics.Specs(a.Topics, a.N, 1, 4<<20)
	spec := specs[slices.IndexFunc(specs, func(s txn.TopicSpec) bool { return s.Name == topic })]
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 3, 5000
	req.TopicNames = []string{topic}
	a.admin(req)
	streamtest.Eventually(a.T, 20*time.Second, "the topic cannot be made anew", func() bool {
		made, err := a.Client.CreateTopics(context.Background(), spec)
		return err == nil && made[0]
	})
	a.Client.Close() // its producer has a past in the topic that is gone
	a.Client = txn.NewClient(txn.Config{Brokers: a.Brokers})
	a.T.Cleanup(a.Client.Close)
}

// setOffset commits an offset for the group as an administrator's tool does, or a broker that has forgotten the newest.
func (a administrator) setOffset(topic string, offset int64, note string) {
	a.T.Helper()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &note
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 5, a.Name, -1
	req.Topics = append(req.Topics, t)
	a.admin(req)
	got, err := a.Client.ConsumerGroup(a.Name).Offsets(context.Background(), topic, []int{0})
	if err != nil || got[0] != (txn.GroupOffset{Offset: offset, Note: note}) {
		a.T.Fatalf("the offset is not set: %v, %v", got, err)
	}
}

// forget deletes the group with its offsets, as brokers do with one that is empty for long.
func (a administrator) forget() {
	a.T.Helper()
	streamtest.Eventually(a.T, time.Minute, "the group is not forgotten", func() bool {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = 1, []string{a.Name}
		a.admin(req)
		return a.Committed(0) < 0
	})
}
