package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/model"
)

// columnMark is the attribute of a field of Avro that names its column, where the field's own name cannot.
const columnMark = "column"

// avroField is a column of the scores as a field of Avro. Its type depends on the options alone, and on no message, so
// that a stage has one schema.
type avroField struct {
	column, name string // the column's name, and the field's
	typ          arrow.DataType
	nullable     bool
	append       func(dst []byte, a arrow.Array, i int) ([]byte, bool) // the value without its union; false: it is null
}

// avroScores lists the fields of the scores. It fails where two columns have one name in Avro.
func avroScores(o *Options, columns []scoreField) ([]avroField, error) {
	var fields []avroField
	for k := range columns {
		c := &columns[k]
		f := avroField{column: c.name, typ: c.typ, nullable: c.nullable || c.asked}
		switch {
		case c.scoreColumn == &scoreColumns[ScoreID]:
			f.append = appendAvroShown
		case c.scoreColumn == &scoreColumns[ScoreTime]:
			f.typ, f.append = typeMicros, nil // by appendAvroTime, of the record's own time
		default:
			f.append = appendAvroOwn
		}
		fields = append(fields, f)
	}
	if o.Features != FeaturesNone {
		for k := range o.Schema.Features {
			x := &o.Schema.Features[k]
			f := avroField{column: x.Name, typ: derivedType(x), nullable: true, append: appendAvroShown}
			if x.Kind == model.Continuous {
				f.append = o.appendAvroNumber
			}
			fields = append(fields, f)
		}
	}
	taken := map[string]string{}
	for k := range fields {
		f := &fields[k]
		f.name = strings.ReplaceAll(AvroName(f.column), ".", "_")
		if other, ok := taken[f.name]; ok {
			return nil, fmt.Errorf("the columns %q and %q of the scores are both %s in Avro: rename one of them, or choose "+
				"another output.format", other, f.column, f.name)
		}
		taken[f.name] = f.column
	}
	return fields, nil
}

var typeMicros = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

// ScoreSchema returns the schema of the messages of an encoder with these options: of Avro for FormatAvro, of JSON
// Schema for FormatJSON. Equal options give equal bytes. It fails where NewScoreEncoder does, and for other formats.
func ScoreSchema(o Options) (string, error) {
	e, err := NewScoreEncoder(o)
	if err != nil {
		return "", err
	}
	switch o.Format {
	case FormatAvro:
		return avroText(e.avro), nil
	case FormatJSON:
		return jsonSchema(&o, e.columns), nil
	}
	return "", errors.New("the format of the scores has no schema")
}

// avroText is the schema of the fields. Every column that may be absent under other options is a union whose first
// branch and default is null: such schemas replace each other in both directions.
func avroText(fields []avroField) string {
	b := []byte(`{"type":"record","name":"Score","namespace":"liftstream","fields":[`)
	named := false
	for k := range fields {
		f := &fields[k]
		b = append(append(b, when(k > 0, ",")...), `{"name":`...)
		b = append(appendQuoted(b, f.name), `,"type":`...)
		if f.typ == arrow.DataType(typeReasons) && named { // a record is defined once
			b = append(b, `["null",{"type":"array","items":"Reason"}]`...)
		} else {
			b = appendAvroType(b, f.typ, f.nullable)
		}
		named = named || f.typ == arrow.DataType(typeReasons)
		b = append(b, when(f.nullable, `,"default":null`)...)
		if f.name != f.column {
			b = appendQuoted(append(b, `,"`+columnMark+`":`...), f.column)
		}
		b = append(b, '}')
	}
	return string(append(b, "]}"...))
}

func appendAvroType(b []byte, t arrow.DataType, nullable bool) []byte {
	if nullable {
		return append(appendAvroType(append(b, `["null",`...), t, false), ']')
	}
	switch t := t.(type) {
	case *arrow.TimestampType:
		return append(b, `{"type":"long","logicalType":"timestamp-micros"}`...)
	case *arrow.ListType:
		return append(appendAvroType(append(b, `{"type":"array","items":`...), t.Elem(), false), '}')
	case *arrow.StructType: // the reasons: no other column has a struct
		b = append(b, `{"type":"record","name":"Reason","fields":[`...)
		for k, f := range t.Fields() {
			b = append(append(b, when(k > 0, ",")...), `{"name":`...)
			b = append(appendAvroType(append(appendQuoted(b, f.Name), `,"type":`...), f.Type, f.Nullable), '}')
		}
		return append(b, "]}"...)
	}
	return append(append(append(b, '"'), avroNames[t.ID()]...), '"')
}

var avroNames = map[arrow.Type]string{arrow.STRING: "string", arrow.INT32: "int", arrow.INT64: "long",
	arrow.FLOAT32: "float", arrow.FLOAT64: "double", arrow.BOOL: "boolean"}

// appendAvro appends row i of a table of scores as one record.
func (e *ScoreEncoder) appendAvro(dst []byte, t *Table, i int) []byte {
	for k := range e.avro {
		f := &e.avro[k]
		if k >= int(t.rec.NumCols()) { // a feature that is handed on, of a batch without a Carry
			dst = append(dst, avroNone)
			continue
		}
		a := t.rec.Column(k)
		start := len(dst)
		if f.nullable {
			dst = append(dst, avroSome)
		}
		var ok bool
		if f.typ == typeMicros {
			dst, ok = appendAvroTime(dst, a, i, e.scored.b.Time)
		} else {
			dst, ok = f.append(dst, a, i)
		}
		if !ok { // its column is nullable
			dst = append(dst[:start], avroNone)
		}
	}
	return dst
}

// Branches of a union of null and one type.
const (
	avroNone = 0
	avroSome = 2
)

// appendAvroTime appends the time of record i, null where its column is null. A text or a number as the input has it is
// read by the decoder already.
func appendAvroTime(dst []byte, a arrow.Array, i int, times []int64) ([]byte, bool) {
	if isNull(a, i) {
		return dst, false
	}
	const micro = 1000
	v := times[i] / micro
	if times[i]%micro < 0 {
		v--
	}
	return binary.AppendVarint(dst, v), true
}

// appendAvroShown appends the text of a value, as JSON has it.
func appendAvroShown(dst []byte, a arrow.Array, i int) ([]byte, bool) {
	if text, ok := heldText(a, i); ok {
		return appendAvroString(dst, strings.ToValidUTF8(text, "\uFFFD")), true
	}
	text, ok := appendText(nil, a, i)
	if !ok {
		return dst, false
	}
	return appendAvroString(dst, string(text)), true
}

func appendAvroString(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

// appendAvroNumber appends a continuous feature: the number that its text means, where it is written as text.
func (o *Options) appendAvroNumber(dst []byte, a arrow.Array, i int) ([]byte, bool) {
	var v float64
	text, ok := heldText(a, i)
	if ok {
		v, ok = o.Numbers.Parse(trim([]byte(text)))
		ok = ok && known(v)
	} else {
		v, ok = floatAt(a, i)
	}
	if !ok {
		return dst, false
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), true
}

// appendAvroOwn appends a value of a column that the encoder fills itself.
func appendAvroOwn(dst []byte, a arrow.Array, i int) ([]byte, bool) {
	if isNull(a, i) {
		return dst, false
	}
	return appendAvroValue(dst, a, i), true
}

// appendAvroValue appends a value of a column that the encoder fills itself; it is not null.
func appendAvroValue(dst []byte, a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.String:
		return appendAvroString(dst, strings.ToValidUTF8(a.Value(i), "\uFFFD"))
	case *array.Int32:
		return binary.AppendVarint(dst, int64(a.Value(i)))
	case *array.Int64:
		return binary.AppendVarint(dst, a.Value(i))
	case *array.Float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(a.Value(i)))
	case *array.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(a.Value(i)))
	case *array.Boolean:
		if a.Value(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *array.List:
		lo, hi := a.ValueOffsets(i)
		if hi > lo {
			dst = binary.AppendVarint(dst, hi-lo)
			for k := lo; k < hi; k++ {
				dst = appendAvroValue(dst, a.ListValues(), int(k))
			}
		}
		return append(dst, 0)
	case *array.Struct:
		t := a.DataType().(*arrow.StructType)
		for k := range a.NumField() {
			field := a.Field(k)
			if t.Field(k).Nullable {
				if isNull(field, i) {
					dst = append(dst, avroNone)
					continue
				}
				dst = append(dst, avroSome)
			}
			dst = appendAvroValue(dst, field, i)
		}
		return dst
	}
	panic(fmt.Sprintf("no column of the scores is of type %s", a.DataType()))
}

// jsonSchema is the JSON Schema of the objects (draft 7). Columns that the scores hand on have the type of the input,
// which no option tells. Further keys are refused: only so does a registry of Confluent's take a schema with more
// columns for one that reads the messages of before.
func jsonSchema(o *Options, columns []scoreField) string {
	b := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","title":"Score","type":"object","properties":{`)
	var needed []string
	add := func(name, kind string) {
		b = append(append(appendQuoted(append(b, when(b[len(b)-1] != '{', ",")...), name), ':'), kind...)
	}
	for k := range columns {
		c := &columns[k]
		if c.input != nil {
			add(c.name, anyInput)
			continue
		}
		add(c.name, jsonType(c.typ, c.nullable || c.asked))
		if !c.nullable && !c.asked {
			needed = append(needed, c.name)
		}
	}
	if o.Features != FeaturesNone {
		for k := range o.Schema.Features {
			add(o.Schema.Features[k].Name, anyInput)
		}
	}
	b = append(b, `},"required":[`...)
	for k, name := range needed {
		b = appendQuoted(append(b, when(k > 0, ",")...), name)
	}
	return string(append(b, `],"additionalProperties":false}`...))
}

const anyInput = `{"type":["string","number","boolean","null"]}`

func jsonType(t arrow.DataType, nullable bool) string {
	kind := map[arrow.Type]string{arrow.STRING: "string", arrow.INT32: "integer", arrow.INT64: "integer",
		arrow.FLOAT32: "number", arrow.FLOAT64: "number", arrow.BOOL: "boolean", arrow.LIST: "array",
		arrow.STRUCT: "object"}[t.ID()]
	out := `{"type":"` + kind + `"`
	if nullable {
		out = `{"type":["` + kind + `","null"]`
	}
	switch t := t.(type) {
	case *arrow.ListType:
		out += `,"items":` + jsonType(t.Elem(), false)
	case *arrow.StructType:
		var parts []string
		for _, f := range t.Fields() {
			parts = append(parts, `"`+f.Name+`":`+jsonType(f.Type, f.Nullable))
		}
		out += `,"properties":{` + strings.Join(slices.Clip(parts), ",") + `}`
	}
	return out + "}"
}
