package codec

import (
	"liftstream/model"
)

// ScoreEncoder writes scores messages. It reuses its buffers and is not safe for concurrent use.
type ScoreEncoder struct{}

// NewScoreEncoder returns an encoder for the options' schema, format and features.
func NewScoreEncoder(o Options) (*ScoreEncoder, error) { return &ScoreEncoder{}, nil }

// Encode appends one scores message to dst: row i holds b's record i and s's entry i, in the columns and the order of the
// interface. levels renders the values of reasons. c is what Decode filled for b; nil: ids are text, times are
// timestamps in UTC nanoseconds, and no features are handed on. A Segment or Target below 0, and NaN in a number that may
// be unknown, is null; so is, when the status is untrained, everything that needs a model.
func (e *ScoreEncoder) Encode(dst []byte, b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) ([]byte, error) {
	return dst, nil
}

// Table returns the same rows for a writer of files. It is valid until the next call.
func (e *ScoreEncoder) Table(b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) (*Table, error) {
	return nil, nil
}

// EventEncoder writes events messages from the rows of tables, with the columns and types of the table. It is not safe
// for concurrent use.
type EventEncoder struct{}

// NewEventEncoder returns an encoder.
func NewEventEncoder() *EventEncoder { return &EventEncoder{} }

// Encode appends one Arrow stream that holds the given rows of t in that order; nil means all rows.
func (e *EventEncoder) Encode(dst []byte, t *Table, rows []int) ([]byte, error) { return dst, nil }

// EventHeaders returns the values of the headers HeaderRows and HeaderCRC32C for a message.
func EventHeaders(value []byte, rows int) Headers { return Headers{} }
