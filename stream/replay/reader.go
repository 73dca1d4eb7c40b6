package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/deadletter"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Reader reads the messages of a partition and holds the last one: it refuses messages and rows, and makes their dead
// letters. It moves no state.
type Reader struct {
	// Judged says by which times messages of the past were judged. All others are judged by Now, in Unix nanoseconds; 0 =
	// their times are not judged.
	Judged state.Judgements
	Now    int64
	// Untimely says that the last message that was read, or a row of it, was refused for its time.
	Untimely bool
	// By is the time by which the last message that was decoded was judged, 0 = it was not judged.
	By int64

	// Done, when closed, gives up the message that is being decoded; nil = never.
	Done <-chan struct{}

	// Batch and Labels hold the last message that was read.
	Batch  model.Batch
	Labels model.Labels
	// UnknownClass is the first text of a label that was no class, "" where there is none.
	UnknownClass string
	// Rows is the number of readable records of the last events message, duplicates included.
	Rows int

	decoder   *codec.Decoder
	columns   codec.Carry // that the scores of the last message repeat
	partition int32
	skips     []state.Skip
	largest   int64 // message that is decoded, see codec.Options.MaxMessage
}

// ReadEvents reads an events message into Batch. A message with too many bad rows (deadletter.Bound) cannot be read. It
// returns ErrInterrupted where Done was closed meanwhile.
func (x *Reader) ReadEvents(r *txn.Record) ([]codec.RowError, error) {
	x.Untimely = false
	if err := x.refused(codec.StageEvents, r); err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, ErrTombstone
	}
	bad, err := x.decoder.Decode(x.message(r, x.Judged.Event), &x.Batch, &x.columns)
	x.Rows = x.Batch.N
	x.Untimely = codec.Untimely(bad, err)
	x.UnknownClass = x.decoder.Findings.UnknownClass
	return x.bounded(r, bad, err)
}

// ErrTombstone is returned for a message without a value. It says nothing, and is not bad.
var ErrTombstone = errors.New("a message without a value")

// IsEvent reports whether an events message can be read, and so has scores.
func (x *Reader) IsEvent(r *txn.Record) bool {
	_, err := x.ReadEvents(r)
	return err == nil
}

// ReadLabels reads a labels message into Labels, as ReadEvents does.
func (x *Reader) ReadLabels(r *txn.Record) ([]codec.RowError, error) {
	x.Untimely = false
	if err := x.refused(codec.StageLabels, r); err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, ErrTombstone
	}
	bad, err := x.decoder.DecodeLabels(x.message(r, x.Judged.Label), &x.Labels)
	x.Untimely = codec.Untimely(bad, err)
	return x.bounded(r, bad, err)
}

// refused returns the error of a message that is not decoded: an operator has it passed by, or the broker's batch does
// not give it.
func (x *Reader) refused(stage string, r *txn.Record) error {
	for i := range x.skips {
		s := &x.skips[i]
		// A batch that cannot be read is one message with many offsets, and an operator may name any.
		if r.Offset <= s.Offset && s.Offset < r.Next() && s.Stage == stage && s.Names(r.Value, r.Time, r.Unread == nil) {
			return &codec.MessageError{Reason: codec.ReasonSkipped, Err: fmt.Errorf("an operator has it passed by: %s", s.Why)}
		}
	}
	if r.Unread == nil {
		return nil
	}
	reason := codec.ReasonDamaged
	if r.Unread.TooLarge {
		reason = codec.ReasonTooLarge
	}
	return &codec.MessageError{Reason: reason, Err: r.Unread}
}

func (x *Reader) bounded(r *txn.Record, bad []codec.RowError, err error) ([]codec.RowError, error) {
	if errors.Is(err, codec.ErrStopped) {
		return nil, ErrInterrupted
	}
	if err == nil {
		err = deadletter.Bound(x.decoder, r, bad, x.largest)
	}
	if err != nil {
		return nil, err
	}
	return bad, nil
}

// Changes counts the values of the last message that Batch holds otherwise than they were sent.
func (x *Reader) Changes() codec.Changes { return x.decoder.Changes() }

// DeadLetters calls write for each dead letter of the last message that was read, see deadletter.Make.
func (x *Reader) DeadLetters(
	r *txn.Record, from deadletter.Origin, bad []codec.RowError, err error, now time.Time, write func(deadletter.Letter),
) {
	deadletter.Make(x.decoder, r, from, bad, err, now, write)
}

// release gives back the memory of the last message, and reports whether it was large.
func (x *Reader) release() (large bool) {
	if large = x.decoder != nil && x.decoder.Release(); large {
		x.Batch, x.Labels = model.Batch{}, model.Labels{}
	}
	x.columns.Release()
	return large
}

func (x *Reader) message(r *txn.Record, judged func(offset int64) int64) *codec.Message {
	m := &codec.Message{Value: r.Value, Partition: x.partition, Offset: r.Offset, Done: x.Done}
	if !r.Time.IsZero() {
		m.Time = nanoseconds(r.Time)
	}
	if m.Now = judged(r.Offset); m.Now == 0 {
		m.Now = x.Now
	}
	x.By = m.Now
	for _, h := range r.Headers {
		m.Headers.Set(h.Key, h.Value)
	}
	return m
}

// nanoseconds is a time in Unix nanoseconds, the nearest one for a time that these cannot tell, and never 0.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return cmp.Or(t.UnixNano(), 1)
}
