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
		return array.MakeFromData(c.Data()), nil
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

// EventHeaders returns the values of the headers HeaderRows and HeaderCRC32C for a message.
func EventHeaders(value []byte, rows int) Headers {
	return Headers{
		Rows:   strconv.AppendInt(nil, int64(rows), 10),
		CRC32C: fmt.Appendf(nil, "%08x", crc32.Checksum(value, castagnoli)),
	}
}
