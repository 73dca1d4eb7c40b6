package model

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"liftstream/model/wire"
)

// MaxLevels bounds the learnt levels of one nominal feature that have a code of their own. Further levels have a code
// above it, made of a hash of their text: see Cell.
const MaxLevels = 4096

// MostFurther is the largest hash of a further level. Two further levels have the same hash, and are one level, with
// probability 1 / MostFurther.
const MostFurther = 1<<24 - 1

// MaxLevelBytes bounds the text of one level. The codec puts a hash in the place of the end of a longer text, so that
// two texts are two levels. Texts of other callers are cut there, or before the character in which it lies, before they
// are looked up.
const MaxLevelBytes = 1 << 10

// Levels is the append-only table from the text of a level to its code, one table for each feature of a Schema.
// Codes are dense from 0 in order of first appearance (fixed levels first, in their order). Not safe for concurrent
// use while Code is called.
type Levels struct {
	schema *Schema
	names  [][]string
	index  []map[string]uint32
	// The first level of each canonical text, and of each SameValue, where that is not the text of the level.
	canonical, same []map[string]uint32
	spelling        []map[string]string // see spell; nil = there is none
}

// NewLevels returns the table that holds just the fixed levels of the schema.
func NewLevels(s *Schema) *Levels {
	n := len(s.Features)
	l := &Levels{schema: s, names: make([][]string, n), index: make([]map[string]uint32, n),
		canonical: make([]map[string]uint32, n), same: make([]map[string]uint32, n)}
	for f := range s.Features {
		if s.Features[f].Kind == Continuous {
			continue
		}
		l.index[f] = make(map[string]uint32, len(s.Features[f].Levels))
		for _, t := range s.Features[f].Levels {
			l.add(f, t)
		}
	}
	return l
}

func (l *Levels) add(f int, text string) uint32 {
	c := uint32(len(l.names[f]))
	l.names[f] = append(l.names[f], text)
	l.index[f][text] = c
	for _, x := range []struct {
		text  string
		first []map[string]uint32
	}{{string(CanonicalText(nil, []byte(text))), l.canonical}, {SameValue(text), l.same}} {
		if _, ok := x.first[f][x.text]; ok || x.text == text {
			continue
		}
		if x.first[f] == nil {
			x.first[f] = map[string]uint32{}
		}
		x.first[f][x.text] = c
	}
	return c
}

// Count is the number of levels known of feature f.
func (l *Levels) Count(f int) int { return len(l.names[f]) }

// Names returns the texts of feature f by code; the caller must not change it.
func (l *Levels) Names(f int) []string { return l.names[f] }

// Other is the code of every level that has no code of its own: unseen texts of a feature with fixed levels and, where
// a Cell is rounded down, all levels after MaxLevels.
func (l *Levels) Other(f int) uint32 {
	if n := len(l.schema.Features[f].Levels); n > 0 {
		return uint32(n)
	}
	return MaxLevels
}

// Code returns the code of text, appending it when it is new and the feature's levels are learnt. A text is new when no
// level has this text, and none is the same value: a level True, or 1.0, that a state has learnt before texts became
// canonical (CanonicalText) is found by true, or 1, and true is found by 1.
func (l *Levels) Code(f int, text string) uint32 {
	whole := len(text)
	text = cutLevel(text)
	if c, ok := l.index[f][text]; ok {
		return c
	}
	canonical, value := string(CanonicalText(nil, []byte(text))), SameValue(text)
	for _, x := range []struct {
		codes map[string]uint32
		text  string
	}{{l.index[f], canonical}, {l.canonical[f], canonical}, {l.index[f], value}, {l.same[f], value}} {
		if c, ok := x.codes[x.text]; ok {
			return c
		}
	}
	if len(l.schema.Features[f].Levels) > 0 {
		return l.Other(f)
	}
	if len(l.names[f]) >= MaxLevels {
		return furtherCode(value)
	}
	if len(text) < whole {
		text = strings.Clone(text) // the rest of the text need not be kept
	}
	return l.add(f, l.spelled(f, value, text))
}

// exact is Code for the level of just this text.
func (l *Levels) exact(f int, text string) uint32 {
	if c, ok := l.index[f][text]; ok {
		return c
	}
	if len(l.schema.Features[f].Levels) > 0 {
		return l.Other(f)
	}
	if len(l.names[f]) >= MaxLevels {
		return furtherCode(SameValue(text))
	}
	return l.add(f, text)
}

// furtherCode is the code of a further level: a function of its value alone, so that partitions, models and rebuilt
// states agree on it without a table. It is FNV-1a (Fowler, Noll and Vo 1991), mixed.
func furtherCode(value string) uint32 {
	h := uint64(14695981039346656037)
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * 1099511628211
	}
	return MaxLevels + 1 + uint32(mix(h)%MostFurther)
}

// Cell returns the cell of a Row that holds a code: the code itself or, of a further level, a number between MaxLevels
// and MaxLevels + 1, exactly. Rounded down it is the code Levels.Other: who does not tell further levels apart needs to
// know nothing of them.
func Cell(code uint32) float64 {
	if code <= MaxLevels {
		return float64(code)
	}
	return MaxLevels + float64(code-MaxLevels)/(MostFurther+1)
}

// furtherCell reports whether v is the cell of a further level.
func furtherCell(v float64) bool {
	h := Further(v)
	return h > 0 && v == Cell(MaxLevels+h)
}

// Further returns the hash of the further level in a cell of a Row, 1 to MostFurther; 0 of any other cell.
func Further(v float64) uint32 {
	if v > MaxLevels && v < MaxLevels+1 {
		return uint32((v - MaxLevels) * (MostFurther + 1))
	}
	return 0
}

func cutLevel(text string) string {
	if len(text) <= MaxLevelBytes {
		return text
	}
	end := MaxLevelBytes
	for end > MaxLevelBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Text returns the text of value v of feature f as a report prints it: the name of the level, or "(other)". It is
// defined for features with levels only.
func (l *Levels) Text(f int, v float64) string {
	if c := int(v); c >= 0 && c < len(l.names[f]) {
		return l.names[f][c]
	}
	return "(other)"
}

// Clone returns an independent copy.
func (l *Levels) Clone() *Levels {
	c := NewLevels(l.schema)
	for f := range l.names {
		for _, t := range l.names[f][len(c.names[f]):] {
			c.add(f, t)
		}
	}
	return c
}

// Merge appends the levels of o that l lacks, in o's order, and returns the recoding of o's codes into l's. Two levels
// of o stay two, also where they are one value, except levels that have no code of their own.
func (l *Levels) Merge(o *Levels) Recode {
	r := make(Recode, len(l.names))
	for f := range o.names {
		if l.schema.Features[f].Kind == Continuous {
			continue
		}
		r[f] = make([]uint32, len(o.names[f]))
		taken := map[uint32]bool{}
		for _, t := range o.names[f] {
			if code, ok := l.index[f][t]; ok {
				taken[code] = true
			}
		}
		for c, t := range o.names[f] {
			code, ok := l.index[f][t]
			if !ok {
				if code = l.Code(f, t); taken[code] {
					code = l.exact(f, t)
				}
				taken[code] = true
			}
			r[f][c] = code
		}
	}
	return r
}

// Recode maps the level codes of one table to those of another: Recode[feature][old] = new. Codes beyond the end map to
// themselves (they are Levels.Other, or further levels); nil is the identity.
type Recode [][]uint32

// Value recodes one cell of a Row.
func (r Recode) Value(f int, v float64) float64 {
	if r == nil || r[f] == nil || math.IsNaN(v) || int(v) >= len(r[f]) {
		return v
	}
	return Cell(r[f][int(v)])
}

// Identity reports whether the recoding changes nothing.
func (r Recode) Identity() bool {
	for _, m := range r {
		for old, c := range m {
			if uint32(old) != c {
				return false
			}
		}
	}
	return true
}

// AppendBinary appends the learnt levels: for each feature a count and that many texts.
func (l *Levels) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(len(l.names)))
	for f := range l.names {
		b = wire.AppendStrings(b, l.names[f])
	}
	return b
}

// DecodeLevels is the inverse of AppendBinary for a Levels of the same schema.
func DecodeLevels(s *Schema, r *wire.Reader) (*Levels, error) {
	if n := r.Uvarint(); n != uint64(len(s.Features)) {
		return nil, r.Fail(fmt.Errorf("levels of %d features, the schema has %d", n, len(s.Features)))
	}
	l := NewLevels(s)
	for f := range s.Features {
		names := r.Strings(MaxLevels)
		if s.Features[f].Kind == Continuous && len(names) > 0 {
			return nil, r.Fail(fmt.Errorf("levels of the continuous feature %q", s.Features[f].Name))
		}
		fixed := len(s.Features[f].Levels)
		for c, t := range names {
			t = cutLevel(t)
			got, known := l.index[f][t]
			if known && got != uint32(c) || !known && fixed > 0 {
				return nil, r.Fail(fmt.Errorf("level %d %q of feature %q does not fit the schema", c, t, s.Features[f].Name))
			}
			if !known {
				l.add(f, t) // by its text: a former state may hold two texts of one value
			}
		}
	}
	return l, r.Err()
}
