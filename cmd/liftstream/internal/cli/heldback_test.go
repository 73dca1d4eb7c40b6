package cli

import (
	"fmt"
	"slices"
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

// TestCountsOfHeldBackLines: each at the end of its window and in the order of the windows, each level by itself; and a
// clock that is set back begins a window.
func TestCountsOfHeldBackLines(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	c := &clock{time.Unix(1000, 0)}
	log := zap.New(newHeldBack(core), zap.WithClock(c))
	for i, message := range []string{"late", "early", "middle"} {
		c.now = time.Unix(1000+int64([]int{9, 0, 5}[i]), 0)
		for range heldBackFirst + i + 1 {
			log.Warn(message)
		}
	}
	log.Error("early")
	if logs.Len() != 3*heldBackFirst+1 {
		t.Errorf("%d lines are written", logs.Len())
	}
	_ = logs.TakeAll()
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range logs.TakeAll() {
		got = append(got, fmt.Sprintf("%s %s %d %d", e.Message, e.Level, e.Time.Unix(), e.ContextMap()["lines_held_back"]))
	}
	if want := []string{"early warn 1060 2", "middle warn 1065 3", "late warn 1069 1"}; !slices.Equal(got, want) {
		t.Errorf("told are %q, want %q", got, want)
	}
	// The next window begins a minute after the first line of the one before, and no earlier.
	for _, x := range []struct {
		at      int64
		nanos   int64
		written int
	}{{1059, 999_999_999, 0}, {1060, 0, heldBackFirst}, {1059, 0, heldBackFirst}, {1060, 0, 0}} {
		c.now = time.Unix(x.at, x.nanos)
		for range heldBackFirst {
			log.Warn("early")
		}
		if n := len(logs.TakeAll()); n != x.written {
			t.Errorf("at %d.%09d: %d lines are written, want %d", x.at, x.nanos, n, x.written)
		}
	}
}
