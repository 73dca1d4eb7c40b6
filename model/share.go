package model

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// workers bounds the goroutines of a fit, of all its components together. The result of a fit does not depend on it.
type workers struct{ idle atomic.Int64 }

// newWorkers returns the workers of a fit of at most n goroutines, the caller's among them; 0 = as many as processors.
func newWorkers(n int) *workers {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	w := &workers{}
	w.idle.Store(int64(n) - 1)
	return w
}

// take reports whether another goroutine may begin.
func (w *workers) take() bool {
	for {
		n := w.idle.Load()
		if n <= 0 {
			return false
		}
		if w.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (w *workers) give() { w.idle.Add(1) }

// Share does tasks 0 to n-1, in this order as far as they begin one after the other. The caller's goroutine does them,
// and others do as long as the fit has fewer than Options.Workers; so components that share their work at the same time
// take no more processors than one. begin is called once in each of these goroutines: its result does a task, and may
// keep working memory. After the first error no task begins, ctx of the others ends, and Share returns that error once
// they have returned. A panic of a task becomes one of the caller.
func (e *Evidence) Share(ctx context.Context, n int, begin func(ctx context.Context) func(i int) error) error {
	w := e.workers
	if w == nil {
		w = newWorkers(0)
	}
	return share(ctx, w, n, false, begin)
}

// share is Share. outermost says that the caller's goroutine is part of no other share of w: while it waits for the
// others, they may use its place.
func share(ctx context.Context, w *workers, n int, outermost bool,
	begin func(ctx context.Context) func(i int) error) error {
	outer := ctx
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var next atomic.Int64
	var others sync.WaitGroup
	var work func()
	attempt := func() {
		defer func() {
			if r := recover(); r != nil {
				end(&paniced{r, debug.Stack()})
			}
		}()
		work()
	}
	work = func() {
		var do func(i int) error
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if i+1 < n && w.take() {
				others.Go(func() {
					defer w.give()
					attempt()
				})
			}
			if do == nil {
				do = begin(ctx)
			}
			if err := do(i); err != nil {
				end(err)
				return
			}
		}
	}
	attempt()
	if outermost {
		w.give()
	}
	others.Wait()
	failure := context.Cause(ctx)
	if p, ok := failure.(*paniced); ok {
		panic(p)
	}
	return cmp.Or(outer.Err(), failure)
}

// paniced is the panic of a task, with the stack of its goroutine.
type paniced struct {
	value any
	stack []byte
}

func (p *paniced) Error() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }
