package codec

import (
	"liftstream/model"
)

// Decoder reads messages of one contract. It keeps readers of schemas that it has seen, so a message of few rows does
// not pay for its schema. It is not safe for concurrent use.
type Decoder struct {
	o Options
}

// NewDecoder returns a Decoder. It fails when the options contradict each other, such as one column in two roles.
func NewDecoder(o Options) (*Decoder, error) { return &Decoder{o: o}, nil }

// Decode reads an events message into b, whose buffers it reuses; Partition and Offset are set from m. Bad rows are left
// out of b and listed in bad, in order. When err is not nil it is a *MessageError, the whole message is dead, and b holds
// nothing. bad, the texts of b.ID and what c holds are valid until the next call. c receives what a ScoreEncoder hands on
// of the input; nil when nobody will ask.
func (d *Decoder) Decode(m *Message, b *model.Batch, c *Carry) (bad []RowError, err error) {
	return nil, nil
}

// DecodeLabels reads a labels message into l, whose buffers it reuses. A row names its record by the id column when the
// options have one and the message carries it, else by source_partition, source_offset and source_row.
func (d *Decoder) DecodeLabels(m *Message, l *model.Labels) (bad []RowError, err error) {
	return nil, nil
}

// DecodeTable reads rows that did not come as a message, such as those of a file, under the same contract. The rows are
// numbered from first; other fields of m than Value and Headers are used.
func (d *Decoder) DecodeTable(t *Table, first int32, m *Message, b *model.Batch, c *Carry) (bad []RowError, err error) {
	return nil, nil
}

// AppendRow appends to dst the given row of the last message decoded, as an Arrow stream of that message's schema: the
// value of a dead letter. It serves bad rows of Decode and DecodeLabels until the next call of either.
func (d *Decoder) AppendRow(dst []byte, row int32) ([]byte, error) { return dst, nil }

// Carry is what of a batch's input the scores hand on, in the Arrow types of the input: id, time, features. It belongs to
// the caller; a Decode given it replaces what it holds, and it stays valid until then.
type Carry struct{}
