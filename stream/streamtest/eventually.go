// Package streamtest is the kit of the tests around a running stage: brokers and their topics, messages to send, and
// waiting.
//
// Begin at NewWorld and Eventually.
package streamtest

import (
	"testing"
	"time"
)

// Patience is the least time of a wait that only a broken program keeps from its end: a busy machine takes long.
const Patience = 2 * time.Minute

// Eventually waits until ok, at most for the given time or Patience, then fails the test with the problem and the shown
// values.
func Eventually(t testing.TB, within time.Duration, problem string, ok func() bool, shown ...func() any) {
	t.Helper()
	within = max(within, Patience)
	for deadline := time.Now().Add(within); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().Before(deadline) {
			continue
		}
		for _, show := range shown {
			t.Logf("%+v", show())
		}
		t.Fatalf("after %v: %s", within, problem)
	}
}
