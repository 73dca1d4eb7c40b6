package codec

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Arrow's writer takes it that the offsets of an array which starts at its buffer's beginning start at 0. They need
// not: other writers send slices as they are. It cuts the values then and leaves the offsets, and nobody can read the
// result. One more offset than there are values makes it shift them.

// rebased returns a in a form that Arrow's writer gets right.
func rebased(a arrow.Array) arrow.Array {
	if d := rebasedData(a.Data(), 0); d != nil {
		return array.MakeFromData(d)
	}
	return a
}

// rebasedData returns nil when nothing has to change.
func rebasedData(d arrow.ArrayData, depth int) arrow.ArrayData {
	if depth > maxDepth {
		return nil
	}
	children, changed := d.Children(), false
	for i, c := range d.Children() {
		if n := rebasedData(c, depth+1); n != nil {
			if !changed {
				children = append([]arrow.ArrayData{}, children...)
			}
			children[i], changed = n, true
		}
	}
	buffers := d.Buffers()
	width := 0
	switch d.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType, *arrow.ListType, *arrow.MapType:
		width = 4
	case *arrow.LargeStringType, *arrow.LargeBinaryType, *arrow.LargeListType:
		width = 8
	}
	if size := width * (d.Len() + 1); width > 0 && d.Offset() == 0 && len(buffers) > 1 && buffers[1] != nil &&
		buffers[1].Len() == size {
		old := buffers[1].Bytes()
		if width == 4 && binary.LittleEndian.Uint32(old) != 0 || width == 8 && binary.LittleEndian.Uint64(old) != 0 {
			more := append(append(make([]byte, 0, size+width), old...), old[size-width:]...)
			buffers = append([]*memory.Buffer{}, buffers...)
			buffers[1] = memory.NewBufferBytes(more)
			changed = true
		}
	}
	if dict, ok := d.DataType().(*arrow.DictionaryType); ok {
		values := rebasedData(d.Dictionary(), depth+1)
		if values == nil {
			return nil
		}
		return array.NewDataWithDictionary(dict, d.Len(), buffers, d.NullN(), d.Offset(), values.(*array.Data))
	}
	if !changed {
		return nil
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

// rebasedRecord does it for every column.
func rebasedRecord(rec arrow.Record) arrow.Record {
	var cols []arrow.Array
	for i, a := range rec.Columns() {
		if b := rebased(a); b != a {
			if cols == nil {
				cols = append(cols, rec.Columns()...)
			}
			cols[i] = b
		}
	}
	if cols == nil {
		return rec
	}
	return array.NewRecord(rec.Schema(), cols, rec.NumRows())
}
