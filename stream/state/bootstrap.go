package state

import (
	"fmt"

	"liftstream/model/wire"
)

// BootstrapKey is the key of the record behind which a state stands that was learnt from files.
const BootstrapKey = "bootstrap"

// Bootstrap says that the state did not begin empty: its first snapshot holds records of files, which no topic tells.
// The zero value stands for a state that began with its topics. It stays in the oldest format, as Owner does.
type Bootstrap struct {
	Number   uint64  // of the transaction that wrote the state
	Records  uint64  // of the files, in this partition
	Labelled float64 // of these
	Time     int64   // of the transaction, in Unix nanoseconds
}

// Encode returns the value of the record.
func (b Bootstrap) Encode() []byte {
	out := wire.AppendUvarint(nil, b.Number)
	out = wire.AppendUvarint(out, b.Records)
	out = wire.AppendFloat(out, b.Labelled)
	return Seal(wire.AppendVarint(out, b.Time), OldestFormat)
}

// DecodeBootstrap is the inverse of Encode, for a reader of formats up to newest.
func DecodeBootstrap(value []byte, newest int) (b Bootstrap, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return b, err
	}
	r := wire.NewReader(payload)
	b = Bootstrap{Number: r.Uvarint(), Records: r.Uvarint(), Labelled: r.Float(), Time: r.Varint()}
	if err := r.Done(); err != nil {
		return Bootstrap{}, err
	}
	if b.Number == 0 || b.Number >= MaxNumber || !(b.Labelled >= 0 && b.Labelled <= float64(b.Records)) {
		return Bootstrap{}, fmt.Errorf("a bootstrap by transaction %d of %d records, %v of them with a label", b.Number,
			b.Records, b.Labelled)
	}
	return b, nil
}

// Bootstrap returns the record of the files that the state has learnt, the zero value where there is none.
func (l *Log) Bootstrap() (Bootstrap, error) {
	v, ok := l.values[BootstrapKey]
	if !ok {
		return Bootstrap{}, nil
	}
	b, err := DecodeBootstrap(v, l.Newest)
	if err != nil {
		return Bootstrap{}, fmt.Errorf("decoding %s: %w", BootstrapKey, err)
	}
	return b, nil
}
