package codec

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// Arrow's reader of schemas trusts its input: one flipped bit makes it allocate hundreds of gigabytes, which ends the
// process. So this package reads schemas and batches itself, and uses Arrow's types and arrays only.

const (
	maxFields = 1 << 14 // of a schema, nested ones and key-value pairs included
	maxDepth  = 32      // of nested fields
	maxText   = 1 << 21 // bytes of names and metadata of a schema
)

// node is a field of a schema, or the values of a dictionary, as a batch holds it: one entry of its list of nodes.
type node struct {
	typ      arrow.DataType
	validity bool    // its buffers begin with a bitmap
	bits     []int64 // of a value, for each buffer after the bitmap: > 0 width; offsets32, offsets64, anySize
	views    bool    // a counted number of data buffers follows
	children []*node
	dict     *dictionary // nil = none
	widen    widening    // of the values after the bitmap, for types that Arrow's library has no arrays of
}

// dictionary is a dictionary of a schema. Fields that name the same id share it.
type dictionary struct {
	id     int64
	values *node
}

const (
	offsets32 int64 = -1
	offsets64 int64 = -2
	anySize   int64 = -3
)

// fieldReader reads the fields of a schema message. Every length is checked against the bytes that are there, and the
// texts are counted, because a flatbuffer may share them and each use is a copy.
type fieldReader struct {
	flat
	version      int
	fields, text int // left
	over         bool
	dicts        map[int64]*dictionary
	unread       error // a type that is not read
	widened      bool  // a type is read as a wider one
}

// readSchema reads a schema into s.
func readSchema(meta []byte, s *stream) *MessageError {
	r := fieldReader{flat: flat{b: meta}, version: s.version, fields: maxFields, text: maxText,
		dicts: map[int64]*dictionary{}}
	table := r.ref(r.field(r.root(), messageHeader))
	if p := r.field(table, schemaEndianness); p != 0 && r.u16(p) != 0 {
		return dead(ReasonNotArrow, "a big-endian stream")
	}
	metadata := r.keyValues(r.field(table, schemaMetadata))
	var fields []arrow.Field
	start, n := r.vector(r.field(table, schemaFields), 4)
	r.count(n)
	for i := 0; i < n && !r.stop(); i++ {
		f, nd := r.read(r.ref(start+4*i), maxDepth)
		if r.unread != nil {
			return &MessageError{Reason: ReasonSchema, Column: f.Name, Err: r.unread}
		}
		fields, s.columns = append(fields, f), append(s.columns, nd)
	}
	if r.over {
		return dead(ReasonTooLarge, "a schema of more than %d fields, %d bytes of names, or %d levels",
			maxFields, maxText, maxDepth)
	}
	if r.bad || table == 0 {
		return dead(ReasonDamaged, "the schema's metadata")
	}
	s.schema, s.dicts, s.cost, s.widened = arrow.NewSchema(fields, &metadata), r.dicts, r.cost(), r.widened
	return nil
}

func (r *fieldReader) stop() bool { return r.bad || r.over || r.unread != nil }

// cost is the memory that the schema takes, more or less. Every message pays it, whether its schema is known or not.
func (r *fieldReader) cost() int64 {
	return int64(maxText-r.text) + 512*int64(maxFields-r.fields)
}

func (r *fieldReader) string(field int) string {
	start, n := r.vector(field, 1)
	if r.text -= n; r.text < 0 {
		r.over = true
	}
	if r.stop() {
		return ""
	}
	return string(r.b[start : start+n])
}

func (r *fieldReader) count(n int) {
	if r.fields -= n; r.fields < 0 {
		r.over = true
	}
}

func (r *fieldReader) keyValues(field int) arrow.Metadata {
	start, n := r.vector(field, 4)
	r.count(n)
	var keys, values []string
	for i := 0; i < n && !r.stop(); i++ {
		t := r.ref(start + 4*i)
		keys, values = append(keys, r.string(r.field(t, 0))), append(values, r.string(r.field(t, 1)))
	}
	return arrow.NewMetadata(keys, values)
}

// read reads the field at a table, and its children.
func (r *fieldReader) read(t, depth int) (f arrow.Field, nd *node) {
	if depth == 0 {
		r.over = true
	}
	if r.stop() {
		return f, nil
	}
	f.Name = r.string(r.field(t, fieldName))
	f.Nullable = r.boolean(t, fieldNullable)
	f.Metadata = r.keyValues(r.field(t, fieldMetadata))
	var fields []arrow.Field
	var children []*node
	start, n := r.vector(r.field(t, fieldChildren), 4)
	r.count(n)
	for i := 0; i < n && !r.stop(); i++ {
		g, c := r.read(r.ref(start+4*i), depth-1)
		fields, children = append(fields, g), append(children, c)
	}
	kind := byte(0)
	if p := r.field(t, fieldTypeKind); p != 0 {
		kind = r.u8(p)
	}
	ty := r.ref(r.field(t, fieldType))
	if ty == 0 {
		r.bad = true
	}
	if r.stop() {
		return f, nil
	}
	nd = r.typed(kind, ty, fields, children)
	if d := r.ref(r.field(t, fieldDictionary)); d != 0 && !r.stop() {
		nd = r.encoded(d, nd)
	}
	if r.stop() {
		return f, nil
	}
	f.Type = nd.typ
	return f, nd
}

// encoded is the node of a dictionary column whose values have the node values.
func (r *fieldReader) encoded(d int, values *node) *node {
	index := arrow.PrimitiveTypes.Int32
	if i := r.ref(r.field(d, dictionaryIndexType)); i != 0 {
		index = r.integer(i)
	}
	id := int64(0)
	if p := r.field(d, dictionaryID); p != 0 {
		id = r.i64(p)
	}
	if r.stop() {
		return nil
	}
	dict := r.dicts[id]
	if dict == nil {
		dict = &dictionary{id, values}
		r.dicts[id] = dict
	} else if !arrow.TypeEqual(dict.values.typ, values.typ) || dict.values.widen != values.widen {
		r.bad = true
		return nil
	}
	typ := &arrow.DictionaryType{IndexType: index, ValueType: values.typ, Ordered: r.boolean(d, dictionaryOrdered)}
	return &node{typ: typ, validity: true, bits: []int64{int64(index.(arrow.FixedWidthDataType).BitWidth())}, dict: dict}
}

func (r *fieldReader) boolean(table, field int) bool {
	p := r.field(table, field)
	return p != 0 && r.u8(p) != 0
}

// enum reads an enumeration of the values 0 to most.
func (r *fieldReader) enum(table, field, absent, most int) int {
	v := absent
	if p := r.field(table, field); p != 0 {
		v = r.u16(p)
	}
	if v > most {
		r.bad = true
		return absent
	}
	return v
}

func (r *fieldReader) i32(table, field int, absent int32) int32 {
	if p := r.field(table, field); p != 0 {
		return int32(r.u32(p))
	}
	return absent
}

func (r *fieldReader) refuse(format string, args ...any) *node {
	r.unread = fmt.Errorf("of type "+format+", which is not read", args...)
	return nil
}

func (r *fieldReader) integer(t int) arrow.DataType {
	signed := r.boolean(t, 1)
	types := [2]arrow.DataType{}
	switch r.i32(t, 0, 0) {
	case 8:
		types = [2]arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8}
	case 16:
		types = [2]arrow.DataType{arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16}
	case 32:
		types = [2]arrow.DataType{arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32}
	case 64:
		types = [2]arrow.DataType{arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64}
	default:
		r.bad = true
	}
	if signed {
		return types[1]
	}
	return types[0]
}

var units = [...]arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond}

// typed is the node of a type.
func (r *fieldReader) typed(kind byte, t int, fields []arrow.Field, children []*node) *node {
	plain := func(typ arrow.DataType) *node {
		if typ == nil || r.stop() {
			return nil
		}
		return &node{typ: typ, validity: true, bits: []int64{int64(typ.(arrow.FixedWidthDataType).BitWidth())}}
	}
	text := func(typ arrow.DataType, offsets int64) *node {
		return &node{typ: typ, validity: true, bits: []int64{offsets, anySize}}
	}
	switch kind {
	case flatNull:
		return &node{typ: arrow.Null}
	case flatInt:
		if r.i32(t, 0, 0) == 128 {
			return r.wider(&arrow.Decimal256Type{Precision: 39}, widening{from: 128, signed: r.boolean(t, 1)})
		}
		return plain(r.integer(t))
	case flatFloat:
		return plain([...]arrow.DataType{arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32,
			arrow.PrimitiveTypes.Float64}[r.enum(t, 0, 0, 2)])
	case flatBool:
		return plain(arrow.FixedWidthTypes.Boolean)
	case flatDecimal:
		return r.decimal(t)
	case flatDate:
		return plain([...]arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64}[r.enum(t, 0, 1, 1)])
	case flatTime:
		return plain(r.timeOfDay(t))
	case flatTimestamp:
		zone := r.string(r.field(t, 1))
		return plain(&arrow.TimestampType{Unit: units[r.enum(t, 0, 0, 3)], TimeZone: zone})
	case flatInterval:
		return plain([...]arrow.DataType{arrow.FixedWidthTypes.MonthInterval, arrow.FixedWidthTypes.DayTimeInterval,
			arrow.FixedWidthTypes.MonthDayNanoInterval}[r.enum(t, 0, 0, 2)])
	case flatDuration:
		return plain(&arrow.DurationType{Unit: units[r.enum(t, 0, 1, 3)]})
	case flatFixedSizeBinary:
		width := r.i32(t, 0, 0)
		if width < 0 || width > 1<<21 {
			return r.refuse("fixed_size_binary[%d]", width)
		}
		return plain(&arrow.FixedSizeBinaryType{ByteWidth: int(width)})
	case flatBinary:
		return text(arrow.BinaryTypes.Binary, offsets32)
	case flatUtf8:
		return text(arrow.BinaryTypes.String, offsets32)
	case flatLargeBinary:
		return text(arrow.BinaryTypes.LargeBinary, offsets64)
	case flatLargeUtf8:
		return text(arrow.BinaryTypes.LargeString, offsets64)
	case flatBinaryView:
		return &node{typ: arrow.BinaryTypes.BinaryView, validity: true, bits: []int64{128}, views: true}
	case flatUtf8View:
		return &node{typ: arrow.BinaryTypes.StringView, validity: true, bits: []int64{128}, views: true}
	}
	return r.nested(kind, t, fields, children)
}

// decimal is the node of a decimal.
func (r *fieldReader) decimal(t int) *node {
	precision, scale, width := r.i32(t, 0, 0), r.i32(t, 1, 0), r.i32(t, 2, 128)
	small, large := &arrow.Decimal128Type{Precision: precision, Scale: scale},
		&arrow.Decimal256Type{Precision: precision, Scale: scale}
	if r.stop() {
		return nil
	}
	switch in := precision > 0 && scale >= -maxScale && scale <= maxScale; {
	case in && width == 128 && precision <= 38:
		return &node{typ: small, validity: true, bits: []int64{128}}
	case in && width == 256 && precision <= 76:
		return &node{typ: large, validity: true, bits: []int64{256}}
	case in && (width == 32 && precision <= 9 || width == 64 && precision <= 18):
		return r.wider(small, widening{from: int64(width), signed: true})
	}
	return r.refuse("decimal%d(%d, %d)", width, precision, scale)
}

// wider is the node of values that become those of a wider type: Arrow's library has no decimals of 32 and 64 bits, and
// no whole numbers of 128, which Polars writes.
func (r *fieldReader) wider(typ arrow.FixedWidthDataType, w widening) *node {
	if r.stop() {
		return nil
	}
	r.widened = true
	w.to = int64(typ.BitWidth())
	return &node{typ: typ, validity: true, bits: []int64{w.from}, widen: w}
}

func (r *fieldReader) timeOfDay(t int) arrow.DataType {
	unit := units[r.enum(t, 0, 1, 3)]
	switch r.i32(t, 1, 32) {
	case 32:
		if unit == arrow.Second || unit == arrow.Millisecond {
			return &arrow.Time32Type{Unit: unit}
		}
	case 64:
		if unit == arrow.Microsecond || unit == arrow.Nanosecond {
			return &arrow.Time64Type{Unit: unit}
		}
	}
	r.bad = true
	return nil
}

// nested is the node of a type that has children.
func (r *fieldReader) nested(kind byte, t int, fields []arrow.Field, children []*node) *node {
	need := 1
	switch kind {
	case flatStruct, flatUnion:
		need = len(fields)
	case flatRunEndEncoded:
		need = 2
	}
	if len(fields) != need {
		r.bad = true
		return nil
	}
	nd := &node{validity: true, children: children}
	switch kind {
	case flatList:
		nd.typ, nd.bits = arrow.ListOfField(fields[0]), []int64{offsets32}
	case flatLargeList:
		nd.typ, nd.bits = arrow.LargeListOfField(fields[0]), []int64{offsets64}
	case flatListView:
		nd.typ, nd.bits = arrow.ListViewOfField(fields[0]), []int64{32, 32}
	case flatLargeListView:
		nd.typ, nd.bits = arrow.LargeListViewOfField(fields[0]), []int64{64, 64}
	case flatFixedSizeList:
		size := r.i32(t, 0, 0)
		if size <= 0 {
			return r.refuse("fixed_size_list[%d]", size)
		}
		nd.typ = arrow.FixedSizeListOfField(size, fields[0])
	case flatStruct:
		nd.typ = arrow.StructOf(fields...)
	case flatMap:
		pair, ok := fields[0].Type.(*arrow.StructType)
		if !ok || pair.NumFields() != 2 || fields[0].Nullable || pair.Field(0).Nullable {
			r.bad = true
			return nil
		}
		m := arrow.MapOf(pair.Field(0).Type, pair.Field(1).Type)
		m.SetItemNullable(pair.Field(1).Nullable)
		m.KeysSorted = r.boolean(t, 0)
		nd.typ, nd.bits = m, []int64{offsets32}
	case flatRunEndEncoded:
		switch fields[0].Type.ID() {
		case arrow.INT16, arrow.INT32, arrow.INT64:
		default:
			r.bad = true
			return nil
		}
		if children[0].dict != nil {
			r.bad = true
			return nil
		}
		nd.typ, nd.validity = arrow.RunEndEncodedOf(fields[0].Type, fields[1].Type), r.version < 4
	case flatUnion:
		nd.typ, nd.validity, nd.bits = r.union(t, fields), r.version < 4, []int64{8}
		if u, ok := nd.typ.(*arrow.DenseUnionType); ok && u != nil {
			nd.bits = []int64{8, 32}
		}
	default:
		return r.refuse("%d", kind)
	}
	if r.stop() {
		return nil
	}
	return nd
}

func (r *fieldReader) union(t int, fields []arrow.Field) arrow.DataType {
	mode := r.enum(t, 0, 0, 1)
	start, n := r.vector(r.field(t, 1), 4)
	codes := make([]arrow.UnionTypeCode, 0, min(n, 128))
	seen := [128]bool{}
	for i := range max(n, len(fields)) {
		code := int32(i)
		if n > 0 {
			code = int32(r.u32(start + 4*i))
		}
		if i >= len(fields) || n > 0 && i >= n || code < 0 || code > 127 || seen[code] || r.bad {
			r.bad = true
			return nil
		}
		seen[code] = true
		codes = append(codes, arrow.UnionTypeCode(code))
	}
	if mode == 0 {
		return arrow.SparseUnionOf(fields, codes)
	}
	return arrow.DenseUnionOf(fields, codes)
}
