package stream

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/replay"
	"liftstream/stream/state"
)

// outputBytes is how much output makes a transaction due before its time.
const outputBytes = 8 << 20

// pipeline works on a partition at depth one: it fills the next transaction while the one before is being committed.
type pipeline struct {
	t              *task
	events, labels <-chan fetched

	filling    *transaction
	committing *transaction // nil = none
	outcome    chan error   // of committing
	current    fetched      // events being worked through, message by message
	late       lateLabels
	timer      *time.Timer // runs off when filling has waited long enough
	mark       float64     // labelled records at which the cold start asks for a snapshot
	lastSnap   time.Time   // when the last snapshot began; zero = the next transaction begins one
	pace       state.Pace
	stands     standing // of the last transaction that is complete
	whole      totals   // of the state before the message that is worked on
	torn       bool     // the state holds a part of a message that was given up: it serves for nothing any more
}

func newPipeline(t *task) *pipeline {
	p := &pipeline{t: t, filling: &transaction{}, outcome: make(chan error, 1), timer: time.NewTimer(time.Hour)}
	p.pace.Rate, p.stands.waits = float64(t.s.o.SnapshotRate), model.WaitsOf(t.m.Part)
	if t.snap.Last != nil {
		p.lastSnap = t.s.o.Now()
	}
	return p
}

// run works until ctx ends, then drains. It returns nil or the first error.
func (p *pipeline) run(ctx context.Context) error {
	t := p.t
	defer p.timer.Stop()
	defer t.ahead.drop()
	defer func() {
		t.s.budget.release(p.filling.reserved)
		t.s.budget.labels.Charge(-p.late.reserved())
		t.s.budget.events.Charge(-p.current.reserved)
	}()
	if t.snapshotFirst {
		if err := p.writeFirst(ctx); err != nil || t.snapshotFirst {
			return err
		}
	}
	if p.awaitModel(ctx) || t.unobeyed() {
		if err := p.commit(ctx); err != nil {
			return err
		}
	}
	return p.loop(ctx)
}

func (p *pipeline) loop(ctx context.Context) error {
	t := p.t
	tick := time.NewTicker(max(t.s.o.Commit, 20*time.Millisecond))
	defer tick.Stop()
	_, changed := t.s.models.Head()
	for {
		if ctx.Err() != nil {
			// First of all: an answer taken now would hide the records before it that are not processed yet.
			return p.drain(ctx)
		}
		if problem := t.windows.tripped(t); problem != "" {
			if err := p.pause(ctx, problem); err != nil {
				return err
			}
			continue
		}
		if len(p.current.Records) > 0 {
			if err := p.next(ctx); err != nil {
				return err
			}
			continue
		}
		arriving := p.labels
		if p.late.reserved() > t.s.share.Load() {
			arriving = nil // they wait for their records; more of them would keep those from being fetched
		}
		var err error
		select {
		case <-ctx.Done():
		case f := <-p.events:
			err = p.takeEvents(f)
		case f := <-arriving:
			err = p.takeLabels(f)
		case <-p.timer.C:
			err = p.due(ctx)
		case q := <-p.asked():
			q.answer(t)
		case <-changed:
			_, changed = t.s.models.Head()
			err = p.commit(ctx)
		case <-t.ahead.ready():
			err = p.commit(ctx)
		case <-tick.C: // an idle partition still finishes its snapshots
			t.notices.tick(t.s.o.Now(), false)
			if p.filling.since.IsZero() && (t.snap.Busy() || p.snapshotDue() || t.purge.due(t) ||
				len(p.late) > 0 && t.horizon.over(t.s.o.Now(), t.s.o.Held)) {
				err = p.commit(ctx)
			}
		case result := <-p.outcome:
			p.outcome <- result
			if err = p.await(); err == nil {
				err = p.due(ctx)
			}
		}
		if err != nil {
			return err
		}
	}
}

// next processes the next message of the current answer.
func (p *pipeline) next(ctx context.Context) error {
	topic, offset := p.t.s.o.Topics.Events, p.current.Records[0].Offset
	if p.filling.judging.stale(p.t, topic, offset) {
		if err := p.commit(ctx); err != nil {
			return err
		}
	}
	p.fill()
	p.filling.judging.begin(p.t.dead.clock(topic, offset, p.t.s.o.Now()), p.t.m)
	p.whole = totalsOf(p.t)
	err := p.t.process(ctx, p.filling, &p.current.Records[0], p.t.patience())
	if errors.Is(err, replay.ErrInterrupted) {
		p.giveUp(offset, topic)
		return nil // the loop drains
	}
	if err != nil {
		return errors.Join(err, p.await())
	}
	p.current.Records = p.current.Records[1:]
	p.t.board.waits(p.oldest())
	if len(p.current.Records) == 0 {
		p.t.passed(p.filling, &p.current)
	}
	select {
	case result := <-p.outcome:
		p.outcome <- result
		if err := p.await(); err != nil {
			return err
		}
	default:
	}
	return p.due(ctx)
}

// giveUp notes that the state holds a part of a message. The messages before it are still committed.
func (p *pipeline) giveUp(offset int64, topic string) {
	p.torn = true
	p.t.log.Info("a long message is left to the next owner", zap.String("topic", topic), zap.Int64("offset", offset))
}

func (p *pipeline) takeEvents(f fetched) error {
	p.current = f
	p.t.board.waits(p.oldest())
	if f.err != nil {
		return errors.Join(f.err, p.await())
	}
	if len(f.Records) == 0 {
		p.fill() // aborted and compacted records are passed over, by the group's offset too
		p.t.passed(p.filling, &p.current)
	}
	return nil
}

func (p *pipeline) takeLabels(f fetched) error {
	if f.err != nil {
		return errors.Join(f.err, p.await())
	}
	p.late = append(p.late, f)
	p.showLate()
	p.fill()
	return nil
}

// fill notes that there is something to commit.
func (p *pipeline) fill() {
	if p.filling.since.IsZero() {
		p.filling.since = p.t.s.o.Now()
		p.timer.Reset(p.t.s.o.Commit)
	}
}

// due commits when the transaction has waited or grown enough and the one before has ended.
func (p *pipeline) due(ctx context.Context) error {
	x, o := p.filling, &p.t.s.o
	if x.since.IsZero() {
		return nil
	}
	if x.bytes >= outputBytes || o.Now().Sub(x.since) >= o.Commit && p.committing == nil {
		return p.commit(ctx)
	}
	return nil
}

// await waits for the transaction under way.
func (p *pipeline) await() error {
	x, t := p.committing, p.t
	if x == nil {
		return nil
	}
	var err error
	for p.committing != nil {
		select {
		case q := <-p.asked():
			q.answer(t)
		case err = <-p.outcome:
			p.committing = nil
		}
	}
	t.s.budget.release(x.reserved)
	t.s.o.Metrics.InFlight.Set(float64(t.s.budget.inUse()))
	if err != nil {
		t.course = broken
		t.outlived(x.took)
		return err
	}
	t.advanced = true
	t.s.o.Metrics.Commits.WithLabelValues("committed").Inc()
	if x.snapshot {
		t.snap.Complete()
		t.snapshotFirst = false
	}
	t.sent(x)
	t.board.waits(p.oldest())
	t.board.report(t, &x.stands)
	return nil
}

// commit completes the transaction, labels and model included, and sends it.
func (p *pipeline) commit(ctx context.Context) error {
	if err := p.await(); err != nil {
		return err
	}
	x := p.filling
	p.filling = &transaction{}
	p.complete(ctx, x)
	if len(p.late) > 0 && x.bytes >= outputBytes || !p.torn && unobeyedErasure(p.t) {
		p.fill() // the rest of the labels, the next order to forget
	}
	if x.done.Number == 0 {
		p.t.s.budget.release(x.reserved)
		return nil
	}
	p.committing = x
	go p.t.send(x, p.outcome)
	return nil
}

// flush commits the transaction and waits for its outcome.
func (p *pipeline) flush(ctx context.Context) error {
	if err := p.commit(ctx); err != nil {
		return err
	}
	return p.await()
}

// complete adds to a transaction the late labels, then another model, then the orders on learning and to forget, the
// journal record if any was there, and the next pieces of a snapshot.
func (p *pipeline) complete(ctx context.Context, x *transaction) {
	t := p.t
	learnt := !p.torn && p.learnLate(ctx, x)
	p.showLate()
	var swapped bool
	var orders state.Obeyed
	var erased *state.Erased
	if !p.torn {
		swapped, orders = t.takeModel()
		orders.Learning = t.switchLearning()
		erased = erase(t)
	}
	if learnt || swapped || orders != (state.Obeyed{}) || erased != nil || x.judging.kept {
		t.writeJournal(x, orders, erased)
	}
	if !p.torn {
		p.save(x)
		tidy(t, x)
	}
	if t.note(x); t.m.At != t.committed || len(x.records) > 0 {
		t.number(x, t.committed)
		t.countAnswers(x)
		if p.torn {
			p.stands = t.board.standAt(t, p.whole, &p.stands)
		} else {
			p.stands = t.board.stand(t)
		}
		x.stands = p.stands
	}
}

// save adds the next pieces of a snapshot, where one is due or under way.
func (p *pipeline) save(x *transaction) {
	t := p.t
	now := t.s.o.Now()
	unsaved := t.m.Journal
	if t.snap.Last != nil {
		unsaved -= t.snap.Last.Journal
	}
	// A quarter of the ring each: the snapshot before the last must be able to replay too.
	if p.snapshotDue() || unsaved >= state.JournalRing/4 && !t.snap.Busy() {
		t.snap.Within(t.s.o.Client.Limit(t.s.o.Topics.State))
		t.purge.left = max(t.purge.left-1, 0)
		t.snap.Start(t.m.Part, t.s.o.Spec.Options.Fingerprint, t.m.At, t.m.Journal, t.s.format())
		t.read, t.wrote, t.noting = 0, 0, true
		p.lastSnap = now
		p.mark = passMark(p.mark, t.m.Part.Labelled())
		p.pace.Start(now)
	}
	if t.snap.Pending() {
		limit, take := p.pace.Allows(now), t.snap.TakeReady
		if t.s.stopping() || unsaved >= state.JournalRing/2 || t.snapshotFirst {
			limit, take = outputBytes, t.snap.Take // better too many bytes a second than a journal that is overwritten
		}
		busy := t.snap.Busy()
		pieces, whole := take(limit)
		for _, c := range pieces {
			t.writeState(x, c)
			p.pace.Spend(len(c.Value))
		}
		x.snapshot = whole
		if err := t.snap.Problem; err != nil && busy {
			t.log.Error("the state cannot be written to a snapshot", zap.Error(err))
		}
	}
}

func (p *pipeline) snapshotDue() bool {
	t, share := p.t, p.t.s.o.SnapshotShare
	if !t.snap.Busy() && (t.purge.left > 0 || p.coldSnapshotDue() && p.unsaved()) {
		return true
	}
	if share > 0 && share < 1 && !t.s.stopping() && !t.snapshotFirst && float64(t.read)*share < float64(t.wrote) {
		return false
	}
	return !t.snap.Busy() && t.s.o.Now().Sub(p.lastSnap) >= t.s.o.Snapshot && p.unsaved()
}

// unsaved reports whether the newest snapshot is not of the state as it is, or in another format than is written now,
// or the one before it in a later one, which a build that reads no such format must not meet.
func (p *pipeline) unsaved() bool {
	t, f := p.t, p.t.s.format()
	last, before := t.snap.Last, t.snap.Before
	return last == nil || t.snapshotFirst || last.Position != t.m.At || last.Format != f ||
		before != nil && before.Format > f
}

// writeFirst writes the first snapshot of a state to which no replay leads, before anything more is learnt.
func (p *pipeline) writeFirst(ctx context.Context) error {
	p.lastSnap = time.Time{}
	for p.t.snapshotFirst && ctx.Err() == nil {
		p.t.board.phase(WritingState, "")
		if err := p.flush(ctx); err != nil {
			return err
		}
		if p.t.snap.Problem != nil {
			return p.t.snap.Problem
		}
	}
	if !p.t.snapshotFirst {
		p.t.board.phase(Running, "")
	}
	return nil
}

// awaitModel waits, where a partition is empty and Options.Initial is to score its first record, until the trainer has
// published that model, wherever it runs: then the journal says that the model came before the first event. It reports
// whether there is a model. A trainer without that model is waited for as long as a sick environment; then the
// partition begins without one.
func (p *pipeline) awaitModel(ctx context.Context) bool {
	t, o := p.t, &p.t.s.o
	if o.Initial == nil || t.m.Part.NextOffset() >= 0 || t.m.Part.ModelVersion() > 0 {
		return false
	}
	t.board.phase(AwaitingModel, "")
	defer t.board.phase(Running, "")
	late := time.NewTimer(o.Patience)
	defer late.Stop()
	for {
		newest, changed := t.s.models.Head()
		if newest > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false // the loop ends it
		case <-changed:
		case <-late.C:
			t.log.Warn("the model that was to serve first is not published: the process that owns partition 0 does not " +
				"have it; beginning without")
			return false
		}
	}
}

// drain commits the processed messages and, when the whole stage stops, writes a last snapshot, so that the next start
// has nothing to replay.
func (p *pipeline) drain(ctx context.Context) error {
	t := p.t
	t.board.phase(Draining, "")
	if err := p.flush(ctx); err != nil {
		return err
	}
	if p.torn {
		t.course = broken
		return nil
	}
	if !t.s.stopping() {
		t.course = drained
		return nil
	}
	for t.snap.Busy() || p.unsaved() {
		if t.s.hurried() {
			return nil
		}
		p.lastSnap = time.Time{}
		if err := p.flush(ctx); err != nil {
			return err
		}
		if t.snap.Problem != nil {
			return nil // the next start replays
		}
		if p.torn {
			t.course = broken
			return nil
		}
	}
	return nil
}
