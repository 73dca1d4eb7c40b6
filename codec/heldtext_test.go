package codec

import (
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// A text is not copied to be looked at: the rows of a dictionary may repeat a long one.
func TestTextsAreNotCopied(t *testing.T) {
	long := strings.Repeat("long text ", 100)
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	large := array.NewLargeStringBuilder(memory.DefaultAllocator)
	view := array.NewStringViewBuilder(memory.DefaultAllocator)
	for _, b := range []array.StringLikeBuilder{texts, large, view} {
		b.Append(long)
		b.AppendNull()
		b.Append("x")
	}
	values := texts.NewArray()
	rows := array.NewInt8Builder(memory.DefaultAllocator)
	rows.AppendValues([]int8{2, 0, 0, 1}, []bool{true, true, false, true})
	dictionary := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
		ValueType: arrow.BinaryTypes.String}, rows.NewArray(), values)
	for _, a := range []arrow.Array{values, large.NewArray(), view.NewArray(), dictionary} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: a.DataType(), Nullable: true}}, nil)
		table := NewTable(array.NewRecord(schema, []arrow.Array{a}, int64(a.Len())))
		found := 0
		for row := range a.Len() {
			want, ok := appendText(nil, a, row)
			got, is := table.Text(0, row)
			if got != string(want) || ok != is {
				t.Errorf("%v, row %d: %.20q %v, want %.20q %v", a.DataType(), row, got, is, want, ok)
			}
			if got == long {
				found++
				if n := testing.AllocsPerRun(100, func() { table.Text(0, row) }); n > 0 {
					t.Errorf("%v: %v allocations for a text", a.DataType(), n)
				}
			}
		}
		if found != 1 {
			t.Errorf("%v: the long text is found %d times", a.DataType(), found)
		}
	}
}
