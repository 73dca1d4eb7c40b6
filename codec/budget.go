package codec

import (
	"errors"
	"sync"
)

// ErrStopped is returned when Message.Done was closed before the message was decoded. It says nothing of the message.
var ErrStopped = errors.New("decoding message: stopped")

// Budget bounds the memory of decoded messages over all decoders that share it, such as those of a process. A message
// may hold half of it. The other half is common: a message takes from it, and a message that finds too little there
// takes the first half as a whole, or waits for it. Its owner then needs no more, so that no two messages wait for each
// other. Whether a message is refused depends on the message and on the size of the budget alone.
type Budget struct {
	mu      sync.Mutex
	total   int64
	common  int64 // bytes left of the common half
	taken   bool  // a message holds the other half
	waiting []*claim
}

type claim struct {
	a     *account
	n     int64
	ready chan struct{}
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{total: bytes, common: bytes - bytes/2} }

// share is the largest number of bytes that a message may take.
func (b *Budget) share() int64 { return b.total / 2 }

// InUse is the number of bytes that messages hold.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.total - b.share() - b.common
	if b.taken {
		n += b.share()
	}
	return n
}

// give hands n bytes to a, if they are there.
func (b *Budget) give(a *account, n int64) bool {
	switch {
	case n <= b.common:
		b.common -= n
		a.held += n
	case !b.taken:
		b.taken, a.half = true, true
	default:
		return false
	}
	return true
}

// claim gets n bytes for a, or waits for them; it reports false when a was told to stop before.
func (b *Budget) claim(a *account, n int64) bool {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.give(a, n) {
		b.mu.Unlock()
		return true
	}
	c := &claim{a, n, make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case <-c.ready:
		return true
	case <-a.done:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range b.waiting {
		if w == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			break
		}
	}
	b.admit()
	return false
}

// release takes back the memory that a holds.
func (b *Budget) release(a *account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.common += a.held
	if a.half {
		b.taken = false
	}
	a.held, a.half = 0, false
	b.admit()
}

func (b *Budget) admit() {
	for len(b.waiting) > 0 && b.give(b.waiting[0].a, b.waiting[0].n) {
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}

// account counts the memory that one message takes, and keeps it below a limit. The count depends on the message alone,
// not on the messages before it.
type account struct {
	limit, spent int64
	name         string          // of the limit
	over         bool            // something was refused
	done         <-chan struct{} // of the message; nil = never
	stopped      bool

	shared *Budget // nil = the limit is the only bound
	held   int64   // of the common half
	half   bool    // the other half is held
}

// step is the least that an account claims, so that messages of few rows claim once.
const step = 256 << 10

// begin starts to count for another message.
func (a *account) begin(done <-chan struct{}) {
	a.release()
	a.spent, a.over, a.done, a.stopped = 0, false, done, false
}

// take counts n bytes before they are allocated, and reports whether they may be.
func (a *account) take(n int64) bool {
	if a.over || a.stopped {
		return false
	}
	if n < 0 || n > a.limit-a.spent {
		a.over = true
		return false
	}
	a.spent += n
	if a.shared == nil || a.half || a.spent <= a.held {
		return true
	}
	a.stopped = !a.shared.claim(a, max(a.spent-a.held, step))
	return !a.stopped
}

// running reports whether the work goes on: the message may be told to stop, or be over its limit.
func (a *account) running() bool {
	select {
	case <-a.done:
		a.stopped = true
	default:
	}
	return !a.over && !a.stopped
}

// ended reports whether take has reported false, so that work on the message is of no use.
func (a *account) ended() bool { return a.over || a.stopped }

// refusal is the error of a message for which take or running has reported false.
func (a *account) refusal() *MessageError {
	return dead(ReasonTooLarge, "decoded it takes more than %d bytes, which is %s", a.limit, a.name)
}

func (a *account) release() {
	if a.shared != nil && (a.held > 0 || a.half) {
		a.shared.release(a)
	}
}
