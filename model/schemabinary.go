package model

import (
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// maxNames bounds the features and the classes of a decoded Schema.
const maxNames = 1 << 16

// shaped is added to the kind of a feature that has special codes, cuts or a least share, which follow its levels then.
// Builds before them refuse such a kind.
const shaped = int(Nominal) + 1

// trending is added to it where the cells of a feature have a trend, which follows the least share then. Builds before
// it refuse such a kind.
const trending = shaped

// AppendBinary appends the schema: the features (name, kind, use, monotone, fixed levels, special codes, cuts, least
// share of a cell and trend of the cells if any), the classes, and the index of the positive one.
func (s *Schema) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(len(s.Features)))
	for i := range s.Features {
		f := &s.Features[i]
		b = wire.AppendString(b, f.Name)
		kind := int(f.Kind)
		if len(f.Special) > 0 || len(f.Cuts) > 0 || f.Least != 0 || f.Trend != Free {
			kind += shaped
		}
		if f.Trend != Free {
			kind += trending
		}
		b = append(b, byte(kind), byte(f.Use), byte(f.Monotone))
		b = wire.AppendStrings(b, f.Levels)
		if kind >= shaped {
			b = wire.AppendFloat(wire.AppendFloats(wire.AppendFloats(b, f.Special), f.Cuts), f.Least)
		}
		if kind >= shaped+trending {
			b = append(b, byte(f.Trend-1))
		}
	}
	b = wire.AppendStrings(b, s.Classes)
	return wire.AppendVarint(b, int64(s.Positive))
}

// DecodeSchema is the inverse of Schema.AppendBinary.
func DecodeSchema(r *wire.Reader) (*Schema, error) {
	s := &Schema{}
	for n := r.Int(maxNames); n > 0 && r.Err() == nil; n-- {
		f := Feature{Name: r.String()}
		kind := r.Int(shaped + trending + int(Nominal))
		f.Kind, f.Use, f.Monotone = Kind(kind%shaped), Use(r.Int(int(UseReport))), Direction(r.Int(int(Auto)))
		f.Levels = r.Strings(MaxLevels)
		if kind >= shaped {
			f.Special, f.Cuts, f.Least = r.Floats(), r.Floats(), r.Float()
			if kind >= shaped+trending {
				f.Trend = Direction(1 + r.Int(int(Auto)-1))
			}
			if err := f.checkShape(); r.Err() == nil && err != nil {
				return nil, r.Fail(err)
			}
		}
		s.Features = append(s.Features, f)
	}
	s.Classes = r.Strings(maxNames)
	s.Positive = int(r.Varint())
	if r.Err() == nil && (s.Positive < -1 || s.Positive >= len(s.Classes)) {
		return nil, r.Fail(fmt.Errorf("positive class %d of %d", s.Positive, len(s.Classes)))
	}
	return s, r.Err()
}

// foreign names a difference between o, read from a model, and s; nil when a model of o can serve records of s.
func (s *Schema) foreign(o *Schema) error {
	if len(s.Features) != len(o.Features) {
		return fmt.Errorf("%d features where the configuration has %d: %w", len(o.Features), len(s.Features), ErrModelForeign)
	}
	for i := range s.Features {
		if s.Features[i].Name != o.Features[i].Name || s.Features[i].Kind != o.Features[i].Kind {
			return fmt.Errorf("feature %d is %q (%s), the configuration has %q (%s): %w", i+1, o.Features[i].Name,
				o.Features[i].Kind, s.Features[i].Name, s.Features[i].Kind, ErrModelForeign)
		}
		if !slices.Equal(s.Features[i].Special, o.Features[i].Special) {
			return fmt.Errorf("feature %q has the special codes %v, the configuration has %v: %w", s.Features[i].Name,
				o.Features[i].Special, s.Features[i].Special, ErrModelForeign)
		}
	}
	if len(s.Classes) != len(o.Classes) {
		return fmt.Errorf("%d classes where the configuration has %d: %w", len(o.Classes), len(s.Classes), ErrModelForeign)
	}
	return nil
}
