package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
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

// TestVerifiedInAnyLayout: messages and footers in the layouts that flatbuffers allow a writer, and without the parts
// that Arrow's schema does not ask for. A schema is read, too.
func TestVerifiedInAnyLayout(t *testing.T) {
	float := fields{fieldName: "x", fieldTypeKind: uint8(flatFloat), fieldType: fields{0: uint16(2)}}
	message := func(kind int, header any) fields {
		return fields{messageVersion: uint16(4), messageHeaderType: uint8(kind), messageHeader: header}
	}
	schema := func(f ...fields) fields { return message(headerSchema, fields{schemaFields: f}) }
	pairs := []fields{{0: "", 1: ""}, {0: "unit"}, {1: "s"}, {}}
	full := fields{fieldName: "y", fieldNullable: uint8(1), fieldTypeKind: uint8(flatTimestamp),
		fieldType: fields{0: uint16(1), 1: "UTC"}, fieldChildren: []fields{}, fieldMetadata: pairs,
		fieldDictionary: fields{0: int64(7), 1: fields{0: int32(8), 1: uint8(1)}, 2: uint8(1), 3: uint16(0)}}
	batch := fields{batchLength: int64(3), batchNodes: raw{2, 16}, batchBuffers: raw{4, 16},
		batchCompression: fields{0: uint8(1), 1: uint8(0)}, batchVariadic: raw{1, 8}}
	with := func(t fields, k int, v any) fields {
		t = maps.Clone(t)
		t[k] = v
		return t
	}
	for _, c := range []struct {
		name string
		root fields
		of   shape
		read int // columns of the schema; -1 = it is not read, or is none
	}{
		{"the least", schema(float), shapeMessage, 1},
		{"without fields", message(headerSchema, fields{}), shapeMessage, -1},
		{"an empty list of fields", schema(), shapeMessage, -1},
		{"everything", with(message(headerSchema, fields{schemaEndianness: uint16(0), schemaFields: []fields{float},
			schemaMetadata: pairs, 3: raw{2, 8}}), 4, pairs), shapeMessage, 1},
		{"empty lists", with(message(headerSchema, fields{schemaFields: []fields{with(with(float, fieldChildren, []fields{}),
			fieldMetadata, []fields{})}, schemaMetadata: []fields{}, 3: raw{0, 8}}), 4, []fields{}), shapeMessage, 1},
		{"version 4", with(schema(float), messageVersion, uint16(3)), shapeMessage, 1},
		{"a body of length 0", with(schema(float), messageBodyLength, int64(0)), shapeMessage, 1},
		{"a default that is written", schema(with(float, fieldNullable, uint8(0))), shapeMessage, 1},
		{"a field without a name", schema(fields{fieldTypeKind: uint8(flatFloat), fieldType: fields{0: uint16(2)}}),
			shapeMessage, 1},
		{"an empty name", schema(with(float, fieldName, "")), shapeMessage, 1},
		{"texts are shared", schema(with(float, fieldName, same("x")),
			with(with(float, fieldName, same("x")), fieldMetadata, []fields{{0: same("x"), 1: same("x")}})), shapeMessage, -1},
		{"a type of nothing but defaults", schema(fields{fieldName: "n", fieldTypeKind: uint8(flatFloat),
			fieldType: fields{}}), shapeMessage, -1},
		{"all of a field", schema(full), shapeMessage, -1},
		{"fields of a later version", with(schema(with(float, 9, int64(1))), 9, "later"), shapeMessage, 1},
		{"a type of a later version", schema(fields{fieldName: "z", fieldTypeKind: uint8(99),
			fieldType: fields{0: int64(1), 1: "later"}}), shapeMessage, -1},
		{"a batch", with(message(headerRecords, batch), messageBodyLength, int64(64)), shapeMessage, -1},
		{"a batch of nothing", message(headerRecords, fields{}), shapeMessage, -1},
		{"a batch of empty lists", message(headerRecords, fields{batchLength: int64(0), batchNodes: raw{0, 16},
			batchBuffers: raw{0, 16}, batchVariadic: raw{0, 8}}), shapeMessage, -1},
		{"a dictionary", message(headerDictionary, fields{0: int64(1), 1: batch, 2: uint8(1)}), shapeMessage, -1},
		{"a dictionary of nothing", message(headerDictionary, fields{1: fields{}}), shapeMessage, -1},
		{"a tensor", message(4, fields{0: uint8(3), 1: fields{0: uint16(2)}}), shapeMessage, -1},
		{"a footer", fields{0: uint16(4), 1: fields{schemaFields: []fields{float}}, 2: raw{0, 24}, 3: raw{2, 24}, 4: pairs},
			shapeFooter, -1},
		{"a footer of nothing but a schema", fields{1: fields{}}, shapeFooter, -1},
		{"a footer of nothing", fields{}, shapeFooter, -1},
	} {
		for _, w := range []*built{{}, {reverse: true}, {behind: true}, {reverse: true, behind: true}} {
			for _, pad := range []int{1, 8, 64} {
				meta := w.build(c.root, pad)
				name := fmt.Sprintf("%s, reverse %v, behind %v, padded to %d", c.name, w.reverse, w.behind, pad)
				if !verified(meta, c.of) {
					t.Errorf("%s: it is refused", name)
				}
				if c.read < 0 {
					continue
				}
				le := binary.LittleEndian
				marked := append(le.AppendUint32(le.AppendUint32(nil, continuation), uint32(len(meta))), meta...)
				bare := append(le.AppendUint32(nil, uint32(len(meta))), meta...)
				for _, b := range [][]byte{marked, bare} {
					s, err := NewTableStream(bytes.NewReader(b))
					if err != nil || len(s.Names()) != c.read {
						t.Errorf("%s: as a stream: %v", name, err)
					}
				}
			}
		}
	}
}
