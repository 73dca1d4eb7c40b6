package cli

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time                         { return c.now }
func (c *clock) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

func TestLinesThatAreHeldBackAreCounted(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	c := &clock{time.Unix(0, 0)}
	log := zap.New(newHeldBack(core), zap.WithClock(c))
	told := func() (n int) {
		for _, e := range logs.All() {
			if held, ok := e.ContextMap()["lines_held_back"].(int64); ok {
				n += int(held)
			} else {
				n++
			}
		}
		return n
	}
	one, two := log.With(zap.Int("partition", 1)), log.With(zap.Int("partition", 2))
	for range 5000 {
		one.Warn("again")
		two.Warn("again")
		c.now = c.now.Add(time.Millisecond)
	}
	log.Info("again") // of another level
	log.Debug("unseen")
	log.Warn("other")
	if n := logs.Len(); n != heldBackFirst+2 {
		t.Errorf("%d lines in the first window", n)
	}
	c.now = c.now.Add(heldBackWindow)
	one.Warn("again")
	last := logs.All()[logs.Len()-1].ContextMap()
	if last["lines_held_back"] != int64(10_000-heldBackFirst) || last["partition"] != int64(1) {
		t.Errorf("the next line has %v", last)
	}
	for range 1000 {
		one.Warn("again")
	}
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	// The line that carries a count is one of its own, too.
	if n := told(); n != 10_000+2+1+1000-1 {
		t.Errorf("the log tells of %d lines", n)
	}
}
