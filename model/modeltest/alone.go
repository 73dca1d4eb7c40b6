package modeltest

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
)

// Alone marks a long test that starts no goroutine: a race takes two, so the race detector has nothing to find in it.
// Under the race detector with -short, as CI runs it, the test is skipped. In every other run it has one processor, so
// that a fit in it shares its work with nobody, and it fails where it has started a goroutine: then it belongs under
// the race detector, and the call of Alone is to go. run runs a subtest, whose own goroutine does not count.
func Alone(t testing.TB) (run func(name string, f func(t *testing.T)) bool) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("SKIPPED under the race detector: it starts no goroutine")
	}
	warm()
	processors := runtime.GOMAXPROCS(1)
	before, subtests := goroutinesCreated(), uint64(0)
	t.Cleanup(func() {
		n := goroutinesCreated() - before
		runtime.GOMAXPROCS(processors)
		if n > subtests {
			t.Errorf("the test has started %d goroutines: without modeltest.Alone the race detector looks at it", n-subtests)
		}
	})
	return func(name string, f func(t *testing.T)) bool {
		subtests++
		return t.(*testing.T).Run(name, f)
	}
}

// Computes marks a long test whose only goroutines are those of fits (model.Evidence.Share) and of gonum, each of which
// waits for its own. Under the race detector with -short it is skipped: there the conformance suite fits every
// component, and package model tests Share. .ci/raced.py refuses the mark in a test that starts anything else.
func Computes(t testing.TB) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("SKIPPED under the race detector: it computes, and nothing runs beside it")
	}
}

// warm has the runtime start the goroutines of its own, for finalizers, cleanups and the collection of garbage.
var warm = sync.OnceFunc(func() {
	finalized, cleaned := make(chan struct{}), make(chan struct{})
	func() {
		x, y := new([64]byte), new([64]byte)
		runtime.SetFinalizer(x, func(*[64]byte) { close(finalized) })
		runtime.AddCleanup(y, func(c chan struct{}) { close(c) }, cleaned)
	}()
	for _, c := range []chan struct{}{finalized, cleaned} {
		for done := false; !done; {
			runtime.GC()
			select {
			case <-c:
				done = true
			default:
				runtime.Gosched()
			}
		}
	}
})

// goroutinesCreated counts the goroutines of the process from its start.
func goroutinesCreated() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
