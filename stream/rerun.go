package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"liftstream/codec"
	"liftstream/stream/committed"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// rerun takes the messages up to the committed position once more into the state that a takeover restores.
type rerun struct {
	t        *task
	plan     *committed.Plan
	x        *transaction // takes the scores that are missing
	unscored bool         // it has come to an event that must be scored again
	// judged is by which time the last transaction has judged, where the state does not tell. known is the position below
	// which a known transaction has taken the messages.
	judged state.Judgements
	known  state.Position
}

// event takes an event: one without scores is processed as a new one, the others move the state alone.
func (e *rerun) event(ctx context.Context, r *txn.Record) (err error) {
	t := e.t
	t.m.Now = 0
	letter := t.dead.clock(t.s.o.Topics.Events, r.Offset, time.Time{})
	switch at := e.judged.Event(r.Offset); {
	case at != 0:
		e.x.judging.begin(time.Unix(0, at), t.m)
	case r.Offset >= e.plan.Done.Events && !letter.IsZero(): // its scores are of a former build, and do not tell
		e.x.judging.begin(letter, t.m)
	case r.Offset >= e.known.Events:
		e.x.judging.begin(t.s.o.Now(), t.m)
	}
	if r.Offset >= e.plan.Missing && e.lacksScores(r) {
		return t.process(ctx, e.x, r, 0)
	}
	var bad []codec.RowError
	t.during(ctx, t.s.o.Topics.Events, r, 0, func(more func(row int) bool) { bad, err = t.m.TakeEvents(r, more) })
	if errors.Is(err, replay.ErrInterrupted) {
		return err
	}
	e.x.judging.note(t.m, r.Offset, t.m.At.Labels)
	t.windows.events.see(r.Offset, weighed(t.m.Rows, bad, err))
	return nil
}

// lacksScores reports whether a message at or after plan.Missing must be scored again. Messages between the last scores
// and the last transaction that are no events are passed over: they never had scores, and a transaction before has
// written their dead letters.
func (e *rerun) lacksScores(r *txn.Record) bool {
	e.unscored = e.unscored || r.Offset >= e.plan.Done.EventsFrom || e.t.m.IsEvent(r)
	return e.unscored
}

// labels takes labels, which move the state alone.
func (e *rerun) labels(ctx context.Context, r *txn.Record) (err error) {
	t := e.t
	if t.m.Now = 0; r.Offset >= e.known.Labels {
		e.x.judging.begin(t.s.o.Now(), t.m)
	}
	var bad []codec.RowError
	t.during(ctx, t.s.o.Topics.Labels, r, 0, func(more func(row int) bool) { _, bad, err = t.m.TakeLabels(r, more) })
	if errors.Is(err, replay.ErrInterrupted) {
		return err
	}
	e.x.judging.note(t.m, t.m.At.Events, r.Offset)
	t.windows.labels.see(r.Offset, weighed(t.m.Labels.N, bad, err))
	return nil
}

// forget drops the scores that the rerun has made: the state is another one from here.
func (e *rerun) forget() {
	e.unscored = false
	e.x.answers, e.x.spans, e.x.counts = nil, spans{}, tallies{dead: e.x.counts.dead} // the letters stay
	e.x.records = slices.DeleteFunc(e.x.records, func(r txn.Record) bool { return r.Topic == e.t.s.o.Topics.Scores })
}
