package codec

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// written reports whether values of the type are texts.
func written(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return true
	case *arrow.DictionaryType:
		return written(t.ValueType)
	}
	return false
}

func numericOrWritten(t arrow.DataType) bool { return numeric(t) || written(t) }

// fillWritten reads texts as numbers by Options.Numbers: NaN where one means missing. A text that is no number makes
// its row a bad one; first is the number of the first row.
func (d *Decoder) fillWritten(dst []float64, a arrow.Array, column string, first int32) {
	for i := range dst {
		text, ok := rawText(a, i)
		d.scratch = append(d.scratch[:0], text...)
		t := trim(d.scratch)
		dst[i] = math.NaN()
		if !ok || d.missing[string(t)] {
			continue
		}
		v, ok := d.o.Numbers.Parse(t)
		switch {
		case !ok:
			d.reject(first+int32(i), ReasonNumber, column, a, i)
		case v-v == 0:
			dst[i] = v
		default:
			d.changes.finite(v, true)
		}
		for _, miss := range d.numbers {
			if v == miss {
				dst[i] = math.NaN()
			}
		}
	}
}
