package file

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// TestLevels: levels in runs and packed, within their column and beyond it, whole and cut. A run's head is its length
// times two; packed groups of eight have an odd head.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		most  int16
		n     int
		good  bool
	}{
		{"a run", []byte{20, 1}, 1, 10, true},
		{"a run of nulls", []byte{20, 0}, 1, 10, true},
		{"a run above the column", []byte{20, 54}, 1, 10, false},
		{"a run above the column, beyond the values", []byte{20, 1, 2, 54}, 1, 10, true},
		{"two runs", []byte{10, 1, 10, 0}, 1, 10, true},
		{"the second run is missing", []byte{10, 1}, 1, 10, false},
		{"a run without its level", []byte{20}, 1, 10, false},
		{"a head without an end", []byte{0x80}, 1, 10, false},
		{"packed, of one bit", []byte{3, 0xFF}, 1, 8, true},
		{"packed, of two bits", []byte{3, 0b10_01_00_10, 0b00_00_10_01}, 2, 8, true},
		{"packed, a level above the column", []byte{3, 0b10_01_00_10, 0b11_00_10_01}, 2, 8, false},
		{"packed, padding above the column", []byte{3, 0b10_01_00_10, 0b11_00_10_01}, 2, 7, true},
		{"packed, then a run above the column", []byte{3, 0, 0, 4, 3}, 2, 10, false},
		{"a wide run", []byte{20, 0x2C, 1}, 300, 10, true},
		{"a wide run above the column", []byte{20, 0x2D, 1}, 300, 10, false},
		{"no levels", nil, 0, 10, true},
	} {
		if err := checkLevels(c.bytes, c.most, c.n); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
		// The same levels in a page of either version, behind those of lists.
		n := int32(c.n)
		two := &pageHeader{kind: dataPageV2, values: n, definition: int32(len(c.bytes)), repetition: 2}
		lists := []byte{byte(2 * n), 0}
		page := append(append([]byte{}, lists...), c.bytes...)
		check := func(h *pageHeader, page []byte, codec compress.Compression) error {
			d := levelCheck{depths: depths{definition: c.most, repetition: 1}, codec: codec}
			return errors.Join(d.checkPage(h, page), d.checkPage(h, page)) // one page after the other
		}
		if err := check(two, append(page, 9, 9), compress.Codecs.Snappy); (err == nil) != c.good {
			t.Errorf("%s, version 2: %v", c.name, err)
		}
		one := &pageHeader{kind: dataPage, values: n, definition: levelsRLE, repetition: levelsRLE}
		page = append([]byte{2, 0, 0, 0}, lists...)
		if c.most > 0 {
			page = append(append(page, byte(len(c.bytes)), 0, 0, 0), c.bytes...)
		}
		page = append(page, 9, 9)
		one.unpacked = int32(len(page))
		if err := check(one, page, compress.Codecs.Uncompressed); (err == nil) != c.good {
			t.Errorf("%s, version 1: %v", c.name, err)
		}
		snappy, err := compress.GetCodec(compress.Codecs.Snappy)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(one, snappy.Encode(nil, page), compress.Codecs.Snappy); (err == nil) != c.good {
			t.Errorf("%s, packed: %v", c.name, err)
		}
	}
}

// TestPagesHoldNoMoreValuesThanTheFooterLeaves: three pages of eight values, and footers that say other numbers. A page
// that is too long is named by the values before it, also where it alone is shorter than the column.
func TestPagesHoldNoMoreValuesThanTheFooterLeaves(t *testing.T) {
	column := schema.NewFloat64Node("v", parquet.Repetitions.Required, -1)
	root, err := schema.NewGroupNode("rows", parquet.Repetitions.Required, schema.FieldList{column}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := pqfile.NewParquetWriter(&out, root, pqfile.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(64), parquet.WithBatchSize(8))))
	rows, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	c, err := rows.NextColumn()
	if err == nil {
		_, err = c.(*pqfile.Float64ColumnChunkWriter).WriteBatch(make([]float64, 24), nil, nil)
	}
	if err = errors.Join(err, c.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	in, err := pqfile.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		says, at int64
		good     bool
	}{{24, 24, true}, {23, 16, false}, {20, 16, false}, {12, 8, false}, {7, 0, false}, {16, 16, true}, {25, 24, false}} {
		in.MetaData().RowGroups[0].Columns[0].MetaData.NumValues = x.says
		chunk, err := in.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		at, err := walkPages(bytes.NewReader(out.Bytes()), chunk, int64(out.Len()), depths{})
		if at != x.at || (err == nil) != x.good {
			t.Errorf("the footer says %d values: %d were walked, %v", x.says, at, err)
		}
	}
}
