package codec

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// validity is the null bitmap of a column under construction.
type validity struct {
	bits  []byte
	n     int
	nulls int
}

func (v *validity) reset() { v.bits, v.n, v.nulls = v.bits[:0], 0, 0 }

func (v *validity) add(ok bool) {
	if v.n&7 == 0 {
		v.bits = append(v.bits, 0)
	}
	if ok {
		v.bits[v.n>>3] |= 1 << (v.n & 7)
	} else {
		v.nulls++
	}
	v.n++
}

func (v *validity) buffer() *memory.Buffer {
	if v.nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(v.bits)
}

// fixedColumn builds a column of fixed width in buffers that are used again for the next batch. Arrow's own builders hand
// theirs over.
type fixedColumn[T int32 | int64 | float32 | float64] struct {
	validity
	v []T
}

func (c *fixedColumn[T]) reset() {
	c.validity.reset()
	c.v = c.v[:0]
}

func (c *fixedColumn[T]) add(v T, ok bool) {
	c.v = append(c.v, v)
	c.validity.add(ok)
}

func (c *fixedColumn[T]) data(t arrow.DataType) arrow.ArrayData {
	return array.NewData(t, len(c.v), []*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.v))}, nil, c.nulls, 0)
}

// bytesOf is the memory of a slice of numbers, which is Arrow's form of it.
func bytesOf[T int32 | int64 | float32 | float64](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// textColumn builds a utf8 column: texts are appended to text, then closed by end or null.
type textColumn struct {
	validity
	ends []int32 // with the leading 0
	text []byte
}

func (c *textColumn) reset() {
	c.validity.reset()
	c.ends, c.text = append(c.ends[:0], 0), c.text[:0]
}

func (c *textColumn) end(ok bool) {
	c.ends = append(c.ends, int32(len(c.text)))
	c.validity.add(ok)
}

func (c *textColumn) add(s string) {
	c.text = append(c.text, s...)
	c.end(true)
}

func (c *textColumn) null() { c.end(false) }

func (c *textColumn) data() arrow.ArrayData {
	return array.NewData(arrow.BinaryTypes.String, len(c.ends)-1,
		[]*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.ends)), memory.NewBufferBytes(c.text)}, nil, c.nulls, 0)
}

// listColumn builds the offsets of a list column.
type listColumn struct {
	validity
	ends []int32
}

func (c *listColumn) reset() {
	c.validity.reset()
	c.ends = append(c.ends[:0], 0)
}

func (c *listColumn) end(n int, ok bool) {
	c.ends = append(c.ends, int32(n))
	c.add(ok)
}

func (c *listColumn) data(t arrow.DataType, elements arrow.ArrayData) arrow.ArrayData {
	return array.NewData(t, len(c.ends)-1, []*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.ends))},
		[]arrow.ArrayData{elements}, c.nulls, 0)
}
