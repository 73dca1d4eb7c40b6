package embedded

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/stream/txn"
)

// cutAtEnd lets everything through but EndTxn, which it does not send: the transaction stays open.
type cutAtEnd struct{ net.Conn }

func (c cutAtEnd) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == byte(kmsg.EndTxn) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func TestCommittedRecordsAreReadAfterTheBrokerDiedInATransaction(t *testing.T) {
	ctx := context.Background()
	dir, copied := t.TempDir(), t.TempDir()
	b, err := Start(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}})
	defer c.Close()
	if _, err := c.CreateTopics(ctx, txn.TopicSpec{Name: "x", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	commit := func(c *txn.Client, value string) error {
		p, err := c.NewProducer(ctx, "id", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return p.Commit(ctx, txn.Transaction{Records: []txn.Record{{Topic: "x", Value: []byte(value)}}})
	}
	if err := commit(c, "first"); err != nil {
		t.Fatal(err)
	}
	broken := txn.NewClient(
		txn.Config{Brokers: []string{b.Addr()}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return cutAtEnd{conn}, err
		}},
	)
	defer broken.Close()
	if err := commit(broken, "in vain"); err == nil {
		t.Fatal("the transaction has ended")
	}
	// A copy taken while the broker runs is like the directory after a kill.
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := Start(Options{Dir: copied})
		if err != nil {
			t.Fatal(err)
		}
		c := txn.NewClient(txn.Config{Brokers: []string{again.Addr()}})
		if err := commit(c, "second"); err != nil {
			t.Fatal(err)
		}
		again.Close()
		c.Close()
	}
	again, err := Start(Options{Dir: copied})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	c2 := txn.NewClient(txn.Config{Brokers: []string{again.Addr()}})
	defer c2.Close()
	f, err := c2.Fetch(ctx, "x", 0, 0, 1<<20, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range f.Records {
		got = append(got, string(r.Value))
	}
	if len(got) != 3 || got[0] != "first" || got[1] != "second" || got[2] != "second" {
		t.Errorf("committed are %q, want first, second, second", got)
	}
}
