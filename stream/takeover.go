package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// takeover brings a task to the committed state of its partition. Its steps are those of committed/COMMITTED.md:
// endOpen, then decide for the second and third, writeMissingDead, claim.
type takeover struct {
	findings
	x     *transaction   // repairs the last transaction, and claims the partition
	first state.Position // where x begins
	rerun rerun
}

// takeOver brings the task to the committed state: that of this member's own task of the generation before, or the
// newest readable snapshot and a replay by the journal. It must follow NewProducer.
func takeOver(ctx context.Context, t *task) error {
	left := t.kept
	t.kept = nil // it is used at most once, also where this attempt fails
	t.owned, t.snapshotFirst = owned{snap: state.NewSnapshotter()}, false
	t.dead.Known = deadletter.Known{IDs: map[deadletter.ID]bool{}}
	o := &takeover{findings: findings{t: t}, x: &transaction{repairs: true}}
	o.rerun = rerun{t: t, plan: &o.plan, x: o.x}
	torn, err := o.endOpen(ctx)
	if err != nil {
		return err
	}
	t.torn = t.torn || torn
	if err := o.decide(ctx, left, t.torn); err != nil {
		return err
	}
	if o.plan.Origin == committed.Kept {
		t.owned = left.owned
		o.finished()
		return nil
	}
	if err := o.restore(ctx); err != nil {
		return err
	}
	o.finished()
	if owner := o.facts.NewOwner(); owner != o.facts.Owner {
		t.writeState(o.x, state.Change{Key: state.OwnerKey, Value: owner.Encode()})
	}
	if o.plan.Claimed && o.plan.Numbered && !o.plan.ScoresAnew && len(o.x.records) == 0 {
		t.torn = false
		return nil
	}
	return o.claim()
}

// endOpen is step 1: it ends the transactions of this task that a broker has left open, see txn.Producer.Discard, and
// reports whether there were any. Afterwards each record of the partition's transactions is committed or aborted,
// though a transaction may be the one in one topic and the other in another.
func (o *takeover) endOpen(ctx context.Context) (was bool, err error) {
	t := o.t
	names := &t.s.o.Topics
	mine := map[string][]int{names.State: {t.id}, names.Scores: {t.id}}
	all := map[string][]int{names.State: {t.id}, names.Scores: {t.id}, names.Dead: {t.s.deadPartition(t.id)}}
	open, err := t.s.undecided(ctx, all)
	if err != nil || len(open) == 0 {
		return false, err
	}
	// In the dead-letter topic it may be another task's, which is not touched by this.
	if err := t.producer.Discard(ctx, all); err != nil {
		return false, fmt.Errorf("ending what a broker has left open: %w", err)
	}
	log := t.log.Warn
	if len(open) == 1 && open[names.Dead] != nil {
		log = t.log.Debug
	}
	log("transactions were open where this partition writes: a broker has left them so, or, among dead letters, "+
		"others are at work", zap.Strings("topics", slices.Sorted(maps.Keys(open))))
	if open, err = t.s.undecided(ctx, mine); err != nil {
		return false, err
	}
	for _, topic := range slices.Sorted(maps.Keys(open)) {
		return false, &txn.Error{Op: "taking over", Topic: topic, Partition: t.id, Kind: txn.Environment,
			Reason: "its outcome decides what the state is; 'kafka-transactions.sh find-hanging' names a transaction " +
				"that nobody will end",
			Err: errors.New("somebody else's transaction is open there")}
	}
	return true, nil
}

// undecided returns those of the partitions that hold records of transactions that have not ended.
func (s *Stage) undecided(ctx context.Context, partitions map[string][]int) (map[string][]int, error) {
	open := map[string][]int{}
	for topic, ps := range partitions {
		high, err := s.o.Client.ListOffsets(ctx, topic, ps, txn.HighWatermark)
		if err != nil {
			return nil, err
		}
		stable, err := s.o.Client.ListOffsets(ctx, topic, ps, txn.End)
		if err != nil {
			return nil, err
		}
		for _, p := range ps {
			if stable[p] < high[p] {
				open[topic] = append(open[topic], p)
			}
		}
	}
	return open, nil
}

// decide is steps 2 and 3: it reads the facts and makes the plan.
func (o *takeover) decide(ctx context.Context, left *kept, torn bool) error {
	t := o.t
	if err := o.read(ctx, left, torn); err != nil {
		return err
	}
	if o.plan.Origin == committed.Kept {
		return nil
	}
	o.complain()
	if err := o.stop(); err != nil {
		return err
	}
	t.last = o.plan.Done
	t.answered, t.scoresFrom, t.dead.from = o.plan.Answered, o.plan.Done.ScoresFrom, o.plan.Done.DeadFrom
	t.seen, t.noted, t.noting = o.facts.Seen, o.facts.Seen, true
	o.first = state.Position{Events: o.plan.Done.EventsFrom, Labels: o.plan.Done.LabelsFrom}
	// The journal may name versions that the follower of the model topic has not read yet.
	return t.s.models.Reach(ctx)
}

// restore makes the state as the plan says, and decides again where it meets damage.
func (o *takeover) restore(ctx context.Context) error {
	t := o.t
	var err error
	if t.m, err = replay.New(replay.Options{
		Client: t.s.o.Client, Events: t.s.o.Topics.Events, Labels: t.s.o.Topics.Labels, Partition: t.id,
		Spec: t.s.o.Spec, Codec: t.s.o.Codec, Models: t.s.models, Budget: t.s.budgetOf, Skips: o.skips(),
		Progress: func(topic string, at, to int64) {
			t.board.phase(Restoring, fmt.Sprintf("offset %d of %d of %s", at, to, topic))
			t.board.restores(topic, to-at)
		},
	}); err != nil {
		return err
	}
	t.m.EachEvents = func(r *txn.Record) error { return o.rerun.event(ctx, r) }
	t.m.EachLabels = func(r *txn.Record) error { return o.rerun.labels(ctx, r) }
	t.m.Judged = o.log.Judgements()
	defer func() {
		t.m.EachEvents, t.m.EachLabels, t.m.Judged, t.m.Now = nil, nil, nil, 0
		t.m.Forget()
	}()
	if err := t.m.Under(o.newestSchema(), func() error { return o.repair(ctx) }); err != nil {
		return err
	}
	accepted, err := t.acceptedAtStart(ctx)
	if err != nil {
		return err
	}
	for begun := false; !begun; {
		o.rerun.known = o.knownTo()
		t.windows = accepted
		if begun, err = o.begin(ctx); err != nil {
			return err
		}
		if !begun {
			o.decideAgain()
			if err := o.stop(); err != nil {
				return err
			}
		}
	}
	o.count()
	if o.plan.Target.Events >= 0 {
		if err := t.m.EventsTo(ctx, o.plan.Target.Events); err != nil {
			return err
		}
	}
	if err := o.passLabels(ctx); err != nil {
		return err
	}
	if o.x.judging.kept {
		o.writeJournal()
	}
	t.m.Now = 0
	if err := o.lookBack(ctx); err != nil {
		return err
	}
	if !o.plan.Claimed || o.plan.ScoresAnew {
		if err := o.newLine(ctx); err != nil {
			return err
		}
	}
	t.purge.inherit(t, o.log)
	t.snap.Discard(append(o.log.Orphans(t.snap.Last, t.snap.Before), o.pastSkips()...))
	return nil
}

// repair writes the missing dead letters of the last transaction, and says which of its scores cannot be made again.
func (o *takeover) repair(ctx context.Context) error {
	if !o.plan.Claimed {
		return nil
	}
	if err := o.findJudgement(ctx); err != nil {
		return err
	}
	if err := o.writeMissingDead(ctx); err != nil {
		return err
	}
	from, to := o.plan.Unscored.From, o.plan.Unscored.To
	if from >= to {
		return nil
	}
	lost, err := o.firstEvent(ctx, from, to)
	if err != nil {
		return err
	}
	if lost < to {
		o.t.log.Error("scores are missing that cannot be made again", zap.Int64("from", lost), zap.Int64("to", to))
	}
	return nil
}

// firstEvent returns the offset of the first message in [from, to) that is an event and so has scores, to where there
// is none.
func (o *takeover) firstEvent(ctx context.Context, from, to int64) (int64, error) {
	m, topic := o.t.m, o.t.s.o.Topics.Events
	first := to
	at := max(from, o.plan.First.Events)
	err := m.Pass(ctx, topic, &at, to, func(r *txn.Record) {
		if from <= r.Offset && first == to && m.IsEvent(r) {
			first = r.Offset
		}
	})
	if err != nil {
		return 0, fmt.Errorf("looking for events without scores: %w", err)
	}
	return first, nil
}

// begin gives the machine the state with which the plan begins, and follows the journal from there. It reports false
// where that state is damaged: then the facts say so, and another plan is due.
func (o *takeover) begin(ctx context.Context) (begun bool, err error) {
	t, p := o.t, &o.plan
	var entries []state.JournalEntry
	switch p.Origin {
	case committed.Snapshot:
		if entries, err = t.m.Restore(o.log, p.Snapshot, p.Target); err != nil {
			o.refuse(p.Snapshot, err)
			return false, nil
		}
	case committed.CarryOver:
		switch err := o.carryOver(ctx); {
		case sick(err):
			return false, err
		case errors.As(err, &o.facts.Newer), o.modelLost(err):
			return false, nil
		case err != nil:
			o.facts.NotCarried = true
			t.log.Warn("rebuilding the state", zap.Stringer("policy", committed.SchemaChanged),
				zap.String("problem", "the state was made under another configuration"), zap.Error(err))
			return false, nil
		}
		t.snapshotFirst = true
	case committed.Journal:
		if entries, err = replay.Entries(o.log, 0, p.First, p.Target); err != nil {
			o.facts.JournalRefused = true
			t.log.Error("journal refused", zap.Error(err))
			return false, nil
		}
		t.m.Begin(p.First)
	case committed.Nothing:
		t.m.Begin(p.First)
		t.m.Judged = nil // they leave the topic too
		giveUp(t, o.x, o.log.History())
	}
	t.snap.Last, t.snap.Before = p.Last, p.Before
	if err := t.m.Follow(ctx, entries...); err != nil {
		if errors.As(err, &o.facts.Newer) || o.modelLost(err) {
			return false, nil
		}
		return false, err
	}
	if p.Origin == committed.Snapshot {
		return true, o.checkLabels()
	}
	return true, nil
}

// checkLabels returns an error where the journal does not end at the committed offset of labels.
func (o *takeover) checkLabels() error {
	at, target := o.t.m.At.Labels, o.plan.Target.Labels
	if o.t.s.o.Topics.Labels != "" && target >= 0 && target != at {
		return fmt.Errorf("replaying the journal: labels end at offset %d, committed is %d", at, target)
	}
	return nil
}

// passLabels learns the labels that no journal record leads to: another program's offset passes over them, or the
// topic is new to the stage.
func (o *takeover) passLabels(ctx context.Context) error {
	t, first, to := o.t, o.plan.First.Labels, o.plan.Passed
	if t.m.At.Labels >= max(to, first) {
		return nil
	}
	t.log.Warn("labels begin elsewhere than the state says", zap.Int64("state", t.m.At.Labels),
		zap.Int64("committed", to), zap.Int64("first", first))
	if t.m.At.Labels < first { // no replay can begin before them: a snapshot after them comes first
		t.m.At.Labels, t.snapshotFirst = first, true
	}
	if err := t.m.LabelsTo(ctx, to); err != nil {
		return err
	}
	o.writeJournal()
	return nil
}

// writeJournal adds a journal record of messages that no known transaction has taken.
func (o *takeover) writeJournal() {
	o.t.writeJournal(o.x, state.Obeyed{}, nil)
	o.x.judging.kept = false
}

// newLine begins a new line of transactions: the messages in the topics of scores and dead letters by now are not of
// it.
func (o *takeover) newLine(ctx context.Context) (err error) {
	t, c, names := o.t, o.t.s.o.Client, &o.t.s.o.Topics
	t.answered, o.first = t.m.At.Events, t.m.At
	if _, t.scoresFrom, err = c.Bounds(ctx, names.Scores, t.id); err != nil {
		return err
	}
	_, t.dead.from, err = c.Bounds(ctx, names.Dead, t.s.deadPartition(t.id))
	return err
}

// knownTo returns the position below which a known transaction has taken the messages, and judged their times.
func (o *takeover) knownTo() state.Position {
	switch d := o.facts.Done; {
	case o.plan.Claimed: // also one that is in the scores alone
		return state.Position{Events: o.plan.Target.Events, Labels: d.Labels}
	case o.plan.Moved.Any():
		return state.Position{Events: d.Events, Labels: d.Labels}
	}
	return state.Position{}
}

// finished takes note of the restored state.
func (o *takeover) finished() {
	t := o.t
	t.s.o.Metrics.Restores.WithLabelValues(o.plan.Label()).Inc()
	t.committed = t.m.At
	t.board.inherit(t.m.Part)
	if t.snap.Last != nil {
		t.s.found(t.snap.Last.Format)
	}
	now := t.board.stand(t)
	t.board.report(t, &now)
	t.log.Info("partition taken over", zap.String("from", o.plan.Label()), zap.Int64("offset", t.m.At.Events),
		zap.Int64("model", t.m.At.Model), zap.Float64("labelled", t.m.Part.Labelled()))
}

// claim is step 5: it commits the repairs of the last transaction, and, if the group's offsets carry no number, the
// partition's own offsets, before any other event is answered. From then on an offset without number is one that
// another program has set.
func (o *takeover) claim() error {
	t := o.t
	t.number(o.x, o.first)
	outcome := make(chan error, 1)
	t.send(o.x, outcome)
	if err := <-outcome; err != nil {
		t.outlived(o.x.took)
		return fmt.Errorf("claiming the partition: %w", err)
	}
	t.s.o.Metrics.Commits.WithLabelValues("committed").Inc()
	t.sent(o.x)
	t.torn = false
	return nil
}
