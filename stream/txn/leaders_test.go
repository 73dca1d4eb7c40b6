package txn

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
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
	if err := p.Commit(testContext(t), Transaction{Records: []Record{record(topic, 0, "a"), record(topic, 0, "b")}}); err != nil {
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
