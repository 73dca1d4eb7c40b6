package model

import (
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// maxNames bounds the features and the classes of a decoded Schema.
const maxNames = 1 << 16

// A feature with more than levels has its kind plus kinds times these marks. Builds before a mark refuse such a kind.
const (
	kinds    = int(Nominal) + 1
	shaped   = 1 // special codes, cuts or a least share, which follow its levels
	derived  = 2 // an expression, which follows all else
	trending = 4 // a trend of its cells, which follows the least share; never without shaped
)

// AppendBinary appends the schema: the features (name, kind, use, monotone, fixed levels, special codes, cuts, least
// share of a cell and trend of the cells if any, expression if any), the classes, and the index of the positive one.
func (s *Schema) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(len(s.Features)))
	for i := range s.Features {
		f := &s.Features[i]
		b = wire.AppendString(b, f.Name)
		marks := 0
		if len(f.Special) > 0 || len(f.Cuts) > 0 || f.Least != 0 || f.Trend != Free {
			marks |= shaped
		}
		if f.Derived != "" {
			marks |= derived
		}
		if f.Trend != Free {
			marks |= trending
		}
		b = append(b, byte(int(f.Kind)+kinds*marks), byte(f.Use), byte(f.Monotone))
		b = wire.AppendStrings(b, f.Levels)
		if marks&shaped != 0 {
			b = wire.AppendFloat(wire.AppendFloats(wire.AppendFloats(b, f.Special), f.Cuts), f.Least)
		}
		if f.Trend != Free {
			b = append(b, byte(f.Trend-1))
		}
		if f.Derived != "" {
			b = wire.AppendString(b, f.Derived)
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
		kind := r.Int(kinds*(shaped+derived+trending) + int(Nominal))
		marks := kind / kinds
		f.Kind, f.Use, f.Monotone = Kind(kind%kinds), Use(r.Int(int(UseReport))), Direction(r.Int(int(Auto)))
		if levels := r.Strings(MaxLevels); len(levels) > 0 { // nil = levels are learnt
			f.Levels = levels
		}
		if marks&shaped != 0 {
			f.Special, f.Cuts, f.Least = r.Floats(), r.Floats(), r.Float()
			if marks&trending != 0 {
				f.Trend = Direction(1 + r.Int(int(Auto)-1))
			}
			if err := f.checkShape(); r.Err() == nil && err != nil {
				return nil, r.Fail(err)
			}
		}
		if marks&derived != 0 {
			if f.Derived = r.String(); r.Err() == nil && f.Derived == "" {
				return nil, r.Fail(fmt.Errorf("feature %q is derived by no expression", f.Name))
			}
		}
		if marks&(shaped|trending) == trending {
			return nil, r.Fail(fmt.Errorf("feature %q has a trend without a least share", f.Name))
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
		if s.Features[i].Derived != o.Features[i].Derived {
			return fmt.Errorf("feature %q is %s, the configuration has %s: %w", s.Features[i].Name, o.Features[i].origin(),
				s.Features[i].origin(), ErrModelForeign)
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

// origin says where the values of a feature come from.
func (f *Feature) origin() string {
	if f.Derived == "" {
		return "a column"
	}
	return f.Derived
}
