package codec

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// Answers are the scores of a batch as values of JSON: the columns of ScoreEncoder.Table, each value as
// Table.AppendValue writes it, without a table. They are valid until the next call of their encoder.
type Answers struct {
	columns []ColumnInfo
	types   []arrow.DataType
	built   []builder     // by column; nil where it is one of the input
	input   []arrow.Array // by column
}

// Answers returns the scores as Table does. It is for answers of few records: its encoder hands on no features, and has
// the Carry of a message.
func (e *ScoreEncoder) Answers(
	b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry,
) (a *Answers, err error) {
	if e.o.Features != FeaturesNone || c == nil || len(c.recs) == 0 {
		return nil, errors.New("encoding answers: features are handed on, or there is no message")
	}
	if c.rows != b.N || s.N != b.N || s.Classes != len(e.o.Schema.Classes) {
		return nil, fmt.Errorf("encoding answers: %d records of %d classes for a batch of %d, a message of %d", s.N,
			s.Classes, b.N, c.rows)
	}
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("encoding answers: %v", p)
		}
	}()
	a = &e.answers
	if a.columns == nil {
		for k := range e.columns {
			f := &e.columns[k]
			a.columns = append(a.columns, columnInfo(f.name, f.typ))
			a.types = append(a.types, f.typ)
		}
		a.built, a.input = make([]builder, len(e.columns)), make([]arrow.Array, len(e.columns))
	}
	e.scored = scored{b, s, levels, e.o.Schema}
	for k := range e.columns {
		f := &e.columns[k]
		if f.input == nil {
			f.values.Reset()
			f.fill(&e.scored)
			a.built[k] = f.values
			continue
		}
		if a.input[k], err = c.column(f.input(c.plan)); err != nil {
			return nil, fmt.Errorf("encoding answers: %s: %w", f.name, err)
		}
		if t := a.input[k].DataType(); !arrow.TypeEqual(t, a.types[k]) {
			a.types[k], a.columns[k] = t, columnInfo(f.name, t)
		}
	}
	e.scored = scored{}
	return a, nil
}

// Columns describes the columns, in their order.
func (a *Answers) Columns() []ColumnInfo { return a.columns }

// Column returns the index of the column with that name, or -1.
func (a *Answers) Column(name string) int {
	for k := range a.columns {
		if a.columns[k].Name == name {
			return k
		}
	}
	return -1
}

// AppendValue appends a value as JSON.
func (a *Answers) AppendValue(dst []byte, column, row int) []byte {
	if v := a.built[column]; v != nil {
		return appendBuilt(dst, v, row)
	}
	return appendJSON(dst, a.input[column], row)
}

// appendBuilt appends value i of a column as appendJSON does that of its array.
func appendBuilt(dst []byte, values builder, i int) []byte {
	if v, has := values.(interface{ Valid(i int) bool }); has && !v.Valid(i) {
		return append(dst, "null"...)
	}
	switch c := values.(type) {
	case *column.Fixed[int32]:
		return strconv.AppendInt(dst, int64(c.V[i]), 10)
	case *column.Fixed[int64]:
		return strconv.AppendInt(dst, c.V[i], 10)
	case *column.Fixed[float32]:
		return appendFigure(dst, float64(c.V[i]), 32)
	case *column.Fixed[float64]:
		return appendFigure(dst, c.V[i], 64)
	case *column.Flags:
		return strconv.AppendBool(dst, c.Value(i))
	case *column.Text:
		t := c.Value(i)
		return appendQuoted(dst, unsafe.String(unsafe.SliceData(t), len(t))) // which keeps nothing of it
	case *listBuilder:
		dst = append(dst, '[')
		lo, hi := c.Bounds(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = appendBuilt(dst, c.elements, k)
		}
		return append(dst, ']')
	case *reasons:
		for k, field := range c.fields() {
			dst = append(appendQuoted(append(dst, "{,"[min(k, 1)]), reasonFields[k].Name), ':')
			dst = appendBuilt(dst, field, i)
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("a column of type %T", values))
}

// appendFigure appends a number, null where it is not finite.
func appendFigure(dst []byte, v float64, size int) []byte {
	out, ok := finiteText(dst, v, size)
	if !ok {
		return append(dst, "null"...)
	}
	return out
}
