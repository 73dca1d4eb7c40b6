package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, o embedded.Options) (*embedded.Broker, *txn.Client) {
	t.Helper()
	b, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
	t.Cleanup(c.Close)
	return b, c
}

// TestRestart: acknowledged records are there in the next life, offsets and the producer's epochs included.
func TestRestart(t *testing.T) {
	for _, sync := range []bool{false, true} {
		ctx, dir := testContext(t), t.TempDir()
		b, c := start(t, embedded.Options{Dir: dir, SyncWrites: sync})
		if _, err := c.CreateTopics(ctx, txn.TopicSpec{Name: "t", Partitions: 2,
			Configs: map[string]string{"cleanup.policy": "compact"}}); err != nil {
			t.Fatal(err)
		}
		p, err := c.NewProducer(ctx, "id", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Commit(ctx, txn.Transaction{
			Records: []txn.Record{{Topic: "t", Partition: 1, Key: []byte("k"), Value: []byte("v")}},
			Group:   "g", Generation: -1, Offsets: map[string]map[int]int64{"t": {0: 42}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		b.Close()

		_, c = start(t, embedded.Options{Dir: dir, SyncWrites: sync})
		f, err := c.Fetch(ctx, "t", 1, 0, 1<<20, time.Second)
		if err != nil || len(f.Records) != 1 || string(f.Records[0].Value) != "v" {
			t.Fatalf("got %+v, %v", f, err)
		}
		if o, err := c.ConsumerGroup("g").Offsets(ctx, "t", []int{0}); err != nil || o[0].Offset != 42 {
			t.Errorf("committed offset: got %v, %v", o, err)
		}
		if topics, err := c.Describe(ctx, "t"); err != nil || len(topics) != 1 || topics[0].Partitions != 2 ||
			topics[0].Configs["cleanup.policy"] != "compact" {
			t.Errorf("got %+v, %v", topics, err)
		}
		again, err := c.NewProducer(ctx, "id", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Commit(ctx, txn.Transaction{Records: []txn.Record{{Topic: "t", Key: []byte("k")}}}); err != nil {
			t.Error(err)
		}
	}
}

func TestListen(t *testing.T) {
	for _, bad := range []embedded.Options{
		{Listen: "0.0.0.0:0"}, {Listen: ":0"}, {Listen: "192.0.2.1:0"}, {Listen: "nonsense"},
		{Listen: "0.0.0.0:0", Insecure: true},
	} {
		if b, err := embedded.Start(bad); err == nil {
			b.Close()
			t.Errorf("%+v: started at %s", bad, b.Addr())
		}
	}
	b, c := start(t, embedded.Options{Listen: "0.0.0.0:0", Insecure: true, Advertise: "127.0.0.1"})
	if !strings.HasPrefix(b.Addr(), "127.0.0.1:") {
		t.Errorf("got %s", b.Addr())
	}
	if err := c.Check(testContext(t)); err != nil {
		t.Error(err)
	}
	if _, err := c.CreateTopics(testContext(t), txn.TopicSpec{Name: "t", Partitions: 1}); err != nil {
		t.Error(err) // goes to the advertised address
	}
	var taken *net.OpError
	if b, err := embedded.Start(embedded.Options{Listen: b.Addr()}); !errors.As(err, &taken) {
		t.Errorf("a port that is taken: got %v, %v", b, err)
	}
}

func TestMaxMessage(t *testing.T) {
	ctx := testContext(t)
	_, c := start(t, embedded.Options{MaxMessage: 3 << 20})
	if _, err := c.CreateTopics(ctx, txn.TopicSpec{Name: "t", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	send := func(n int) error {
		return c.Produce(ctx, []txn.Record{{Topic: "t", Value: bytes.Repeat([]byte("x"), n)}}, txn.None)
	}
	if err := send(2 << 20); err != nil {
		t.Error(err)
	}
	if err := send(4 << 20); txn.KindOf(err) != txn.TooLarge {
		t.Errorf("got %v", err)
	}
}

func TestTopicsAreNotMadeByAccident(t *testing.T) {
	_, c := start(t, embedded.Options{})
	if err := c.Produce(testContext(t), []txn.Record{{Topic: "misspelt"}}, txn.None); txn.KindOf(err) != txn.NoTopic {
		t.Errorf("got %v", err)
	}
	if topics, err := c.Describe(testContext(t), "misspelt"); err != nil || len(topics) != 0 {
		t.Errorf("got %v, %v", topics, err)
	}
}

func TestAutoCreate(t *testing.T) {
	for _, on := range []bool{false, true} {
		b, _ := start(t, embedded.Options{AutoCreate: on})
		// A client of its own asks for the topic, as other programs' do.
		transport := &kafka.Transport{}
		w := &kafka.Writer{
			Addr:                   kafka.TCP(b.Addr()),
			Topic:                  "new",
			AllowAutoTopicCreation: true,
			Transport:              transport,
			MaxAttempts:            3,
			BatchTimeout:           time.Millisecond,
		}
		err := w.WriteMessages(testContext(t), kafka.Message{Value: []byte("x")})
		if (err == nil) != on {
			t.Errorf("auto creation %v: got %v", on, err)
		}
		w.Close()
		transport.CloseIdleConnections()
	}
}
