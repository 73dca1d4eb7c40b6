package file

import (
	"bytes"
	"fmt"
	"sync/atomic"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
	ipc18 "github.com/apache/arrow-go/v18/arrow/ipc"
	memory18 "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// The Parquet library is of another version of Arrow's module than package codec. Both have the same memory layout, so
// arrays pass without a copy, and schemas as their Arrow messages.

// schemaFrom gives a schema of the Parquet library to package codec.
func schemaFrom(s *arrow18.Schema) (*arrow.Schema, error) {
	var b bytes.Buffer
	if err := ipc18.NewWriter(&b, ipc18.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("converting schema: %w", err)
	}
	r, err := ipc.NewReader(&b)
	if err != nil {
		return nil, fmt.Errorf("converting schema: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// schemaTo gives a schema of package codec to the Parquet library.
func schemaTo(s *arrow.Schema) (*arrow18.Schema, error) {
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("converting schema: %w", err)
	}
	r, err := ipc18.NewReader(&b)
	if err != nil {
		return nil, fmt.Errorf("converting schema: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// dataFrom shares the memory of an array of the Parquet library; t is its type, and that of its storage where it is an
// extension.
func dataFrom(d arrow18.ArrayData, t arrow.DataType) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory.NewBufferBytes(b.Bytes())
		}
	}
	types := childTypes(t)
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = dataFrom(c, types[i])
	}
	if dt, is := t.(*arrow.DictionaryType); is {
		dict := dataFrom(d.Dictionary(), dt.ValueType).(*array.Data)
		return array.NewDataWithDictionary(t, d.Len(), buffers, d.NullN(), d.Offset(), dict)
	}
	return array.NewData(t, d.Len(), buffers, children, d.NullN(), d.Offset())
}

func childTypes(t arrow.DataType) (out []arrow.DataType) {
	if n, is := t.(arrow.NestedType); is {
		for _, f := range n.Fields() {
			out = append(out, f.Type)
		}
	}
	return out
}

// dataTo shares the memory of an array of package codec with the Parquet library.
func dataTo(d arrow.ArrayData, t arrow18.DataType) arrow18.ArrayData {
	buffers := make([]*memory18.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory18.NewBufferBytes(b.Bytes())
		}
	}
	var types []arrow18.DataType
	if n, is := t.(arrow18.NestedType); is {
		for _, f := range n.Fields() {
			types = append(types, f.Type)
		}
	}
	children := make([]arrow18.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = dataTo(c, types[i])
	}
	if dt, is := t.(*arrow18.DictionaryType); is {
		dict := dataTo(d.Dictionary(), dt.ValueType).(*array18.Data)
		return array18.NewDataWithDictionary(t, d.Len(), buffers, d.NullN(), d.Offset(), dict)
	}
	return array18.NewData(t, d.Len(), buffers, children, d.NullN(), d.Offset())
}

// recordTo gives a record of package codec to the Parquet library.
func recordTo(rec arrow.Record, s *arrow18.Schema) arrow18.RecordBatch {
	columns := make([]arrow18.Array, rec.NumCols())
	for i, a := range rec.Columns() {
		columns[i] = array18.MakeFromData(dataTo(a.Data(), s.Field(i).Type))
	}
	return array18.NewRecordBatch(s, columns, rec.NumRows())
}

// limited is an allocator that refuses, by a panic that the reader recovers, more memory than a batch may take: Go's
// own answer to an absurd size cannot be recovered.
type limited struct {
	memory18.Allocator
	left *atomic.Int64
}

func (l limited) take(n int) {
	if l.left.Add(-int64(n)) < 0 {
		panic(errBatch)
	}
}

// Allocate implements memory.Allocator.
func (l limited) Allocate(n int) []byte {
	l.take(n)
	return l.Allocator.Allocate(n)
}

// Reallocate implements memory.Allocator.
func (l limited) Reallocate(n int, b []byte) []byte {
	l.take(n - len(b))
	return l.Allocator.Reallocate(n, b)
}

// Free implements memory.Allocator.
func (l limited) Free(b []byte) {
	l.left.Add(int64(len(b)))
	l.Allocator.Free(b)
}

var errBatch = fmt.Errorf("a batch would take more than %d bytes of memory", maxBatch)

const maxBatch = 2 << 30
