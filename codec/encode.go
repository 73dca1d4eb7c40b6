package codec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// ScoreEncoder writes scores messages. It reuses its buffers and is not safe for concurrent use.
type ScoreEncoder struct {
	recent  []bool // by feature: it tells of former records, and is handed on from the batch
	o       Options
	stream  streamEncoder
	columns []scoreField
	scored  scored // the batch in hand
	schema  *arrow.Schema
	plan    *plan // of the input under which schema was made
	made    bool
	masks   [][]byte
	in      *inputColumns // of the message in hand, where its rows are encoded in several calls; else nil
	parts   Parts
	avro    []avroField // of FormatAvro
	answers Answers
}

// scoreField is a column of the scores that the contract has.
type scoreField struct {
	*scoreColumn
	name   string
	values builder
	fill   func(x *scored)
}

// NewScoreEncoder returns an encoder for the options' schema, format and features.
func NewScoreEncoder(o Options) (*ScoreEncoder, error) {
	if o.Schema == nil {
		return nil, errors.New("making score encoder: no schema")
	}
	e := &ScoreEncoder{o: o, recent: make([]bool, len(o.Schema.Features))}
	if o.Recency != nil {
		for i := range o.Recency.Features {
			e.recent[o.Recency.Features[i].Feature] = true
		}
	}
	add := func(c *scoreColumn, name string, class int) {
		values, fill := c.fill(class)
		e.columns = append(e.columns, scoreField{c, name, values, fill})
	}
	for k := range scoreColumns {
		c := &scoreColumns[k]
		switch {
		case Score(k) == ScorePropensity:
			for class, name := range o.Schema.Classes {
				add(c, PropensityColumn(name), class)
			}
		case c.configured(&o):
			add(c, c.name, 0)
		}
	}
	for k := range o.Goals {
		add(&goalColumn, PropensityColumn(o.Goals[k].Column), k)
	}
	for k := range o.Goals {
		if o.GoalReasons {
			add(&goalLift, GoalLiftColumn(o.Goals[k].Column), k)
			add(&goalWhy, GoalWhyColumn(o.Goals[k].Column), k)
		}
	}
	if o.Format == FormatAvro {
		var err error
		if e.avro, err = avroScores(&e.o, e.columns); err != nil {
			return nil, fmt.Errorf("making score encoder: %w", err)
		}
	}
	return e, nil
}

// makeSchema lays out the columns of a scores message (CONTRACT.md 3); columns handed on from the input keep their
// types.
func (e *ScoreEncoder) makeSchema(c *Carry) {
	var in *arrow.Schema
	e.plan, e.made = nil, true
	if c != nil {
		e.plan, in = c.plan, c.recs[0].Schema()
	}
	var fields []arrow.Field
	for _, f := range e.columns {
		t := f.typ
		if in != nil && f.input != nil {
			t = in.Field(f.input(e.plan)).Type
		}
		fields = append(fields, arrow.Field{Name: f.name, Type: t, Nullable: f.nullable})
	}
	if e.o.Features != FeaturesNone && in != nil {
		for f, col := range e.plan.features {
			typ := arrow.DataType(arrow.Null)
			if x := &e.o.Schema.Features[f]; x.Derived != "" {
				typ = derivedType(x)
			} else if col >= 0 {
				typ = in.Field(col).Type
			}
			fields = append(fields, arrow.Field{Name: e.o.Schema.Features[f].Name, Type: typ, Nullable: true})
		}
	}
	e.schema = arrow.NewSchema(fields, nil)
}

// Encode appends one scores message to dst: row i holds b's record i and s's entry i, in the columns and the order of
// scoreColumns. levels renders the values of reasons. c is the Carry that Decode filled for b; nil: ids are text, times
// are timestamps in UTC nanoseconds, and no features are handed on. A Segment or Target below 0 is null, and so is NaN
// in a number that may be unknown; when the status is untrained, every column that needs a model is null. A message of
// FormatJSON or FormatAvro has one record; that of several is an error, see Begin.
func (e *ScoreEncoder) Encode(dst []byte, b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) ([]byte,
	error) {
	t, err := e.Table(b, s, levels, c)
	if err != nil {
		return dst, err
	}
	if e.o.Format.Single() && t.Rows() != 1 {
		return dst, fmt.Errorf("encoding scores: a message of this format holds one record, not %d", t.Rows())
	}
	return e.rows(dst, t, 0, t.Rows())
}

// Table returns the same rows for a writer of files. It is valid until the next call.
func (e *ScoreEncoder) Table(b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) (t *Table, err error) {
	if c != nil && c.rows != b.N {
		return nil, fmt.Errorf("encoding scores: %d records of a message of %d", b.N, c.rows)
	}
	e.in = nil
	return e.table(b, s, levels, c, 0)
}

// table makes the table of the rows of b, which are those of the message from row from on.
func (e *ScoreEncoder) table(
	b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry, from int,
) (t *Table, err error) {
	if s.N != b.N || s.Classes != len(e.o.Schema.Classes) || c != nil && c.rows < from+b.N {
		return nil, fmt.Errorf("encoding scores: %d records of %d classes for a batch of %d", s.N, s.Classes, b.N)
	}
	if c != nil && len(c.recs) == 0 {
		c = nil // no batches, so no rows
	}
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("encoding scores: %v", p)
		}
	}()
	if !e.made || c == nil && e.plan != nil || c != nil && c.plan != e.plan {
		e.makeSchema(c)
	}
	cols := make([]arrow.Array, 0, e.schema.NumFields())
	e.scored = scored{b, s, levels, e.o.Schema}
	in, err := e.inputs(c)
	if err != nil {
		return nil, err
	}
	for k := range e.columns {
		f := &e.columns[k]
		if c != nil && f.input != nil {
			cols = append(cols, part(in.columns[k], from, b.N))
			continue
		}
		f.values.Reset()
		f.fill(&e.scored)
		cols = append(cols, array.MakeFromData(f.values.Data(f.typ)))
	}
	if e.o.Features != FeaturesNone && c != nil {
		for f := range c.plan.features {
			a := part(in.features[f], from, b.N)
			if e.recent[f] {
				a = numbersOf(b, f) // filled after the message was decoded
			}
			if e.o.Features == FeaturesSelected {
				a = e.mask(a, f, s)
			}
			cols = append(cols, a)
		}
	}
	schema := e.schema
	for i, col := range cols {
		if i < len(e.columns) && (c == nil || e.columns[i].input == nil) {
			continue // it is made in that type
		}
		if !arrow.TypeEqual(col.DataType(), schema.Field(i).Type) { // see Carry.column
			fields, metadata := slices.Clone(schema.Fields()), schema.Metadata()
			fields[i].Type = col.DataType()
			schema = arrow.NewSchema(fields, &metadata)
		}
	}
	return &Table{rec: array.NewRecord(schema, cols, int64(b.N))}, nil
}

// inputColumns are the columns that the scores of a message repeat, of all its rows: by column of the scores, nil for
// a column that is no input, and by feature.
type inputColumns struct {
	columns, features []arrow.Array
}

func (e *ScoreEncoder) inputs(c *Carry) (*inputColumns, error) {
	if e.in != nil {
		return e.in, nil
	}
	in := &inputColumns{}
	if c == nil {
		return in, nil
	}
	in.columns = make([]arrow.Array, len(e.columns))
	for k := range e.columns {
		f := &e.columns[k]
		if f.input == nil {
			continue
		}
		var err error
		if in.columns[k], err = c.column(f.input(c.plan)); err != nil {
			return nil, fmt.Errorf("encoding scores: %s: %w", f.name, err)
		}
	}
	if e.o.Features == FeaturesNone {
		return in, nil
	}
	for f := range c.plan.features {
		a, err := c.feature(f)
		if err != nil {
			return nil, fmt.Errorf("encoding scores: feature %q: %w", e.o.Schema.Features[f].Name, err)
		}
		in.features = append(in.features, a)
	}
	return in, nil
}

// part returns n values of a from one on.
func part(a arrow.Array, from, n int) arrow.Array {
	if from == 0 && n == a.Len() {
		return a
	}
	return array.NewSlice(a, int64(from), int64(from+n))
}

// mask returns a with the values null of records whose subspace lacks feature f.
func (e *ScoreEncoder) mask(a arrow.Array, f int, s *model.Scores) arrow.Array {
	d := a.Data()
	if d.DataType().ID() == arrow.NULL {
		return a
	}
	for len(e.masks) <= f {
		e.masks = append(e.masks, nil)
	}
	off := d.Offset()
	bits := resize(e.masks[f], int(bitutil.BytesForBits(int64(off+a.Len()))))
	clear(bits)
	nulls := 0
	for i := range a.Len() {
		selected := false
		if a.IsValid(i) {
			subspace, _ := s.SubspaceOf(i)
			for _, g := range subspace {
				selected = selected || int(g) == f
			}
		}
		if selected {
			bitutil.SetBit(bits, off+i)
		} else {
			nulls++
		}
	}
	e.masks[f] = bits
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bits)}, d.Buffers()[1:]...)
	if dict, ok := a.(*array.Dictionary); ok {
		values := dict.Dictionary().Data().(*array.Data)
		return array.MakeFromData(array.NewDataWithDictionary(d.DataType(), a.Len(), buffers, nulls, off, values))
	}
	return array.MakeFromData(array.NewData(d.DataType(), a.Len(), buffers, d.Children(), nulls, off))
}

// EventEncoder writes events messages from the rows of tables, with the columns and types of the table. It is not safe
// for concurrent use.
type EventEncoder struct{ stream streamEncoder }

// NewEventEncoder returns an encoder.
func NewEventEncoder() *EventEncoder { return &EventEncoder{} }

// Encode appends one Arrow stream that holds the given rows of t in that order; nil means all rows.
func (e *EventEncoder) Encode(dst []byte, t *Table, rows []int) ([]byte, error) {
	rec := t.rec
	if rows != nil {
		cols := make([]arrow.Array, rec.NumCols())
		for i, a := range rec.Columns() {
			var err error
			if cols[i], err = take(a, rows); err != nil {
				return dst, fmt.Errorf("encoding events: column %q: %w", rec.ColumnName(i), err)
			}
		}
		rec = array.NewRecord(rec.Schema(), cols, int64(len(rows)))
	}
	out, err := e.stream.encode(dst, rec)
	if err != nil {
		return dst, fmt.Errorf("encoding events: %w", err)
	}
	return out, nil
}
