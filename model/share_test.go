package model

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// TestASharedFitKeepsToItsWorkers: tasks that share their own work never run in more goroutines than all of the fit may
// have, each is done once, and several run at a time where that is allowed.
func TestASharedFitKeepsToItsWorkers(t *testing.T) {
	for _, most := range []int{1, 2, 3, 8} {
		w := newWorkers(most)
		ev := &Evidence{workers: w}
		var running, peak, done atomic.Int64
		leaf := func(context.Context) func(int) error {
			return func(int) error {
				n := running.Add(1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				for k := 0; k < 100 && n < int64(most); k++ { // let others begin
					runtime.Gosched()
				}
				done.Add(1)
				running.Add(-1)
				return nil
			}
		}
		err := share(t.Context(), w, 5, true, func(ctx context.Context) func(int) error {
			return func(int) error { return ev.Share(ctx, 200, leaf) }
		})
		if err != nil || done.Load() != 1000 {
			t.Errorf("%d workers: %v, %d tasks done", most, err, done.Load())
		}
		if got := peak.Load(); got > int64(most) || most > 1 && got < 2 {
			t.Errorf("%d workers: %d tasks at a time", most, got)
		}
	}
}

// TestASharedFitEndsEarly: an error or the end of the context ends the other tasks. A panic of any goroutine comes to
// the caller, who contains it.
func TestASharedFitEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	for _, most := range []int{1, 4} {
		ev := &Evidence{workers: newWorkers(most)}
		var begun atomic.Int64
		fails := func(at int, how func() error) func(context.Context) func(int) error {
			return func(ctx context.Context) func(int) error {
				return func(i int) error {
					begun.Add(1)
					if i == at {
						return how()
					}
					if i > at { // as a long task does
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}
			}
		}
		err := ev.Share(t.Context(), 1000, fails(2, func() error { return broken }))
		if !errors.Is(err, broken) || begun.Load() > int64(2+most) {
			t.Errorf("%d workers: %v after %d tasks", most, err, begun.Load())
		}
		ctx, stop := context.WithCancel(t.Context())
		err = ev.Share(ctx, 1000, fails(2, func() error { stop(); return nil }))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: %v where the context ends", most, err)
		}
		for _, at := range []int{0, 2} {
			said := func() (said string) {
				defer func() { said = fmt.Sprint(recover()) }()
				return fmt.Sprint(ev.Share(t.Context(), 1000, fails(at, func() error { panic("damaged") })))
			}()
			if !strings.Contains(said, "damaged") || !strings.Contains(said, "share_test.go") {
				t.Errorf("%d workers: a panic of task %d becomes %.100q", most, at, said)
			}
		}
		if got := ev.workers.idle.Load(); got != int64(most-1) {
			t.Errorf("%d workers: %d idle ones are left", most, got)
		}
		if err := ev.Share(t.Context(), 0, nil); err != nil {
			t.Errorf("no task: %v", err)
		}
	}
}
