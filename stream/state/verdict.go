package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"liftstream/model"
	"liftstream/model/report"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

const (
	// keptVerdicts is the number of newest verdicts that stay in the model topic, refused models' as well.
	keptVerdicts = 32
	// verdictBytes bounds the value of one: a few figures, and a clock for each partition.
	verdictBytes = 1 << 20
)

// GateVerdict is the gate's verdict on a fitted model.
type GateVerdict struct {
	Number      uint64 // counts all verdicts of the topic, from 1
	Fingerprint uint64 // of the configuration
	Version     int64  // that the model was published as; 0 = it was refused
	Previous    int64  // the serving version; 0 = none was published yet
	// Clocks holds the labelled records that each partition had learnt at the verdict.
	Clocks map[int32]float64
	model.Verdict
	// Note says of an inverted or failed verdict why, "" of others.
	Note string
	// Since is the number of labelled records from the first model that was refused for inverted labels, while Previous
	// served, to this one; 0 of other verdicts.
	Since float64
	Time  time.Time // of its record; its value has none
}

// MarshalJSON writes the verdict with null for a figure that there is none of, as of a model that was compared with
// nothing.
func (v *GateVerdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Number            uint64
		Fingerprint       uint64
		Version, Previous int64
		Clocks            map[int32]float64
		Reason            model.VerdictReason
		Records           int
		New, Old          report.Number
		Gate, Low, High   report.Number
		Note              string  `json:",omitempty"`
		Since             float64 `json:",omitempty"`
	}{v.Number, v.Fingerprint, v.Version, v.Previous, v.Clocks, v.Reason, v.Records,
		report.Number(v.New), report.Number(v.Old), report.Number(v.Gate), report.Number(v.Low), report.Number(v.High),
		v.Note, v.Since})
}

func verdictKey(number uint64) string {
	return "verdict/" + strconv.FormatUint(number%keptVerdicts, 10)
}

func (v *GateVerdict) encode(format int) []byte {
	b := wire.AppendUvarint(nil, v.Number)
	b = wire.AppendUvarint(b, v.Fingerprint)
	b = wire.AppendVarint(b, v.Version)
	b = wire.AppendVarint(b, v.Previous)
	b = v.AppendBinary(b)
	b = wire.AppendUvarint(b, uint64(len(v.Clocks)))
	for _, p := range slices.Sorted(maps.Keys(v.Clocks)) {
		b = wire.AppendVarint(b, int64(p))
		b = wire.AppendFloat(b, v.Clocks[p])
	}
	if v.Reason > model.Worse {
		b = wire.AppendString(wire.AppendFloat(b, v.Since), cut(v.Note))
	}
	return Seal(b, format)
}

// ReadVerdict reads the value of a record of the model topic whose key begins with "verdict/".
func ReadVerdict(value []byte) (*GateVerdict, error) { return decodeVerdict(value, Format) }

func decodeVerdict(value []byte, newest int) (*GateVerdict, error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	v := &GateVerdict{Clocks: map[int32]float64{}}
	v.Number, v.Fingerprint, v.Version, v.Previous = r.Uvarint(), r.Uvarint(), r.Varint(), r.Varint()
	v.Verdict = model.DecodeVerdict(r)
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		v.Clocks[int32(r.Varint())] = r.Float()
	}
	if v.Reason > model.Worse {
		v.Since, v.Note = r.Float(), r.String()
		if !(v.Since >= 0) {
			r.Fail(errors.New("a verdict out of its bounds"))
		}
	}
	if v.Number >= MaxNumber {
		return nil, fmt.Errorf("verdict %d", v.Number)
	}
	return v, r.Done()
}

// Labelled is the number of labelled records of all partitions at the verdict.
func (v *GateVerdict) Labelled() (n float64) {
	for _, c := range v.Clocks {
		n += c
	}
	return n
}

// Verdicts returns the last verdicts, oldest first. They must not be changed.
func (l *Models) Verdicts() []*GateVerdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Collect(maps.Values(l.verdicts))
	slices.SortFunc(out, func(a, b *GateVerdict) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// Verdict returns the newest verdict that the topic holds, nil when there is none. It must not be changed.
func (l *Models) Verdict() (newest *GateVerdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.verdicts {
		if newest == nil || v.Number > newest.Number {
			newest = v
		}
	}
	return newest
}

// pronounce returns the record of a verdict.
func (l *Models) Pronounce(v *GateVerdict, now time.Time, format int) txn.Record {
	return txn.Record{Topic: l.topic, Key: []byte(verdictKey(v.Number)), Value: v.encode(format), Time: now}
}
