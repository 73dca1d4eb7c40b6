package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/txn"
)

// bounds returns the first offset that a partition still holds and the one after its last stable record.
func bounds(ctx context.Context, c *txn.Client, topic string, partition int) (start, end int64, err error) {
	lo, err := c.ListOffsets(ctx, topic, []int{partition}, txn.Start)
	if err != nil {
		return 0, 0, err
	}
	hi, err := c.ListOffsets(ctx, topic, []int{partition}, txn.End)
	if err != nil {
		return 0, 0, err
	}
	return lo[partition], hi[partition], nil
}

// follow reads a partition of the state topic to its end.
func (l *stateLog) follow(ctx context.Context, c *txn.Client, topic string, partition int) error {
	start, end, err := bounds(ctx, c, topic, partition)
	if err != nil {
		return fmt.Errorf("reading the state topic: %w", err)
	}
	l.next = max(l.next, start)
	for l.next < end {
		f, err := c.Fetch(ctx, topic, partition, l.next, 8<<20, 500*time.Millisecond)
		if err != nil {
			return fmt.Errorf("reading the state topic: %w", err)
		}
		for i := range f.Records {
			l.apply(f.Records[i].Key, f.Records[i].Value)
		}
		l.next = f.Next
	}
	return nil
}

// restore brings the partition to the group's committed offsets: the newest readable snapshot, then a replay by the
// journal, learning only. It must follow NewProducer.
func (t *task) restore(ctx context.Context) error {
	o := &t.s.o
	t.part, t.snap, t.refused = nil, newSnapshotter(), 0
	target, first, err := t.target(ctx)
	if err != nil {
		return err
	}
	log := newStateLog()
	if err := log.follow(ctx, o.Client, o.Topics.State, t.id); err != nil {
		return err
	}
	found, problems := log.manifests()
	for _, p := range problems {
		t.log.Error("snapshot refused", zap.Error(p))
	}
	how := "empty"
	for i, m := range found {
		if m.fingerprint != o.Spec.Options.Fingerprint {
			if o.SchemaChanged == Fail {
				return &PolicyError{"schema_changed", t.id, "the state was made under another configuration"}
			}
			t.log.Warn("rebuilding: the state was made under another configuration")
			how = "schema_changed"
			break
		}
		if m.events > max(target.events, 0) {
			if o.TopicRecreated == Fail {
				return &PolicyError{"topic_recreated", t.id, fmt.Sprintf("the group's offset (%d, -1 = none) lies before that of the state, %d: topics were made anew, offsets reset or expired", target.events, m.events)}
			}
			how = "topic_recreated"
			break
		}
		if first.events > m.events && target.events > m.events {
			if o.InputLost == Fail {
				return &PolicyError{"input_lost", t.id, fmt.Sprintf("events %d to %d, which the state needs, are no longer in the topic", m.events, first.events)}
			}
			how = "input_lost"
			break
		}
		sections, err := log.sections(m)
		if err == nil {
			t.part, err = model.RestorePartition(o.Spec, sections)
		}
		if err != nil {
			t.part = nil
			t.log.Error("snapshot refused", zap.Uint64("snapshot", m.number), zap.Error(err))
			continue
		}
		how, t.at, t.journal = "snapshot", m.position, m.journal
		t.snap.last = m
		if i == 0 && len(found) > 1 {
			t.snap.before = found[1]
		}
		break
	}
	if t.part == nil {
		t.startEmpty(log, found, first)
		how = t.rebuilt(how, target)
	} else if err := t.replay(ctx, log, target); err != nil {
		return err
	}
	if target.events >= 0 {
		if err := t.replayEvents(ctx, target.events); err != nil {
			return err
		}
	}
	o.Metrics.Restores.WithLabelValues(how).Inc()
	t.done = t.at
	if target.events < 0 {
		t.done.events = -1 // nothing is committed yet, not even where reading begins
	}
	t.report()
	t.log.Info("partition taken over", zap.String("from", how), zap.Int64("offset", t.at.events), zap.Int64("model", t.at.model), zap.Float64("labelled", t.part.Labelled()))
	return nil
}

func (t *task) rebuilt(how string, target position) string {
	if how == "empty" && target.events > 0 {
		return "replay"
	}
	return how
}

// startEmpty begins with an empty state at the first offsets that are there. Numbers go on from what the state topic
// holds, so that nothing old can be taken for new.
func (t *task) startEmpty(log *stateLog, found []*manifest, first position) {
	t.part = model.NewPartition(t.s.o.Spec, int32(t.id))
	t.at = first
	if len(found) == 0 {
		return
	}
	t.snap.last = found[0]
	if len(found) > 1 {
		t.snap.before = found[1]
	}
	t.journal = found[0].journal
	if entries, err := log.journal(t.journal); err == nil {
		t.journal += uint64(len(entries))
	}
}

// target asks for the committed offsets (-1 = none) and the first offsets that the topics hold, and applies the
// policies where the two do not fit.
func (t *task) target(ctx context.Context) (target, first position, err error) {
	o := &t.s.o
	ask := func(topic string) (committed, start int64, err error) {
		if committed, err = o.Client.CommittedOffset(ctx, o.Name, topic, t.id); err != nil {
			return 0, 0, err
		}
		start, end, err := bounds(ctx, o.Client, topic, t.id)
		if err != nil {
			return 0, 0, err
		}
		if committed > end {
			// A read-committed reader's own position can lie past the last stable record only by markers.
			high, err := o.Client.ListOffsets(ctx, topic, []int{t.id}, txn.HighWatermark)
			if err != nil {
				return 0, 0, err
			}
			if committed > high[t.id] {
				if o.TopicRecreated == Fail {
					return 0, 0, &PolicyError{"topic_recreated", t.id, fmt.Sprintf("the group's offset %d lies beyond the end of %s, %d: the topic was made anew", committed, topic, high[t.id])}
				}
				committed = -1
			}
		}
		if committed >= 0 && committed < start {
			if o.InputLost == Fail {
				return 0, 0, &PolicyError{"input_lost", t.id, fmt.Sprintf("records %d to %d of %s were deleted before they were read", committed, start, topic)}
			}
			committed = start
		}
		return committed, start, nil
	}
	if target.events, first.events, err = ask(o.Topics.Events); err != nil || o.Topics.Labels == "" {
		return target, first, err
	}
	target.labels, first.labels, err = ask(o.Topics.Labels)
	return target, first, err
}

// replay repeats what the journal records since the snapshot.
func (t *task) replay(ctx context.Context, log *stateLog, target position) error {
	entries, err := log.journal(t.journal)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := t.replayEvents(ctx, e.events); err != nil {
			return err
		}
		if err := t.replayLabels(ctx, e.labels); err != nil {
			return err
		}
		if e.model != t.at.model {
			m, err := t.s.models.get(e.model)
			if err == nil {
				err = t.part.Swap(m)
			}
			if err != nil {
				return fmt.Errorf("replaying journal record %d: %w", e.number, err)
			}
			t.at.model = e.model
		}
		t.journal = e.number + 1
	}
	if t.s.o.Topics.Labels != "" && target.labels >= 0 && target.labels != t.at.labels {
		return fmt.Errorf("replaying the journal: labels end at offset %d, committed is %d", t.at.labels, target.labels)
	}
	return nil
}

// replayEvents learns the events below the offset to, without publishing anything.
func (t *task) replayEvents(ctx context.Context, to int64) error {
	err := t.refetch(ctx, t.s.o.Topics.Events, &t.at.events, to, func(r *txn.Record) {
		if t.decode(nil, r) {
			t.part.Events(&t.batch, &t.scores)
		}
	})
	if err != nil {
		return fmt.Errorf("replaying events: %w", err)
	}
	return nil
}

func (t *task) replayLabels(ctx context.Context, to int64) error {
	if err := t.refetch(ctx, t.s.o.Topics.Labels, &t.at.labels, to, func(r *txn.Record) { t.takeLabels(nil, r) }); err != nil {
		return fmt.Errorf("replaying labels: %w", err)
	}
	return nil
}

func (t *task) refetch(ctx context.Context, topic string, at *int64, to int64, each func(*txn.Record)) error {
	for *at < to {
		t.phase("restoring: offset " + strconv.FormatInt(*at, 10) + " of " + strconv.FormatInt(to, 10) + " of " + topic)
		f, err := t.s.o.Client.Fetch(ctx, topic, t.id, *at, 4<<20, 500*time.Millisecond)
		if err != nil {
			return err
		}
		for i := range f.Records {
			if f.Records[i].Offset < to {
				each(&f.Records[i])
			}
		}
		if f.Next == *at && ctx.Err() != nil {
			return errors.Join(ctx.Err())
		}
		*at = min(f.Next, to)
	}
	return nil
}
