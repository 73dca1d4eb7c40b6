package stream

import (
	"context"
	"sync"
)

// inFlight holds the budgets of a stage. Labels have one of their own: labels that wait for their records must leave
// bytes for these, else both wait for ever.
type inFlight struct{ events, labels *budget }

func newInFlight(limit int64, labels bool) inFlight {
	if !labels {
		return inFlight{events: newBudget(limit), labels: newBudget(0)}
	}
	return inFlight{events: newBudget(limit / 2), labels: newBudget(limit / 2)}
}

// reserved says how many bytes a task holds of each budget.
type reserved struct{ events, labels int64 }

func (f inFlight) release(r reserved) {
	f.events.Charge(-r.events)
	f.labels.Charge(-r.labels)
}

func (f inFlight) inUse() int64 { return f.events.inUse() + f.labels.inUse() }

// budget bounds the bytes of input in memory. A reader that asks for bytes waits until they are free. The size of an
// answer is charged once it is known, so that each reader may pass the bound by one answer; then no reader gets more
// until the bound is met.
type budget struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	waiting []*request // in order of arrival
}

// request waits for n bytes.
type request struct {
	n     int64
	ready chan struct{}
}

func newBudget(limit int64) *budget { return &budget{limit: limit} }

// Acquire waits for n bytes, at most the whole budget, or until ctx ends.
func (b *budget) Acquire(ctx context.Context, n int64) error {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.fits(n) {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	c := &request{n, make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range b.waiting {
		if w == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.admit()
			return ctx.Err()
		}
	}
	b.used -= n // it was given at the same moment
	b.admit()
	return ctx.Err()
}

// Try takes n bytes if they are free and nobody waits.
func (b *budget) Try(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 || !b.fits(n) {
		return false
	}
	b.used += n
	return true
}

func (b *budget) fits(n int64) bool { return b.used == 0 || b.used+n <= b.limit }

func (b *budget) admit() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].n) {
		b.used += b.waiting[0].n
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}

// Charge adds n bytes, or gives them back when n is below 0, without waiting.
func (b *budget) Charge(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	b.admit()
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
