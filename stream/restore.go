package stream

import (
	"context"
	"errors"
	"fmt"
	"liftstream/stream/state"
	"strconv"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/txn"
)

// restore brings the partition to what is committed: the state that this member's own task of the generation before
// left, else the newest readable snapshot, then a replay by the journal, learning only. It must follow NewProducer.
func (t *task) restore(ctx context.Context) error {
	o := &t.s.o
	t.owned, t.claimed, t.carried, t.ahead, t.redo = owned{snap: state.NewSnapshotter()}, false, false, nil, redo{scores: nothing, x: &transaction{}}
	left := t.kept
	t.kept = nil // whatever happens from here on, it is used at most once
	torn, err := t.conclude(ctx)
	if err != nil {
		return err
	}
	group, err := t.s.groupOffsets(ctx, t.id)
	if err != nil {
		return err
	}
	if left != nil && !torn && group.agree(left.last) {
		t.owned, t.claimed = left.owned, true
		t.restored("kept")
		return nil
	}
	log, err := t.readState(ctx)
	if err != nil {
		return err
	}
	done, err := log.Done()
	if newer := (*state.FormatError)(nil); errors.As(err, &newer) {
		return t.newer(newer)
	}
	if err != nil {
		t.log.Error("what the last transaction committed cannot be read; the group's offsets are taken", zap.Error(err))
	}
	committed, moved := group.settle(done)
	if moved == "" && group.numbered() && !group.agree(done) {
		t.log.Warn("the group's offsets are not those that the last transaction committed; the transaction's are taken", zap.Int64("committed", committed.Events), zap.Int64("group", group.events.Offset))
	}
	target, first, err := t.within(ctx, committed)
	if err != nil {
		return err
	}
	found, problems := log.Manifests()
	columns := t.columns(log, found)
	passed := int64(0) // labels that somebody else's offset passes over
	if done.Number > 0 && moved == "" && target.Labels > done.Labels {
		passed, target.Labels = target.Labels, done.Labels
	}
	if done.Number > 0 && moved == "" && target.Events == done.Events {
		t.claimed, t.redo.claim = true, !group.numbered()
		t.last = done
		err := t.as(columns, func() (err error) {
			target.Events, err = t.inspect(ctx, done)
			return err
		})
		if err != nil {
			return err
		}
	}
	t.last.Number = max(done.Number, group.number())
	// The journal may name versions that the follower of the model topic has not read yet.
	if err := t.s.models.Reach(ctx); err != nil {
		return err
	}
	for _, p := range problems {
		if newer := (*state.FormatError)(nil); errors.As(p, &newer) {
			return t.newer(newer)
		}
		t.log.Error("snapshot refused", zap.Error(p))
	}
	how := "empty"
	if len(found)+len(problems) > 0 {
		how = "damaged"
	} else if log.JournalEnd() > 0 && target.Events < 0 && moved == "" {
		moved = "the group has no offset, but there is a journal of what it committed: offsets were deleted or expired"
	} else if log.Empty() && group.number() > 1 && target.Events > first.Events && moved == "" {
		moved = fmt.Sprintf("the group's offset is %d, but the state topic holds nothing of what was committed up to there: it was deleted or made anew", target.Events)
	}
	if moved != "" {
		if o.TopicRecreated == Fail {
			return t.stop("topic_recreated", moved)
		}
		t.log.Warn("rebuilding the state", zap.String("policy", "topic_recreated"), zap.String("problem", moved))
		how = "topic_recreated"
	}
	if n := len(found); n > 0 && t.redo.scores < found[n-1].Events && t.redo.scores < t.redo.from.Events {
		// No snapshot lies before what follows the last scores. Mostly that is messages which are no events; if not, more is
		// missing than the death of a broker explains.
		var lost int64
		err := t.as(columns, func() (err error) {
			lost, err = t.firstEvent(ctx, t.redo.scores, t.redo.from.Events)
			return err
		})
		if err != nil {
			return err
		}
		if lost < t.redo.from.Events {
			t.log.Error("scores are missing that cannot be made again", zap.Int64("from", lost), zap.Int64("to", t.redo.from.Events))
		}
		t.redo.scores = t.redo.from.Events
	}
	var entries []state.JournalEntry
	for i, m := range found {
		if moved != "" {
			break
		}
		if m.Events > t.redo.scores { // what is to be scored again must be ahead of it
			how = "empty"
			continue
		}
		if policy, problem, reaction := t.fits(m, target, first); policy != "" {
			if reaction == Fail {
				return t.stop(policy, problem)
			}
			t.log.Warn("rebuilding the state", zap.String("policy", policy), zap.String("problem", problem))
			how = policy
			break
		}
		if m.Fingerprint != o.Spec.Options.Fingerprint {
			if err := t.carryOver(ctx, log, m, target); sick(err) {
				return err
			} else if err != nil {
				t.log.Warn("rebuilding the state", zap.String("policy", "schema_changed"), zap.String("problem", "the state was made under another configuration"), zap.Error(err))
				how = "schema_changed"
				break
			}
			how, t.carried = "carried", true
			if t.follow(found[i:]); t.redo.scores != nothing {
				t.follow(found)
			}
			o.Metrics.Policies.WithLabelValues("schema_changed", "carried").Inc()
			break
		}
		if i > 0 && found[0].Fingerprint != m.Fingerprint {
			break // between the two the schema changed: the journal goes through both
		}
		part, after, err := t.open(log, m, target)
		if newer := (*state.FormatError)(nil); errors.As(err, &newer) {
			return t.newer(newer)
		}
		if err != nil {
			t.log.Error("snapshot refused", zap.Uint64("snapshot", m.Number), zap.Error(err))
			continue
		}
		how, t.part, t.at, t.journal, entries = "snapshot", part, m.Position, m.Journal, after
		if t.redo.scores != nothing {
			t.follow(found)
			break
		}
		t.snap.Last = m
		if i == 0 && len(found) > 1 {
			t.snap.Before = found[1]
		}
		break
	}
	switch {
	case t.part != nil:
	case how == "empty" && target.Events >= 0 && log.JournalEnd() > 0:
		// It ended before the first snapshot was complete: the journal tells everything since the beginning.
		if entries, err = log.Journal(0); err == nil {
			err = fitting(entries, first, target)
		}
		if err == nil {
			how, t.part, t.at = "replay", model.NewPartition(o.Spec, int32(t.id)), first
			t.follow(found)
			break
		}
		t.log.Error("journal refused", zap.Error(err))
		how = "damaged"
		fallthrough
	default:
		if how == "damaged" && first.Events > 0 {
			// What was learnt before the first event that is left cannot be had again.
			problem := fmt.Sprintf("no snapshot of the state can be read, and events before offset %d are no longer in the topic", first.Events)
			if o.InputLost == Fail {
				return t.stop("input_lost", problem)
			}
			t.log.Warn("rebuilding the state", zap.String("policy", "input_lost"), zap.String("problem", problem))
		}
		if how != "empty" {
			o.Metrics.Policies.WithLabelValues(how, "rebuild").Inc()
		} else if target.Events > 0 {
			how = "replay"
		}
		t.startEmpty(log, first)
	}
	if err := t.replay(ctx, entries); err != nil {
		return err
	}
	if how == "snapshot" && o.Topics.Labels != "" && target.Labels >= 0 && target.Labels != t.at.Labels {
		return fmt.Errorf("replaying the journal: labels end at offset %d, committed is %d", t.at.Labels, target.Labels)
	}
	if target.Events >= 0 {
		if err := t.replayEvents(ctx, target.Events); err != nil {
			return err
		}
	}
	if err := t.passLabels(ctx, passed, first.Labels); err != nil {
		return err
	}
	if o.DeadShare > 0 {
		if err := t.lookBack(ctx, &t.deadEvents, o.Topics.Events, first.Events, t.at.Events); err != nil {
			return err
		}
		if o.Topics.Labels != "" {
			if err := t.lookBack(ctx, &t.deadLabels, o.Topics.Labels, first.Labels, t.at.Labels); err != nil {
				return err
			}
		}
	}
	if !t.claimed {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	t.snap.Discard(log.Orphans(t.snap.Last, t.snap.Before))
	t.restored(how)
	return nil
}

// begin begins a line of transactions: what lies in the topics of scores and dead letters by now is not of it.
func (t *task) begin(ctx context.Context) error {
	o := &t.s.o
	t.answered, t.redo.from = t.at.Events, t.at
	for topic, at := range map[string]*int64{o.Topics.Scores: &t.scoresAt, o.Topics.Dead: &t.deadAt} {
		partition := t.id
		if topic == o.Topics.Dead {
			partition %= t.s.deadPartitions
		}
		_, end, err := o.Client.Bounds(ctx, topic, partition)
		if err != nil {
			return err
		}
		*at = end
	}
	return nil
}

func (t *task) restored(how string) {
	t.s.o.Metrics.Restores.WithLabelValues(how).Inc()
	t.done, t.told = t.at, t.part.Losses() // a former owner has counted them
	if t.snap.Last != nil {
		t.s.found(t.snap.Last.Format)
	}
	t.report()
	t.log.Info("partition taken over", zap.String("from", how), zap.Int64("offset", t.at.Events), zap.Int64("model", t.at.Model), zap.Float64("labelled", t.part.Labelled()))
}

// newer returns the error that ends the stage where a newer build has written what it needs: the state is not lost, so
// nothing begins anew.
func (t *task) newer(e *state.FormatError) error {
	return &PolicyError{Problem: fmt.Sprintf("partition %d: a newer build has written the state: %v; run a build that reads it, with --format %d before this one is to follow it", t.id, e, e.Newest)}
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
func (t *task) readState(ctx context.Context) (*state.Log, error) {
	o := &t.s.o
	log := state.NewLog()
	log.Newest = t.s.newest
	log.Limit = stateBound(o.Spec)
	if err := log.Follow(ctx, o.Client, o.Topics.State, t.id); err != nil {
		return nil, err
	}
	high, err := o.Client.ListOffsets(ctx, o.Topics.State, []int{t.id}, txn.HighWatermark)
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	if high[t.id] > log.Next {
		return nil, &txn.Error{Op: "reading the state topic", Topic: o.Topics.State, Partition: t.id, Kind: txn.Environment, Reason: "its outcome decides what the state is",
			Err: errors.New("somebody else's transaction is open there")}
	}
	if log.Foreign > 0 {
		t.log.Error("records that no stage writes lie in the state topic", zap.Int("records", log.Foreign))
	}
	return log, nil
}

// stateBound is more than the state of a partition of this specification can hold.
func stateBound(s *model.Spec) int64 {
	o := &s.Options
	sample := o.TailBytes + o.ReservoirBytes + o.WaitBytes
	return min(2*max(sample, 0)+512<<20, 8<<30)
}

// fits compares a snapshot with the configuration and with the offsets. policy is "" when they fit, else the policy
// that decides, with what is wrong and what is configured.
func (t *task) fits(m *state.Manifest, target, first state.Position) (policy, problem string, reaction Rebuild) {
	o := &t.s.o
	switch {
	case m.Fingerprint != o.Spec.Options.Fingerprint && (o.SchemaChanged == Fail || o.Under == nil):
		return "schema_changed", "the state was made under another configuration", o.SchemaChanged
	case m.Events > target.Events: // a snapshot never exists without a committed offset
		return "topic_recreated", fmt.Sprintf("the group's offset (%d, -1 = none) lies before that of the state, %d: topics were made anew, offsets reset or expired", target.Events, m.Events), o.TopicRecreated
	case o.Topics.Labels != "" && m.Labels > max(target.Labels, 0):
		return "topic_recreated", fmt.Sprintf("the group's offset of labels (%d, -1 = none) lies before that of the state, %d: topics were made anew, offsets reset or expired", target.Labels, m.Labels), o.TopicRecreated
	case first.Events > m.Events && target.Events > m.Events:
		return "input_lost", fmt.Sprintf("events %d to %d, which the state needs, are no longer in the topic", m.Events, first.Events), o.InputLost
	case o.Topics.Labels != "" && first.Labels > m.Labels && target.Labels > m.Labels:
		return "input_lost", fmt.Sprintf("labels %d to %d, which the state needs, are no longer in the topic", m.Labels, first.Labels), o.InputLost
	}
	return "", "", Fail
}

// open rebuilds the partition of a snapshot and finds the journal records after it.
func (t *task) open(log *state.Log, m *state.Manifest, target state.Position) (part *model.Partition, after []state.JournalEntry, err error) {
	if m.Number >= state.MaxNumber || m.Journal >= state.MaxNumber {
		return nil, nil, errors.New("its numbers are not those of a stage")
	}
	sections, err := log.Sections(m)
	if err != nil {
		return nil, nil, err
	}
	err = state.Contain(func() error {
		part, err = model.RestorePartition(t.spec, sections)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if part.Index() != int32(t.id) || part.ModelVersion() != m.Model || part.NextOffset() > m.Events {
		return nil, nil, fmt.Errorf("it holds partition %d, model %d, up to event %d; its manifest says partition %d, model %d, event %d",
			part.Index(), part.ModelVersion(), part.NextOffset(), t.id, m.Model, m.Events)
	}
	if after, err = log.Journal(m.Journal); err != nil {
		return nil, nil, err
	}
	return part, after, fitting(after, m.Position, target)
}

// fitting checks that journal records go forward, from what a replay begins with to what is committed.
func fitting(entries []state.JournalEntry, from, target state.Position) error {
	for _, e := range entries {
		if e.Events < from.Events || e.Labels < from.Labels || e.Events > target.Events || e.Labels > max(target.Labels, 0) {
			return fmt.Errorf("journal record %d is at event %d and label %d, between %d and %d, %d and %d", e.Number, e.Events, e.Labels, from.Events, target.Events, from.Labels, target.Labels)
		}
		from = e.Position
	}
	return nil
}

// startEmpty begins with an empty state at the first offsets that are there. What tells of another state leaves the
// state topic with the transaction that claims the partition, before the new one has come anywhere: else an owner that
// follows before there is a snapshot could take the old one for its state.
func (t *task) startEmpty(log *state.Log, first state.Position) {
	t.part, t.at = model.NewPartition(t.s.o.Spec, int32(t.id)), first
	for _, key := range log.History() {
		t.state(t.redo.x, state.Change{Key: key})
	}
}

// follow lets the next snapshot follow those that are there.
func (t *task) follow(found []*state.Manifest) {
	if len(found) > 0 && found[0].Number < state.MaxNumber {
		t.snap.Last = found[0]
		if len(found) > 1 {
			t.snap.Before = found[1]
		}
	}
}

// groupOffsets are those of one partition; labels is the zero value when there is no such topic.
type groupOffsets struct {
	events, labels txn.GroupOffset
	topics         Topics
}

// groupOffsets asks the broker, whose answer may be older than what is committed.
func (s *Stage) groupOffsets(ctx context.Context, partition int) (g groupOffsets, err error) {
	g.topics = s.o.Topics
	ask := func(topic string) txn.GroupOffset {
		var all map[int]txn.GroupOffset
		if err == nil {
			all, err = s.o.Client.CommittedOffsets(ctx, s.o.Name, topic, []int{partition})
		}
		return all[partition]
	}
	g.events = ask(g.topics.Events)
	if g.topics.Labels != "" {
		g.labels = ask(g.topics.Labels)
	}
	if err != nil {
		err = fmt.Errorf("asking for the offset of the group %s: %w", s.o.Name, err)
	}
	return g, err
}

// numbered reports whether each offset is that of a transaction with a number.
func (g *groupOffsets) numbered() bool {
	_, events := state.Noted(g.events)
	_, labels := state.Noted(g.labels)
	return events && (labels || g.topics.Labels == "")
}

// number is that of the newest transaction of which the group tells.
func (g *groupOffsets) number() uint64 {
	events, _ := state.Noted(g.events)
	labels, _ := state.Noted(g.labels)
	return max(events, labels)
}

// agree reports whether the group's offsets are those that a transaction committed.
func (g *groupOffsets) agree(d state.Done) bool {
	same := func(o txn.GroupOffset, offset int64) bool { return o.Offset == offset && o.Note == d.Note() }
	return same(g.events, d.Events) && (g.topics.Labels == "" || same(g.labels, d.Labels))
}

// settle decides what is committed, see doneRecord.settle.
func (g *groupOffsets) settle(d state.Done) (target state.Position, problem string) {
	target.Events, problem = committedOffset(d, "events", d.Events, g.events)
	if g.topics.Labels != "" {
		var also string
		if target.Labels, also = committedOffset(d, "labels", d.Labels, g.labels); problem == "" {
			problem = also
		}
	}
	return target, problem
}

// within compares what is committed with the first and last offsets that the topics hold, applies the policies where
// the two do not fit, and returns both.
func (t *task) within(ctx context.Context, committed state.Position) (target, first state.Position, err error) {
	o := &t.s.o
	look := func(topic string, committed int64) (int64, int64, error) {
		start, end, err := o.Client.Bounds(ctx, topic, t.id)
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
					return 0, 0, t.stop("topic_recreated", fmt.Sprintf("what is committed ends at offset %d, beyond the end of %s, %d: the topic was made anew", committed, topic, high[t.id]))
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
	if target.Events, first.Events, err = look(o.Topics.Events, committed.Events); err != nil || o.Topics.Labels == "" {
		return target, first, err
	}
	target.Labels, first.Labels, err = look(o.Topics.Labels, committed.Labels)
	return target, first, err
}

// replay repeats what the journal records since the snapshot.
func (t *task) replay(ctx context.Context, entries []state.JournalEntry) error {
	for _, e := range entries {
		if err := t.replayEvents(ctx, e.Events); err != nil {
			return err
		}
		if err := t.replayLabels(ctx, e.Labels); err != nil {
			return err
		}
		if e.Model != t.at.Model {
			if err := t.swap(e.Model); err != nil {
				return fmt.Errorf("replaying journal record %d: %w", e.Number, err)
			}
			t.at.Model = e.Model
		}
		t.journal = e.Number + 1
	}
	return nil
}

// replayEvents learns the events below the offset to, without publishing anything but the scores that are missing.
func (t *task) replayEvents(ctx context.Context, to int64) error {
	var failed error
	err := t.refetch(ctx, t.s.o.Topics.Events, &t.at.Events, to, func(r *txn.Record) {
		switch {
		case failed != nil:
		case r.Offset >= t.redo.scores && t.undone(r):
			failed = t.process(t.redo.x, r)
		case t.decode(nil, r):
			t.part.Events(&t.batch, &t.scores)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("replaying events: %w", err)
	}
	return nil
}

func (t *task) replayLabels(ctx context.Context, to int64) error {
	if err := t.refetch(ctx, t.s.o.Topics.Labels, &t.at.Labels, to, func(r *txn.Record) { t.takeLabels(nil, r) }); err != nil {
		return fmt.Errorf("replaying labels: %w", err)
	}
	return nil
}

// passLabels learns the labels below the offset to that are left, first being the first one, where no journal record
// leads there yet: somebody else's offset passes over them, or the topic is new to the stage.
func (t *task) passLabels(ctx context.Context, to, first int64) error {
	if t.at.Labels >= max(to, first) {
		return nil
	}
	t.log.Warn("labels begin elsewhere than the state says", zap.Int64("state", t.at.Labels), zap.Int64("committed", to), zap.Int64("first", first))
	if t.at.Labels < first { // a replay that begins before them could not be done: first of all a snapshot after them
		t.at.Labels, t.carried = first, true
	}
	if err := t.replayLabels(ctx, to); err != nil {
		return err
	}
	t.record(t.redo.x)
	return nil
}

// ahead is what an answer held beyond what a replay has come to: a journal goes forward by a few messages at a time,
// and to ask for each step would fetch the same again and again.
type ahead struct {
	at      int64 // where the replay is
	records []txn.Record
	next    int64 // where they end
}

// refetch passes the messages of a topic from *at up to the offset to.
func (t *task) refetch(ctx context.Context, topic string, at *int64, to int64, each func(*txn.Record)) error {
	a := t.ahead[topic]
	if a.at != *at {
		a = ahead{next: *at}
	}
	for *at < to {
		if len(a.records) == 0 && a.next <= *at {
			t.phase("restoring: offset " + strconv.FormatInt(*at, 10) + " of " + strconv.FormatInt(to, 10) + " of " + topic)
			f, err := t.s.o.Client.Fetch(ctx, topic, t.id, *at, 4<<20, 500*time.Millisecond)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a.records, a.next = f.Records, f.Next
		}
		for len(a.records) > 0 && a.records[0].Offset < to {
			each(&a.records[0])
			a.records = a.records[1:]
		}
		if *at = to; len(a.records) == 0 {
			*at = min(a.next, to)
		}
	}
	if a.at = *at; t.ahead == nil {
		t.ahead = map[string]ahead{}
	}
	t.ahead[topic] = a
	return nil
}
