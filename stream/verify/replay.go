package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/replay"
	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// verifier replays one partition.
type verifier struct {
	o         *Options
	models    *state.Models
	partition int
	verdict   *Verdict

	m       *replay.Machine
	history *history
	scores  scoreReader
	value   []byte
}

func (v *verifier) run(ctx context.Context) (err error) {
	o, names := v.o, &v.o.Topics
	reader := committed.Reader{Client: o.Client, Group: o.Name, Partition: v.partition, Topics: o.Topics}
	// Asked first: then it is not ahead of the state topic.
	group, err := reader.Offsets(ctx)
	if err != nil {
		return err
	}
	v.history, err = readHistory(ctx, o.Client, names.State, v.partition, state.Bound(o.Spec))
	if err != nil {
		return err
	}
	if err := v.history.doneErr; err != nil {
		v.verdict.problem("the done record: %v", err)
	}
	at, _ := group.Offsets(v.history.done)
	target := at.Events
	if target < 0 {
		return nil
	}
	if target == v.history.done.Events {
		// After the death of a broker the scores may be ahead of the state or behind it until a task takes the partition
		// over.
		_, end, err := o.Client.Bounds(ctx, names.Events, v.partition)
		if err != nil {
			return err
		}
		tail, err := scores.ReadTail(ctx, o.Client, names.Scores, v.partition, o.Name, v.history.done.ScoresFrom, end)
		if err != nil {
			return err
		}
		events, missing, _ := committed.Answered(v.history.done, tail)
		target = min(events, missing)
	}
	for end := false; !end; {
		if end, err = v.models.Advance(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	v.m, err = replay.New(replay.Options{Client: o.Client, Events: names.Events, Labels: names.Labels,
		Partition: v.partition, Spec: v.spelled(), Codec: o.Codec, Models: v.models,
		Skips: v.history.log.Skips()})
	if err != nil {
		return err
	}
	v.m.Judged = v.history.judged
	v.m.EachEvents = func(r *txn.Record) error { return v.event(ctx, r) }
	if !v.begin(ctx, target) {
		v.verdict.problem("%s", v.nothing())
		return nil
	}
	start, _, err := o.Client.Bounds(ctx, names.Scores, v.partition)
	if err != nil {
		return err
	}
	b := &v.history.beginning
	v.scores = scoreReader{c: o.Client, topic: names.Scores, partition: v.partition, name: o.Name,
		next: max(start, b.scores), skipped: start > b.scores || v.m.At.Events > b.claimed.Events}
	v.verdict.From = v.m.At.Events
	if err := v.replay(ctx, target); err != nil {
		return err
	}
	v.verdict.To = v.m.At.Events
	if o.To.IsZero() {
		return v.surplus(ctx, target)
	}
	return nil
}

// begin gives the machine the state with which the replay begins.
func (v *verifier) begin(ctx context.Context, target int64) bool {
	o, h := v.o, v.history
	var first state.Position
	var err error
	if first.Events, _, err = o.Client.Bounds(ctx, o.Topics.Events, v.partition); err != nil {
		return false
	}
	if o.Topics.Labels != "" {
		if first.Labels, _, err = o.Client.Bounds(ctx, o.Topics.Labels, v.partition); err != nil {
			return false
		}
	}
	at, ok := h.beginning.position(first)
	if ok && h.complete(0, 0, v.models) && !slices.ContainsFunc(h.snapshots, v.foreign) {
		v.verdict.Start = "the beginning"
		v.m.Begin(at)
		return true
	}
	for _, x := range h.snapshots {
		if x.sections == nil || v.foreign(x) || x.Events < first.Events || x.Events > target ||
			x.Labels < first.Labels || !h.complete(x.Journal, x.Model, v.models) {
			continue
		}
		if err := v.m.Load(x.Manifest, x.sections); err != nil {
			v.verdict.problem("snapshot %d: %v", x.Number, err)
			continue
		}
		v.verdict.Start = fmt.Sprintf("snapshot %d", x.Number)
		if h.beginning.files && x.Number == 1 {
			v.verdict.Start += ", the state that 'bootstrap' has learnt from files (which no topic has)"
		}
		return true
	}
	return false
}

// spelled is the specification of the stage under which levels have the texts of the snapshots: an earlier build may
// have kept 1.0 where this one keeps 1. Where it kept both, this build has one level in place of two, and its replay
// differs.
func (v *verifier) spelled() *model.Spec {
	o := v.o
	raw := v.history.levels[o.Spec.Options.Fingerprint]
	if raw == nil {
		return o.Spec
	}
	x, err := model.SpellingOf(o.Spec.Schema, raw)
	switch {
	case err != nil:
		v.verdict.problem("the levels of the newest snapshot: %v", err)
	case x.Twins != nil:
		v.verdict.Because = fmt.Sprintf("an earlier build has scored this: its state keeps %q and %q of %s as two levels, "+
			"and they are one value in this build, which keeps one; what differs is no sign of damage, and the build that "+
			"scored can verify it", x.Twins[0], x.Twins[1], x.Feature)
	case x.Count > 0:
		v.verdict.Because = fmt.Sprintf("an earlier build has scored this: its state has %q of %s, which this build writes "+
			"otherwise; the replay takes the texts of the state, so what differs comes of other changes of the program, or of "+
			"damage, and the build that scored can tell", x.Example, x.Feature)
	}
	if err != nil {
		return o.Spec
	}
	spec := *o.Spec
	spec.Options.Spelling = x
	return &spec
}

// nothing says in words why there is nothing to begin with.
func (v *verifier) nothing() string {
	h := v.history
	foreign := len(h.snapshots) > 0
	for _, x := range h.snapshots {
		foreign = foreign && v.foreign(x)
	}
	if !foreign {
		return "there is nothing to begin with: neither the first events nor a snapshot with the journal after it"
	}
	made := h.snapshots[len(h.snapshots)-1].Fingerprint
	text := fmt.Sprintf("the state was made under another configuration, or by a build for which this one means "+
		"something else: its fingerprint is %016x, and here it is %016x", made, v.o.Spec.Options.Fingerprint)
	switch x, err := model.SpellingOf(v.o.Spec.Schema, h.levels[made]); {
	case err != nil:
	case x.Twins != nil:
		text += fmt.Sprintf(" (it keeps %q and %q of %s as two levels, which are one value here)", x.Twins[0], x.Twins[1],
			x.Feature)
	case x.Count > 0:
		text += fmt.Sprintf(" (it has the level %q of %s, which this build writes otherwise)", x.Example, x.Feature)
	}
	return text + "; verify with the build and the configuration that scored"
}

// foreign reports whether a snapshot is of another configuration.
func (v *verifier) foreign(x *snapshot) bool { return x.Fingerprint != v.o.Spec.Options.Fingerprint }

// replay goes through journal and snapshots to the event offset target.
func (v *verifier) replay(ctx context.Context, target int64) error {
	m := v.m
	waiting := slices.DeleteFunc(
		slices.Clone(v.history.snapshots),
		v.foreign,
	) // one may lie where the state was carried over
	slices.SortStableFunc(waiting, func(a, b *snapshot) int { return int(a.Number) - int(b.Number) })
	for {
		for len(waiting) > 0 && (waiting[0].Journal < m.Journal || waiting[0].Events < m.At.Events) {
			waiting = waiting[1:]
		}
		e, more := v.history.journal[m.Journal]
		if len(waiting) > 0 && waiting[0].Journal == m.Journal && waiting[0].Events <= target &&
			(!more || waiting[0].Events <= e.Events) {
			if err := m.EventsTo(ctx, waiting[0].Events); err != nil {
				return err
			}
			v.compare(waiting[0])
			waiting = waiting[1:]
			continue
		}
		if !more || e.Events > target {
			return m.EventsTo(ctx, target)
		}
		before := m.At
		if err := m.Follow(ctx, e); err != nil {
			return err
		}
		v.verdict.Labels += m.At.Labels - before.Labels
		if m.At.Model != before.Model {
			v.verdict.Swaps++
		}
	}
}

// compare holds the replayed state against a snapshot.
func (v *verifier) compare(x *snapshot) {
	if x.digests == nil {
		v.verdict.Unread++
		return
	}
	v.verdict.States++
	got := v.m.Part.Snapshot()
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(x.digests)) {
		if raw, ok := got[name]; !ok || sha256.Sum256(raw) != x.digests[name] {
			wrong = append(wrong, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := x.digests[name]; !ok && name != model.SectionSchema && !strings.HasPrefix(name, model.IDSections) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		v.verdict.problem("snapshot %d, at event %d: not the replayed state in %v", x.Number, x.Events, wrong)
	}
}

// event takes one events message and compares its scores.
func (v *verifier) event(ctx context.Context, r *txn.Record) error {
	if _, err := v.m.ReadEvents(r); err != nil {
		return nil // it has no scores
	}
	v.m.Sift()
	if v.o.Codec.Format.Single() && v.m.Batch.N == 0 {
		return v.m.Score(nil, nil) // its answer would be a message for each row
	}
	if r.Offset < v.history.beginning.claimed.Events {
		return v.m.Score(nil, nil) // it has those of a former state
	}
	from, to := v.o.From, v.o.To
	if !from.IsZero() && r.Time.Before(from) || !to.IsZero() && r.Time.After(to) {
		v.scores.skipped = true
		return v.m.Score(nil, nil)
	}
	return v.compareScores(ctx, r)
}

// compareScores scores the last message and compares with its messages in the scores topic.
func (v *verifier) compareScores(ctx context.Context, event *txn.Record) error {
	got, err := v.answer(ctx, event)
	if err != nil {
		return err
	}
	limit := 0
	if got != nil {
		limit = scores.LimitOf(got)
	}
	v.value = v.value[:0]
	v.m.BeginScores(limit)
	if err := v.m.Score(nil, func(b *model.Batch, from int) (err error) {
		v.value, err = v.m.AppendScores(v.value, b, from)
		return err
	}); err != nil {
		return fmt.Errorf("encoding the scores of offset %d: %w", event.Offset, err)
	}
	parts, _ := v.m.ScoreParts()
	for i, p := range parts {
		if i > 0 {
			if got, err = v.answer(ctx, event); err != nil {
				return err
			}
		}
		if got == nil {
			return nil
		}
		v.scores.drop()
		v.scores.skipped = false
		v.verdict.Messages++
		v.verdict.Records += p.Rows
		switch {
		case !v.o.Codec.Frame.SameScores(got.Value, v.value[p.Start:p.End]):
			v.verdict.problem("scores message %d, of event %d: not what the replay gives", got.Offset, event.Offset)
		case !bytes.Equal(got.Key, event.Key) || !got.Time.IsZero() && !scores.TimeOf(got).Equal(event.Time):
			v.verdict.problem("scores message %d, of event %d: another key or time", got.Offset, event.Offset)
		}
	}
	return nil
}

// answer returns the next scores message of an event; nil, and a problem, where there is none.
func (v *verifier) answer(ctx context.Context, event *txn.Record) (*txn.Record, error) {
	for {
		got, of, err := v.scores.peek(ctx)
		if err != nil {
			return nil, err
		}
		if got == nil || of > event.Offset {
			if v.scores.skipped && got != nil {
				return nil, nil // older scores are no longer in the topic
			}
			v.verdict.problem("event %d has no score", event.Offset)
			return nil, nil
		}
		if of == event.Offset {
			return got, nil
		}
		v.scores.drop()
		if !v.scores.skipped && of >= v.history.beginning.claimed.Events {
			v.excess(got, of)
		}
	}
}

func (v *verifier) excess(got *txn.Record, of int64) {
	v.verdict.problem("scores message %d answers event %d a second time, or one that has no answer", got.Offset, of)
}

// surplus looks for scores after the last committed event's that answer earlier ones.
func (v *verifier) surplus(ctx context.Context, target int64) error {
	for {
		got, of, err := v.scores.peek(ctx)
		if err != nil || got == nil {
			return err
		}
		v.scores.drop()
		if v.history.beginning.claimed.Events <= of && of < target && !v.scores.skipped {
			v.excess(got, of)
		}
	}
}
