package codec

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

// values are the buffers and children of an array in the making. The first buffer is the bitmap, nil when no value is
// null.
type values struct {
	n        int
	raw      [][]byte
	children []arrow.ArrayData
}

func (v *values) null(i int) bool { return v.raw[0] != nil && !bitutil.BitIsSet(v.raw[0], i) }

// sound reports whether every value lies inside its buffers: offsets in order, indices inside the dictionary, views
// inside their data. The texts of views are counted, for many may share the same bytes.
func (l *loader) sound(nd *node, v *values, dict *array.Data) bool {
	if v.n == 0 {
		return true
	}
	if dict != nil {
		return v.indices(nd.bits[0], nd.typ.(*arrow.DictionaryType).IndexType, dict.Len())
	}
	switch t := nd.typ.(type) {
	case *arrow.StringType, *arrow.BinaryType:
		return v.offsets(4, len(v.raw[2]))
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return v.offsets(8, len(v.raw[2]))
	case *arrow.StringViewType, *arrow.BinaryViewType:
		size, ok := v.views()
		if ok && !l.account.take(size) {
			l.err = l.account.refusal()
			return false
		}
		return ok
	case *arrow.ListType, *arrow.MapType:
		return v.offsets(4, v.children[0].Len())
	case *arrow.LargeListType:
		return v.offsets(8, v.children[0].Len())
	case *arrow.ListViewType:
		return v.listViews(4)
	case *arrow.LargeListViewType:
		return v.listViews(8)
	case *arrow.FixedSizeListType:
		return int64(v.children[0].Len()) >= int64(v.n)*int64(t.Len())
	case *arrow.StructType:
		return v.beside()
	case *arrow.SparseUnionType:
		return v.raw[0] == nil && v.beside() && v.codes(t, false)
	case *arrow.DenseUnionType:
		return v.raw[0] == nil && v.codes(t, true)
	case *arrow.RunEndEncodedType:
		return v.raw[0] == nil && v.runs(t)
	}
	return true
}

// offset reads the number at place i of a buffer of offsets.
func offset(b []byte, width, i int) int64 {
	if width == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(b[8*i:]))
}

// offsets reports whether the offsets never go back nor beyond end.
func (v *values) offsets(width, end int) bool {
	b := v.raw[1]
	if width == 4 {
		last := int32(binary.LittleEndian.Uint32(b))
		sorted := last >= 0
		for b = b[4 : 4*(v.n+1)]; len(b) >= 4; b = b[4:] {
			o := int32(binary.LittleEndian.Uint32(b))
			sorted = sorted && o >= last
			last = o
		}
		return sorted && int(last) <= end
	}
	last := offset(b, width, 0)
	if last < 0 {
		return false
	}
	for i := 1; i <= v.n; i++ {
		o := offset(b, width, i)
		if o < last || o > int64(end) {
			return false
		}
		last = o
	}
	return true
}

// indices reports whether the indices of values that are not null lie inside a dictionary of so many values.
func (v *values) indices(bits int64, index arrow.DataType, size int) bool {
	b := v.raw[1]
	for i := range v.n {
		var k uint64
		switch bits {
		case 8:
			k = uint64(b[i])
		case 16:
			k = uint64(binary.LittleEndian.Uint16(b[2*i:]))
		case 32:
			k = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		default:
			k = binary.LittleEndian.Uint64(b[8*i:])
		}
		if k < uint64(size) {
			if bits < 64 && k>>(bits-1) == 0 || bits == 64 {
				continue
			}
			// The top bit is set: negative, where the index has a sign.
			if arrow.IsUnsignedInteger(index.ID()) {
				continue
			}
		}
		if !v.null(i) {
			return false
		}
	}
	return true
}

// views returns the length of all texts of a view type together.
func (v *values) views() (size int64, ok bool) {
	for i := range v.n {
		if v.null(i) {
			continue
		}
		h := v.raw[1][16*i : 16*i+16]
		n := int64(int32(binary.LittleEndian.Uint32(h)))
		if n < 0 {
			return 0, false
		}
		size += n
		if n <= arrow.ViewPrefixLen+8 {
			continue
		}
		k, off := int64(int32(binary.LittleEndian.Uint32(h[8:]))), int64(int32(binary.LittleEndian.Uint32(h[12:])))
		if k < 0 || k >= int64(len(v.raw)-2) || off < 0 || off+n > int64(len(v.raw[2+k])) {
			return 0, false
		}
	}
	return size, true
}

func (v *values) listViews(width int) bool {
	end := int64(v.children[0].Len())
	for i := range v.n {
		if v.null(i) {
			continue
		}
		off, n := offset(v.raw[1], width, i), offset(v.raw[2], width, i)
		if off < 0 || n < 0 || off > end || n > end-off {
			return false
		}
	}
	return true
}

// beside reports whether every child has a value for each of the parent's.
func (v *values) beside() bool {
	for _, c := range v.children {
		if c.Len() < v.n {
			return false
		}
	}
	return true
}

func (v *values) codes(t arrow.UnionType, dense bool) bool {
	ids := t.ChildIDs()
	for i := range v.n {
		code := int8(v.raw[1][i])
		if code < 0 || int(code) >= len(ids) || ids[code] == arrow.InvalidUnionChildID {
			return false
		}
		if dense {
			if off := offset(v.raw[2], 4, i); off < 0 || off >= int64(v.children[ids[code]].Len()) {
				return false
			}
		}
	}
	return true
}

// runs reports whether the ends of the runs rise and reach the last value.
func (v *values) runs(t *arrow.RunEndEncodedType) bool {
	ends := v.children[0]
	if ends.NullN() > 0 || v.children[1].Len() < ends.Len() || ends.Len() == 0 {
		return false
	}
	b, last := ends.Buffers()[1].Bytes(), int64(0)
	for i := range ends.Len() {
		var end int64
		switch t.RunEnds().ID() {
		case arrow.INT16:
			end = int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
		case arrow.INT32:
			end = offset(b, 4, i)
		default:
			end = offset(b, 8, i)
		}
		if end <= last {
			return false
		}
		last = end
	}
	return last >= int64(v.n)
}
