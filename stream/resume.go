package stream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.uber.org/zap"

	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// resumePoll is the time between two looks of a paused partition at the offsets that Resume writes.
const resumePoll = time.Second

// ResumeGroup is the consumer group whose offsets say which messages an operator has accepted: the breaker counts no
// message below them. The offsets live in the cluster, so they reach the owner of a partition wherever it runs, and
// hold after a restart and a takeover.
func ResumeGroup(stage string) string { return stage + "-dead-resume" }

// Resume accepts the messages of a partition up to the committed position, or with end to the ends of its topics now:
// the breaker counts none of them any more. A paused task goes on soon after.
func Resume(ctx context.Context, c *txn.Client, stage string, t topics.Names, partition int, end bool) (
	at state.Position, err error,
) {
	fail := func(err error) (state.Position, error) {
		return state.Position{}, fmt.Errorf("resuming partition %d: %w", partition, err)
	}
	log := state.NewLog()
	if err := log.Follow(ctx, c, t.State, partition); err != nil {
		return fail(err)
	}
	done, err := log.Done()
	if err != nil {
		return fail(err)
	}
	offsets := map[string]map[int]int64{}
	for _, x := range []struct {
		topic string
		done  int64
		at    *int64
	}{{t.Events, done.Events, &at.Events}, {t.Labels, done.Labels, &at.Labels}} {
		if x.topic == "" {
			continue
		}
		got, err := c.ConsumerGroup(stage).OffsetsIfAny(ctx, x.topic, []int{partition})
		if err != nil {
			return fail(err)
		}
		*x.at = max(x.done, got[partition].Offset, 0)
		if end {
			_, last, err := c.Bounds(ctx, x.topic, partition)
			if err != nil {
				return fail(err)
			}
			*x.at = max(*x.at, last)
		}
		offsets[x.topic] = map[int]int64{partition: *x.at}
	}
	p, err := c.NewProducer(ctx, ResumeGroup(stage), time.Minute)
	if err != nil {
		return fail(err)
	}
	if err := p.Commit(ctx, txn.Transaction{Group: ResumeGroup(stage), Generation: -1, Offsets: offsets}); err != nil {
		return fail(err)
	}
	return at, nil
}

// accepted returns the position below which an operator has accepted all messages; 0 where none were.
func (t *task) accepted(ctx context.Context) (at state.Position, err error) {
	for topic, offset := range map[string]*int64{t.s.o.Topics.Events: &at.Events, t.s.o.Topics.Labels: &at.Labels} {
		if topic == "" {
			continue
		}
		got, err := t.s.o.Client.ConsumerGroup(ResumeGroup(t.s.o.Name)).OffsetsIfAny(ctx, topic, []int{t.id})
		if err != nil {
			return at, fmt.Errorf("reading the accepted offsets: %w", err)
		}
		*offset = max(got[t.id].Offset, 0)
	}
	return at, nil
}

// acceptedAtStart returns empty windows that begin behind the accepted messages. An offset beyond the end of its topic
// was meant for another topic of that name.
func (t *task) acceptedAtStart(ctx context.Context) (w deadWindows, err error) {
	if t.s.o.DeadShare <= 0 {
		return w, nil
	}
	at, err := t.accepted(ctx)
	if err != nil {
		return w, err
	}
	for _, x := range []struct {
		topic string
		w     *deadWindow
		from  int64
	}{{t.s.o.Topics.Events, &w.events, at.Events}, {t.s.o.Topics.Labels, &w.labels, at.Labels}} {
		if x.from == 0 {
			continue
		}
		high, err := t.s.o.Client.ListOffsets(ctx, x.topic, []int{t.id}, txn.HighWatermark)
		if err != nil {
			return w, fmt.Errorf("reading the accepted offsets: %w", err)
		}
		if x.from > high[t.id] {
			t.log.Warn("the accepted offset lies beyond the end of the topic, and is passed over",
				zap.String("topic", x.topic), zap.Int64("accepted", x.from), zap.Int64("end", high[t.id]))
			continue
		}
		x.w.from = x.from
	}
	return w, nil
}

// pause commits the processed messages and takes no more until an operator accepts them (Resume) or ctx ends. The task
// keeps its partition meanwhile, and finishes its snapshots.
func (p *pipeline) pause(ctx context.Context, problem string) error {
	t := p.t
	if err := p.flush(ctx); err != nil {
		return err
	}
	paused := t.s.o.Metrics.Paused.WithLabelValues(strconv.Itoa(t.id))
	t.s.o.Metrics.Policies.WithLabelValues("dead_share", "pause").Inc()
	paused.Set(1)
	t.board.phase(Paused, problem)
	t.log.Error("paused", zap.String("policy", "dead_share"), zap.String("problem", problem))
	defer paused.Set(0)
	poll := time.NewTimer(0)
	defer poll.Stop()
	tick := time.NewTicker(max(t.s.o.Commit, 20*time.Millisecond))
	defer tick.Stop()
	_, changed := t.s.models.Head()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case q := <-p.asked():
			q.answer(t)
		case <-changed:
			_, changed = t.s.models.Head()
			if err := p.flush(ctx); err != nil {
				return err
			}
		case <-tick.C:
			t.notices.tick(t.s.o.Now(), false)
			if t.snap.Busy() || p.snapshotDue() {
				if err := p.flush(ctx); err != nil {
					return err
				}
			}
		case <-poll.C:
			poll.Reset(resumePoll)
			at, err := t.accepted(ctx)
			if err != nil {
				continue // /readyz is red already
			}
			if w := &t.windows; at.Events > w.events.from || at.Labels > w.labels.from {
				w.events = deadWindow{from: max(at.Events, t.m.At.Events)}
				w.labels = deadWindow{from: max(at.Labels, t.m.At.Labels)}
				t.s.o.Metrics.Policies.WithLabelValues("dead_share", "resumed").Inc()
				t.log.Info("resumed", zap.Int64("accepted_events", w.events.from),
					zap.Int64("accepted_labels", w.labels.from))
				t.windows.publish(t)
				t.board.phase(Running, "")
				return nil
			}
		}
	}
	return nil
}
