package stream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// generations works through the memberships of the group, then drains the last one.
func (s *Stage) generations(ctx context.Context, fail context.CancelCauseFunc, group *txn.Group) error {
	var tasks sync.WaitGroup
	released := make(chan struct{})
	for ctx.Err() == nil {
		gen, err := group.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				fail(s.mixed(fmt.Errorf("joining the group %s: %w", s.o.Name, err)))
			}
			break
		}
		s.start(ctx, fail, gen, &tasks, released)
	}
	s.stop.Store(true)
	fail(nil)
	began := time.Now()
	left := s.drain(&tasks, began)
	close(released)
	closed := make(chan error, 1)
	go func() { closed <- group.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			s.o.Log.Info("leaving the group", zap.Error(err)) // its session ends by itself
		}
	case <-time.After(s.o.Grace*15/16 - time.Since(began)): // the rest is the process's own end
		left = append(left, "leaving the group took longer than the grace period")
	}
	if len(left) == 0 {
		return nil
	}
	return &StopError{left}
}

// start starts the tasks of a generation.
func (s *Stage) start(
	ctx context.Context, fail context.CancelCauseFunc, gen *txn.Generation, running *sync.WaitGroup,
	released <-chan struct{},
) {
	s.agree(gen.Format)
	s.mu.Lock()
	left := s.kept
	s.kept = nil
	s.mu.Unlock()
	var tasks []*task
	for _, p := range gen.Partitions {
		t := newTask(s, gen, p)
		// Only before the very next generation no other member can have owned the partition in between.
		if k := left[p]; k != nil && k.generation+1 == gen.ID {
			t.kept = k
		}
		tasks = append(tasks, t)
	}
	readers := int64(len(tasks))
	if s.o.Topics.Labels != "" {
		readers *= 2
	}
	// A quarter of each reader's share at a time: one answer is worked on, one is fetched, one is being committed.
	s.share.Store(min(max(s.o.InFlight/(4*max(readers, 1)), 64<<10), 4<<20))
	s.mu.Lock()
	for _, t := range s.tasks {
		if !slices.Contains(gen.Partitions, t.id) {
			forget(s.o.Metrics, strconv.Itoa(t.id))
		}
	}
	s.tasks, s.generation, s.waiting, s.joining = tasks, gen.ID, "", time.Time{}
	s.mu.Unlock()
	s.o.Log.Info("generation", zap.Int("generation", gen.ID), zap.Ints("partitions", gen.Partitions),
		zap.Int("format", gen.Format))
	launch := func(f func(ctx context.Context) error) {
		running.Add(1)
		gen.Start(func(alive context.Context) {
			own, cancel := context.WithCancel(alive)
			defer context.AfterFunc(ctx, func() {
				s.stop.Store(true) // before the task sees the end: it writes a last snapshot only when the stage stops
				cancel()
			})()
			defer cancel()
			if err := state.Contain(func() error { return f(own) }); err != nil {
				s.mu.Lock()
				s.failed = cmp.Or(s.failed, err)
				s.mu.Unlock()
				fail(err)
			}
			running.Done()
			if s.stopping() || ctx.Err() != nil {
				// A goroutine that returns ends the generation, and with it the right of the others to commit.
				select {
				case <-released:
				case <-alive.Done():
				}
			}
		})
	}
	for _, t := range tasks {
		launch(t.run)
	}
	if slices.Contains(gen.Partitions, 0) {
		launch(s.train)
	}
	if len(gen.Partitions) == 0 {
		launch(func(ctx context.Context) error { <-ctx.Done(); return nil })
	}
}

// drain waits for the tasks: half of the grace period in peace, then without snapshots, then it cuts off the
// transactions that are under way. It returns within seven eighths, so that the rest is left for leaving the group.
func (s *Stage) drain(tasks *sync.WaitGroup, began time.Time) (left []string) {
	all := make(chan struct{})
	go func() { tasks.Wait(); close(all) }()
	wait := func(until time.Duration) bool {
		select {
		case <-all:
			return true
		case <-time.After(until - time.Since(began)):
			return false
		}
	}
	ended := wait(s.o.Grace / 2)
	if !ended {
		s.hurry.Store(true)
		ended = wait(s.o.Grace * 3 / 4)
	}
	if !ended {
		s.cut()
		ended = wait(s.o.Grace * 7 / 8)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left = slices.Sorted(slices.Values(s.unflushed))
	if ended {
		return left
	}
	left = append(left, "the grace period is over")
	for _, t := range s.tasks {
		p := t.board.read()
		if p.Phase != Ended {
			left = append(left, fmt.Sprintf("partition %d was not flushed beyond offset %d: %s", p.Partition, p.Offset,
				p.Doing))
		}
	}
	return left
}
