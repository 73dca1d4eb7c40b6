package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestASlowConnectionGetsTheTimeItNeeds: an output whose produce request takes longer than a transaction may is
// committed all the same, once, for the next attempt has more time. A transaction that needs little stays as it is.
func TestASlowConnectionGetsTheTimeItNeeds(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		streamtest.KeepsTimeouts(t)
		w := newWorld(t, addr, 1)
		const rate = 160 << 10
		var narrow atomic.Bool
		o := w.options(w.SlowClient(rate, narrow.Load))
		o.transaction = time.Second
		o.Snapshot, o.FitRecords = time.Hour, 1<<40
		w.Produce(100, 100, false)
		r := w.prepared(o)
		var took atomic.Int64 // the longest commit
		var outlived atomic.Int32
		r.stage.commit = func(ctx context.Context, p *txn.Producer, x txn.Transaction) error {
			began := time.Now()
			err := p.Commit(ctx, x)
			if n := int64(time.Since(began)); err == nil {
				took.Store(max(took.Load(), n))
			}
			var e *txn.Error
			if errors.As(err, &e) && e.Kind != txn.Fenced {
				outlived.Add(1)
			}
			return err
		}
		narrow.Store(true)
		r.start()
		w.caught(r)
		if n := outlived.Load(); n != 0 {
			t.Fatalf("a small transaction failed %d times", n)
		}
		w.Produce(9000, 9000, false) // one message
		w.caught(r)
		w.Produce(100, 100, false)
		w.caught(r)
		r.end(t)
		w.ExactlyOnce()
		if time.Duration(took.Load()) <= o.transaction || outlived.Load() == 0 {
			t.Fatalf("the longest commit took %v, %d failed: the connection is not slow", time.Duration(took.Load()),
				outlived.Load())
		}
		t.Logf("%d transactions outlived their time, the longest committed one took %v", outlived.Load(),
			time.Duration(took.Load()).Round(time.Millisecond))
	})
}
