package state

import (
	"strconv"

	"liftstream/model/wire"
)

const slots = 3

// Stored says where a section lies: in one of three slots, in chunks.
type Stored struct {
	Name string
	Slot int
	Blob
}

func (s Stored) key(chunk int) string { return s.slot() + strconv.Itoa(chunk) }

// slot is the beginning of the keys of the chunks.
func (s Stored) slot() string { return "part/" + s.Name + "/" + strconv.Itoa(s.Slot) + "/" }

// Manifest describes a complete snapshot.
type Manifest struct {
	Format      int // of all values of the snapshot
	Number      uint64
	Fingerprint uint64
	Position
	Journal  uint64 // number of the next journal record
	Labelled float64
	Sections []Stored
}

// Key returns the key of the manifest.
func (m *Manifest) Key() string { return "manifest/" + strconv.FormatUint(m.Number%2, 10) }

// Encode returns the value of the manifest.
func (m *Manifest) Encode() []byte {
	b := wire.AppendUvarint(nil, m.Number)
	b = wire.AppendUvarint(b, m.Fingerprint)
	b = wire.AppendVarint(b, m.Events)
	b = wire.AppendVarint(b, m.Labels)
	b = wire.AppendVarint(b, m.Model)
	b = wire.AppendUvarint(b, m.Journal)
	b = wire.AppendFloat(b, m.Labelled)
	b = wire.AppendUvarint(b, uint64(len(m.Sections)))
	for _, s := range m.Sections {
		b = wire.AppendString(b, s.Name)
		b = wire.AppendUvarint(b, uint64(s.Slot))
		b = s.AppendBinary(b)
	}
	return Seal(b, m.Format)
}

// DecodeManifest is the inverse of Encode, for a reader of formats up to newest.
func DecodeManifest(value []byte, newest int) (*Manifest, error) {
	payload, format, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	m := &Manifest{Format: format, Number: r.Uvarint(), Fingerprint: r.Uvarint()}
	m.Position = Position{Events: r.Varint(), Labels: r.Varint(), Model: r.Varint()}
	m.Journal, m.Labelled = r.Uvarint(), r.Float()
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		s := Stored{Name: r.String(), Slot: r.Int(slots - 1)}
		s.Blob = readBlob(r)
		m.Sections = append(m.Sections, s)
	}
	return m, r.Done()
}

// Find returns the section of that name. A nil manifest has none.
func (m *Manifest) Find(name string) (Stored, bool) {
	if m != nil {
		for _, s := range m.Sections {
			if s.Name == name {
				return s, true
			}
		}
	}
	return Stored{}, false
}
