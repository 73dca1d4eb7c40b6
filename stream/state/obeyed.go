package state

import (
	"errors"
	"strconv"

	"liftstream/model/wire"
)

// Switch changes whether a partition learns.
type Switch uint8

// The changes.
const (
	Unchanged Switch = iota
	Off
	On
)

// Obeyed says which orders of a person a transaction has obeyed (Order), beside its journal record, so that a replay
// obeys them at the same point. The zero value: none, and no such record is written.
type Obeyed struct {
	Returned bool   // the model of the journal record serves as it was published (model.Return)
	Learning Switch // after that
	By       uint64 // number of the order to return, 0 = none or not known
}

// ObeyedKey returns the key of the record beside the journal record with that number.
func ObeyedKey(number uint64) string { return obeyedKeys + strconv.FormatUint(number%JournalRing, 10) }

const obeyedKeys = "obeyed/"

// Encode returns the value of the record beside the journal record with that number.
func (o Obeyed) Encode(number uint64, format int) []byte {
	b := wire.AppendUvarint(nil, number)
	b = wire.AppendBool(b, o.Returned)
	b = wire.AppendUvarint(b, uint64(o.Learning))
	if o.By > 0 {
		b = wire.AppendUvarint(b, o.By)
	}
	return Seal(b, format)
}

// DecodeObeyed is the inverse of Encode, for a reader of formats up to newest.
func DecodeObeyed(value []byte, newest int) (number uint64, o Obeyed, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return 0, o, err
	}
	r := wire.NewReader(payload)
	number, o.Returned, o.Learning = r.Uvarint(), r.Bool(), Switch(r.Int(int(On)))
	if r.Err() == nil && r.Rest() > 0 {
		if o.By = r.Uvarint(); o.By == 0 || !o.Returned {
			r.Fail(errors.New("the number of an order that is none"))
		}
	}
	return number, o, r.Done()
}
