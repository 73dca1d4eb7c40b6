package stream

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"liftstream/stream/streamtest"
)

func TestBudgetIsFairAndGivesBackWhatIsCancelled(t *testing.T) {
	b := newBudget(10)
	ctx := context.Background()
	if err := b.acquire(ctx, 100); err != nil { // larger than all: alone
		t.Fatal(err)
	}
	order := make(chan int, 2)
	impatient, cancel := context.WithCancel(ctx)
	gone := make(chan error)
	queued := func(n int) {
		t.Helper()
		streamtest.Eventually(t, 10*time.Second, fmt.Sprint("the readers that wait are not ", n), func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.waiting) == n
		})
	}
	go func() { gone <- b.acquire(impatient, 9) }()
	queued(1)
	go func() { _ = b.acquire(ctx, 4); order <- 4 }()
	queued(2)
	b.charge(-99) // one byte is left in use: 9 fit, but not 4 more
	if err := <-gone; err != nil {
		t.Fatalf("the bytes were free for the first in the queue: %v", err)
	}
	select {
	case <-order:
		t.Fatal("13 of 10 bytes were given")
	case <-time.After(20 * time.Millisecond):
	}
	go func() { gone <- b.acquire(impatient, 2) }()
	queued(2)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.charge(-9)
	<-order
	b.charge(-5)
	if n := b.inUse(); n != 0 {
		t.Errorf("%d bytes are still in use", n)
	}
}
