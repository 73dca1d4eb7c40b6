package codec

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Changes counts values of features that a batch holds otherwise than they were sent.
type Changes struct {
	NaN       int // not a number; missing
	Infinite  int // plus or minus infinity; missing
	Rounded   int // whole numbers and decimals that a double does not hold; the nearest double
	Text      int // texts that are not UTF-8; U+FFFD in place of the bad bytes
	Shortened int // texts longer than a level may be; their beginning and a hash
	Absent    int // values of a nullable column that the message lacks; missing
}

// Findings are facts about the values that a decoder has read, which the owner of the data should look at.
type Findings struct {
	UnknownClass string   // the first text of a label that was no class, cut
	Merged       []Merged // at most one for each feature
}

// Merged is two texts of a feature that are one number, such as 3.1 and 3.10, and so one level.
type Merged struct{ Feature, First, Second string }

// Add returns the sum.
func (c Changes) Add(o Changes) Changes {
	return Changes{NaN: c.NaN + o.NaN, Infinite: c.Infinite + o.Infinite, Rounded: c.Rounded + o.Rounded,
		Text: c.Text + o.Text, Shortened: c.Shortened + o.Shortened, Absent: c.Absent + o.Absent}
}

// Each calls f for each kind of change, by its name in metrics.
func (c Changes) Each(f func(kind string, n int)) {
	f("nan", c.NaN)
	f("infinite", c.Infinite)
	f("rounded", c.Rounded)
	f("utf8", c.Text)
	f("shortened", c.Shortened)
	f("absent", c.Absent)
}

// numbers counts the changes of a column whose values are in dst, and makes infinities missing.
func (c *Changes) numbers(dst []float64, a arrow.Array) {
	switch a := a.(type) {
	case *array.Float16, *array.Float32, *array.Float64:
		for i, v := range dst {
			if v-v == 0 {
				continue
			}
			if c.finite(v, a.IsValid(i)); math.IsInf(v, 0) {
				dst[i] = math.NaN()
			}
		}
	case *array.Int64:
		for i, v := range a.Int64Values()[:len(dst)] {
			if uint64(v+1<<53) > 1<<54 && a.IsValid(i) && !holds(v, dst[i]) {
				c.Rounded++
			}
		}
	case *array.Uint64:
		for i, v := range a.Uint64Values()[:len(dst)] {
			if v > 1<<53 && a.IsValid(i) && new(big.Float).SetFloat64(dst[i]).Cmp(new(big.Float).SetUint64(v)) != 0 {
				c.Rounded++
			}
		}
	case *array.Decimal128, *array.Decimal256:
		for i, v := range dst {
			if a.IsValid(i) && !isDecimal(a, i, v) {
				c.Rounded++
			}
		}
	case *array.Dictionary:
		c.byValue(dst, a)
	}
}

func (c *Changes) finite(v float64, valid bool) {
	switch {
	case math.IsInf(v, 0):
		c.Infinite++
	case valid:
		c.NaN++
	}
}

// holds reports whether a double is exactly a whole number.
func holds(v int64, x float64) bool { return x < 1<<63 && int64(x) == v }

// isDecimal reports whether x stands for a decimal without a loss: a double keeps 15 digits and more.
func isDecimal(a arrow.Array, i int, x float64) bool {
	if d, ok := a.(*array.Decimal128); ok {
		n := d.Value(i)
		if lo := int64(n.LowBits()); n.HighBits() == lo>>63 && lo > -1<<53 && lo < 1<<53 {
			return true
		}
	}
	v, scale := decimal(a, i)
	if v.IsInt64() && v.Int64() > -1<<53 && v.Int64() < 1<<53 {
		return true
	}
	return string(appendDecimal(nil, v, scale)) == strconv.FormatFloat(x, 'f', -1, 64)
}

// byValue counts the changes of the values of a dictionary once for each row.
func (c *Changes) byValue(dst []float64, a *array.Dictionary) {
	values := a.Dictionary()
	one := make([]float64, 1)
	var each map[int]Changes // of the values that change
	for k := range values.Len() {
		if !mayChange(values, k) {
			continue
		}
		var x Changes
		if fillFloats(one, array.NewSlice(values, int64(k), int64(k+1))) != nil {
			continue
		}
		if x.numbers(one, array.NewSlice(values, int64(k), int64(k+1))); x != (Changes{}) {
			if each == nil {
				each = map[int]Changes{}
			}
			each[k] = x
		}
	}
	if each == nil {
		return
	}
	for i := range dst {
		if a.IsNull(i) {
			continue
		}
		x, ok := each[a.GetValueIndex(i)]
		if !ok {
			continue
		}
		c.NaN, c.Infinite, c.Rounded = c.NaN+x.NaN, c.Infinite+x.Infinite, c.Rounded+x.Rounded
		if x.Infinite > 0 {
			dst[i] = math.NaN()
		}
	}
}

// mayChange is a quick look at a value of a dictionary.
func mayChange(a arrow.Array, i int) bool {
	if a.IsNull(i) {
		return false
	}
	switch a := a.(type) {
	case *array.Float64:
		return a.Value(i)-a.Value(i) != 0
	case *array.Float32:
		return a.Value(i)-a.Value(i) != 0
	case *array.Int64:
		return uint64(a.Value(i)+1<<53) > 1<<54
	case *array.Float16, *array.Uint64, *array.Decimal128, *array.Decimal256, *array.Dictionary:
		return true
	}
	return false
}
