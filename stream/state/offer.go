package state

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

// An offer is a model that a person gives to a stage. It waits in the model topic until the trainer publishes it, which
// alone numbers the versions. A published one has a given record, so that the partitions serve it as it is
// (model.Return).
const (
	offerKey  = "offer"
	givenKeys = "given"
)

func offerChunkKey(chunk int) string { return offerKey + "/" + strconv.Itoa(chunk) }

func givenKey(v int64) string { return givenKeys + "/" + strconv.FormatInt(v, 10) }

// Offering returns the records that offer m to the stage of the model topic, in place of an offer that waits. A model
// that no process would read is an error.
func Offering(l *Models, p *Packer, m *model.Model, now time.Time) ([]txn.Record, error) {
	b, frames := p.pack(m.AppendBinary(nil), OldestFormat)
	if b.Length > maxModel || b.Packed > maxModel {
		return nil, fmt.Errorf("the model takes %d bytes, above the limit of %d", b.Length, maxModel)
	}
	out := withdrawn(l, len(frames), now)
	for i, f := range frames {
		out = append(out, txn.Record{Topic: l.topic, Key: []byte(offerChunkKey(i)), Value: f, Time: now})
	}
	return append(out, txn.Record{Topic: l.topic, Key: []byte(offerKey), Value: Seal(b.AppendBinary(nil), OldestFormat),
		Time: now}), nil
}

// withdrawn returns the tombstones of the pieces of an offer from number on.
func withdrawn(l *Models, from int, now time.Time) (out []txn.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offer != nil {
		for c := from; c < l.offer.Chunks; c++ {
			out = append(out, txn.Record{Topic: l.topic, Key: []byte(offerChunkKey(c)), Time: now})
		}
	}
	return out
}

// Taken returns the records that end an offer: with the record of the version as which it was published, 0 = as none.
func Taken(l *Models, version int64, now time.Time) []txn.Record {
	out := append(withdrawn(l, 0, now), txn.Record{Topic: l.topic, Key: []byte(offerKey), Time: now})
	if version > 0 {
		out = append(out, txn.Record{Topic: l.topic, Key: []byte(givenKey(version)),
			Value: Seal(wire.AppendUvarint(nil, uint64(version)), OldestFormat), Time: now})
	}
	return out
}

// wasGiven reports whether a version was an offer.
func wasGiven(l *Models, v int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given[v]
}

// Offered reports whether an offer waits.
func (l *Models) Offered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offer != nil
}

var errNoOffer = errors.New("no model is offered")

// Offer returns the offered model, with the version of its file.
func (l *Models) Offer() (m *model.Model, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offer == nil {
		return nil, errNoOffer
	}
	raw, err := unpack(*l.offer, l.Newest, func(i int) []byte { return l.values[offerChunkKey(i)] })
	if err == nil {
		err = Contain(func() error {
			m, err = model.DecodeModel(l.schema, raw)
			return err
		})
	}
	if err == nil && l.Fingerprint != 0 && m.Fingerprint != l.Fingerprint {
		err = model.ErrModelForeign
	}
	if err != nil {
		return nil, fmt.Errorf("reading the offered model: %w", err)
	}
	return m, nil
}

// applyOffer takes a record of an offer or of a version that was one.
func applyOffer(l *Models, kind, rest string, value []byte) {
	n := number(rest)
	switch {
	case kind == givenKeys && n > 0 && value == nil:
		delete(l.given, n)
	case kind == givenKeys && n > 0:
		payload, _, err := Unseal(value, l.Newest)
		if r := wire.NewReader(payload); err == nil && r.Uvarint() == uint64(n) && r.Done() == nil {
			l.given[n] = true
		}
	case kind == offerKey && rest == "" && value == nil:
		l.offer = nil
	case kind == offerKey && rest == "":
		payload, _, err := Unseal(value, l.Newest)
		if err != nil {
			return
		}
		r := wire.NewReader(payload)
		if b := readBlob(r); r.Done() == nil && b.Length <= maxModel && b.Packed <= maxModel {
			l.offer = &b
		}
	case kind == offerKey && n >= 0 && len(value) <= chunkBytes+5:
		keep(l, offerChunkKey(int(n)), value)
	}
}

// keep holds the bytes of a piece of a model, nil = no more, as long as they are within the bound of all.
func keep(l *Models, key string, value []byte) {
	old := int64(len(l.values[key]))
	if value == nil {
		l.bytes -= old
		delete(l.values, key)
	} else if l.bytes+int64(len(value))-old <= maxModels {
		l.bytes += int64(len(value)) - old
		l.values[key] = lasting(value)
	}
}
