package state

import (
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"liftstream/model/wire"
)

// Skip says that an operator has the stage pass a message by: it becomes a dead letter, undecoded, whenever the message
// is read, in replays too. It stands in the state topic, so each owner of the partition, and each verification, sees it
// before the message, and no member need run when it is written. It names its message by content too: a topic that was
// made anew has another one at the offset.
type Skip struct {
	Stage  string // codec.StageEvents or codec.StageLabels
	Offset int64
	Time   int64 // of the message, in milliseconds; -1 = none
	Length int64 // of its value; -1 = it cannot be read
	CRC    uint32
	Why    string
}

// WhyBytes bounds Skip.Why.
const WhyBytes = 500

// skipBytes bounds the value of a skip.
const skipBytes = 1 << 10

const skipKind = "skip"

// Key returns the key of the skip.
func (s *Skip) Key() string { return skipKind + "/" + s.Stage + "/" + strconv.FormatInt(s.Offset, 10) }

// Name notes the content of the message.
func (s *Skip) Name(value []byte, at time.Time, readable bool) {
	s.Time, s.Length, s.CRC = -1, -1, 0
	if !at.IsZero() {
		s.Time = at.UnixMilli()
	}
	if readable {
		s.Length, s.CRC = int64(len(value)), crc32.Checksum(value, castagnoli)
	}
}

// Names reports whether the message is the one that Name has noted. A message that can be read by now, or no more, is
// named by its time.
func (s *Skip) Names(value []byte, at time.Time, readable bool) bool {
	x := Skip{Stage: s.Stage, Offset: s.Offset, Why: s.Why}
	x.Name(value, at, readable)
	if x.Length < 0 || s.Length < 0 {
		x.Length, x.CRC = s.Length, s.CRC
	}
	return x == *s
}

// Encode returns the value of the skip.
func (s *Skip) Encode(format int) []byte {
	b := wire.AppendVarint(nil, s.Offset)
	b = wire.AppendVarint(b, s.Time)
	b = wire.AppendVarint(b, s.Length)
	b = wire.AppendUvarint(b, uint64(s.CRC))
	return Seal(wire.AppendString(b, s.Why), format)
}

// DecodeSkip is the inverse of Encode, for a reader of formats up to newest.
func DecodeSkip(key string, value []byte, newest int) (s Skip, err error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return s, err
	}
	s.Stage, _, _ = strings.Cut(strings.TrimPrefix(key, skipKind+"/"), "/")
	r := wire.NewReader(payload)
	s.Offset, s.Time, s.Length, s.CRC = r.Varint(), r.Varint(), r.Varint(), uint32(r.Uvarint())
	s.Why = r.String()
	return s, r.Done()
}

// Skips returns the skips of the partition, by stage and offset. Skips that cannot be read are left out.
func (l *Log) Skips() (out []Skip) {
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		if !strings.HasPrefix(key, skipKind+"/") {
			continue
		}
		if s, err := DecodeSkip(key, l.values[key], l.Newest); err == nil && s.Key() == key {
			out = append(out, s)
		}
	}
	return out
}
