package codec

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"liftstream/model"
)

// maxScale bounds the scale of decimals, up or down: a schema could claim two thousand million.
const maxScale = 76

type primitive interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func convert[T primitive](dst []float64, v []T) {
	v = v[:len(dst)]
	for i := range dst {
		dst[i] = float64(v[i])
	}
}

// numeric reports whether values of the type are numbers that fillFloats reads.
func numeric(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.NullType, *arrow.BooleanType, *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return true
	case *arrow.Decimal128Type:
		return t.Scale >= -maxScale && t.Scale <= maxScale
	case *arrow.Decimal256Type:
		return t.Scale >= -maxScale && t.Scale <= maxScale
	case *arrow.DictionaryType:
		return numeric(t.ValueType)
	}
	return arrow.IsInteger(t.ID())
}

// textual reports whether values of the type have a canonical text for levels and ids.
func textual(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return true
	case *arrow.DictionaryType:
		return textual(t.ValueType)
	}
	return numeric(t)
}

// level reports whether values of the type have a canonical text for levels and labels: ids are no times.
func level(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.TimestampType, *arrow.Date32Type, *arrow.Date64Type:
		return true
	case *arrow.DictionaryType:
		return level(t.ValueType)
	}
	return textual(t)
}

// temporal reports whether values of the type are times that unixNano reads.
func temporal(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.TimestampType, *arrow.Date32Type, *arrow.Date64Type, *arrow.StringType, *arrow.LargeStringType,
		*arrow.StringViewType, *arrow.NullType,
		*arrow.Float64Type:
		return true
	case *arrow.DictionaryType:
		return temporal(t.ValueType)
	}
	return arrow.IsInteger(t.ID())
}

// fillFloats writes the values of a as numbers, NaN for null; infinities stay. dst has a.Len() entries. It fails where
// a dictionary has no such value.
func fillFloats(dst []float64, a arrow.Array) error {
	switch a := a.(type) {
	case *array.Float64:
		copy(dst, a.Float64Values())
	case *array.Float32:
		convert(dst, a.Float32Values())
	case *array.Float16:
		for i, v := range a.Values()[:len(dst)] {
			dst[i] = float64(v.Float32())
		}
	case *array.Int8:
		convert(dst, a.Int8Values())
	case *array.Int16:
		convert(dst, a.Int16Values())
	case *array.Int32:
		convert(dst, a.Int32Values())
	case *array.Int64:
		convert(dst, a.Int64Values())
	case *array.Uint8:
		convert(dst, a.Uint8Values())
	case *array.Uint16:
		convert(dst, a.Uint16Values())
	case *array.Uint32:
		convert(dst, a.Uint32Values())
	case *array.Uint64:
		convert(dst, a.Uint64Values())
	case *array.Boolean:
		for i := range dst {
			dst[i] = 0
			if a.Value(i) {
				dst[i] = 1
			}
		}
	case *array.Decimal128, *array.Decimal256:
		var scratch []byte
		for i := range dst {
			if a.IsValid(i) {
				dst[i] = decimalFloat(a, i, &scratch)
			}
		}
	case *array.Dictionary:
		values := make([]float64, a.Dictionary().Len())
		if err := fillFloats(values, a.Dictionary()); err != nil {
			return err
		}
		for i := range dst {
			if !a.IsValid(i) {
				continue
			}
			k := a.GetValueIndex(i)
			if k < 0 || k >= len(values) {
				return errOffsets
			}
			dst[i] = values[k]
		}
	default: // null
		for i := range dst {
			dst[i] = math.NaN()
		}
		return nil
	}
	if a.NullN() == 0 {
		return nil
	}
	bitmap, off := a.NullBitmapBytes(), a.Data().Offset()
	if len(bitmap) == 0 {
		return nil
	}
	for i := range dst {
		if !bitutil.BitIsSet(bitmap, off+i) {
			dst[i] = math.NaN()
		}
	}
	return nil
}

// decimal returns the unscaled value and the scale of a decimal.
func decimal(a arrow.Array, i int) (v *big.Int, scale int) {
	switch a := a.(type) {
	case *array.Decimal128:
		n := a.Value(i)
		v = new(big.Int).SetInt64(n.HighBits())
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(n.LowBits()))
		return v, int(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Decimal256:
		w := a.Value(i).Array()
		v = new(big.Int).SetInt64(int64(w[3]))
		for k := 2; k >= 0; k-- {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w[k]))
		}
		return v, int(a.DataType().(*arrow.Decimal256Type).Scale)
	}
	return new(big.Int), 0
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// decimalFloat is the double nearest to a decimal. Small ones need no text: both operands of the division are exact.
func decimalFloat(a arrow.Array, i int, scratch *[]byte) float64 {
	if d, ok := a.(*array.Decimal128); ok {
		n, scale := d.Value(i), int(d.DataType().(*arrow.Decimal128Type).Scale)
		lo := int64(n.LowBits())
		if n.HighBits() == lo>>63 && lo > -1<<53 && lo < 1<<53 && scale >= 0 && scale < len(powers) {
			return float64(lo) / powers[scale]
		}
	}
	v, scale := decimal(a, i)
	*scratch = appendDecimal((*scratch)[:0], v, scale)
	f, _ := strconv.ParseFloat(string(*scratch), 64)
	return f
}

// appendDecimal appends the shortest plain text of v / 10^scale.
func appendDecimal(dst []byte, v *big.Int, scale int) []byte {
	if v.Sign() == 0 {
		return append(dst, '0')
	}
	digits := v.Text(10)
	if v.Sign() < 0 {
		dst, digits = append(dst, '-'), digits[1:]
	}
	for ; scale > 0 && digits[len(digits)-1] == '0' && len(digits) > 1; scale-- {
		digits = digits[:len(digits)-1]
	}
	switch {
	case scale <= 0:
		dst = append(append(dst, digits...), strings.Repeat("0", -scale)...)
	case len(digits) <= scale:
		dst = append(append(append(dst, "0."...), strings.Repeat("0", scale-len(digits))...), digits...)
	default:
		dst = append(append(append(dst, digits[:len(digits)-scale]...), '.'), digits[len(digits)-scale:]...)
	}
	return dst
}

// isNull reports whether value i is null. Arrow says no for columns of the null type.
func isNull(a arrow.Array, i int) bool { return a.IsNull(i) || a.DataType().ID() == arrow.NULL }

// appendText appends the text of value i: that of a string as it stands, that of any other value canonical but for
// times, which are RFC 3339 (model.CanonicalText cuts midnight off). ok is false for null, NaN and infinities.
func appendText(dst []byte, a arrow.Array, i int) (text []byte, ok bool) {
	if isNull(a, i) {
		return dst, false
	}
	switch a := a.(type) {
	case *array.String:
		return append(dst, a.Value(i)...), true
	case *array.LargeString:
		return append(dst, a.Value(i)...), true
	case *array.StringView:
		return append(dst, a.Value(i)...), true
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i)), true
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10), true
	case *array.Uint8:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint16:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint32:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint64:
		return strconv.AppendUint(dst, a.Value(i), 10), true
	case *array.Float16:
		return finiteText(dst, float64(a.Value(i).Float32()), 32)
	case *array.Float32:
		return finiteText(dst, float64(a.Value(i)), 32)
	case *array.Float64:
		return finiteText(dst, a.Value(i), 64)
	case *array.Decimal128, *array.Decimal256:
		v, scale := decimal(a, i)
		return appendDecimal(dst, v, scale), true
	case *array.Timestamp, *array.Date32, *array.Date64:
		return instant(a, i).AppendFormat(dst, time.RFC3339Nano), true
	case *array.Dictionary:
		return appendText(dst, a.Dictionary(), a.GetValueIndex(i))
	}
	return appendJSON(dst, a, i), true
}

func finiteText(dst []byte, v float64, size int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, false
	}
	return model.AppendNumber(dst, v, size), true
}

// instant is the time of a timestamp or date, also outside the range of nanoseconds; without a zone it is UTC.
func instant(a arrow.Array, i int) time.Time {
	var t time.Time
	switch a := a.(type) {
	case *array.Timestamp:
		switch v := int64(a.Value(i)); a.DataType().(*arrow.TimestampType).Unit {
		case arrow.Second:
			t = time.Unix(v, 0)
		case arrow.Millisecond:
			t = time.UnixMilli(v)
		case arrow.Microsecond:
			t = time.UnixMicro(v)
		default:
			t = time.Unix(0, v)
		}
	case *array.Date32:
		t = time.Unix(int64(a.Value(i))*(24*3600), 0)
	case *array.Date64:
		t = time.UnixMilli(int64(a.Value(i)))
	}
	return t.UTC()
}

// scaled multiplies by a positive unit; ok is false when the product overflows.
func scaled(v, unit int64) (int64, bool) {
	neg := v < 0
	u := uint64(v)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(unit))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

// integer reads value i of an integer array.
func integer(a arrow.Array, i int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Uint64:
		v := a.Value(i)
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}
