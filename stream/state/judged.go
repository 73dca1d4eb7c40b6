package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/wire"
)

// Judgement says by which time a transaction has judged the times of its messages. It is part of each transaction that
// has refused one for its time, so that a replay refuses the same, see FORMAT.md.
type Judgement struct {
	Number               uint64 // of the journal record of the same transaction
	EventsFrom, EventsTo int64  // its events
	LabelsFrom, LabelsTo int64  // its labels
	Now                  int64  // in Unix nanoseconds
}

// JudgedKey returns the key of the judgement beside the journal record with that number.
func JudgedKey(number uint64) string { return judgedKeys + strconv.FormatUint(number%JournalRing, 10) }

const judgedKeys = "judged/"

// Encode returns the value of the record.
func (j Judgement) Encode(format int) []byte {
	b := wire.AppendUvarint(nil, j.Number)
	for _, v := range [...]int64{j.EventsFrom, j.EventsTo, j.LabelsFrom, j.LabelsTo, j.Now} {
		b = wire.AppendVarint(b, v)
	}
	return Seal(b, format)
}

// DecodeJudgement is the inverse of Encode, for a reader of formats up to newest.
func DecodeJudgement(value []byte, newest int) (j Judgement, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return j, err
	}
	r := wire.NewReader(payload)
	j.Number = r.Uvarint()
	for _, v := range [...]*int64{&j.EventsFrom, &j.EventsTo, &j.LabelsFrom, &j.LabelsTo, &j.Now} {
		*v = r.Varint()
	}
	return j, r.Done()
}

// Judgements are in the order of their transactions.
type Judgements []Judgement

// Judgements returns the readable judgements that the log holds.
func (l *Log) Judgements() (out Judgements) {
	for key, value := range l.values {
		if !strings.HasPrefix(key, judgedKeys) {
			continue
		}
		if j, err := DecodeJudgement(value, l.Newest); err == nil && key == JudgedKey(j.Number) {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b Judgement) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// Event returns the time by which the event at an offset was judged, 0 where none was refused with it.
func (js Judgements) Event(offset int64) int64 {
	i, _ := slices.BinarySearchFunc(js, offset, func(j Judgement, at int64) int { return cmp.Compare(j.EventsTo, at+1) })
	if i < len(js) && js[i].EventsFrom <= offset && offset < js[i].EventsTo {
		return js[i].Now
	}
	return 0
}

// Label is Event of a label.
func (js Judgements) Label(offset int64) int64 {
	i, _ := slices.BinarySearchFunc(js, offset, func(j Judgement, at int64) int { return cmp.Compare(j.LabelsTo, at+1) })
	if i < len(js) && js[i].LabelsFrom <= offset && offset < js[i].LabelsTo {
		return js[i].Now
	}
	return 0
}
