package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"liftstream/stream/state"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/txn"
)

// Verdict is what Verify found in one partition.
type Verdict struct {
	Partition int
	From, To  int64  // event offsets that were replayed
	Start     string // what the replay began with: "the beginning", or a snapshot
	Messages  int    // scores messages compared, byte for byte
	Records   int    // records in them
	Swaps     int    // changes of the model that were replayed
	Labels    int64  // label offsets replayed
	States    int    // snapshots compared with the replayed state, section by section
	Unread    int    // snapshots that compaction has taken parts of, so that they could not be compared
	Problems  []string
	More      int // problems beyond those listed
}

const maxProblems = 20

func (v *Verdict) problem(format string, args ...any) {
	if len(v.Problems) == maxProblems {
		v.More++
		return
	}
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// Verify replays what the topics hold, events, labels and models in the order that the journal gives, with the code
// that scored them, and compares: every scores message byte for byte, and the state at every snapshot that can still be
// read. A partition is replayed from where its state began, if the topics still hold that, else from its oldest usable
// snapshot, up to what is committed. What was scored with a state before, which a policy has given up, is not compared.
// Scores of events outside [from, to], by Kafka's timestamps, are replayed but not compared; a zero time sets no bound.
// It writes nothing, and may run beside a stage.
//
// Of the options it needs Name, Spec, Codec, Client, Topics and Log.
func Verify(ctx context.Context, o Options, from, to time.Time) ([]Verdict, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	s := New(o)
	s.models.KeepAll = true
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	out := make([]Verdict, s.partitions)
	for p := range out {
		v := &verifier{s: s, from: from, to: to, verdict: &out[p]}
		out[p].Partition = p
		if err := v.run(ctx, p); err != nil {
			return out, fmt.Errorf("verifying partition %d: %w", p, err)
		}
	}
	return out, nil
}

// verifier replays one partition.
type verifier struct {
	s        *Stage
	from, to time.Time
	verdict  *Verdict
	task     *task

	done    state.Done // of the newest transaction that history has read
	line    line
	journal map[uint64]state.JournalEntry
	states  []*pastState // readable or not, by number
	scores  scoreReader
	value   []byte
}

// line is what is known of how the state began that the journal tells of. The zero value: with the topics.
type line struct {
	anew    bool           // instead of another one
	unknown bool           // the transaction in which it did is no longer told whole
	claimed state.Position // what that one committed: events below it were learnt again, and have the scores of the state before
	scores  int64          // where its own scores begin
}

// start is where it began, in topics whose first offsets are these; ok is false when that is not certain any more.
func (l line) start(first state.Position) (at state.Position, ok bool) {
	if l.unknown || first.Labels > l.claimed.Labels || first.Events != 0 && (!l.anew || first.Events != l.claimed.Events) {
		return state.Position{}, false
	}
	return state.Position{Events: first.Events, Labels: l.claimed.Labels}, true
}

// pastState is a snapshot that the state topic held at some time.
type pastState struct {
	*state.Manifest
	digests  map[string][sha256.Size]byte // nil = its parts could not be read
	sections map[string][]byte            // only of those that a replay may begin with
}

func (v *verifier) run(ctx context.Context, p int) (err error) {
	o := &v.s.o
	if v.task, err = newTask(v.s, &txn.Generation{}, p); err != nil {
		return err
	}
	// Asked first: then it is not ahead of what the state topic tells.
	group, err := v.s.groupOffsets(ctx, p)
	if err != nil {
		return err
	}
	if err := v.history(ctx, p); err != nil {
		return err
	}
	committed, _ := group.settle(v.done)
	target := committed.Events
	if target < 0 {
		return nil
	}
	if target == v.done.Events {
		// After the death of a broker the scores may be ahead of the state or behind it until somebody takes the partition
		// over.
		next, known, err := v.s.answered(ctx, p, v.done.ScoresFrom)
		if err != nil {
			return err
		}
		switch {
		case known && next > target, next >= 0 && next < v.done.Answered:
			target = next
		case known && next < v.done.Answered:
			target = v.done.EventsFrom
		}
	}
	if err := v.s.loadModels(ctx); err != nil {
		return err
	}
	if !v.begin(ctx, p, target) {
		v.verdict.problem("there is nothing to begin with: neither the first events nor a snapshot with the journal after it")
		return nil
	}
	start, _, err := o.Client.Bounds(ctx, o.Topics.Scores, p)
	if err != nil {
		return err
	}
	v.scores = scoreReader{c: o.Client, topic: o.Topics.Scores, partition: p, next: max(start, v.line.scores), skipped: start > v.line.scores || v.task.at.Events > v.line.claimed.Events}
	v.verdict.From = v.task.at.Events
	if err := v.replay(ctx, target); err != nil {
		return err
	}
	v.verdict.To = v.task.at.Events
	if v.to.IsZero() {
		return v.surplus(ctx, target)
	}
	return nil
}

// history reads everything that the partition of the state topic still holds, in the order in which it was written.
func (v *verifier) history(ctx context.Context, p int) error {
	o := &v.s.o
	v.journal, v.line = map[uint64]state.JournalEntry{}, line{}
	log := state.NewLog()
	log.Limit = stateBound(o.Spec)
	at, end, err := o.Client.Bounds(ctx, o.Topics.State, p)
	if err != nil {
		return fmt.Errorf("reading the state topic: %w", err)
	}
	first, ended := true, int64(-1)
	for at < end {
		f, err := o.Client.Fetch(ctx, o.Topics.State, p, at, 8<<20, 500*time.Millisecond)
		if err != nil {
			return fmt.Errorf("reading the state topic: %w", err)
		}
		for i := range f.Records {
			key, value := string(f.Records[i].Key), f.Records[i].Value
			log.Apply(f.Records[i].Key, value)
			if value == nil && (strings.HasPrefix(key, "manifest/") || strings.HasPrefix(key, "journal/")) {
				// What was before is of another state, which begins anew with this transaction.
				ended, v.line, v.states, first = f.Records[i].Offset, line{anew: true, unknown: true}, nil, true
				clear(v.journal)
				continue
			}
			if key == state.DoneKey && ended >= 0 && f.Records[i].Offset == ended+1 { // else a marker would lie between
				if d, err := state.DecodeDone(value, state.Format); err == nil {
					v.line = line{anew: true, claimed: state.Position{Events: d.Events, Labels: d.Labels}, scores: d.ScoresFrom}
				}
			}
			if e, err := state.DecodeJournal(value, state.Format); err == nil && key == state.JournalKey(e.Number) && len(value) <= state.JournalBytes {
				v.journal[e.Number] = e
				continue
			}
			m, err := state.DecodeManifest(value, state.Format)
			if err != nil || key != m.Key() {
				continue
			}
			x := &pastState{Manifest: m}
			if sections, err := log.Sections(m); err == nil {
				x.digests = map[string][sha256.Size]byte{}
				for name, raw := range sections {
					x.digests[name] = sha256.Sum256(raw)
				}
				if first || len(v.states) > 0 {
					x.sections = sections
				}
				// The oldest and the newest two may serve as a beginning; the others' bytes are not kept.
				if n := len(v.states); n > 2 {
					v.states[n-2].sections = nil
				}
				first = false
			}
			v.states = append(v.states, x)
		}
		at = f.Next
	}
	if v.done, err = log.Done(); err != nil {
		v.verdict.problem("what the last transaction committed: %v", err)
	}
	return nil
}

// complete reports whether a replay can go from the journal record of that number, under that model, to the newest: all
// records are there, and the models that they swap in.
func (v *verifier) complete(from uint64, model int64) bool {
	var end uint64
	for n := range v.journal {
		end = max(end, n+1)
	}
	held := v.s.models.Versions()
	for n := from; n < end; n++ {
		e, ok := v.journal[n]
		if !ok {
			return false
		}
		if e.Model != model {
			if _, ok := held[e.Model]; !ok {
				return false
			}
			model = e.Model
		}
	}
	return true
}

// begin puts the task to where the replay begins.
func (v *verifier) begin(ctx context.Context, p int, target int64) bool {
	o := &v.s.o
	var first state.Position
	var err error
	if first.Events, _, err = o.Client.Bounds(ctx, o.Topics.Events, p); err != nil {
		return false
	}
	if o.Topics.Labels != "" {
		if first.Labels, _, err = o.Client.Bounds(ctx, o.Topics.Labels, p); err != nil {
			return false
		}
	}
	t := v.task
	if at, ok := v.line.start(first); ok && v.complete(0, 0) && !slices.ContainsFunc(v.states, v.foreign) {
		v.verdict.Start = "the beginning"
		t.part, t.at = model.NewPartition(o.Spec, int32(p)), at
		return true
	}
	for _, x := range v.states {
		if x.sections == nil || v.foreign(x) || x.Events < first.Events || x.Events > target || x.Labels < first.Labels || !v.complete(x.Journal, x.Model) {
			continue
		}
		if err := v.load(x); err != nil {
			v.verdict.problem("snapshot %d: %v", x.Number, err)
			continue
		}
		v.verdict.Start = fmt.Sprintf("snapshot %d", x.Number)
		return true
	}
	return false
}

// foreign reports whether a snapshot is of another configuration.
func (v *verifier) foreign(x *pastState) bool { return x.Fingerprint != v.s.o.Spec.Options.Fingerprint }

func (v *verifier) load(x *pastState) error {
	return state.Contain(func() (err error) {
		if v.task.part, err = model.RestorePartition(v.s.o.Spec, x.sections); err == nil {
			v.task.at, v.task.journal = x.Position, x.Journal
		}
		return err
	})
}

// replay goes through journal and snapshots to the event offset target.
func (v *verifier) replay(ctx context.Context, target int64) error {
	t := v.task
	states := slices.DeleteFunc(slices.Clone(v.states), v.foreign) // one may lie where the state was carried over
	slices.SortStableFunc(states, func(a, b *pastState) int { return int(a.Number) - int(b.Number) })
	for {
		for len(states) > 0 && (states[0].Journal < t.journal || states[0].Events < t.at.Events) {
			states = states[1:]
		}
		e, more := v.journal[t.journal]
		if len(states) > 0 && states[0].Journal == t.journal && states[0].Events <= target && (!more || states[0].Events <= e.Events) {
			if err := v.events(ctx, states[0].Events); err != nil {
				return err
			}
			v.compare(states[0])
			states = states[1:]
			continue
		}
		if !more || e.Events > target {
			return v.events(ctx, target)
		}
		if err := v.events(ctx, e.Events); err != nil {
			return err
		}
		labels := t.at.Labels
		if err := t.replayLabels(ctx, e.Labels); err != nil {
			return err
		}
		v.verdict.Labels += t.at.Labels - labels
		if e.Model != t.at.Model {
			if err := t.swap(e.Model); err != nil {
				return fmt.Errorf("replaying journal record %d: %w", e.Number, err)
			}
			t.at.Model = e.Model
			v.verdict.Swaps++
		}
		t.journal = e.Number + 1
	}
}

// compare holds the replayed state against a snapshot.
func (v *verifier) compare(x *pastState) {
	if x.digests == nil {
		v.verdict.Unread++
		return
	}
	v.verdict.States++
	got := v.task.part.Snapshot()
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(x.digests)) {
		if raw, ok := got[name]; !ok || sha256.Sum256(raw) != x.digests[name] {
			wrong = append(wrong, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := x.digests[name]; !ok && name != model.SectionSchema {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		v.verdict.problem("snapshot %d, at event %d: not the replayed state in %v", x.Number, x.Events, wrong)
	}
}

// events replays the events below offset to and compares their scores.
func (v *verifier) events(ctx context.Context, to int64) error {
	t := v.task
	var failed error
	err := t.refetch(ctx, v.s.o.Topics.Events, &t.at.Events, to, func(r *txn.Record) {
		if failed != nil || !t.decode(nil, r) {
			return
		}
		t.part.Events(&t.batch, &t.scores)
		if r.Offset < v.line.claimed.Events {
			return
		}
		if !v.from.IsZero() && r.Time.Before(v.from) || !v.to.IsZero() && r.Time.After(v.to) {
			v.scores.skipped = true
			return
		}
		failed = v.score(ctx, r)
	})
	if err != nil {
		return fmt.Errorf("replaying events: %w", err)
	}
	return failed
}

// score compares the scores of one message with what the scores topic holds.
func (v *verifier) score(ctx context.Context, event *txn.Record) (err error) {
	t := v.task
	if v.value, err = t.encoder.Encode(v.value[:0], &t.batch, &t.scores, t.part.Levels(), &t.carry); err != nil {
		return fmt.Errorf("encoding the scores of offset %d: %w", event.Offset, err)
	}
	for {
		got, of, err := v.scores.peek(ctx)
		if err != nil {
			return err
		}
		if got == nil || of > event.Offset {
			if v.scores.skipped && got != nil {
				return nil // older scores are no longer in the topic
			}
			v.verdict.problem("event %d has no score", event.Offset)
			return nil
		}
		v.scores.drop()
		if of < event.Offset {
			if !v.scores.skipped && of >= v.line.claimed.Events {
				v.verdict.problem("scores message %d answers event %d a second time, or one that has no answer", got.Offset, of)
			}
			continue
		}
		v.scores.skipped = false
		v.verdict.Messages++
		v.verdict.Records += t.batch.N
		switch {
		case !bytes.Equal(got.Value, v.value):
			v.verdict.problem("scores message %d, of event %d: not what the replay gives", got.Offset, event.Offset)
		case !bytes.Equal(got.Key, event.Key) || !got.Time.Equal(event.Time):
			v.verdict.problem("scores message %d, of event %d: another key or time", got.Offset, event.Offset)
		}
		return nil
	}
}

// surplus looks for scores after the last committed event's that answer earlier ones.
func (v *verifier) surplus(ctx context.Context, target int64) error {
	for {
		got, of, err := v.scores.peek(ctx)
		if err != nil || got == nil {
			return err
		}
		v.scores.drop()
		if v.line.claimed.Events <= of && of < target && !v.scores.skipped {
			v.verdict.problem("scores message %d answers event %d a second time, or one that has no answer", got.Offset, of)
		}
	}
}

// scoreReader reads a partition of the scores topic in order.
type scoreReader struct {
	c         *txn.Client
	topic     string
	partition int
	next      int64
	records   []txn.Record
	skipped   bool // what lies before is not compared
	waited    int
}

// peek returns the next scores message and the offset of the event that it answers; nil at the end.
func (r *scoreReader) peek(ctx context.Context) (*txn.Record, int64, error) {
	for len(r.records) == 0 {
		_, end, err := r.c.Bounds(ctx, r.topic, r.partition)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the scores: %w", err)
		}
		if r.next >= end {
			// A broker writes the markers of a transaction after it has answered, partition by partition: the group's offset
			// may be there before the scores.
			high, err := r.c.ListOffsets(ctx, r.topic, []int{r.partition}, txn.HighWatermark)
			if err != nil {
				return nil, 0, fmt.Errorf("reading the scores: %w", err)
			}
			if high[r.partition] <= r.next {
				return nil, 0, nil
			}
			if r.waited++; r.waited > 600 {
				return nil, 0, errors.New("reading the scores: a transaction is open there for half a minute")
			}
			select {
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		r.waited = 0
		f, err := r.c.Fetch(ctx, r.topic, r.partition, r.next, 4<<20, 500*time.Millisecond)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the scores: %w", err)
		}
		r.records, r.next = f.Records, f.Next
	}
	of, err := eventOf(&r.records[0])
	return &r.records[0], of, err
}

func (r *scoreReader) drop() { r.records = r.records[1:] }

var errForeignScore = errors.New("somebody else writes to the scores topic")
