package codec

import (
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// ValueKind is the kind of the values of a Table column, of every width.
type ValueKind uint8

const (
	KindOther ValueKind = iota // nested, binary, only nulls, and all else; Text renders it as JSON
	KindInt
	KindFloat
	KindBool
	KindText
	KindTime
)

// ColumnInfo describes a column of a Table.
type ColumnInfo struct {
	Name string
	Kind ValueKind
	Type string // the Arrow type, for people
	// Exact is, in types of floats, the number from which on several whole numbers have the same bits: such a value is no
	// id. It is 0 in other types.
	Exact float64
}

// Table is a run of raw records: named, typed columns as they came, before any contract. It is read-only.
type Table struct{ rec arrow.Record }

// NewTable wraps an Arrow record, which it retains. It is for readers of files.
func NewTable(rec arrow.Record) *Table {
	rec.Retain()
	return &Table{rec: rec}
}

// Record is the Arrow record of the table. It is for writers of files.
func (t *Table) Record() arrow.Record { return t.rec }

// Rows is the number of records.
func (t *Table) Rows() int { return int(t.rec.NumRows()) }

// Slice is the first n records.
func (t *Table) Slice(n int) *Table { return &Table{rec: t.rec.NewSlice(0, int64(n))} }

// Columns describes the columns, in their order.
func (t *Table) Columns() []ColumnInfo {
	fields := t.rec.Schema().Fields()
	out := make([]ColumnInfo, len(fields))
	for i, f := range fields {
		out[i] = columnInfo(f.Name, f.Type)
	}
	return out
}

func columnInfo(name string, t arrow.DataType) ColumnInfo {
	return ColumnInfo{Name: name, Kind: kindOf(t), Type: t.String(), Exact: exactBelow(t)}
}

func kindOf(t arrow.DataType) ValueKind {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return kindOf(t.ValueType)
	case *arrow.NullType:
		return KindOther
	case *arrow.BooleanType:
		return KindBool
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return KindText
	case *arrow.TimestampType, *arrow.Date32Type, *arrow.Date64Type:
		return KindTime
	}
	switch {
	case arrow.IsInteger(t.ID()):
		return KindInt
	case numeric(t):
		return KindFloat
	}
	return KindOther
}

// Column returns the index of the first column with that name, or -1.
func (t *Table) Column(name string) int {
	if k := t.rec.Schema().FieldIndices(name); len(k) > 0 {
		return slices.Min(k)
	}
	return -1
}

// Text returns the canonical text of a value, the one that levels and ids are compared by: integers and floats that are
// whole print alike, booleans are true and false, times RFC 3339, nested values JSON. ok is false for null and for
// numbers that are not finite.
func (t *Table) Text(column, row int) (text string, ok bool) {
	if text, ok := heldText(t.rec.Column(column), row); ok {
		return text, true
	}
	b, ok := appendText(nil, t.rec.Column(column), row)
	return string(b), ok
}

// heldText returns a text without a copy of it; ok is false for null, and for a column of another type. The rows of a
// dictionary, and views, may repeat a long text.
func heldText(a arrow.Array, row int) (text string, ok bool) {
	if a.IsNull(row) {
		return "", false
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(row), true
	case *array.LargeString:
		return a.Value(row), true
	case *array.StringView:
		return a.Value(row), true
	case *array.Dictionary:
		return heldText(a.Dictionary(), a.GetValueIndex(row))
	}
	return "", false
}

// Float returns a value as a number; ok is false for null, for numbers that are not finite, and for values that are no
// numbers. Booleans are 0 and 1, times Unix nanoseconds.
func (t *Table) Float(column, row int) (v float64, ok bool) {
	return floatAt(t.rec.Column(column), row)
}

func floatAt(a arrow.Array, row int) (v float64, ok bool) {
	if isNull(a, row) {
		return 0, false
	}
	switch a := a.(type) {
	case *array.Float64:
		v = a.Value(row)
	case *array.Int64:
		v = float64(a.Value(row))
	case *array.Timestamp, *array.Date32, *array.Date64:
		ns, ok := unixNano(a, row)
		return float64(ns), ok
	default:
		if !numeric(a.DataType()) {
			return 0, false
		}
		one := [1]float64{}
		if fillFloats(one[:], array.NewSlice(a, int64(row), int64(row+1))) != nil {
			return 0, false
		}
		v = one[0]
	}
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Int returns a value as an integer, as Float does; ok is false when it is not whole or too large.
func (t *Table) Int(column, row int) (v int64, ok bool) {
	a := t.rec.Column(column)
	if isNull(a, row) {
		return 0, false
	}
	if kindOf(a.DataType()) == KindTime {
		return unixNano(a, row)
	}
	if v, ok = integer(a, row); ok {
		return v, true
	}
	f, ok := t.Float(column, row)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// AppendJSON appends the row as one JSON object, columns in order, nulls included; numbers that are not finite are
// null.
func (t *Table) AppendJSON(dst []byte, row int) []byte {
	dst = append(dst, '{')
	for i, a := range t.rec.Columns() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, t.rec.ColumnName(i)), ':')
		dst = appendJSON(dst, a, row)
	}
	return append(dst, '}')
}

func appendJSON(dst []byte, a arrow.Array, i int) []byte {
	if isNull(a, i) {
		return append(dst, "null"...)
	}
	list := func(values arrow.Array, lo, hi int64) []byte {
		dst = append(dst, '[')
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, values, int(k))
		}
		return append(dst, ']')
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return appendJSON(dst, a.Dictionary(), a.GetValueIndex(i))
	case *array.Struct:
		dst = append(dst, '{')
		for k := range a.NumField() {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, a.DataType().(*arrow.StructType).Field(k).Name), ':')
			dst = appendJSON(dst, a.Field(k), i)
		}
		return append(dst, '}')
	case array.ListLike:
		lo, hi := a.ValueOffsets(i)
		return list(a.ListValues(), lo, hi)
	}
	switch kindOf(a.DataType()) {
	case KindInt, KindFloat, KindBool:
		out, ok := appendText(dst, a, i)
		if !ok {
			return append(dst, "null"...)
		}
		return out
	case KindText, KindTime:
		t, _ := appendText(nil, a, i)
		return appendQuoted(dst, string(t))
	}
	return appendQuoted(dst, a.ValueStr(i))
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c == '\n':
			dst = append(dst, '\\', 'n')
			i++
		case c == '\t':
			dst = append(dst, '\\', 't')
			i++
		case c < 0x20 || c == 0x7F:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return append(dst, '"')
}

// AppendCSV appends the row as one CSV record with its line end. Null is empty. Lists are flattened: their elements
// stand in one cell, joined by "; ", the fields of a struct by ":".
func (t *Table) AppendCSV(dst []byte, row int) []byte {
	var cell []byte
	for i, a := range t.rec.Columns() {
		if i > 0 {
			dst = append(dst, ',')
		}
		cell = appendFlat(cell[:0], a, row)
		dst = appendCell(dst, cell)
	}
	return append(dst, '\n')
}

// AppendCSVHeader appends the line of column names.
func (t *Table) AppendCSVHeader(dst []byte) []byte {
	for i := range int(t.rec.NumCols()) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, []byte(t.rec.ColumnName(i)))
	}
	return append(dst, '\n')
}

func appendFlat(dst []byte, a arrow.Array, i int) []byte {
	if isNull(a, i) {
		return dst
	}
	switch a := a.(type) {
	case *array.Struct:
		for k := range a.NumField() {
			if k > 0 {
				dst = append(dst, ':')
			}
			dst = appendFlat(dst, a.Field(k), i)
		}
		return dst
	case array.ListLike:
		lo, hi := a.ValueOffsets(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, "; "...)
			}
			dst = appendFlat(dst, a.ListValues(), int(k))
		}
		return dst
	}
	if kindOf(a.DataType()) == KindOther {
		return append(dst, a.ValueStr(i)...)
	}
	out, ok := appendText(dst, a, i)
	if !ok {
		return dst
	}
	return out
}

func appendCell(dst, cell []byte) []byte {
	quote := len(cell) > 0 && (cell[0] == ' ' || cell[len(cell)-1] == ' ')
	for _, c := range cell {
		quote = quote || c == ',' || c == '"' || c == '\n' || c == '\r'
	}
	if !quote {
		return append(dst, cell...)
	}
	dst = append(dst, '"')
	for _, c := range cell {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// Tables yields the record batches of any Arrow IPC stream (scores, labels, events), guarded like Decode. maxMessage
// bounds its bytes; 0 means DefaultMaxMessage. After an error, always a *MessageError, it ends.
func Tables(value []byte, maxMessage int64) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		var in input
		in.init(maxMessage, nil)
		var recs []arrow.Record
		err := in.guarded(func() (e *MessageError) {
			_, recs, e = in.read(&Message{Value: value})
			return e
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, r := range recs {
			if !yield(&Table{rec: r}, nil) {
				return
			}
		}
	}
}
