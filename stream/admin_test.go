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
func (w *world) admin(req kmsg.Request) {
	w.T.Helper()
	conn, err := net.Dial("tcp", w.Brokers[0])
	if err != nil {
		w.T.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err == nil {
		_, err = readFrame(conn)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) deleteEvents(partition int, before int64) {
	w.deleteRecords(w.Topics.Events, partition, before)
}

func (w *world) deleteRecords(topic string, partition int, before int64) {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = int32(partition), before
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 1, 5000
	req.Topics = append(req.Topics, t)
	w.admin(req)
}

func (w *world) recreateEvents() {
	w.recreate(w.Topics.Events)
	clear(w.Next)
}

func (w *world) recreate(topic string) {
	specs := topics.Specs(w.Topics, w.N, 1, 4<<20)
	spec := specs[slices.IndexFunc(specs, func(s txn.TopicSpec) bool { return s.Name == topic })]
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 3, 5000
	req.TopicNames = []string{topic}
	w.admin(req)
	streamtest.Eventually(w.T, 20*time.Second, "the topic cannot be made anew", func() bool {
		made, err := w.Client.CreateTopics(context.Background(), spec)
		return err == nil && made[0]
	})
	w.Client.Close() // its producer has a past in the topic that is gone
	w.Client = txn.NewClient(txn.Config{Brokers: w.Brokers})
	w.T.Cleanup(w.Client.Close)
}

// setOffset commits an offset for the group as an administrator's tool does, or a broker that has forgotten the newest.
func (w *world) setOffset(topic string, offset int64, note string) {
	w.T.Helper()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &note
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 5, w.Name, -1
	req.Topics = append(req.Topics, t)
	w.admin(req)
	got, err := w.Client.ConsumerGroup(w.Name).Offsets(context.Background(), topic, []int{0})
	if err != nil || got[0] != (txn.GroupOffset{Offset: offset, Note: note}) {
		w.T.Fatalf("the offset is not set: %v, %v", got, err)
	}
}

// forget deletes the group with its offsets, as brokers do with one that is empty for long.
func (w *world) forget() {
	w.T.Helper()
	streamtest.Eventually(w.T, time.Minute, "the group is not forgotten", func() bool {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = 1, []string{w.Name}
		w.admin(req)
		return w.Committed(0) < 0
	})
}
