package file

import (
	"errors"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"liftstream/codec"
)

// sound checks what a library of Arrow takes on trust: texts are UTF-8, decimals have no more digits than their type
// says, and as many values are null as the file says. An error has the row, counted from before.
func sound(t *codec.Table, before int64) (err error) {
	defer recovered("checking values", &err)
	rec := t.Record()
	for c, a := range rec.Columns() {
		row, value, err := soundColumn(a)
		if err != nil {
			return &Error{Row: before + int64(row) + 1, Column: rec.ColumnName(c), Value: cut([]byte(value)), Err: err,
				Remedy: damaged}
		}
	}
	return nil
}

func soundColumn(a arrow.Array) (row int, value string, err error) {
	d := a.Data()
	if b := d.Buffers(); len(b) > 0 && b[0] != nil && b[0].Len() > 0 && d.NullN() != array.UnknownNullCount {
		if n := a.Len() - bitutil.CountSetBits(b[0].Bytes(), d.Offset(), a.Len()); n != d.NullN() {
			return 0, "", fmt.Errorf("%d values are null, the file says %d", n, d.NullN())
		}
	}
	switch a := a.(type) {
	case *array.String:
		return soundTexts(a.Len(), a.IsValid, a.Value)
	case *array.LargeString:
		return soundTexts(a.Len(), a.IsValid, a.Value)
	case *array.StringView:
		for i := range a.Len() { // a view repeats the first bytes of a long text
			if p := a.ValueHeader(i).Prefix(); a.IsValid(i) && a.ValueLen(i) >= len(p) && a.Value(i)[:len(p)] != string(p[:]) {
				return i, a.Value(i), errPrefix
			}
		}
		return soundTexts(a.Len(), a.IsValid, a.Value)
	case *array.Decimal128:
		most := digits(a.DataType().(*arrow.Decimal128Type).Precision)
		return soundDecimals(a.Len(), a.IsValid, most, func(i int) *big.Int { return a.Value(i).BigInt() },
			func(i int) bool { // most are small
				v := a.Value(i)
				return v.HighBits() == 0 && v.LowBits() < 1e18 && most.BitLen() > 60
			})
	case *array.Decimal256:
		return soundDecimals(a.Len(), a.IsValid, digits(a.DataType().(*arrow.Decimal256Type).Precision),
			func(i int) *big.Int { return a.Value(i).BigInt() }, func(int) bool { return false })
	case *array.Dictionary:
		_, value, err := soundColumn(a.Dictionary())
		return 0, value, err
	}
	return 0, "", nil
}

func soundTexts(n int, valid func(int) bool, value func(int) string) (int, string, error) {
	for i := range n {
		if valid(i) && !utf8.ValidString(value(i)) {
			return i, value(i), errText
		}
	}
	return 0, "", nil
}

func digits(precision int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(max(precision, 0), 76))), nil)
}

var errPrefix = errors.New("not the text that its view begins with")

var errDigits = errors.New("more digits than its type has")

func soundDecimals(n int, valid func(int) bool, most *big.Int, value func(int) *big.Int, small func(int) bool) (int,
	string, error) {
	for i := range n {
		if valid(i) && !small(i) {
			if v := value(i); v.CmpAbs(most) >= 0 {
				return i, v.String(), errDigits
			}
		}
	}
	return 0, "", nil
}
