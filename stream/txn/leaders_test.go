package txn

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestReadersFollowALeader: who reads sees nothing of a leader's move but a pause.
func TestReadersFollowALeader(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	b := &broker{name: "embedded", addrs: cluster.ListenAddrs()}
	c := b.client(t)
	topic := mustTopic(t, c, 1, nil)
	p := mustProducer(t, c, unique("id"))
	if err := p.Commit(testContext(t), Transaction{Records: []Record{record(topic, 0, "a"),
		record(topic, 0, "b")}}); err != nil {
		t.Fatal(err)
	}
	move := func() {
		t.Helper()
		if err := cluster.MoveTopicPartition(topic, 0, (cluster.LeaderFor(topic, 0)+1)%3); err != nil {
			t.Fatal(err)
		}
	}
	move()
	if end := offsetAt(t, c, topic, 0, End); end != 3 {
		t.Errorf("the last stable offset is %d, want 3", end)
	}
	move()
	f, err := c.Fetch(testContext(t), topic, 0, 0, 1<<20, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "fetched", values(f.Records), []string{"a", "b"})
}

// TestTopicsAreThereWhenTheyAreCreated: a leader may learn later than the others that there is a topic which it leads.
func TestTopicsAreThereWhenTheyAreCreated(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	asked := 0
	cluster.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		if asked++; asked > 3 {
			return nil, nil, false
		}
		cluster.KeepControl()
		res := request.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range request.(*kmsg.ListOffsetsRequest).Topics {
			unknown := kmsg.NewListOffsetsResponseTopic()
			unknown.Topic = topic.Topic
			for _, p := range topic.Partitions {
				r := kmsg.NewListOffsetsResponseTopicPartition()
				r.Partition, r.ErrorCode = p.Partition, 3
				unknown.Partitions = append(unknown.Partitions, r)
			}
			res.Topics = append(res.Topics, unknown)
		}
		return res, nil, true
	})
	b := &broker{name: "embedded", addrs: cluster.ListenAddrs()}
	c := b.client(t)
	topic := mustTopic(t, c, 3, nil)
	if asked <= 3 {
		t.Errorf("the leaders were asked %d times", asked)
	}
	for p := range 3 {
		if end := offsetAt(t, c, topic, p, End); end != 0 {
			t.Errorf("partition %d ends at %d", p, end)
		}
	}
}
