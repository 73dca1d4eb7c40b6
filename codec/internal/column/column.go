// Package column builds Arrow columns in buffers that their owner may use again for the next batch, which Arrow's own
// builders do not allow: they hand their buffers over.
//
// Begin at Fixed; Text, List and Validity are the other kinds.
package column

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Validity is the null bitmap of a column under construction. The zero value is empty.
type Validity struct {
	bits  []byte
	n     int
	nulls int
}

// Reset empties the bitmap and keeps its buffer.
func (v *Validity) Reset() { v.bits, v.n, v.nulls = v.bits[:0], 0, 0 }

// Len is the number of entries.
func (v *Validity) Len() int { return v.n }

// Nulls is the number of entries that are null.
func (v *Validity) Nulls() int { return v.nulls }

// Valid reports whether entry i is not null.
func (v *Validity) Valid(i int) bool { return v.bits[i>>3]>>(i&7)&1 == 1 }

// Mark appends an entry; ok false is null.
func (v *Validity) Mark(ok bool) {
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

func (v *Validity) buffer() *memory.Buffer {
	if v.nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(v.bits)
}

// Fixed builds a column of numbers. Data aliases its buffers: after Reset the arrays of before must not be read.
type Fixed[T int32 | int64 | uint64 | float32 | float64] struct {
	Validity
	V []T
}

// Reset empties the column and keeps its buffers.
func (c *Fixed[T]) Reset() {
	c.Validity.Reset()
	c.V = c.V[:0]
}

// Add appends a value; ok false makes it null.
func (c *Fixed[T]) Add(v T, ok bool) {
	c.V = append(c.V, v)
	c.Mark(ok)
}

// Data returns the column as type t, whose width is that of T.
func (c *Fixed[T]) Data(t arrow.DataType) arrow.ArrayData {
	return array.NewData(t, len(c.V), []*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.V))}, nil, c.nulls, 0)
}

// bytesOf is the memory of a slice of numbers, which is Arrow's form of it.
func bytesOf[T int32 | int64 | uint64 | float32 | float64](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// Text builds a utf8 column: bytes are appended to Bytes, and End closes the value. Data aliases its buffers as Fixed's
// does. It must be Reset before its first use.
type Text struct {
	Validity
	ends  []int32 // with the leading 0
	Bytes []byte
}

// Reset empties the column and keeps its buffers.
func (c *Text) Reset() {
	c.Validity.Reset()
	c.ends, c.Bytes = append(c.ends[:0], 0), c.Bytes[:0]
}

// End closes the value that was appended to Bytes; ok false makes it null.
func (c *Text) End(ok bool) {
	c.ends = append(c.ends, int32(len(c.Bytes)))
	c.Mark(ok)
}

// Add appends a value.
func (c *Text) Add(s string) {
	c.Bytes = append(c.Bytes, s...)
	c.End(true)
}

// Null appends a null.
func (c *Text) Null() { c.End(false) }

// Value returns the bytes of entry i.
func (c *Text) Value(i int) []byte { return c.Bytes[c.ends[i]:c.ends[i+1]] }

// Data returns the column as type t, which is utf8.
func (c *Text) Data(t arrow.DataType) arrow.ArrayData {
	return array.NewData(t, len(c.ends)-1,
		[]*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.ends)), memory.NewBufferBytes(c.Bytes)}, nil, c.nulls, 0)
}

// List builds the offsets of a list column. It must be Reset before its first use.
type List struct {
	Validity
	ends []int32
}

// Reset empties the column and keeps its buffers.
func (c *List) Reset() {
	c.Validity.Reset()
	c.ends = append(c.ends[:0], 0)
}

// End closes a list: n elements were appended to the element column so far, over all lists. ok false makes it null.
func (c *List) End(n int, ok bool) {
	c.ends = append(c.ends, int32(n))
	c.Mark(ok)
}

// Bounds returns the elements of list i: those from lo on, to before hi.
func (c *List) Bounds(i int) (lo, hi int) { return int(c.ends[i]), int(c.ends[i+1]) }

// Data returns the column as the list type t over elements.
func (c *List) Data(t arrow.DataType, elements arrow.ArrayData) arrow.ArrayData {
	return array.NewData(t, len(c.ends)-1, []*memory.Buffer{c.buffer(), memory.NewBufferBytes(bytesOf(c.ends))},
		[]arrow.ArrayData{elements}, c.nulls, 0)
}

// Flags builds a column of booleans without nulls. Data aliases its buffer as Fixed's does.
type Flags struct{ bits Validity }

// Reset empties the column and keeps its buffer.
func (c *Flags) Reset() { c.bits.Reset() }

// Len is the number of values.
func (c *Flags) Len() int { return c.bits.n }

// Add appends a value.
func (c *Flags) Add(v bool) { c.bits.Mark(v) }

// Value is entry i.
func (c *Flags) Value(i int) bool { return c.bits.Valid(i) }

// Data returns the column as type t, which is boolean.
func (c *Flags) Data(t arrow.DataType) arrow.ArrayData {
	return array.NewData(t, c.bits.n, []*memory.Buffer{nil, memory.NewBufferBytes(c.bits.bits)}, nil, 0, 0)
}
