package codec

import (
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/float16"
)

// narrower returns the rounding of numbers to the type of a column of halves or singles, also in a dictionary; nil for
// the types that hold a double as it is.
func narrower(t arrow.DataType) func(v float64) float64 {
	switch t := t.(type) {
	case *arrow.Float16Type:
		return func(v float64) float64 { return float64(float16.New(float32(v)).Float32()) }
	case *arrow.Float32Type:
		return func(v float64) float64 { return float64(float32(v)) }
	case *arrow.DictionaryType:
		return narrower(t.ValueType)
	}
	return nil
}

// settle makes the numbers of a column that mean missing NaN. A column of singles has no -99.9, but the number next to
// it: there a number means missing, or is a special code, where the configured number rounds to it. Such a code is then
// the configured number in dst, as in a column of doubles; of codes that round to one number, the least.
func settle(dst, missing, special []float64, t arrow.DataType) {
	narrow := narrower(t)
	for _, miss := range missing {
		if narrow != nil {
			miss = narrow(miss)
		}
		replace(dst, miss, math.NaN())
	}
	if narrow == nil || len(special) == 0 {
		return
	}
	codes := make([]float64, len(special))
	for k, v := range special {
		codes[k] = narrow(v)
	}
	for i, v := range dst {
		if k := slices.Index(codes, v); k >= 0 {
			dst[i] = special[k]
		}
	}
}

func replace(dst []float64, old, by float64) {
	for i, v := range dst {
		if v == old {
			dst[i] = by
		}
	}
}
