package codec

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/model"
)

// byDictionary looks each value of a dictionary up once, and only values that occur: levels are numbered by the
// rows.
func (c *levelColumn) byDictionary(dst []uint32, a *array.Dictionary) error {
	const unseen = model.MissingCode - 1
	values := a.Dictionary()
	if c.dict != values.Data() {
		if !c.account.take(4 * int64(values.Len())) {
			return nil
		}
		c.dict, c.byValue, c.oddValues = values.Data(), resize(c.byValue, values.Len()), nil
		for i := range c.byValue {
			c.byValue[i] = unseen
		}
	}
	for i := range dst {
		dst[i] = model.MissingCode
		if a.IsNull(i) {
			continue
		}
		k := a.GetValueIndex(i)
		if k < 0 || k >= len(c.byValue) {
			return errOffsets
		}
		if c.byValue[k] == unseen {
			c.byValue[k] = c.value(values, k)
		} else if odd, is := c.oddValues[k]; is { // each row counts
			c.replaced, c.shortened = c.replaced+odd[0], c.shortened+odd[1]
		}
		dst[i] = c.byValue[k]
	}
	return nil
}

// value looks up value k of a dictionary.
func (c *levelColumn) value(values arrow.Array, k int) uint32 {
	t, ok := appendText(c.scratch[:0], values, k)
	c.scratch = t
	if !ok {
		return model.MissingCode
	}
	replaced, shortened := c.replaced, c.shortened
	code := c.lookup(t)
	if odd := [2]int{c.replaced - replaced, c.shortened - shortened}; odd != [2]int{} {
		if c.oddValues == nil {
			c.oddValues = map[int][2]int{}
		}
		c.oddValues[k] = odd
	}
	return code
}

// value is the class of value i.
func (c *classColumn) value(a arrow.Array, i int) int32 {
	t, ok := appendText(c.scratch[:0], a, i)
	c.scratch = t
	if !ok {
		return model.Unlabelled
	}
	return c.lookup(t)
}

// byDictionary looks each value of a dictionary up once.
func (c *classColumn) byDictionary(dst []int32, a *array.Dictionary) {
	const unseen = math.MinInt32
	values := a.Dictionary()
	if c.dict != values.Data() {
		if !c.account.take(4 * int64(values.Len())) {
			return
		}
		c.dict, c.byValue = values.Data(), resize(c.byValue, values.Len())
		for i := range c.byValue {
			c.byValue[i] = unseen
		}
	}
	for i := range dst {
		if dst[i] = model.Unlabelled; a.IsNull(i) {
			continue
		}
		k := a.GetValueIndex(i)
		if c.byValue[k] == unseen {
			c.byValue[k] = c.value(values, k)
		}
		dst[i] = c.byValue[k]
	}
}
