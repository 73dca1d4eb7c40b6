package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/internal/avro"
)

// Schemas hands out the schemas of a registry.
type Schemas interface {
	// Avro returns the text of the Avro schema of an id. It waits while the registry does not answer, until done is
	// closed: then it returns ErrStopped. Any other error says that the registry has no such schema, for good. It may be
	// called by several goroutines at once.
	Avro(id uint32, done <-chan struct{}) (text string, err error)
}

// avroStream is a schema that messages were written by.
type avroStream struct {
	record *avro.Type
	err    *MessageError
	schema *arrow.Schema // a column for each field, and with Options.Nested for each field of records in it
	own    int           // of these; the others are attributes
	roles  map[string]*avroRoles
}

// avroRoles are the columns of a schema that one stage reads; the others are passed over.
type avroRoles struct {
	plan   *plan
	schema *arrow.Schema
	values []array.Builder
	root   avroNode
	// attributes names the columns of values that are attributes.
	attributes map[int]string
}

// avroNode is a place in a datum.
type avroNode struct {
	typ    *avro.Type // without the union
	union  *avro.Type // nil = none
	branch int        // of the union, that has values
	column int        // in values, -1 = none
	fields []avroNode // of a record with columns; nil = it is passed over
}

// readAvro reads a message: magic byte, id of the schema, one datum.
func (k *intake) readAvro(value []byte, stage string) (*plan, arrow.Record, *MessageError) {
	switch {
	case len(value) == 0:
		return nil, nil, dead(ReasonEmpty, "no bytes")
	case value[0] != frameMagic || len(value) < frameBytes:
		return nil, nil, dead(ReasonNotAvro,
			"the first bytes are % x; Avro (input.format) begins with 00 and the id of its schema",
			value[:min(len(value), frameBytes)])
	}
	id := binary.BigEndian.Uint32(value[1:])
	s, err := k.avroSchema(id)
	if err != nil {
		return nil, nil, err
	}
	r := s.roles[stage]
	if r == nil {
		r = k.avroRoles(s, stage)
		s.roles[stage] = r
	}
	if r.plan.err != nil {
		return nil, nil, r.plan.err
	}
	if !k.d.in.account.take(2*int64(len(value)) + int64(avroCost*len(r.values))) {
		return nil, nil, k.d.in.account.refusal()
	}
	rec, e := r.read(value[frameBytes:], k.headers)
	if e != nil {
		return nil, nil, dead(damageOf(e), "schema %d: %w", id, e)
	}
	k.lines = append(k.lines, value)
	return r.plan, rec, nil
}

// avroCost is the memory for a column of one value besides its bytes.
const avroCost = 512

func damageOf(err error) Reason {
	switch {
	case errors.Is(err, avro.ErrShort):
		return ReasonTruncated
	case errors.Is(err, avro.ErrWork), errors.Is(err, errLong):
		return ReasonTooLarge
	case errors.Is(err, errTrailing):
		return ReasonTrailing
	}
	return ReasonDamaged
}

var errTrailing = errors.New("bytes follow the record")

// avroSchema returns the schema of an id.
func (k *intake) avroSchema(id uint32) (*avroStream, *MessageError) {
	s := k.avro[id]
	if s == nil {
		if k.d.o.Schemas == nil {
			return nil, dead(ReasonUnknownSchema, "schema %d: no registry is configured", id)
		}
		text, err := k.d.o.Schemas.Avro(id, k.d.in.account.done)
		if errors.Is(err, ErrStopped) {
			k.d.in.account.stopped = true
			return nil, k.d.in.account.refusal()
		}
		if err != nil {
			return nil, dead(ReasonUnknownSchema, "schema %d: %w", id, err)
		}
		s = &avroStream{roles: map[string]*avroRoles{}}
		if s.record, err = avro.Parse(text); err != nil {
			s.err = dead(ReasonSchema, "schema %d: %w", id, err)
		} else {
			fields := k.avroFields(nil, "", s.record, 0)
			s.own = len(fields)
			s.schema = arrow.NewSchema(k.attributeFields(fields), nil)
		}
		if len(k.avro) >= maxStreams || k.avro == nil {
			k.avro = map[uint32]*avroStream{}
		}
		k.avro[id] = s
	}
	return s, s.err
}

// maxNested bounds how deep records lie in each other whose fields are columns.
const maxNested = 8

// avroFields appends the columns of a record in the order of its fields. A record in it is a column that nothing may be
// read from; with Options.Nested its fields are columns too, under dotted names.
func (k *intake) avroFields(out []arrow.Field, prefix string, record *avro.Type, depth int) []arrow.Field {
	for _, f := range record.Fields {
		if len(out) == maxFields {
			break
		}
		value, branch, _ := f.Type.Value()
		name := prefix + f.Name
		out = append(out, arrow.Field{Name: k.meant(name), Type: avroType(f.Type), Nullable: branch >= 0})
		if value.Kind == avro.Record && k.d.o.Nested && depth < maxNested {
			out = k.avroFields(out, name+".", value, depth+1)
		}
	}
	return out
}

// meant is the column that a field means. Names of Avro have letters, digits and underscores alone, so a field may have
// underscores for the other characters of its column.
func (k *intake) meant(field string) string {
	if k.names == nil {
		k.names = map[string]string{}
		for _, stage := range []string{StageEvents, StageLabels} {
			for _, r := range rolesOf(k.d, &plan{}, stage) {
				plain := AvroName(r.name)
				if _, twice := k.names[plain]; twice && k.names[plain] != r.name {
					k.names[plain] = plain // nobody knows which
				} else {
					k.names[plain] = r.name
				}
			}
		}
	}
	if name, ok := k.names[field]; ok {
		return name
	}
	return field
}

// AvroName is a name of a column as Avro may have it: underscores stand for other characters than ASCII letters and
// digits, and one before a digit at its beginning. Dots part the names of records in each other, and stay.
func AvroName(name string) string {
	out := make([]byte, 0, len(name)+1)
	for i := range len(name) {
		c := name[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '.':
		case c-'0' <= 9:
			if i == 0 {
				out = append(out, '_')
			}
		default:
			c = '_'
		}
		out = append(out, c)
	}
	return string(out)
}

var avroTypes = map[avro.Kind]arrow.DataType{
	avro.Null: arrow.Null, avro.Boolean: arrow.FixedWidthTypes.Boolean, avro.Int: arrow.PrimitiveTypes.Int32,
	avro.Long: arrow.PrimitiveTypes.Int64, avro.Float: arrow.PrimitiveTypes.Float32,
	avro.Double: arrow.PrimitiveTypes.Float64, avro.String: arrow.BinaryTypes.String, avro.Enum: arrow.BinaryTypes.String,
	avro.Bytes: arrow.BinaryTypes.Binary, avro.Fixed: arrow.BinaryTypes.Binary, avro.Record: arrow.StructOf(),
	avro.Array: arrow.ListOf(arrow.Null), avro.Map: arrow.MapOf(arrow.BinaryTypes.String, arrow.Null),
	avro.Union: arrow.DenseUnionOf(nil, nil),
}

var avroLogical = map[string]arrow.DataType{
	"date":             arrow.FixedWidthTypes.Date32,
	"timestamp-millis": arrow.FixedWidthTypes.Timestamp_ms, "timestamp-micros": arrow.FixedWidthTypes.Timestamp_us,
	"timestamp-nanos":        arrow.FixedWidthTypes.Timestamp_ns,
	"local-timestamp-millis": &arrow.TimestampType{Unit: arrow.Millisecond},
	"local-timestamp-micros": &arrow.TimestampType{Unit: arrow.Microsecond},
	"local-timestamp-nanos":  &arrow.TimestampType{Unit: arrow.Nanosecond},
}

// avroType is the Arrow type of the values of t, or one that no column of the contract may have.
func avroType(t *avro.Type) arrow.DataType {
	value, _, ok := t.Value()
	if !ok {
		if len(t.Branches) == 1 {
			return arrow.Null
		}
		return avroTypes[avro.Union]
	}
	switch logical, is := avroLogical[value.Logical]; {
	case is && value.Kind == avro.Long && value.Logical != "date",
		is && value.Kind == avro.Int && value.Logical == "date":
		return logical
	case value.Logical == "decimal" && value.Precision <= 38 && value.Precision > 0:
		return &arrow.Decimal128Type{Precision: int32(value.Precision), Scale: int32(value.Scale)}
	case value.Logical == "decimal" && value.Precision <= 76 && value.Precision > 0:
		return &arrow.Decimal256Type{Precision: int32(value.Precision), Scale: int32(value.Scale)}
	case value.Logical == "uuid" && (value.Kind == avro.String || value.Kind == avro.Fixed): // else it is to be ignored
		return arrow.BinaryTypes.String
	}
	return avroTypes[value.Kind]
}

// avroRoles chooses the columns of a stage.
func (k *intake) avroRoles(s *avroStream, stage string) *avroRoles {
	r := &avroRoles{attributes: map[int]string{}}
	if stage == StageLabels {
		r.plan = k.d.planLabels(s.schema)
	} else {
		r.plan = k.d.planEvents(s.schema)
	}
	if r.plan.err != nil {
		return r
	}
	columns := map[int]int{} // places in the schema, and among the columns of r
	var fields []arrow.Field
	use := func(at *int) {
		if *at < 0 {
			return
		}
		c, ok := columns[*at]
		if !ok {
			c = len(fields)
			columns[*at] = c
			fields = append(fields, s.schema.Field(*at))
			r.values = append(r.values, array.NewBuilder(memory.DefaultAllocator, s.schema.Field(*at).Type))
			if *at >= s.own {
				r.attributes[c] = s.schema.Field(*at).Name
			}
		}
		*at = c
	}
	p := r.plan
	for _, at := range []*int{&p.id, &p.time, &p.weight, &p.label, &p.treated} {
		use(at)
	}
	for i := range p.goals {
		use(&p.goals[i])
	}
	for i := range p.features {
		use(&p.features[i])
	}
	for i := range p.sources {
		use(&p.sources[i])
	}
	if stage == StageLabels && p.id < 0 {
		for _, at := range []*int{&p.partition, &p.offset, &p.row} {
			use(at)
		}
	}
	r.schema = arrow.NewSchema(fields, nil)
	next := 0
	r.root = avroNode{typ: s.record, column: -1, fields: k.avroNodes(s.record, columns, &next, 0)}
	return r
}

// avroNodes are the fields of a record, nil where none of them has a column. next numbers the columns as avroFields
// does.
func (k *intake) avroNodes(record *avro.Type, columns map[int]int, next *int, depth int) []avroNode {
	nodes := make([]avroNode, len(record.Fields))
	any := false
	for i, f := range record.Fields {
		n := &nodes[i]
		n.typ, n.column = f.Type, -1
		if f.Type.Kind == avro.Union {
			n.union = f.Type
			n.typ, n.branch, _ = f.Type.Value()
		}
		if *next >= maxFields {
			continue
		}
		if c, ok := columns[*next]; ok {
			n.column, any = c, true
		}
		*next++
		if n.typ.Kind == avro.Record && k.d.o.Nested && depth < maxNested {
			n.fields = k.avroNodes(n.typ, columns, next, depth+1)
			any = any || n.fields != nil
		}
	}
	if !any {
		return nil
	}
	return nodes
}

// read reads one datum. The columns are new, the builders empty again.
func (r *avroRoles) read(b []byte, h *Headers) (arrow.Record, error) {
	c := avro.NewCursor(b)
	err := r.node(c, &r.root)
	r.appendAttributes(h)
	if err == nil && c.Left() > 0 {
		err = fmt.Errorf("%w: %d", errTrailing, c.Left())
	}
	if err != nil {
		for _, v := range r.values {
			v.NewArray()
		}
		return nil, err
	}
	columns := make([]arrow.Array, len(r.values))
	for i, v := range r.values {
		columns[i] = v.NewArray()
	}
	return array.NewRecord(r.schema, columns, 1), nil
}

func (r *avroRoles) node(c *avro.Cursor, n *avroNode) error {
	if n.column < 0 && n.fields == nil {
		if n.union != nil {
			return c.Skip(n.union)
		}
		return c.Skip(n.typ)
	}
	if n.union != nil {
		i, err := c.Index(len(n.union.Branches))
		if err != nil {
			return err
		}
		if i != n.branch {
			r.null(n)
			return c.Skip(n.union.Branches[i])
		}
	}
	if n.column >= 0 {
		return appendAvro(r.values[n.column], c, n.typ)
	}
	for i := range n.fields {
		if err := r.node(c, &n.fields[i]); err != nil {
			return fmt.Errorf("field %q: %w", cut(n.typ.Fields[i].Name), err)
		}
	}
	return nil
}

// null makes the columns below a node null.
func (r *avroRoles) null(n *avroNode) {
	if n.column >= 0 {
		r.values[n.column].AppendNull()
	}
	for i := range n.fields {
		r.null(&n.fields[i])
	}
}

// appendAvro appends a value of type t, whose column has the type avroType.
func appendAvro(to array.Builder, c *avro.Cursor, t *avro.Type) error {
	switch to := to.(type) {
	case *array.BooleanBuilder:
		return appendRead(to.Append, c.Boolean)
	case *array.Int32Builder:
		return appendRead(to.Append, c.Int)
	case *array.Date32Builder:
		return appendRead(func(v int32) { to.Append(arrow.Date32(v)) }, c.Int)
	case *array.Int64Builder:
		return appendRead(to.Append, c.Long)
	case *array.TimestampBuilder:
		return appendRead(func(v int64) { to.Append(arrow.Timestamp(v)) }, c.Long)
	case *array.Float32Builder:
		return appendRead(to.Append, c.Float)
	case *array.Float64Builder:
		return appendRead(to.Append, c.Double)
	case *array.StringBuilder:
		return appendAvroText(to, c, t)
	case *array.Decimal128Builder, *array.Decimal256Builder:
		return appendAvroDecimal(to, c, t)
	}
	to.AppendNull() // the type is null
	return c.Skip(t)
}

func appendRead[T any](add func(T), read func() (T, error)) error {
	v, err := read()
	if err == nil {
		add(v)
	}
	return err
}

func appendAvroText(to *array.StringBuilder, c *avro.Cursor, t *avro.Type) error {
	if t.Kind == avro.Enum {
		i, err := c.Index(len(t.Symbols))
		if err != nil {
			return err
		}
		to.Append(t.Symbols[i])
		return nil
	}
	b, err := c.Bytes(t)
	if err != nil {
		return err
	}
	if t.Kind == avro.Fixed { // a uuid of 16 bytes
		if len(b) != 16 {
			return avro.ErrDamaged
		}
		to.Append(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
		return nil
	}
	to.BinaryBuilder.Append(b)
	return nil
}

// appendAvroDecimal appends a decimal: its bytes are the unscaled number, the highest first, in two's complement.
func appendAvroDecimal(to array.Builder, c *avro.Cursor, t *avro.Type) error {
	b, err := c.Bytes(t)
	if err != nil {
		return err
	}
	for len(b) > 32 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xFF && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > 32 {
		return avro.ErrDamaged
	}
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	switch to := to.(type) {
	case *array.Decimal128Builder:
		if v.BitLen() > 127 {
			return avro.ErrDamaged
		}
		to.Append(decimal128.FromBigInt(v))
	case *array.Decimal256Builder:
		if v.BitLen() > 255 {
			return avro.ErrDamaged
		}
		to.Append(decimal256.FromBigInt(v))
	}
	return nil
}
