package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// process takes one events message into the state, and its scores into the transaction. It returns
// replay.ErrInterrupted where it gives the message up, see during: then the position is the one before, and the state
// belongs to none.
func (t *task) process(ctx context.Context, x *transaction, r *txn.Record, patience time.Duration) (err error) {
	defer t.m.Release()
	t.scoring.begin(t, r)
	x.spans.begin(&t.s.o, r)
	var bad []codec.RowError
	var failed error
	t.during(ctx, t.s.o.Topics.Events, r, patience, func(more func(row int) bool) {
		bad, err = t.m.ReadEvents(r)
		x.spans.decoded(&t.s.o)
		if err == nil {
			t.m.Sift()
			failed = t.scoring.score(t, r, more)
		}
	})
	if failed = cmp.Or(failed, interrupted(err)); errors.Is(failed, replay.ErrInterrupted) {
		t.scoring.drop()
		return fmt.Errorf("processing offset %d: %w", r.Offset, failed)
	}
	if failed != nil {
		return failed
	}
	x.judging.note(t.m, r.Offset, t.m.At.Labels)
	t.m.At.Events = r.Next()
	t.eventTimes.add(r.Time)
	t.seen.Events = state.MessageOf(r)
	x.counts.tombstone(codec.StageEvents, err)
	if err != nil {
		t.windows.events.see(r.Offset, weighed(t.m.Rows, bad, err))
		t.dead.write(t, x, r, codec.StageEvents, bad, err)
		return nil
	}
	parts, lost := t.m.ScoreParts()
	bad = append(bad, lost...)
	t.windows.events.see(r.Offset, weighed(t.m.Rows-len(lost), bad, nil))
	t.dead.write(t, x, r, codec.StageEvents, bad, nil)
	t.scoring.write(t, x, r, parts, len(lost) > 0)
	if len(parts) > 0 {
		x.answers = append(x.answers, r.Time)
		t.answered = r.Next()
	}
	x.spans.scored(&t.s.o, t.scoring.tally.rows)
	x.counts.scored.join(&t.scoring.tally)
	x.counts.changed = x.counts.changed.Add(t.m.Changes())
	return nil
}

// interrupted returns replay.ErrInterrupted if it is the error, else nil.
func interrupted(err error) error {
	if errors.Is(err, replay.ErrInterrupted) {
		return replay.ErrInterrupted
	}
	return nil
}

// learnLabels learns one labels message. It returns false where it gives it up, as process does.
func (t *task) learnLabels(ctx context.Context, x *transaction, r *txn.Record) bool {
	defer t.m.Release()
	x.judging.begin(t.dead.clock(t.s.o.Topics.Labels, r.Offset, t.s.o.Now()), t.m)
	var c model.LabelCounts
	var bad []codec.RowError
	var err error
	t.during(ctx, t.s.o.Topics.Labels, r, t.patience(), func(more func(row int) bool) {
		c, bad, err = t.m.TakeLabels(r, more)
	})
	if errors.Is(err, replay.ErrInterrupted) {
		return false
	}
	x.judging.note(t.m, t.m.At.Events, r.Offset)
	t.seen.Labels = state.MessageOf(r)
	t.windows.labels.see(r.Offset, weighed(t.m.Labels.N, bad, err))
	t.dead.write(t, x, r, codec.StageLabels, bad, err)
	x.counts.tombstone(codec.StageLabels, err)
	if err != nil {
		return true
	}
	x.counts.learnt = append(x.counts.learnt, c)
	return true
}

// writeJournal adds a journal record of the position of the state. Beside it stand the obeyed orders, an order to
// forget in a record of its own, and the judgement where a message of the transaction was refused for its time.
func (t *task) writeJournal(x *transaction, orders state.Obeyed, erased *state.Erased) {
	e := state.JournalEntry{Number: t.m.Journal, Position: t.m.At, Format: t.s.format()}
	t.writeState(x, state.Change{Key: state.JournalKey(e.Number), Value: e.Encode()})
	if orders != (state.Obeyed{}) {
		t.writeState(x, state.Change{Key: state.ObeyedKey(e.Number), Value: orders.Encode(e.Number, e.Format)})
	}
	if erased != nil {
		t.writeState(x, state.Change{Key: state.ErasedKey(e.Number), Value: erased.Encode(e.Format)})
	}
	if x.judging.kept {
		from := x.judging.from
		j := state.Judgement{Number: e.Number, EventsFrom: from.Events, EventsTo: t.m.At.Events,
			LabelsFrom: from.Labels, LabelsTo: t.m.At.Labels, Now: x.judging.now.UnixNano()}
		t.writeState(x, state.Change{Key: state.JudgedKey(j.Number), Value: j.Encode(e.Format)})
	}
	t.m.Journal++
}

// writeState adds a record of the state topic.
func (t *task) writeState(x *transaction, c state.Change) {
	x.add(txn.Record{Topic: t.s.o.Topics.State, Partition: t.id, Key: []byte(c.Key), Value: c.Value, Time: t.s.o.Now()})
	t.wrote += int64(len(c.Key) + len(c.Value))
	t.s.o.Metrics.StateBytes.Add(float64(len(c.Key) + len(c.Value)))
}

// note tells the newest messages that were taken in, after a takeover and with each snapshot: often enough for a later
// owner to see whether the topics are still the same, and seldom enough to cost nothing.
func (t *task) note(x *transaction) {
	if t.noting && t.seen != t.noted {
		t.writeState(x, state.Change{Key: state.SeenKey, Value: t.seen.Encode()})
		t.noted, t.noting = t.seen, false
	}
}

// number numbers a transaction that began at from, and adds the done record, which says where it leads.
func (t *task) number(x *transaction, from state.Position) {
	at := t.m.At
	x.to = at
	x.done = state.Done{
		Number: t.last.Number + 1, Events: at.Events, Labels: at.Labels,
		EventsFrom: min(from.Events, at.Events), LabelsFrom: min(from.Labels, at.Labels),
		Answered: min(t.answered, at.Events), ScoresFrom: t.scoresFrom, DeadLetters: len(x.dead), DeadFrom: t.dead.from,
	}
	t.writeState(x, state.Change{Key: state.DoneKey, Value: x.done.Encode(t.s.format())})
}

// send commits one transaction. Neither the end of the generation nor that of the stage cuts it short: its outcome
// would be unknown.
func (t *task) send(x *transaction, outcome chan<- error) {
	o := &t.s.o
	began := o.Now()
	offsets := map[string]map[int]int64{o.Topics.Events: {t.id: x.to.Events}}
	if o.Topics.Labels != "" {
		offsets[o.Topics.Labels] = map[int]int64{t.id: x.to.Labels}
	}
	err := t.s.commit(t.s.force, t.producer, txn.Transaction{
		Records: x.records, Compression: txn.Lz4, Group: o.Name, Member: t.gen.Member, Generation: t.gen.ID,
		Offsets: offsets, Note: x.done.Note(),
	})
	x.ended = o.Now()
	x.took = x.ended.Sub(began)
	o.Metrics.CommitTime.Observe(x.took.Seconds())
	x.spans.end(t, x, began, err)
	outcome <- err
}

// sent takes note of a committed transaction.
func (t *task) sent(x *transaction) {
	t.committed, t.last = x.to, x.done
	t.s.o.Metrics.observe(x.answers, x.ended)
	t.board.counted(&x.counts)
	t.labelsHorizon.reach(x.to.Labels)
	t.dead.forget(&t.s.o.Topics, x.to)
	// While letters lie before their transaction, the next owner must find them.
	if next, ok := t.producer.Written(t.s.o.Topics.Dead, t.s.deadPartition(t.id)); ok && len(t.dead.IDs) == 0 {
		t.dead.from = next
	}
}

// passed ends the work on one answer of the broker.
func (t *task) passed(x *transaction, f *fetched) {
	x.reserved.events += f.reserved
	t.read += f.Bytes
	f.reserved = 0
	t.m.At.Events = f.Next
	t.horizon.reach(f.Next)
	t.horizon.show(t)
}
