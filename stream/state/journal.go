package state

import (
	"strconv"

	"liftstream/model/wire"
)

// JournalRing is the number of journal keys. A stage writes a snapshot before it overwrites a record that a replay
// needs.
const JournalRing = 4096

// Position says how far a partition has come.
type Position struct {
	Events, Labels int64 // next offsets
	Model          int64 // version of the serving model
}

// JournalEntry says where a replay must stop, learn labels and swap the model, see FORMAT.md.
type JournalEntry struct {
	Number uint64
	Position
	Format int
	Obeyed // it stands in a record of its own
	// Erased is the order to forget that was obeyed, in a record of its own too; nil = none.
	Erased *Erased
}

// JournalKey returns the key of the journal record with that number.
func JournalKey(number uint64) string { return "journal/" + strconv.FormatUint(number%JournalRing, 10) }

// Encode returns the value of the record.
func (e JournalEntry) Encode() []byte {
	b := wire.AppendUvarint(nil, e.Number)
	b = wire.AppendVarint(b, e.Events)
	b = wire.AppendVarint(b, e.Labels)
	return Seal(wire.AppendVarint(b, e.Model), e.Format)
}

// DecodeJournal is the inverse of Encode, for a reader of formats up to newest.
func DecodeJournal(value []byte, newest int) (e JournalEntry, err error) {
	payload, format, err := Unseal(value, newest)
	if err != nil {
		return e, err
	}
	r := wire.NewReader(payload)
	e.Number = r.Uvarint()
	e.Position = Position{Events: r.Varint(), Labels: r.Varint(), Model: r.Varint()}
	e.Format = format
	return e, r.Done()
}

// MaxNumber bounds the numbers of snapshots, journal records and models, so that counting never overflows.
const MaxNumber = 1 << 53
