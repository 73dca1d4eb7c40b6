package codec

import (
	"iter"
)

// ValueKind is what the values of a Table column are, whatever width they have.
type ValueKind uint8

const (
	KindOther ValueKind = iota // nested, binary, and all else; Text renders it as JSON
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
}

// Table is a run of raw records: named, typed columns as they came, before any contract. It is read-only.
type Table struct{}

// Rows is the number of records.
func (t *Table) Rows() int { return 0 }

// Columns describes the columns, in their order.
func (t *Table) Columns() []ColumnInfo { return nil }

// Column returns the index of the column with that name, or -1.
func (t *Table) Column(name string) int { return -1 }

// Text returns the canonical text of a value, the one that levels and ids are compared by: integers and floats that are
// whole print alike, booleans are true and false, times RFC 3339, nested values JSON. ok is false for null.
func (t *Table) Text(column, row int) (text string, ok bool) { return "", false }

// Float returns a value as a number; ok is false for null and for what is not a number. Booleans are 0 and 1, times Unix
// nanoseconds.
func (t *Table) Float(column, row int) (v float64, ok bool) { return 0, false }

// Int returns a value as an integer, as Float does; ok is false when it is not whole.
func (t *Table) Int(column, row int) (v int64, ok bool) { return 0, false }

// AppendJSON appends the row as one JSON object, columns in order, nulls included; numbers that are not finite are null.
func (t *Table) AppendJSON(dst []byte, row int) []byte { return dst }

// AppendCSV appends the row as one CSV record with its line end. Lists are flattened: their elements stand in one cell,
// joined by "; ", the fields of a struct by ":".
func (t *Table) AppendCSV(dst []byte, row int) []byte { return dst }

// AppendCSVHeader appends the line of column names.
func (t *Table) AppendCSVHeader(dst []byte) []byte { return dst }

// Tables yields the record batches of any Arrow IPC stream (scores, labels, events), guarded like Decode. maxMessage
// bounds its bytes; 0 means DefaultMaxMessage. After an error, always a *MessageError, it ends.
func Tables(value []byte, maxMessage int64) iter.Seq2[*Table, error] {
	return func(func(*Table, error) bool) {}
}
