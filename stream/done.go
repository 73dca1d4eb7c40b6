package stream

import (
	"context"
	"errors"
	"fmt"
	"liftstream/stream/state"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/stream/txn"
)

// committedOffset decides which next offset of a topic is committed: own, the one of the record, or that of the group, which a
// broker that has died may give as it was a transaction ago. problem is not "" when the group's is taken though
// it loses what the record says is committed: somebody moved or deleted it, or made the topic anew.
func committedOffset(d state.Done, what string, own int64, group txn.GroupOffset) (committed int64, problem string) {
	_, ours := state.Noted(group)
	switch {
	case d.Number == 0:
		return group.Offset, "" // of a version that did not write the record, or the state topic is new
	case ours:
		return own, "" // the broker is behind, or the transaction is in the group and not in the state
	case group.Offset >= own:
		return group.Offset, "" // an older version went on, or somebody passes over events
	case group.Offset < 0 && d.Number == 1:
		return own, "" // the first transaction answers nothing: a broker that has forgotten it does no harm
	case own == 0:
		return group.Offset, "" // nothing was read of the topic
	case group.Offset < 0:
		return group.Offset, fmt.Sprintf("the group has no offset of %s, but the state says that all below %d are done: offsets were deleted or expired, or the topic was made anew", what, own)
	}
	return group.Offset, fmt.Sprintf("the group's offset of %s was set to %d by somebody else, and the state says that all below %d are done: offsets were reset", what, group.Offset, own)
}

// conclude ends what the broker has left open of this task's transactions, see txn.Producer.Discard, and reports
// whether there was any. Afterwards all that the partition's transactions wrote is committed or aborted, though a
// transaction may be the one in one topic and the other in another.
func (t *task) conclude(ctx context.Context) (was bool, err error) {
	o := &t.s.o
	mine := map[string][]int{o.Topics.State: {t.id}, o.Topics.Scores: {t.id}}
	all := map[string][]int{o.Topics.State: {t.id}, o.Topics.Scores: {t.id}, o.Topics.Dead: {t.id % t.s.deadPartitions}}
	open, err := t.s.undecided(ctx, all)
	if err != nil || len(open) == 0 {
		return false, err
	}
	// In the dead-letter topic it may be another task's, which is not touched by this.
	if err := t.producer.Discard(ctx, all); err != nil {
		return false, fmt.Errorf("ending what a broker has left open: %w", err)
	}
	log := t.log.Warn
	if len(open) == 1 && open[o.Topics.Dead] != nil {
		log = t.log.Debug
	}
	log("transactions were open where this partition writes: a broker has left them so, or, among dead letters, others are at work", zap.Strings("topics", slices.Sorted(maps.Keys(open))))
	if open, err = t.s.undecided(ctx, mine); err != nil {
		return false, err
	}
	for _, topic := range slices.Sorted(maps.Keys(open)) {
		return false, &txn.Error{Op: "taking over", Topic: topic, Partition: t.id, Kind: txn.Environment, Reason: "its outcome decides what the state is; 'kafka-transactions.sh find-hanging' names a transaction that nobody will end",
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

// answered returns one past the last event that has scores among the messages of the scores topic from offset from on,
// -1 when there is none. It is not known when there is none left. What answers events that do not exist is not the
// stage's.
func (s *Stage) answered(ctx context.Context, partition int, from int64) (next int64, known bool, err error) {
	c, topic := s.o.Client, s.o.Topics.Scores
	_, last, err := c.Bounds(ctx, s.o.Topics.Events, partition)
	if err != nil {
		return 0, false, fmt.Errorf("reading the scores: %w", err)
	}
	start, end, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return 0, false, fmt.Errorf("reading the scores: %w", err)
	}
	low := max(start, from)
	next = -1
	for high, step := end, int64(64); next < 0 && high > low; step *= 8 {
		begin := max(high-step, low)
		for at := begin; at < high; {
			f, err := c.Fetch(ctx, topic, partition, at, 4<<20, 500*time.Millisecond)
			if err != nil {
				return 0, false, fmt.Errorf("reading the scores: %w", err)
			}
			for i := range f.Records {
				if of, err := eventOf(&f.Records[i]); err == nil && of < last {
					next = max(next, of+1)
				}
			}
			if ctx.Err() != nil {
				return 0, false, ctx.Err()
			}
			at = f.Next
		}
		high = begin
	}
	return next, next >= 0 || start <= from, nil
}

// eventOf returns the offset of the event that a scores message answers.
func eventOf(r *txn.Record) (int64, error) {
	for _, h := range slices.Backward(r.Headers) { // the event's own headers come first
		if h.Key == HeaderScoreOffset {
			of, err := strconv.ParseInt(string(h.Value), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("scores message %d: %w", r.Offset, err)
			}
			return of, nil
		}
	}
	return 0, fmt.Errorf("scores message %d has no header %s: %w", r.Offset, HeaderScoreOffset, errForeignScore)
}

// letterID is which row of which message a dead letter is about; row -1 = all of it.
type letterID struct {
	topic  string
	offset int64
	row    int
}

// lettersOf reads which dead letters of the partition the dead-letter topic holds from offset from on.
func (t *task) lettersOf(ctx context.Context, from int64) (map[letterID]bool, error) {
	o := &t.s.o
	dead := t.id % t.s.deadPartitions
	// All letters of this partition lie below the high watermark, but others write there too, and theirs may be open.
	// Nobody's transaction of the stage stays so for longer.
	high, err := o.Client.ListOffsets(ctx, o.Topics.Dead, []int{dead}, txn.HighWatermark)
	if err != nil {
		return nil, fmt.Errorf("reading the dead letters: %w", err)
	}
	for began := o.Now(); ; {
		stable, err := o.Client.ListOffsets(ctx, o.Topics.Dead, []int{dead}, txn.End)
		if err != nil {
			return nil, fmt.Errorf("reading the dead letters: %w", err)
		}
		if stable[dead] >= high[dead] {
			break
		}
		if o.Now().Sub(began) > transactionTimeout+15*time.Second {
			t.log.Warn("a transaction is open among the dead letters: those of this partition that lie behind it may be written again", zap.Int64("offset", stable[dead]))
			break
		}
		t.phase("waiting for the end of somebody else's transaction among the dead letters")
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	start, end, err := o.Client.Bounds(ctx, o.Topics.Dead, dead)
	if err != nil {
		return nil, fmt.Errorf("reading the dead letters: %w", err)
	}
	out := map[letterID]bool{}
	for at := max(start, from); at < end; {
		f, err := o.Client.Fetch(ctx, o.Topics.Dead, dead, at, 4<<20, 500*time.Millisecond)
		if err != nil {
			return nil, fmt.Errorf("reading the dead letters: %w", err)
		}
		for i := range f.Records {
			id, partition := letterID{row: -1}, -1
			for _, h := range f.Records[i].Headers { // the message's own headers come first
				switch h.Key {
				case codec.DeadTopic:
					id.topic = string(h.Value)
				case codec.DeadPartition:
					partition, _ = strconv.Atoi(string(h.Value))
				case codec.DeadOffset:
					id.offset, _ = strconv.ParseInt(string(h.Value), 10, 64)
				case codec.DeadRow:
					id.row, _ = strconv.Atoi(string(h.Value))
				}
			}
			if partition == t.id {
				out[id] = true
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at = f.Next
	}
	return out, nil
}

// forgetLetters forgets the dead letters that lie before their transaction once their messages are committed.
func (t *task) forgetLetters(to state.Position) {
	topics := &t.s.o.Topics
	maps.DeleteFunc(t.letters, func(id letterID, _ bool) bool {
		switch id.topic {
		case topics.Events:
			return id.offset < to.Events
		case topics.Labels:
			return id.offset < to.Labels
		}
		return true
	})
}

// redo is what the last transaction left undone.
type redo struct {
	scores int64          // events below the committed offset and from this one on have no scores
	from   state.Position // where it began
	begun  bool           // an event without scores was met
	claim  bool           // the group's offsets carry no number yet
	x      *transaction   // what the next one must write for it
}

const nothing = math.MaxInt64 // to be scored again

// inspect compares what the last transaction says with what it has left in the topics of scores and dead letters, for
// it may be committed in one and not in the other. It returns the next event offset that is committed.
func (t *task) inspect(ctx context.Context, d state.Done) (events int64, err error) {
	events = d.Events
	t.redo.from = state.Position{Events: d.EventsFrom, Labels: d.LabelsFrom}
	t.scoresAt, t.deadAt, t.answered = d.ScoresFrom, d.LettersFrom, d.Answered
	next, known, err := t.s.answered(ctx, t.id, d.ScoresFrom)
	if err != nil {
		return 0, err
	}
	switch {
	case !known:
	case next > d.Events: // it is in the scores and not in the state
		events, t.answered = next, next
	case next >= 0 && next < d.Answered: // it is in the state and not in the scores
		t.redo.scores = next
	case next < d.Answered: // and none before it is there to begin after
		t.redo.scores = d.EventsFrom
	}
	if t.letters, err = t.lettersOf(ctx, d.LettersFrom); err != nil {
		return 0, err
	}
	there := 0
	for id := range t.letters {
		if id.topic == t.s.o.Topics.Events && d.EventsFrom <= id.offset && id.offset < d.Events || id.topic != t.s.o.Topics.Events && d.LabelsFrom <= id.offset && id.offset < d.Labels {
			there++
			t.redo.x.bury(id)
		}
	}
	from := d.Events
	if there < d.Letters {
		from = d.EventsFrom
		if err := t.rebury(ctx, codec.StageLabels, d.LabelsFrom, d.Labels); err != nil {
			return 0, err
		}
	}
	return events, t.rebury(ctx, codec.StageEvents, from, events)
}

// undone reports whether a message at or after redo.scores must be done again. Those before the last transaction that
// follow the last scores and are no events are done: they never had scores, and a transaction before buried them.
func (t *task) undone(r *txn.Record) bool {
	t.redo.begun = t.redo.begun || r.Offset >= t.redo.from.Events || t.decodes(r)
	return t.redo.begun
}

func (t *task) decodes(r *txn.Record) bool {
	_, err := t.readEvents(r)
	return err == nil
}

// firstEvent returns the offset of the first message of [from, to) that is an event and so has scores, to when there is
// none.
func (t *task) firstEvent(ctx context.Context, from, to int64) (int64, error) {
	start, _, err := t.s.o.Client.Bounds(ctx, t.s.o.Topics.Events, t.id)
	if err != nil {
		return 0, err
	}
	at, first := max(from, start), to
	err = t.refetch(ctx, t.s.o.Topics.Events, &at, to, func(r *txn.Record) {
		if from <= r.Offset && first == to && t.decodes(r) {
			first = r.Offset
		}
	})
	if err != nil {
		return 0, fmt.Errorf("looking for events without scores: %w", err)
	}
	return first, nil
}

// rebury writes the dead letters of [from, to) that the dead-letter topic does not hold.
func (t *task) rebury(ctx context.Context, stage string, from, to int64) error {
	o := &t.s.o
	topic := o.Topics.Events
	each := func(r *txn.Record) {
		bad, err := t.readEvents(r)
		t.bury(t.redo.x, r, stage, topic, bad, err)
	}
	if stage == codec.StageLabels {
		topic = o.Topics.Labels
		each = func(r *txn.Record) {
			bad, err := t.readLabels(r)
			t.bury(t.redo.x, r, stage, topic, bad, err)
		}
	}
	if topic == "" || from >= to {
		return nil
	}
	start, _, err := o.Client.Bounds(ctx, topic, t.id)
	if err != nil {
		return err
	}
	from = max(from, start)
	return t.refetch(ctx, topic, &from, to, each)
}
