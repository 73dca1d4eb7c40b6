package txn

import (
	"runtime"
	"testing"
	"time"

	"liftstream/stream/embedded"
)

// TestCloseLeavesNothing: the transport keeps goroutines for its connections; a closed client must not.
func TestCloseLeavesNothing(t *testing.T) {
	e, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := &broker{addrs: []string{e.Addr()}}
	before := runtime.NumGoroutine()
	for range 5 {
		c := NewClient(Config{Brokers: b.addrs})
		topic := mustTopic(t, c, 1, nil)
		if err := mustProducer(t, c, unique("id")).Commit(testContext(t),
			Transaction{Records: []Record{record(topic, 0, "a")}}); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
