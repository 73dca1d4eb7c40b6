package codec

import (
	"encoding/binary"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestVerified: messages of Arrow's own writer are sound, and those are not whose unread parts are damaged: a text
// without its end, a number out of place, a list that leads outside.
func TestVerified(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Float64)
	for range 20 {
		list = arrow.ListOf(list)
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.MetadataFrom(map[string]string{"unit": "s"})},
		{Name: "b", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Berlin"}},
		{Name: "c", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "d", Type: list},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range schema.NumFields() {
		b.Field(i).AppendNull()
	}
	value, err := NewEventEncoder().Encode(nil, NewTable(b.NewRecord()), nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, merr := split(value, nil)
	if merr != nil || len(frames) != 3 {
		t.Fatalf("%d frames, %v", len(frames), merr)
	}
	for i, f := range frames {
		if !verified(f.meta, shapeMessage) {
			t.Errorf("frame %d is refused", i)
		}
	}
	meta := frames[0].meta
	w := flat{b: meta}
	fields, n := w.vector(w.field(w.ref(w.field(w.root(), messageHeader)), schemaFields), 4)
	if n != 4 {
		t.Fatalf("%d fields", n)
	}
	first := w.ref(fields)
	name := w.ref(w.field(first, fieldName))
	for _, c := range []struct {
		what string
		at   int
		to   uint32
	}{
		{"a text without its end", name + 4, binary.LittleEndian.Uint32(meta[name+4:]) | 1<<8},
		{"a text that ends elsewhere", name, 0x7FFFFFFF},
		{"children that lead outside", w.ref(w.field(first, fieldChildren)), 1 << 20},
		{"children at an odd place", w.field(first, fieldChildren), w.u32(w.field(first, fieldChildren)) + 1},
		{"a metadata that leads outside", w.field(first, fieldMetadata), 0x7FFFFFFF},
		{"a table that leads backwards out", first, 0x7FFFFFFF},
	} {
		bad := append([]byte{}, meta...)
		binary.LittleEndian.PutUint32(bad[c.at:], c.to)
		if verified(bad, shapeMessage) {
			t.Errorf("%s is taken", c.what)
		}
	}
	for k := range meta {
		if verified(meta[:k], shapeMessage) && k < len(meta)-8 {
			t.Errorf("the first %d bytes of %d are taken", k, len(meta))
		}
	}
}
