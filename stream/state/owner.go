package state

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"liftstream/model/wire"
	"liftstream/stream/txn"
)

// The three records below are written seldom, so they would outlive a step back to a former format: they stay in the
// oldest one, and a later form of them takes another key.
const (
	// OwnerKey is the key of the record that says whose state the partition holds.
	OwnerKey = "owner"
	// BeginKey is the key of the record behind which the present state begins, where another one was given up.
	BeginKey = "begin"
	// SeenKey is the key of the record that tells one message of each input topic.
	SeenKey = "seen"
)

// ownerBytes bounds the value of an owner record: seven names of at most 249 bytes.
const ownerBytes = 2 << 10

// Owner says whose state a partition of the state topic holds. The zero value stands for a topic without such a record.
type Owner struct {
	Stage                       string // its name
	Events, Labels              string // topics that it reads; Labels "" = none so far
	Scores, Dead, State, Models string // topics that it writes
}

func (o *Owner) fields() []*string {
	return []*string{&o.Stage, &o.Events, &o.Labels, &o.Scores, &o.Dead, &o.State, &o.Models}
}

// Encode returns the value of the record.
func (o Owner) Encode() []byte {
	var b []byte
	for _, f := range o.fields() {
		b = wire.AppendString(b, *f)
	}
	return Seal(b, OldestFormat)
}

// DecodeOwner is the inverse of Encode, for a reader of formats up to newest.
func DecodeOwner(value []byte, newest int) (o Owner, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return o, err
	}
	r := wire.NewReader(payload)
	for _, f := range o.fields() {
		*f = r.String()
	}
	if err := r.Done(); err != nil {
		return Owner{}, err
	}
	if o.Stage == "" || o.Events == "" {
		return Owner{}, errors.New("an owner without name or topic")
	}
	return o, nil
}

// EncodeBegin returns the value of the record that begins a state with a transaction of that number.
func EncodeBegin(number uint64) []byte { return Seal(wire.AppendUvarint(nil, number), OldestFormat) }

// Seen tells a message of each input topic that the stage has read. A later owner sees by it whether the topic is still
// the same one: a topic that was deleted and made anew has another message there.
type Seen struct{ Events, Labels Message }

// Message is the offset of a message and a checksum of its time, key and value. The zero value stands for none.
type Message struct {
	Next int64 // one past its offset
	Sum  uint32
}

// MessageOf returns the part of Seen that tells of a message.
func MessageOf(r *txn.Record) Message {
	var t [8]byte
	if !r.Time.IsZero() {
		binary.LittleEndian.PutUint64(t[:], uint64(r.Time.UnixMilli()))
	}
	sum := crc32.Update(crc32.Checksum(t[:], castagnoli), castagnoli, r.Key)
	return Message{Next: r.Offset + 1, Sum: crc32.Update(sum, castagnoli, r.Value)}
}

// Encode returns the value of the record.
func (s Seen) Encode() []byte {
	var b []byte
	for _, m := range []Message{s.Events, s.Labels} {
		b = wire.AppendUvarint(wire.AppendVarint(b, m.Next), uint64(m.Sum))
	}
	return Seal(b, OldestFormat)
}

// DecodeSeen is the inverse of Encode, for a reader of formats up to newest.
func DecodeSeen(value []byte, newest int) (s Seen, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return s, err
	}
	r := wire.NewReader(payload)
	for _, m := range []*Message{&s.Events, &s.Labels} {
		next, sum := r.Varint(), r.Uvarint()
		if next < 0 || next >= MaxNumber || sum>>32 != 0 {
			return Seen{}, errors.New("a message that no topic has")
		}
		*m = Message{next, uint32(sum)}
	}
	if err := r.Done(); err != nil {
		return Seen{}, err
	}
	return s, nil
}
