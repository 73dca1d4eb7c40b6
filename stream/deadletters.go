package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/replay"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// deadLetters is the knowledge of a task of the dead letters of its partition.
type deadLetters struct {
	deadletter.Known       // they are in their topic though their transaction is not
	from             int64 // where in their topic the letters of the next transaction must be looked for
}

// forget drops the known letters of messages that are committed now.
func (d *deadLetters) forget(names *topics.Names, committed state.Position) {
	done := func(id deadletter.ID) bool {
		switch id.Topic {
		case names.Events:
			return id.Offset < committed.Events
		case names.Labels:
			return id.Offset < committed.Labels
		}
		return true
	}
	maps.DeleteFunc(d.IDs, func(id deadletter.ID, _ bool) bool { return done(id) })
	maps.DeleteFunc(d.Judged, func(id deadletter.ID, _ time.Time) bool { return done(id) })
}

// clock returns the time by which a message must be judged. That of a message with a known letter is the one of the
// letter, so that it is refused again.
func (d *deadLetters) clock(topic string, offset int64, now time.Time) time.Time {
	if at, ok := d.Judged[deadletter.ID{Topic: topic, Offset: offset, Row: -1}]; ok {
		return at
	}
	return now
}

// deadPartition is the partition of the dead-letter topic that takes the letters of a partition.
func (s *Stage) deadPartition(partition int) int { return partition % s.deadPartitions }

// originOf says where the messages of a stage of the work come from.
func originOf(t *task, stage string) deadletter.Origin {
	topic := t.s.o.Topics.Events
	if stage == codec.StageLabels {
		topic = t.s.o.Topics.Labels
	}
	return deadletter.Origin{Name: t.s.o.Name, Topic: topic, Stage: stage, Partition: t.id,
		Headers: t.s.o.DeadHeaders}
}

// write adds the dead letters of the last message that the task has read to a transaction, except the known ones.
func (d *deadLetters) write(
	t *task, x *transaction, r *txn.Record, stage string, bad []codec.RowError, err error,
) {
	if errors.Is(err, replay.ErrTombstone) {
		return
	}
	from, now := originOf(t, stage), t.s.o.Now()
	seen := now
	if t.m.Untimely && t.m.By != 0 {
		seen = time.Unix(0, t.m.By)
	}
	t.m.DeadLetters(r, from, bad, err, seen, func(l deadletter.Letter) {
		x.addDead(l.ID)
		if d.IDs[l.ID] {
			return
		}
		if x.repairs {
			d.IDs[l.ID] = true
		}
		l.Record.Topic, l.Record.Partition = t.s.o.Topics.Dead, t.s.deadPartition(t.id)
		fit := deadletter.Fit(l.Record, len(r.Headers), t.s.o.Client.Limit(t.s.o.Topics.Dead))
		fit.Time = t.s.o.Client.Stamp(fit.Topic, fit.Time, t.s.o.Now()) // a header has that of the message
		x.add(fit)
		x.counts.dead = append(x.counts.dead, l.Reason)
		t.notices.add(now, stage, l.Reason, l.ID)
	})
	if err != nil {
		t.log.Debug("message refused", zap.String("topic", from.Topic), zap.Int64("offset", r.Offset), zap.Error(err))
	}
}

// writeMissingDead is step 4 of a takeover: it reads the dead letters after the offset that the done record names, and
// adds the letters that the last transaction should have written, and has not, to the repairing one. Where their topic
// has been made anew, it may hold them from its start on. Where retention hides whether they were there, and no broker
// had left the transaction open, they are taken for written.
func (o *takeover) writeMissingDead(ctx context.Context) (err error) {
	t, d := o.t, o.plan.Done
	topic := t.s.o.Topics.Dead
	first, end, err := t.s.o.Client.Bounds(ctx, topic, t.s.deadPartition(t.id))
	if err != nil {
		return fmt.Errorf("reading the dead letters: %w", err)
	}
	if former := o.facts.Owner.Dead; former != "" && former != topic {
		t.dead.from = end
		return nil
	}
	from := d.DeadFrom
	if end < from {
		from = first
	}
	if t.dead.Known, err = o.readDead(ctx, from); err != nil {
		return err
	}
	if first > from && !t.torn {
		t.log.Info("dead letters of the last transaction may have been deleted from their topic; they are not written again",
			zap.Int64("from", from), zap.Int64("first", first))
		return nil
	}
	written := 0
	for id := range t.dead.IDs {
		from, to := d.LabelsFrom, d.Labels
		if id.Topic == t.s.o.Topics.Events {
			from, to = d.EventsFrom, d.Events
		}
		if from <= id.Offset && id.Offset < to {
			written++
			o.x.addDead(id)
		}
	}
	from = d.Events
	if written < d.DeadLetters {
		from = d.EventsFrom
		if err := o.writeDeadOf(ctx, codec.StageLabels, d.LabelsFrom, d.Labels); err != nil {
			return err
		}
	}
	return o.writeDeadOf(ctx, codec.StageEvents, from, o.plan.Target.Events)
}

// findJudgement looks by which time the last transaction has judged the times of its messages, where it is committed in
// the scores and not in the state: its scores say so from the first refused message on.
func (o *takeover) findJudgement(ctx context.Context) error {
	t, d := o.t, o.plan.Done
	j := state.Judgement{EventsFrom: d.Events, EventsTo: o.plan.Target.Events}
	if j.EventsTo <= j.EventsFrom {
		return nil
	}
	answers, err := scores.Since(ctx, t.s.o.Client, t.s.o.Topics.Scores, t.id, t.s.o.Name, d.ScoresFrom, j.EventsFrom,
		j.EventsTo)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if j.Now = a.Judged; j.Now != 0 {
			o.rerun.judged = state.Judgements{j}
			return nil
		}
		j.EventsFrom = a.Event + 1
	}
	return nil
}

// writeDeadOf writes the dead letters of the messages in [from, to) that their topic does not hold.
func (o *takeover) writeDeadOf(ctx context.Context, stage string, from, to int64) error {
	t := o.t
	topic, read, first := originOf(t, stage).Topic, t.m.ReadEvents, o.plan.First.Events
	if stage == codec.StageLabels {
		read, first = t.m.ReadLabels, o.plan.First.Labels
	}
	from = max(from, first)
	if topic == "" || from >= to {
		return nil
	}
	defer func() { t.m.Now = 0 }()
	return t.m.Pass(ctx, topic, &from, to, func(r *txn.Record) {
		if t.m.Now = 0; stage == codec.StageEvents {
			t.m.Now = o.rerun.judged.Event(r.Offset)
		}
		bad, err := read(r)
		t.dead.write(t, o.x, r, stage, bad, err)
	})
}

// readDead reads which dead letters of the partition their topic holds from an offset on. All of them lie below the
// high watermark, but other tasks write there too, and theirs may be open in front of them. No transaction of the stage
// stays so for longer than its timeout.
func (o *takeover) readDead(ctx context.Context, from int64) (none deadletter.Known, err error) {
	t := o.t
	c, topic, dead := t.s.o.Client, t.s.o.Topics.Dead, t.s.deadPartition(t.id)
	high, err := c.ListOffsets(ctx, topic, []int{dead}, txn.HighWatermark)
	if err != nil {
		return none, fmt.Errorf("reading the dead letters: %w", err)
	}
	for began := t.s.o.Now(); ; {
		stable, err := c.ListOffsets(ctx, topic, []int{dead}, txn.End)
		if err != nil {
			return none, fmt.Errorf("reading the dead letters: %w", err)
		}
		if stable[dead] >= high[dead] {
			break
		}
		if t.s.o.Now().Sub(began) > transactionTimeout+15*time.Second {
			t.log.Warn("a transaction is open among the dead letters: those of this partition that lie behind it "+
				"may be written again", zap.Int64("offset", stable[dead]))
			break
		}
		t.board.phase(AwaitingDeadLetters, "")
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return deadletter.Read(ctx, c, topic, dead, t.s.o.Name, from, t.id)
}
