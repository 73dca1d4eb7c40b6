package codec

import (
	"encoding/binary"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestSoundAtTheEdge: the last value of a child, a dictionary or a buffer may be used, one beyond it may not, in every
// layout that points somewhere.
func TestSoundAtTheEdge(t *testing.T) {
	const size = 5 // of each thing pointed into
	child := func(n int) arrow.ArrayData {
		b := array.NewInt32Builder(memory.DefaultAllocator)
		defer b.Release()
		for i := range n {
			b.Append(int32(i))
		}
		return b.NewArray().Data()
	}
	numbers := func(width int, v ...int) []byte {
		var b []byte
		for _, x := range v {
			if width == 4 {
				b = binary.LittleEndian.AppendUint32(b, uint32(x))
			} else {
				b = binary.LittleEndian.AppendUint64(b, uint64(x))
			}
		}
		return b
	}
	item := arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int32}
	children := []arrow.ArrayData{child(size)}
	view := func(off int) []byte { // of 13 bytes
		return append(append(numbers(4, 13), "0123"...), numbers(4, 0, off)...)
	}
	dense := arrow.DenseUnionOf([]arrow.Field{item}, []arrow.UnionTypeCode{0})
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int32}
	ends := arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32)
	for name, at := range map[string]func(end int) (*node, *values){
		"list": func(end int) (*node, *values) {
			return &node{typ: arrow.ListOfField(item)}, &values{n: 2, raw: [][]byte{nil, numbers(4, 0, 2, end)},
				children: children}
		},
		"large list": func(end int) (*node, *values) {
			return &node{typ: arrow.LargeListOfField(item)}, &values{n: 2, raw: [][]byte{nil, numbers(8, 0, 2, end)},
				children: children}
		},
		"list view": func(end int) (*node, *values) {
			return &node{typ: arrow.ListViewOfField(item)}, &values{n: 2, raw: [][]byte{nil, numbers(4, 3, 0),
				numbers(4, end-3, size)}, children: children}
		},
		"large list view": func(end int) (*node, *values) {
			return &node{typ: arrow.LargeListViewOfField(item)}, &values{n: 2, raw: [][]byte{nil, numbers(8, 3, 0),
				numbers(8, end-3, size)}, children: children}
		},
		"empty list view behind the child": func(end int) (*node, *values) {
			return &node{typ: arrow.ListViewOfField(item)}, &values{n: 1, raw: [][]byte{nil, numbers(4, end), numbers(4, 0)},
				children: children}
		},
		"fixed lists": func(end int) (*node, *values) {
			return &node{typ: arrow.FixedSizeListOfField(int32(end), item)}, &values{n: 1, raw: [][]byte{nil},
				children: children}
		},
		"struct": func(end int) (*node, *values) {
			return &node{typ: arrow.StructOf(item)}, &values{n: end, raw: [][]byte{nil}, children: children}
		},
		"dense union": func(end int) (*node, *values) {
			return &node{typ: dense}, &values{n: 1, raw: [][]byte{nil, {0}, numbers(4, end-1)}, children: children}
		},
		"text": func(end int) (*node, *values) {
			return &node{typ: arrow.BinaryTypes.String}, &values{n: 1, raw: [][]byte{nil, numbers(4, 0, end),
				make([]byte, size)}}
		},
		"large text": func(end int) (*node, *values) {
			return &node{typ: arrow.BinaryTypes.LargeString}, &values{n: 1, raw: [][]byte{nil, numbers(8, 0, end),
				make([]byte, size)}}
		},
		"view": func(end int) (*node, *values) {
			return &node{typ: arrow.BinaryTypes.StringView}, &values{n: 1, raw: [][]byte{nil, view(end), make([]byte, 13+size)}}
		},
		"runs": func(end int) (*node, *values) { // five runs of one value each
			b := array.NewInt32Builder(memory.DefaultAllocator)
			defer b.Release()
			b.AppendValues([]int32{1, 2, 3, 4, 5}, nil)
			return &node{typ: ends}, &values{n: end, raw: [][]byte{nil}, children: []arrow.ArrayData{b.NewArray().Data(),
				child(size)}}
		},
		"dictionary": func(end int) (*node, *values) {
			return &node{typ: dictionary, bits: []int64{32}}, &values{n: 1, raw: [][]byte{nil, numbers(4, end-1)}}
		},
	} {
		for end, want := range map[int]bool{size: true, size + 1: false} {
			l := &loader{account: account{limit: 1 << 10}}
			var dict *array.Data
			if name == "dictionary" {
				dict = child(size).(*array.Data)
			}
			nd, v := at(end)
			if got := l.sound(nd, v, dict); got != want {
				t.Errorf("%s: up to %d of %d values is sound: %v", name, end, size, got)
			}
		}
	}
}
