package codec

import (
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/internal/column"
)

// take returns the given values of a.
func take(a arrow.Array, rows []int) (arrow.Array, error) {
	switch a := a.(type) {
	case *array.Float64:
		var c column.Fixed[float64]
		for _, r := range rows {
			c.Add(a.Value(r), a.IsValid(r))
		}
		return array.MakeFromData(c.Data(a.DataType())), nil
	case *array.Int64:
		var c column.Fixed[int64]
		for _, r := range rows {
			c.Add(a.Value(r), a.IsValid(r))
		}
		return array.MakeFromData(c.Data(a.DataType())), nil
	case *array.String:
		var c column.Text
		c.Reset()
		for _, r := range rows {
			if a.IsValid(r) {
				c.Add(a.Value(r))
			} else {
				c.Null()
			}
		}
		return array.MakeFromData(c.Data(arrow.BinaryTypes.String)), nil
	}
	// Everything else by runs of neighbouring rows.
	var parts []arrow.Array
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && rows[j] == rows[j-1]+1 {
			j++
		}
		if rows[i] < 0 || rows[j-1] >= a.Len() {
			return nil, fmt.Errorf("row %d of %d", rows[j-1], a.Len())
		}
		parts = append(parts, array.NewSlice(a, int64(rows[i]), int64(rows[j-1]+1)))
		i = j
	}
	if len(parts) == 0 {
		return array.NewSlice(a, 0, 0), nil
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}

// plain returns the values of dictionary arrays: those of several batches may together need wider indices than they
// have.
func plain(parts []arrow.Array) (arrow.Array, error) {
	var runs []arrow.Array
	for _, p := range parts {
		d := p.(*array.Dictionary)
		for i := 0; i < d.Len(); {
			var rows []int
			from := i
			for ; i < d.Len() && d.IsValid(i); i++ {
				rows = append(rows, d.GetValueIndex(i))
			}
			if len(rows) > 0 {
				run, err := take(d.Dictionary(), rows)
				if err != nil {
					return nil, err
				}
				runs = append(runs, run)
				continue
			}
			for ; i < d.Len() && d.IsNull(i); i++ {
			}
			nulls := array.NewBuilder(memory.DefaultAllocator, d.Dictionary().DataType())
			nulls.AppendNulls(i - from)
			runs = append(runs, nulls.NewArray())
		}
	}
	return array.Concatenate(runs, memory.DefaultAllocator)
}

// cutRow returns one row of rec in a form that Arrow's writer gets right, which it does not for slices of list views
// and of dense unions, and without the values of other rows: a message may hold many bad rows and a large dictionary.
func cutRow(rec arrow.Record, row int64) (arrow.Record, error) {
	cols := make([]arrow.Array, rec.NumCols())
	for i, a := range rec.Columns() {
		cols[i] = array.NewSlice(a, row, row+1)
		var err error
		switch {
		case a.DataType().ID() == arrow.DENSE_UNION:
			cols[i] = cutUnion(a.(*array.DenseUnion), int(row))
		case a.DataType().ID() == arrow.DICTIONARY:
			cols[i] = cutDictionary(a.(*array.Dictionary), int(row))
		case a.DataType().ID() == arrow.STRING_VIEW:
			cols[i] = cutView(a.(*array.StringView), int(row))
		case within(a.DataType(), arrow.LIST_VIEW), within(a.DataType(), arrow.LARGE_LIST_VIEW):
			cols[i], err = array.Concatenate(cols[i:i+1], memory.DefaultAllocator)
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", rec.ColumnName(i), err)
		}
	}
	return array.NewRecord(rec.Schema(), cols, 1), nil
}

// cutUnion makes a union of one row: the child of its type has one value, the others none.
func cutUnion(a *array.DenseUnion, row int) arrow.Array {
	children := make([]arrow.ArrayData, a.NumFields())
	for k := range children {
		from, to := int64(0), int64(0)
		if k == a.ChildID(row) {
			from = int64(a.ValueOffset(row))
			to = from + 1
		}
		children[k] = array.NewSliceData(a.Field(k).Data(), from, to)
	}
	code, offset := []byte{byte(a.TypeCode(row))}, make([]byte, 4)
	return array.MakeFromData(array.NewData(a.DataType(), 1,
		[]*memory.Buffer{nil, memory.NewBufferBytes(code), memory.NewBufferBytes(offset)}, children, 0, 0))
}

// cutDictionary makes a dictionary array of one row, whose dictionary has no other value.
func cutDictionary(a *array.Dictionary, row int) arrow.Array {
	t, values := a.DataType().(*arrow.DictionaryType), a.Dictionary().Data()
	switch t.ValueType.(type) {
	case arrow.BinaryDataType, arrow.FixedWidthDataType:
	default:
		return array.NewSlice(a, int64(row), int64(row+1))
	}
	index := memory.NewBufferBytes(make([]byte, t.IndexType.(arrow.FixedWidthDataType).BitWidth()/8))
	if a.IsNull(row) {
		none := array.NewSliceData(values, 0, 0).(*array.Data)
		bitmap := memory.NewBufferBytes([]byte{0})
		return array.MakeFromData(array.NewDataWithDictionary(t, 1, []*memory.Buffer{bitmap, index}, 1, 0, none))
	}
	k := int64(a.GetValueIndex(row))
	one := array.NewSliceData(values, k, k+1).(*array.Data)
	return array.MakeFromData(array.NewDataWithDictionary(t, 1, []*memory.Buffer{nil, index}, 0, 0, one))
}

// cutView makes a view array of one row, without the bytes of other rows.
func cutView(a *array.StringView, row int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, a.DataType()).(*array.StringViewBuilder)
	if a.IsNull(row) {
		b.AppendNull()
	} else {
		b.Append(a.Value(row))
	}
	return b.NewArray()
}

// within reports whether the type is, or has inside, a type of that kind.
func within(t arrow.DataType, kind arrow.Type) bool {
	if t.ID() == kind {
		return true
	}
	if n, ok := t.(arrow.NestedType); ok {
		for _, f := range n.Fields() {
			if within(f.Type, kind) {
				return true
			}
		}
	}
	return false
}

// EventHeaders returns the values of the headers HeaderRows and HeaderCRC32C for a message.
func EventHeaders(value []byte, rows int) Headers {
	return Headers{
		Rows:   strconv.AppendInt(nil, int64(rows), 10),
		CRC32C: fmt.Appendf(nil, "%08x", crc32.Checksum(value, castagnoli)),
	}
}
