package model

import (
	"fmt"
	"math"
	"slices"
)

// specialBits marks the value of a Row that is a special code: a NaN that no arithmetic makes, with the number of the
// code in its lowest bits. It is missing for everything that asks for a number.
const specialBits = 0x7ffa_5bec_0000_0000

// MaxSpecial bounds the special codes of one feature.
const MaxSpecial = 64

// SpecialCell is the value of a Row for code k of Feature.Special. It is NaN: a component that knows of no special
// codes takes it as missing.
func SpecialCell(k int) float64 { return math.Float64frombits(specialBits | uint64(k)) }

// SpecialOf returns the number of the special code that a value of a Row stands for, -1 where it is a number, a level
// or missing. It is below MaxSpecial; a state of hostile bytes may hold one that the feature does not have.
func SpecialOf(v float64) int {
	if b := math.Float64bits(v); b&^(MaxSpecial-1) == specialBits {
		return int(b & (MaxSpecial - 1))
	}
	return -1
}

// Value returns the value of a Row for a number of the feature: that of its special code, or the number itself; NaN
// and infinities are missing. NaN of an input never is a special code.
func (f *Feature) Value(v float64) float64 {
	switch {
	case math.IsInf(v, 0) || SpecialOf(v) >= 0:
		return math.NaN()
	case len(f.Special) > 0:
		if k := slices.Index(f.Special, v); k >= 0 {
			return SpecialCell(k)
		}
	}
	return v
}

// Number is the number that a value of a Row of a continuous feature stands for: the code itself where it is a special
// one, else the value. NaN means missing.
func (f *Feature) Number(v float64) float64 {
	if k := SpecialOf(v); k >= 0 && k < len(f.Special) {
		return f.Special[k]
	}
	return v
}

// SpecialName is the name of the cell of a special code, with all digits of the code.
func (f *Feature) SpecialName(k int) string {
	return string(AppendNumber(nil, f.Special[k], 64)) + " (special)"
}

// checkShape says why the special codes, cuts and least share of a feature that was read are impossible, nil where they
// are not.
func (f *Feature) checkShape() error {
	if f.Kind != Continuous || len(f.Special) > MaxSpecial || len(f.Cuts) > MaxCuts || !(f.Least >= 0 && f.Least < 1) {
		return fmt.Errorf("a %s feature of %d special codes, %d cuts and a least share of %v", f.Kind, len(f.Special),
			len(f.Cuts), f.Least)
	}
	if f.Trend != Free && !(f.Least > 0) {
		return fmt.Errorf("a trend of cells without a least share")
	}
	for _, list := range [][]float64{f.Special, f.Cuts} {
		for k, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) || k > 0 && !(list[k-1] < v) {
				return fmt.Errorf("special codes or cuts %v are not ascending", list)
			}
		}
	}
	return nil
}
