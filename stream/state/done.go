package state

import (
	"fmt"
	"strconv"
	"strings"

	"liftstream/model/wire"
	"liftstream/stream/txn"
)

// DoneKey is the key of the done record.
const DoneKey = "done"

// Done is the record in which the last committed transaction of a partition says how far it leads, see FORMAT.md. The
// zero value stands for a state topic without such a record.
type Done struct {
	Number         uint64 // of the transaction, from 1 on
	Events, Labels int64  // next offsets

	// The rest says which records of the transaction must lie in the other topics. A takeover needs it where the
	// transaction was committed in part.

	EventsFrom, LabelsFrom int64 // where the transaction began
	Answered               int64 // one past the last event that has scores
	ScoresFrom             int64 // offset of the scores topic from which on they lie
	DeadLetters            int   // dead letters of the messages between the offsets
	DeadFrom               int64 // offset of the dead-letter topic from which on they lie
}

// Encode returns the value of the record.
func (d Done) Encode(format int) []byte {
	b := wire.AppendUvarint(nil, d.Number)
	for _, v := range []int64{d.Events, d.Labels, d.Events - d.EventsFrom, d.Labels - d.LabelsFrom,
		d.Events - d.Answered, d.ScoresFrom, int64(d.DeadLetters), d.DeadFrom} {
		b = wire.AppendVarint(b, v)
	}
	return Seal(b, format)
}

// DecodeDone is the inverse of Encode, for a reader of formats up to newest.
func DecodeDone(value []byte, newest int) (d Done, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return d, err
	}
	r := wire.NewReader(payload)
	d = Done{Number: r.Uvarint(), Events: r.Varint(), Labels: r.Varint()}
	d.EventsFrom, d.LabelsFrom, d.Answered = d.Events-r.Varint(), d.Labels-r.Varint(), d.Events-r.Varint()
	d.ScoresFrom, d.DeadLetters, d.DeadFrom = r.Varint(), int(r.Varint()), r.Varint()
	if err := r.Done(); err != nil {
		return Done{}, err
	}
	between := func(v, low, high int64) bool { return low <= v && v <= high }
	if d.Number == 0 || d.Number >= MaxNumber || !between(d.Events, 0, MaxNumber) ||
		!between(d.Labels, 0, MaxNumber) || !between(d.EventsFrom, 0, d.Events) ||
		!between(d.LabelsFrom, 0, d.Labels) || !between(d.Answered, 0, d.Events) ||
		d.ScoresFrom < 0 || d.DeadLetters < 0 || d.DeadFrom < 0 {
		return Done{}, fmt.Errorf("transaction %d at event %d and label %d is not one of a stage",
			d.Number, d.Events, d.Labels)
	}
	return d, nil
}

// Note returns the text that the transaction puts beside the group's offsets. It tells them from offsets that another
// program has set.
func (d Done) Note() string { return noteMark + strconv.FormatUint(d.Number, 10) }

const noteMark = "liftstream/"

// Noted returns the number of the transaction that has committed an offset of the group; ok is false where the offset
// carries no number.
func Noted(o txn.GroupOffset) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(o.Note, noteMark)
	if !ok || o.Offset < 0 {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && number < MaxNumber
}
