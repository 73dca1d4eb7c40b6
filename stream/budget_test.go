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
	if err := b.Acquire(ctx, 100); err != nil { // larger than all: alone
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
	go func() { gone <- b.Acquire(impatient, 9) }()
	queued(1)
	go func() { _ = b.Acquire(ctx, 4); order <- 4 }()
	queued(2)
	b.Charge(-99) // one byte is left in use: 9 fit, but not 4 more
	if err := <-gone; err != nil {
		t.Fatalf("the bytes were free for the first in the queue: %v", err)
	}
	select {
	case <-order:
		t.Fatal("13 of 10 bytes were given")
	case <-time.After(20 * time.Millisecond):
	}
	go func() { gone <- b.Acquire(impatient, 2) }()
	queued(2)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.Charge(-9)
	<-order
	b.Charge(-5)
	if n := b.inUse(); n != 0 {
		t.Errorf("%d bytes are still in use", n)
	}
}

// TestAReaderThatGivesUpMakesWayForTheNext: the first in the queue asks for too much for now, the one behind it does
// not. When the first gives up, nobody else tells the second that its bytes are free.
func TestAReaderThatGivesUpMakesWayForTheNext(t *testing.T) {
	b := newBudget(10)
	b.Charge(5)
	impatient, cancel := context.WithCancel(context.Background())
	first, second := make(chan error, 1), make(chan error, 1)
	queued := func(n int) {
		t.Helper()
		streamtest.Eventually(t, 10*time.Second, fmt.Sprint("the readers that wait are not ", n), func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.waiting) == n
		})
	}
	go func() { first <- b.Acquire(impatient, 9) }()
	queued(1)
	go func() { second <- b.Acquire(context.Background(), 4) }()
	queued(2)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	queued(0)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if n := b.inUse(); n != 9 {
		t.Errorf("%d bytes are in use, want 9", n)
	}
}

// TestTheBytesOfATransactionThatFailedAreGivenBack: its task ends, and the next one fetches the messages again.
func TestTheBytesOfATransactionThatFailedAreGivenBack(t *testing.T) {
	x := idleTask(t, nil)
	b := newInFlight(1000, true)
	x.s.budget = b
	b.events.Charge(70)
	b.labels.Charge(90)
	failed := errors.New("the broker is away")
	p := &pipeline{t: x, outcome: make(chan error, 1),
		committing: &transaction{reserved: reserved{events: 30, labels: 40}}}
	p.outcome <- failed
	if err := p.await(); !errors.Is(err, failed) || x.course != broken {
		t.Errorf("%v, course %v", err, x.course)
	}
	if b.events.inUse() != 40 || b.labels.inUse() != 50 || gauge(x.s.o.Metrics.InFlight) != 90 {
		t.Errorf("%d and %d bytes are in use and %v are shown, want 40, 50 and their sum", b.events.inUse(),
			b.labels.inUse(), gauge(x.s.o.Metrics.InFlight))
	}
}
