package model

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"liftstream/model/wire"
)

// ModelFormat is the version of a Model's binary form.
const ModelFormat = 2

// oldestModel is the oldest version that is read. It lacks Info.Exchangeable: such a model is as of its last record.
const oldestModel = 1

// Model is the result of a Fit: immutable, versioned. Its parts are opaque here; each component decodes its own.
type Model struct {
	Version int64
	// Fingerprint is that of the schema and of the options that shape states.
	Fingerprint uint64
	Levels      *Levels
	// Marks holds, for each input partition, how far the Model has seen it; none for a Model of files.
	Marks map[int32]Mark
	// Shares holds the same for the scorecard's part alone, where that has seen more (Renew); nil = Marks.
	Shares map[int32]Mark
	// Parts by Factory.Name, PartPercentile, PartPercentileFine and PartMisfit.
	Parts map[string][]byte
	// Info describes the fit in words and numbers: shown by inspect, never needed to score.
	Info Info
	// Narrowed names, for people, the features and records that the components have left out to keep within their
	// budgets. It is not stored.
	Narrowed []string
}

// Schema is the schema of the model's levels; it must not be changed.
func (m *Model) Schema() *Schema { return m.Levels.schema }

// Mark is a position in one partition's history. A partition whose clock is behind it has another history: the model
// has seen none of it.
type Mark struct {
	Offset int64   // next event offset
	Clock  float64 // labelled records learnt
}

// Info is the history of a Model.
type Info struct {
	Records  int     // labelled records in the evidence
	Weight   float64 // their weight
	Previous int64
	// Verdict is that of the gate.
	Verdict Verdict
	// Exchangeable says that the order of the records had no influence; else the model is as of the last of them.
	Exchangeable bool
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary appends the model; the format is described in stream/state/FORMAT.md.
func (m *Model) AppendBinary(b []byte) []byte {
	start := len(b)
	b = append(b, "LSMD"...)
	b = wire.AppendUvarint(b, ModelFormat)
	b = wire.AppendVarint(b, m.Version)
	b = wire.AppendUvarint(b, m.Fingerprint)
	b = m.Levels.schema.AppendBinary(b)
	b = m.Levels.AppendBinary(b)
	b = appendMarks(b, m.Marks)
	b = wire.AppendUvarint(b, uint64(len(m.Parts)))
	for _, name := range sortedKeys(m.Parts) {
		b = wire.AppendString(b, name)
		b = wire.AppendBytes(b, m.Parts[name])
	}
	b = wire.AppendUvarint(b, uint64(m.Info.Records))
	b = wire.AppendFloat(b, m.Info.Weight)
	b = wire.AppendVarint(b, m.Info.Previous)
	b = m.Info.Verdict.AppendBinary(b)
	b = wire.AppendBool(b, m.Info.Exchangeable)
	b = appendMarks(b, m.Shares)
	return wire.AppendUvarint(b, uint64(crc32.Checksum(b[start:], crcTable)))
}

func appendMarks(b []byte, marks map[int32]Mark) []byte {
	b = wire.AppendUvarint(b, uint64(len(marks)))
	for _, p := range sortedKeys(marks) {
		b = wire.AppendVarint(b, int64(p))
		b = wire.AppendVarint(b, marks[p].Offset)
		b = wire.AppendFloat(b, marks[p].Clock)
	}
	return b
}

func readMarks(r *wire.Reader) map[int32]Mark {
	marks := map[int32]Mark{}
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		p := r.Varint()
		marks[int32(p)] = Mark{Offset: r.Varint(), Clock: r.Float()}
	}
	return marks
}

// DecodeModel is the inverse of AppendBinary. The parts alias b. A model whose own schema is not like s is refused
// (ErrModelForeign); s nil means that the model's own, which Model.Schema returns, is taken.
func DecodeModel(s *Schema, b []byte) (*Model, error) {
	if len(b) < 4 || string(b[:4]) != "LSMD" {
		return nil, fmt.Errorf("decoding model: not a liftstream model")
	}
	r := wire.NewReader(b[4:])
	format := r.Uvarint()
	if r.Err() == nil && (format < oldestModel || format > ModelFormat) {
		return nil, fmt.Errorf("decoding model: format %d, this build reads %d to %d", format, oldestModel, ModelFormat)
	}
	m := &Model{Version: r.Varint(), Fingerprint: r.Uvarint(), Parts: map[string][]byte{}}
	own, err := DecodeSchema(r)
	if err != nil {
		return nil, fmt.Errorf("decoding model: schema: %w", err)
	}
	if s == nil {
		s = own
	} else if err := s.foreign(own); err != nil {
		return nil, fmt.Errorf("decoding model: %w", err)
	}
	l, err := DecodeLevels(s, r)
	if err != nil {
		return nil, fmt.Errorf("decoding model: levels: %w", err)
	}
	m.Levels = l
	m.Marks = readMarks(r)
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		name := r.String()
		m.Parts[name] = r.Bytes()
	}
	m.Info.Records = int(r.Uvarint())
	m.Info.Weight = r.Float()
	m.Info.Previous = r.Varint()
	if format >= 2 {
		m.Info.Verdict = DecodeVerdict(r)
		m.Info.Exchangeable = r.Bool()
		if m.Shares = readMarks(r); len(m.Shares) == 0 {
			m.Shares = nil
		}
	} else {
		// Log-losses of the new and the serving model on records that both had learnt, and whether the cells stayed: no
		// verdict of today's meaning.
		r.Float()
		r.Float()
		r.Bool()
		m.Info.Verdict = noVerdict(math.NaN())
	}
	body := len(b) - r.Rest()
	sum := r.Uvarint()
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("decoding model: %w", err)
	}
	if uint32(sum) != crc32.Checksum(b[:body], crcTable) {
		return nil, fmt.Errorf("decoding model: checksum mismatch: the bytes are damaged")
	}
	return m, nil
}

func sortedKeys[K int32 | uint16 | string, V any](m map[K]V) []K {
	k := make([]K, 0, len(m))
	for x := range m {
		k = append(k, x)
	}
	slices.Sort(k)
	return k
}
