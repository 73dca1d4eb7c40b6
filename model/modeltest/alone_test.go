package modeltest

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// watched keeps the verdict of Alone from the test that holds it.
type watched struct {
	testing.TB
	cleanup []func()
	says    string
}

func (w *watched) Cleanup(f func()) { w.cleanup = append(w.cleanup, f) }
func (w *watched) Errorf(format string, _ ...any) {
	w.says += format
}

// TestAloneNoticesGoroutines holds Alone itself: a test that starts none passes, one goroutine is noticed, also one
// that has ended, and a fit has no second processor.
func TestAloneNoticesGoroutines(t *testing.T) {
	if raced && testing.Short() {
		t.Skip("SKIPPED under the race detector, where Alone skips")
	}
	for name, c := range map[string]struct {
		do   func()
		want bool
	}{
		"nothing": {func() {}, false},
		"memory":  {func() { _ = make([]byte, 32<<20); runtime.GC() }, false},
		"one goroutine": {func() {
			var w sync.WaitGroup
			w.Go(func() {})
			w.Wait()
		}, true},
	} {
		w := &watched{TB: t}
		was := runtime.GOMAXPROCS(0)
		Alone(w)
		if n := runtime.GOMAXPROCS(0); n != 1 {
			t.Errorf("%s: %d processors", name, n)
		}
		c.do()
		for _, f := range w.cleanup {
			f()
		}
		if got := strings.Contains(w.says, "has started"); got != c.want || runtime.GOMAXPROCS(0) != was {
			t.Errorf("%s: noticed %v, want %v; %d processors, were %d", name, got, c.want, runtime.GOMAXPROCS(0), was)
		}
	}
}
