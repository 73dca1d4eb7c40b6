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

// restore brings the partition to the group's committed offsets: the state that this member's own task of the generation
// before left, else the newest readable snapshot, then a replay by the journal, learning only. It must follow NewProducer.
func (t *task) restore(ctx context.Context) error {
	o := &t.s.o
	t.part, t.snap, t.refused, t.at, t.journal, t.rebuilt = nil, newSnapshotter(), 0, position{}, 0, false
	t.carried = false
	t.deadEvents, t.deadLabels = deadWindow{}, deadWindow{}
	left := t.kept
	t.kept = nil // whatever happens from here on, it is used at most once
	target, first, err := t.target(ctx)
	if err != nil {
		return err
	}
	if left != nil && left.at.events == target.events && (o.Topics.Labels == "" || left.at.labels == target.labels) {
		t.part, t.snap, t.at, t.journal, t.refused, t.rebuilt = left.part, left.snap, left.at, left.journal, left.refused, left.rebuilt
		t.deadEvents, t.deadLabels = left.deadEvents, left.deadLabels
		t.restored("kept", target)
		return nil
	}
	log, err := t.readState(ctx)
	if err != nil {
		return err
	}
	// The journal may name versions that the follower of the model topic has not read yet.
	if err := t.s.models.reach(ctx); err != nil {
		return err
	}
	found, problems := log.manifests()
	for _, p := range problems {
		t.log.Error("snapshot refused", zap.Error(p))
	}
	how := "empty"
	if len(found)+len(problems) > 0 {
		how = "damaged"
	} else if log.journalEnd() > 0 && target.events < 0 {
		problem := "the group has no offset, but there is a journal of what it committed: offsets were deleted or expired"
		if o.TopicRecreated == Fail {
			return t.stop("topic_recreated", problem)
		}
		t.log.Warn("rebuilding the state", zap.String("policy", "topic_recreated"), zap.String("problem", problem))
		how = "topic_recreated"
	}
	var entries []journalEntry
	for i, m := range found {
		if policy, problem, reaction := t.fits(m, target, first); policy != "" {
			if reaction == Fail {
				return t.stop(policy, problem)
			}
			t.log.Warn("rebuilding the state", zap.String("policy", policy), zap.String("problem", problem))
			how = policy
			break
		}
		if m.fingerprint != o.Spec.Options.Fingerprint {
			if err := t.carryOver(ctx, log, m, target); sick(err) {
				return err
			} else if err != nil {
				t.log.Warn("rebuilding the state", zap.String("policy", "schema_changed"), zap.String("problem", "the state was made under another configuration"), zap.Error(err))
				how = "schema_changed"
				break
			}
			how, t.carried, t.rebuilt, t.snap.last = "carried", true, true, m
			if i == 0 && len(found) > 1 {
				t.snap.before = found[1]
			}
			o.Metrics.Policies.WithLabelValues("schema_changed", "carried").Inc()
			break
		}
		if i > 0 && found[0].fingerprint != m.fingerprint {
			break // between the two the schema changed: the journal goes through both
		}
		part, after, err := t.open(log, m, target)
		if err != nil {
			t.log.Error("snapshot refused", zap.Uint64("snapshot", m.number), zap.Error(err))
			continue
		}
		how, t.part, t.at, t.journal, entries = "snapshot", part, m.position, m.journal, after
		t.snap.last = m
		if i == 0 && len(found) > 1 {
			t.snap.before = found[1]
		}
		break
	}
	switch {
	case t.part != nil:
	case how == "empty" && target.events >= 0 && log.journalEnd() > 0:
		// It ended before the first snapshot was complete: the journal tells everything since the beginning.
		if entries, err = log.journal(0); err == nil {
			err = fitting(entries, first, target)
		}
		if err == nil {
			how, t.part, t.at = "replay", model.NewPartition(o.Spec, int32(t.id)), first
			break
		}
		t.log.Error("journal refused", zap.Error(err))
		how = "damaged"
		fallthrough
	default:
		if how == "damaged" && first.events > 0 {
			// What was learnt before the first event that is left cannot be had again.
			problem := fmt.Sprintf("no snapshot of the state can be read, and events before offset %d are no longer in the topic", first.events)
			if o.InputLost == Fail {
				return t.stop("input_lost", problem)
			}
			t.log.Warn("rebuilding the state", zap.String("policy", "input_lost"), zap.String("problem", problem))
		}
		if how != "empty" {
			o.Metrics.Policies.WithLabelValues(how, "rebuild").Inc()
		} else if target.events > 0 {
			how = "replay"
		}
		if how == "damaged" {
			// Not even their numbers are to be believed: they go, and counting begins anew.
			for _, key := range []string{"manifest/0", "manifest/1"} {
				if log.values[key] != nil {
					t.snap.garbage = append(t.snap.garbage, change{key, nil})
				}
			}
			found = nil
		}
		t.startEmpty(log, found, first)
		t.rebuilt = t.rebuilt || how == "damaged"
	}
	if err := t.replay(ctx, entries); err != nil {
		return err
	}
	if how == "snapshot" && o.Topics.Labels != "" && target.labels >= 0 && target.labels != t.at.labels {
		return fmt.Errorf("replaying the journal: labels end at offset %d, committed is %d", t.at.labels, target.labels)
	}
	if target.events >= 0 {
		if err := t.replayEvents(ctx, target.events); err != nil {
			return err
		}
	}
	if o.DeadShare > 0 {
		if err := t.lookBack(ctx, &t.deadEvents, o.Topics.Events, first.events, t.at.events); err != nil {
			return err
		}
		if o.Topics.Labels != "" {
			if err := t.lookBack(ctx, &t.deadLabels, o.Topics.Labels, first.labels, t.at.labels); err != nil {
				return err
			}
		}
	}
	for _, key := range log.orphans(t.snap.last, t.snap.before) {
		t.snap.garbage = append(t.snap.garbage, change{key, nil})
	}
	t.restored(how, target)
	return nil
}

func (t *task) restored(how string, target position) {
	t.s.o.Metrics.Restores.WithLabelValues(how).Inc()
	t.done = t.at
	if target.events < 0 {
		t.done.events = -1 // nothing is committed yet, not even where reading begins
	}
	t.report()
	t.log.Info("partition taken over", zap.String("from", how), zap.Int64("offset", t.at.events), zap.Int64("model", t.at.model), zap.Float64("labelled", t.part.Labelled()))
}

// stop counts a policy that ends the stage and returns its error.
func (t *task) stop(policy, problem string) error {
	t.s.o.Metrics.Policies.WithLabelValues(policy, "fail").Inc()
	e := &PolicyError{Policy: policy, Partition: t.id, Problem: problem}
	if policy == "schema_changed" {
		e.Remedy = "policy.schema_changed is fail: set it to rebuild to keep what mentions no feature that has changed, and to begin the rest anew"
	}
	return e
}

// readState reads the partition of the state topic. All that was ever written under the task's transactional id is
// decided since NewProducer, so a transaction that is still open is somebody else's, and what lies behind it unknown.
func (t *task) readState(ctx context.Context) (*stateLog, error) {
	o := &t.s.o
	log := newStateLog()
	log.limit = stateBound(o.Spec)
	if err := log.follow(ctx, o.Client, o.Topics.State, t.id); err != nil {
		return nil, err
	}
	high, err := o.Client.ListOffsets(ctx, o.Topics.State, []int{t.id}, txn.HighWatermark)
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	if high[t.id] > log.next {
		return nil, &txn.Error{Op: "reading the state topic", Topic: o.Topics.State, Partition: t.id, Kind: txn.Environment, Reason: "its outcome decides what the state is",
			Err: errors.New("somebody else's transaction is open there")}
	}
	if log.foreign > 0 {
		t.log.Error("records that no stage writes lie in the state topic", zap.Int("records", log.foreign))
	}
	return log, nil
}

// stateBound is more than the state of a partition of this specification can hold.
func stateBound(s *model.Spec) int64 {
	o := &s.Options
	sample := o.TailBytes + o.ReservoirBytes + o.WaitBytes
	return min(2*max(sample, 0)+512<<20, 8<<30)
}

// fits compares a snapshot with the configuration and with the offsets. policy is "" when they fit, else the policy that
// decides, with what is wrong and what is configured.
func (t *task) fits(m *manifest, target, first position) (policy, problem string, reaction Rebuild) {
	o := &t.s.o
	switch {
	case m.fingerprint != o.Spec.Options.Fingerprint && (o.SchemaChanged == Fail || o.Under == nil):
		return "schema_changed", "the state was made under another configuration", o.SchemaChanged
	case m.events > target.events: // a snapshot never exists without a committed offset
		return "topic_recreated", fmt.Sprintf("the group's offset (%d, -1 = none) lies before that of the state, %d: topics were made anew, offsets reset or expired", target.events, m.events), o.TopicRecreated
	case o.Topics.Labels != "" && m.labels > max(target.labels, 0):
		return "topic_recreated", fmt.Sprintf("the group's offset of labels (%d, -1 = none) lies before that of the state, %d: topics were made anew, offsets reset or expired", target.labels, m.labels), o.TopicRecreated
	case first.events > m.events && target.events > m.events:
		return "input_lost", fmt.Sprintf("events %d to %d, which the state needs, are no longer in the topic", m.events, first.events), o.InputLost
	case o.Topics.Labels != "" && first.labels > m.labels && target.labels > m.labels:
		return "input_lost", fmt.Sprintf("labels %d to %d, which the state needs, are no longer in the topic", m.labels, first.labels), o.InputLost
	}
	return "", "", Fail
}

// open rebuilds the partition of a snapshot and finds the journal records after it.
func (t *task) open(log *stateLog, m *manifest, target position) (part *model.Partition, after []journalEntry, err error) {
	if m.number >= maxNumber || m.journal >= maxNumber {
		return nil, nil, errors.New("its numbers are not those of a stage")
	}
	sections, err := log.sections(m)
	if err != nil {
		return nil, nil, err
	}
	err = contained(func() error {
		part, err = model.RestorePartition(t.spec, sections)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if part.Index() != int32(t.id) || part.ModelVersion() != m.model || part.NextOffset() > m.events {
		return nil, nil, fmt.Errorf("it holds partition %d, model %d, up to event %d; its manifest says partition %d, model %d, event %d",
			part.Index(), part.ModelVersion(), part.NextOffset(), t.id, m.model, m.events)
	}
	if after, err = log.journal(m.journal); err != nil {
		return nil, nil, err
	}
	return part, after, fitting(after, m.position, target)
}

// fitting checks that journal records go forward, from what a replay begins with to what is committed.
func fitting(entries []journalEntry, from, target position) error {
	for _, e := range entries {
		if e.events < from.events || e.labels < from.labels || e.events > target.events || e.labels > max(target.labels, 0) {
			return fmt.Errorf("journal record %d is at event %d and label %d, between %d and %d, %d and %d", e.number, e.events, e.labels, from.events, target.events, from.labels, target.labels)
		}
		from = e.position
	}
	return nil
}

// startEmpty begins with an empty state at the first offsets that are there. Numbers go on from what the state topic
// holds, so that nothing old can be taken for new.
func (t *task) startEmpty(log *stateLog, found []*manifest, first position) {
	t.part = model.NewPartition(t.s.o.Spec, int32(t.id))
	t.at, t.journal = first, log.journalEnd()
	for _, m := range found {
		t.journal = max(t.journal, min(m.journal, maxNumber))
	}
	if len(found) > 0 && found[0].number < maxNumber {
		t.snap.last = found[0]
		if len(found) > 1 {
			t.snap.before = found[1]
		}
	}
	t.rebuilt = len(found) > 0
}

// target asks for the committed offsets (-1 = none) and the first offsets that the topics hold, and applies the
// policies where the two do not fit.
func (t *task) target(ctx context.Context) (target, first position, err error) {
	o := &t.s.o
	ask := func(topic string) (committed, start int64, err error) {
		if committed, err = o.Client.CommittedOffset(ctx, o.Name, topic, t.id); err != nil {
			return 0, 0, fmt.Errorf("asking for the offset of the group %s: %w", o.Name, err)
		}
		start, end, err := bounds(ctx, o.Client, topic, t.id)
		if err != nil {
			return 0, 0, err
		}
		if topic == o.Topics.Events {
			t.end = end
		}
		if committed > end {
			// A read-committed reader's own position can lie past the last stable record only by markers.
			high, err := o.Client.ListOffsets(ctx, topic, []int{t.id}, txn.HighWatermark)
			if err != nil {
				return 0, 0, err
			}
			if committed > high[t.id] {
				if o.TopicRecreated == Fail {
					return 0, 0, t.stop("topic_recreated", fmt.Sprintf("the group's offset %d lies beyond the end of %s, %d: the topic was made anew", committed, topic, high[t.id]))
				}
				o.Metrics.Policies.WithLabelValues("topic_recreated", "rebuild").Inc()
				committed = -1
			}
		}
		if committed >= 0 && committed < start {
			if o.InputLost == Fail {
				return 0, 0, t.stop("input_lost", fmt.Sprintf("records %d to %d of %s were deleted before they were read", committed, start, topic))
			}
			o.Metrics.Policies.WithLabelValues("input_lost", "rebuild").Inc()
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
func (t *task) replay(ctx context.Context, entries []journalEntry) error {
	for _, e := range entries {
		if err := t.replayEvents(ctx, e.events); err != nil {
			return err
		}
		if err := t.replayLabels(ctx, e.labels); err != nil {
			return err
		}
		if e.model != t.at.model {
			if err := t.swap(e.model); err != nil {
				return fmt.Errorf("replaying journal record %d: %w", e.number, err)
			}
			t.at.model = e.model
		}
		t.journal = e.number + 1
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
		if ctx.Err() != nil {
			return ctx.Err()
		}
		*at = min(f.Next, to)
	}
	return nil
}
