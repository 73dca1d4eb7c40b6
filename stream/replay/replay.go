// Package replay takes the messages of a partition into its state, in the order that the journal gives: events alone
// move the state, between them labels are learnt and models swapped in where a journal record says so. A stage replays
// to take a partition over and to carry a state over to another schema, and its verification replays to compare; the
// pipeline takes each new message by the same machine.
//
// Begin at Machine: TakeEvents and TakeLabels for a new message, Restore and Follow for a replay.
package replay

import (
	"context"
	"errors"
	"fmt"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Options say whose messages a machine takes, and how it reads them.
type Options struct {
	Client         *txn.Client
	Events, Labels string // topics; Labels may be ""
	Partition      int
	Spec           *model.Spec
	Codec          codec.Options
	Models         *state.Models
	// Skips are the messages that are passed by, undecoded.
	Skips []state.Skip
	// Budget returns the budget that pays for the fetched messages of a topic, and the bytes of one fetch of it. nil = no
	// budget.
	Budget func(topic string) (b Budget, share int64)
	// Progress, where set, is told of each fetch: offset at of the topic, on the way to the offset to.
	Progress func(topic string, at, to int64)
}

// Budget bounds the bytes of fetched messages in a process.
type Budget interface {
	Try(n int64) bool                           // takes n bytes if they are free
	Acquire(ctx context.Context, n int64) error // waits for n bytes
	Charge(n int64)                             // takes n bytes without waiting; below 0 it gives them back
}

// Schema is a specification and the columns that belong to it.
type Schema struct {
	Spec  *model.Spec
	Codec codec.Options
}

// Machine holds the state of one partition and takes messages into it. It is not safe for concurrent use.
type Machine struct {
	Reader // of the messages; it holds the last one

	Part    *model.Partition
	At      state.Position // the state holds all messages below
	Journal uint64         // number of the next journal record

	// EachEvents and EachLabels, where set, take a message in place of TakeEvents and TakeLabels during a replay.
	EachEvents func(r *txn.Record) error
	EachLabels func(r *txn.Record) error

	// Scores holds the scores of the last records of Batch, see Score.
	Scores model.Scores

	o       Options
	spec    *model.Spec // o.Spec, except within Under
	encoder *codec.ScoreEncoder
	ahead   map[string]*ahead
}

// New returns a machine without a state.
func New(o Options) (*Machine, error) {
	m := &Machine{o: o, Reader: Reader{partition: int32(o.Partition), skips: o.Skips, largest: o.Codec.MaxMessage}}
	return m, m.use(Schema{o.Spec, o.Codec})
}

func (m *Machine) use(s Schema) (err error) {
	m.spec = s.Spec
	if m.decoder, err = codec.NewDecoder(s.Codec); err != nil {
		return err
	}
	m.encoder, err = codec.NewScoreEncoder(s.Codec)
	return err
}

// Under runs f while the machine reads messages, writes scores and decodes models under another schema; nil runs it
// under the machine's own.
func (m *Machine) Under(s *Schema, f func() error) (err error) {
	if s == nil {
		return f()
	}
	m.Release()
	spec, decoder, encoder := m.spec, m.decoder, m.encoder
	back := func() { m.spec, m.decoder, m.encoder = spec, decoder, encoder }
	if err := m.use(*s); err != nil {
		back()
		return err
	}
	defer func() {
		m.Release()
		back()
	}()
	return f()
}

// Begin gives the machine an empty state at a position. The next journal record is that with number 0.
func (m *Machine) Begin(at state.Position) {
	m.Part, m.At, m.Journal = model.NewPartition(m.spec, int32(m.o.Partition)), at, 0
}

// Load gives the machine the state of a snapshot.
func (m *Machine) Load(at *state.Manifest, sections map[string][]byte) error {
	part, err := m.partition(sections)
	if err != nil {
		return err
	}
	m.Part, m.At, m.Journal = part, at.Position, at.Journal
	return nil
}

func (m *Machine) partition(sections map[string][]byte) (part *model.Partition, err error) {
	err = state.Contain(func() (err error) {
		part, err = model.RestorePartition(m.spec, sections)
		return err
	})
	return part, err
}

// Restore gives the machine the state of a snapshot and returns the journal records after it, up to the position to. An
// error leaves the machine as it was: the snapshot or the journal is damaged, or does not fit the position.
func (m *Machine) Restore(log *state.Log, at *state.Manifest, to state.Position) ([]state.JournalEntry, error) {
	if at.Number >= state.MaxNumber || at.Journal >= state.MaxNumber {
		return nil, errors.New("its numbers are not those of a stage")
	}
	sections, err := log.Sections(at)
	if err != nil {
		return nil, err
	}
	p, err := m.partition(sections)
	if err != nil {
		return nil, err
	}
	if p.Index() != int32(m.o.Partition) || p.ModelVersion() != at.Model || p.NextOffset() > at.Events {
		return nil, fmt.Errorf("it holds partition %d, model %d, up to event %d; "+
			"its manifest says partition %d, model %d, event %d",
			p.Index(), p.ModelVersion(), p.NextOffset(), m.o.Partition, at.Model, at.Events)
	}
	entries, err := Entries(log, at.Journal, at.Position, to)
	if err == nil {
		m.Part, m.At, m.Journal = p, at.Position, at.Journal
	}
	return entries, err
}

// Entries returns the journal records from number on, which must go forward from one position to another.
func Entries(log *state.Log, number uint64, from, to state.Position) ([]state.JournalEntry, error) {
	entries, err := log.Journal(number)
	if err != nil {
		return nil, err
	}
	at := from
	for _, e := range entries {
		if e.Events < at.Events || e.Labels < at.Labels || e.Events > to.Events || e.Labels > max(to.Labels, 0) {
			return nil, fmt.Errorf("journal record %d is at event %d and label %d, between %d and %d, %d and %d",
				e.Number, e.Events, e.Labels, at.Events, to.Events, at.Labels, to.Labels)
		}
		if e.Erased != nil && e.Erased.Emptied {
			return nil, fmt.Errorf("journal record %d has obeyed an order to forget that is emptied: no replay leads past it",
				e.Number)
		}
		at = e.Position
	}
	return entries, nil
}

// Follow takes the events up to each journal record, then its labels, then its model, then obeys its orders, that to
// forget last.
func (m *Machine) Follow(ctx context.Context, entries ...state.JournalEntry) error {
	for _, e := range entries {
		if err := m.EventsTo(ctx, e.Events); err != nil {
			return err
		}
		if err := m.LabelsTo(ctx, e.Labels); err != nil {
			return err
		}
		var err error
		if e.Returned {
			err = m.Return(e.Model, e.By)
		} else if e.Model != m.At.Model {
			err = m.Swap(e.Model)
		}
		if err != nil {
			return fmt.Errorf("replaying journal record %d: %w", e.Number, err)
		}
		if e.Learning != state.Unchanged {
			model.SetLearning(m.Part, e.Learning == state.On)
		}
		if e.Erased != nil {
			model.Forget(m.Part, &e.Erased.Erasure)
		}
		m.Journal = e.Number + 1
	}
	return nil
}

// EventsTo takes the events below an offset.
func (m *Machine) EventsTo(ctx context.Context, to int64) error {
	if m.EachEvents == nil {
		m.Done = ctx.Done()
		defer func() { m.Done = nil }()
	}
	var failed error
	err := m.Pass(ctx, m.o.Events, &m.At.Events, to, func(r *txn.Record) {
		switch {
		case failed != nil:
		case m.EachEvents != nil:
			failed = m.EachEvents(r)
		default:
			// A message that cannot be read moves no state.
			if _, err := m.TakeEvents(r, goesOn(ctx)); errors.Is(err, ErrInterrupted) {
				failed = errors.Join(err, ctx.Err())
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("replaying events: %w", err)
	}
	return nil
}

// goesOn lets a message be given up when ctx ends.
func goesOn(ctx context.Context) func(row int) bool {
	return func(int) bool { return ctx.Err() == nil }
}

// LabelsTo takes the labels below an offset.
func (m *Machine) LabelsTo(ctx context.Context, to int64) error {
	if m.EachLabels == nil {
		m.Done = ctx.Done()
		defer func() { m.Done = nil }()
	}
	var failed error
	err := m.Pass(ctx, m.o.Labels, &m.At.Labels, to, func(r *txn.Record) {
		switch {
		case failed != nil:
		case m.EachLabels != nil:
			failed = m.EachLabels(r)
		default:
			if _, _, err := m.TakeLabels(r, goesOn(ctx)); errors.Is(err, ErrInterrupted) {
				failed = errors.Join(err, ctx.Err())
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("replaying labels: %w", err)
	}
	return nil
}

// Swap makes a published version the serving model.
func (m *Machine) Swap(version int64) error { return m.serve(version, (*model.Partition).Swap) }

// Return makes a published version serve as it was published, see model.Return.
func (m *Machine) Return(version int64, by uint64) error {
	return m.serve(version, func(p *model.Partition, to *model.Model) error { return model.Return(p, to, by) })
}

func (m *Machine) serve(version int64, take func(p *model.Partition, m *model.Model) error) error {
	next, err := published(m, version)
	if err != nil {
		return err
	}
	if err := state.Contain(func() error { return take(m.Part, next) }); err != nil {
		return err
	}
	m.At.Model = version
	return nil
}

// published returns a published version under the machine's schema.
func published(m *Machine, version int64) (*model.Model, error) {
	if m.spec != m.o.Spec {
		return m.o.Models.Under(version, m.spec.Schema)
	}
	return m.o.Models.Get(version)
}

// CarryOver moves the state to the machine's own specification, as far as the change of the schema does not touch it.
func (m *Machine) CarryOver() (change *model.Change, err error) {
	err = state.Contain(func() (err error) {
		m.Part, change, err = m.Part.Carry(m.o.Spec)
		return err
	})
	return change, err
}

// TakeEvents takes one events message into the state. Its bad rows are left out, and a message that cannot be read
// moves nothing. Otherwise Batch holds the records, duplicates left out.
//
// A long message is taken in slices. Between two of them TakeEvents asks more, where that is set, whether to go on,
// with the number of the next row. Where it is told not to, TakeEvents returns ErrInterrupted: the state holds a part
// of the message, and the machine must be dropped or given another state.
func (m *Machine) TakeEvents(r *txn.Record, more func(row int) bool) (bad []codec.RowError, err error) {
	bad, err = m.ReadEvents(r)
	if err == nil {
		m.Sift()
		err = m.Score(more, nil)
	}
	return bad, err
}

// Sift takes duplicates out of the last events message that was read, and fills the features of former records of the
// others. It comes before BeginScores and Score.
func (m *Machine) Sift() {
	if again := m.Part.Sieve.Sift(&m.Batch); len(again) > 0 {
		m.columns.Leave(again)
	}
	m.Part.Recency.Fill(&m.Batch)
}

// Score takes the records of Batch, the last events message, into the state, as TakeEvents does. It goes by
// codec.ChunkRows records at a time, so that the memory for scores has a bound, and calls each, where it is set, with
// these records and the number of the first of them; Scores holds their scores then.
func (m *Machine) Score(more func(row int) bool, each func(b *model.Batch, from int) error) error {
	b, next := &m.Batch, more
	for from := 0; ; from += codec.ChunkRows {
		if m.Batch.N > codec.ChunkRows {
			chunk := m.Batch.Slice(from, min(m.Batch.N-from, codec.ChunkRows))
			b = &chunk
			if more != nil {
				next = func(row int) bool { return more(from + row) }
			}
		}
		if !model.EventsWhile(m.Part, b, &m.Scores, next) {
			return ErrInterrupted
		}
		if each != nil {
			if err := each(b, from); err != nil {
				return err
			}
		}
		if from+b.N >= m.Batch.N {
			return nil
		}
	}
}

// ErrInterrupted is returned when a message was given up: while it was decoded, or between two slices.
var ErrInterrupted = errors.New("interrupted within a message")

// TakeLabels takes one labels message into the state, as TakeEvents does.
func (m *Machine) TakeLabels(r *txn.Record, more func(row int) bool) (
	counts model.LabelCounts, bad []codec.RowError, err error,
) {
	bad, err = m.ReadLabels(r)
	if err == nil {
		var all bool
		if counts, all = model.LabelsWhile(m.Part, &m.Labels, more); !all {
			err = ErrInterrupted
		}
	}
	return counts, bad, err
}

// Release gives back the memory of the last message, of which nothing may be used afterwards.
func (m *Machine) Release() {
	if m.release() {
		m.Scores = model.Scores{}
	}
}

// BeginScores begins the scores messages that answer the last events message; none of their values is larger than
// limit, 0 = there is no limit.
func (m *Machine) BeginScores(limit int) { m.encoder.Begin(&m.columns, limit) }

// AppendScores appends the scores that Score hands on to the values of the messages.
func (m *Machine) AppendScores(dst []byte, b *model.Batch, from int) ([]byte, error) {
	return m.encoder.Add(dst, b, &m.Scores, m.Part.Levels(), from)
}

// ScoreParts returns the messages. bad are the rows whose scores alone exceed the limit.
func (m *Machine) ScoreParts() (parts []codec.Part, bad []codec.RowError) {
	parts, lost := m.encoder.Parts()
	for _, i := range lost {
		bad = append(bad, m.encoder.TooLarge(m.Batch.Row[i]))
	}
	return parts, bad
}
