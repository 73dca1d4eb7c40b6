package stream

import (
	"context"
	"encoding/binary"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// three is a cluster of three brokers in this process, in memory, whose leaders and coordinators move when they are
// told to.
type three struct {
	*kfake.Cluster
	seed uint64

	mu           sync.Mutex
	moves        uint64
	leaders      int // leaders that were moved
	coordinators int // times that all coordinators were dealt out anew
}

func startThree(t testing.TB, seed uint64) *three {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &three{Cluster: c, seed: seed}
}

// move gives about half of the partitions another leader, and every other time each group and transactional id a
// coordinator that need not be the one before.
func (c *three) move(t testing.TB, topics topics.Names) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moves++
	for i, topic := range []string{topics.Events, topics.Labels, topics.Scores, topics.State, topics.Dead, topics.Model} {
		for p := int32(0); c.LeaderFor(topic, p) >= 0; p++ {
			if h := model.Hash(c.seed, 1, c.moves, uint64(i), uint64(p)); h%2 == 0 {
				if err := c.MoveTopicPartition(topic, p, (c.LeaderFor(topic, p)+1+int32(h>>1%2))%3); err != nil {
					t.Errorf("moving %s/%d: %v", topic, p, err)
				}
				c.leaders++
			}
		}
	}
	if model.Hash(c.seed, 2)%2 == c.moves%2 {
		c.RehashCoordinators()
		c.coordinators++
	}
}

// strikes is a network on which leaders and coordinators move just before a request of each kind leaves, so that it
// arrives at one who is it no longer. The seed says which one of its kind.
type strikes struct {
	strike func()

	mu   sync.Mutex
	seen map[kmsg.Key]int
	at   map[kmsg.Key]int // which one is struck next; struck ones are gone
}

func newStrikes(seed uint64, strike func(), keys ...kmsg.Key) *strikes {
	s := &strikes{strike: strike, seen: map[kmsg.Key]int{}, at: map[kmsg.Key]int{}}
	for _, k := range keys {
		s.at[k] = 5 + int(model.Hash(seed, 3, uint64(k))%20)
		if k == kmsg.InitProducerID { // one at each start and after each failure
			s.at[k] = 1 + s.at[k]%3
		}
	}
	return s
}

// left are the kinds of requests that were not struck yet.
func (s *strikes) left() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(s.at)) {
		names = append(names, k.Name())
	}
	return names
}

func (s *strikes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &struckConn{Conn: conn, strikes: s}, nil
}

type struckConn struct {
	net.Conn
	strikes *strikes
	rest    int // bytes of the current request that are still to come
}

func (c *struckConn) Write(p []byte) (int, error) {
	if c.rest == 0 && len(p) >= 6 {
		c.rest = int(binary.BigEndian.Uint32(p)) + 4
		c.strikes.request(kmsg.Key(binary.BigEndian.Uint16(p[4:])))
	}
	n, err := c.Conn.Write(p)
	c.rest -= n
	return n, err
}

func (s *strikes) request(key kmsg.Key) {
	s.mu.Lock()
	s.seen[key]++
	hit := s.at[key] > 0 && s.seen[key] >= s.at[key]
	if hit {
		delete(s.at, key)
	}
	s.mu.Unlock()
	if hit {
		s.strike()
	}
}

// TestLeadersMoveAtEveryStep moves leaders and coordinators before each kind of request that a stage sends, while
// another one is in its group.
func TestLeadersMoveAtEveryStep(t *testing.T) {
	const seed, bad = 1, "no Arrow at all"
	cluster := startThree(t, seed)
	w := newWorldAt(t, txn.Config{Brokers: cluster.ListenAddrs()}, 3)
	s := newStrikes(
		seed,
		func() { cluster.move(t, w.Topics) },
		kmsg.Produce,
		kmsg.Fetch,
		kmsg.ListOffsets,
		kmsg.OffsetFetch,
		kmsg.FindCoordinator,
		kmsg.Heartbeat,
		kmsg.InitProducerID,
		kmsg.AddPartitionsToTxn,
		kmsg.AddOffsetsToTxn,
		kmsg.EndTxn,
		kmsg.TxnOffsetCommit,
	)
	c := txn.NewClient(txn.Config{Brokers: w.Brokers, Dial: s.dial})
	defer c.Close()
	o := w.options(c)
	o.Log = zap.NewNop() // each strike is a warning of each partition
	r := w.run(o)
	beside := w.options(w.Client)
	beside.Log = o.Log
	other := w.run(beside)
	letters := make([]int, w.N)
	for i, deadline := 1, time.Now().Add(6*time.Minute); len(s.left()) > 0; i++ {
		if time.Now().After(deadline) {
			t.Fatalf("not so many requests of %v in six minutes: %+v", s.left(), r.stage.Status())
		}
		from, late := w.Next[0], model.Hash(seed, 5, uint64(w.Next[0]))%4 == 0
		w.Produce(40, 20, !late)
		if late {
			w.SendLabels(from, 40)
		}
		for p := range w.N {
			if model.Hash(seed, 4, uint64(p), uint64(w.Next[p]))%8 == 0 {
				if err := w.Client.Produce(context.Background(),
					[]txn.Record{{Topic: w.Topics.Events, Partition: p, Value: []byte(bad), Time: time.Now()}}, txn.None); err != nil {
					t.Fatal(err)
				}
				letters[p]++
			}
		}
		if i%50 == 0 { // some requests are sent only by who takes a partition over
			other.stop()
			<-other.ended // it may have met a move as it stopped
			other = w.run(beside)
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Produce(200, 20, true)
	w.caught(r, other)
	r.end(t)
	other.end(t)
	w.ExactlyOnce()
	for p, want := range letters {
		if got := len(w.Records(w.Topics.Dead, p)); got != want {
			t.Errorf("partition %d: %d dead letters, want %d", p, got, want)
		}
		w.Records(w.Topics.State, p) // which waits until nothing is open there
	}
	o.Client = w.Client
	found, err := verified(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		if len(v.Problems) > 0 || v.From != 0 {
			t.Errorf("verify: %+v", v)
		}
	}
	t.Logf(
		"%d leaders moved, %d times the coordinators; %d records a partition, %v dead letters",
		cluster.leaders,
		cluster.coordinators,
		w.Next[0],
		letters,
	)
}

// moveLeaders lets the leaders of a cluster of three move while records and labels arrive. In this process they do so
// when they are told to; a real Kafka is made to by kill -9 of one of its nodes, which is started again at once, or
// when the two others have taken its work over.
func moveLeaders(r *rig, times int) {
	r.start("one")
	r.start("two")
	moved, killed, longest := 0, make([]int, 3), time.Duration(0)
	for i := range uint64(times) {
		base := int(r.fed.Load())
		stop := r.keepFeeding()
		at := base + int(model.Hash(r.seed, 10, i)%1800)
		r.reached(at - at%rigRows)
		if r.cluster != nil {
			r.cluster.move(r.t, r.Topics)
			r.reached(int(r.fed.Load()) + 600)
		} else {
			node := 1 + int(model.Hash(r.seed, 11, i)%3)
			before := r.leaders()
			r.node("kill", node)
			killed[node-1]++
			if i%3 != 2 { // else it is back before its session ends
				began := time.Now()
				r.reached(int(r.fed.Load()) + 600)
				longest = max(longest, time.Since(began))
				for p, leader := range r.leaders() {
					if leader != before[p] {
						moved++
					}
				}
			}
			r.node("start", node)
		}
		stop()
		r.reached(int(r.fed.Load()))
	}
	if r.cluster != nil {
		r.note(
			"%d times leaders moved, %d in all, and coordinators %d times",
			times,
			r.cluster.leaders,
			r.cluster.coordinators,
		)
		return
	}
	if moved == 0 {
		r.t.Error("no leader has moved")
	}
	r.note(
		"%d times kill -9 of one of three nodes %v; %d leaders moved to the others, with which the work went on within %v",
		times,
		killed,
		moved,
		longest.Round(100*time.Millisecond),
	)
}

// keepFeeding feeds until the function that it returns is called.
func (r *rig) keepFeeding() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var feeding sync.WaitGroup
	feeding.Go(func() {
		for ctx.Err() == nil {
			r.feed(rigPartitions * rigRows)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); feeding.Wait() }
}

// node does something to one node of a real Kafka.
func (r *rig) node(command string, node int) {
	r.t.Helper()
	// Its output must not be a pipe: the node that it starts would keep it open.
	if err := exec.Command("../deploy/kafka.sh", command, r.kafka, strconv.Itoa(node)).Run(); err != nil {
		r.t.Fatalf("kafka.sh %s node %d: %v", command, node, err)
	}
}

type partitionID struct {
	topic string
	id    int
}

// leaders tells who leads each partition of the rig's topics.
func (r *rig) leaders() map[partitionID]int {
	r.t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	c := &kafka.Client{Addr: kafka.TCP(r.Brokers...), Transport: transport, Timeout: 30 * time.Second}
	m, err := c.Metadata(
		context.Background(),
		&kafka.MetadataRequest{
			Topics: []string{r.Topics.Events, r.Topics.Labels, r.Topics.Scores, r.Topics.State, r.Topics.Dead, r.Topics.Model},
		},
	)
	if err != nil {
		r.t.Fatalf("asking for the leaders: %v", err)
	}
	found := map[partitionID]int{}
	for _, topic := range m.Topics {
		for _, p := range topic.Partitions {
			found[partitionID{topic.Name, p.ID}] = p.Leader.ID
		}
	}
	return found
}
