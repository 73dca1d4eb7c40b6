package codec

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// ScoreEncoder writes scores messages. It reuses its buffers and is not safe for concurrent use.
type ScoreEncoder struct {
	o      Options
	stream streamEncoder
	schema *arrow.Schema
	plan   *plan // of the input under which schema was made
	made   bool

	ids, status, reason, segment, target, profile column.Text
	times, offsets, models                        column.Fixed[int64]
	partitions, rows                              column.Fixed[int32]
	p                                             []column.Fixed[float64]
	baseRate, lift, profileLift                   column.Fixed[float64]
	percentile                                    column.Fixed[float32]
	subspace, relevance, why                      column.List
	subspaceText, whyFeature, whyValue            column.Text
	relevanceValue                                column.Fixed[float32]
	whyEffect, whyLift, whyN                      column.Fixed[float64]
	masks                                         [][]byte
}

// NewScoreEncoder returns an encoder for the options' schema, format and features.
func NewScoreEncoder(o Options) (*ScoreEncoder, error) {
	if o.Schema == nil {
		return nil, errors.New("making score encoder: no schema")
	}
	return &ScoreEncoder{o: o, p: make([]column.Fixed[float64], len(o.Schema.Classes))}, nil
}

var (
	timeType = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	listText = arrow.ListOf(arrow.BinaryTypes.String)
	listReal = arrow.ListOf(arrow.PrimitiveTypes.Float32)
	whyType  = arrow.StructOf(
		arrow.Field{Name: "feature", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "value", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "effect", Type: arrow.PrimitiveTypes.Float64},
		arrow.Field{Name: "lift", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	)
	listWhy = arrow.ListOf(whyType)
)

// makeSchema lays out the columns of a scores message (CONTRACT.md 3); columns handed on from the input keep their
// types.
func (e *ScoreEncoder) makeSchema(c *Carry) {
	var in *arrow.Schema
	e.plan, e.made = nil, true
	if c != nil {
		e.plan, in = c.plan, c.recs[0].Schema()
	}
	var fields []arrow.Field
	add := func(name string, t arrow.DataType, nullable bool) {
		fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: nullable})
	}
	text, real, whole := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64
	if e.o.ID != "" {
		t := arrow.DataType(text)
		if in != nil {
			t = in.Field(c.plan.id).Type
		}
		add("id", t, true)
	}
	if e.o.Time != "" {
		t := arrow.DataType(timeType)
		if in != nil {
			t = in.Field(c.plan.time).Type
		}
		add("time", t, true)
	}
	add(ColumnPartition, arrow.PrimitiveTypes.Int32, false)
	add(ColumnOffset, whole, false)
	add(ColumnRow, arrow.PrimitiveTypes.Int32, false)
	add("model", whole, false)
	add("status", text, false)
	add("reason", text, true)
	add("segment", text, true)
	add("target", text, true)
	for _, class := range e.o.Schema.Classes {
		add("propensity_"+class, real, true)
	}
	add("base_rate", real, true)
	add("lift", real, true)
	add("percentile", arrow.PrimitiveTypes.Float32, true)
	add("subspace", listText, true)
	add("relevance", listReal, true)
	add("profile", text, true)
	add("profile_lift", real, true)
	add("why", listWhy, true)
	if e.o.Features != FeaturesNone && in != nil {
		for f, col := range e.plan.features {
			add(e.o.Schema.Features[f].Name, in.Field(col).Type, true)
		}
	}
	e.schema = arrow.NewSchema(fields, nil)
}

// Encode appends one scores message to dst: row i holds b's record i and s's entry i, in the columns and the order of
// the interface. levels renders the values of reasons. c is what Decode filled for b; nil: ids are text, times are
// timestamps in UTC nanoseconds, and no features are handed on. A Segment or Target below 0, and NaN in a number that
// may be unknown, is null; so is, when the status is untrained, everything that needs a model.
func (e *ScoreEncoder) Encode(dst []byte, b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) ([]byte, error) {
	t, err := e.Table(b, s, levels, c)
	if err != nil {
		return dst, err
	}
	if e.o.Format == FormatJSONL {
		for i := range t.Rows() {
			dst = append(t.AppendJSON(dst, i), '\n')
		}
		return dst, nil
	}
	return e.stream.encode(dst, t.rec)
}

// Table returns the same rows for a writer of files. It is valid until the next call.
func (e *ScoreEncoder) Table(b *model.Batch, s *model.Scores, levels *model.Levels, c *Carry) (t *Table, err error) {
	if s.N != b.N || s.Classes != len(e.p) || c != nil && c.rows != b.N {
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
	e.fill(b, s, levels)
	cols := make([]arrow.Array, 0, e.schema.NumFields())
	add := func(d arrow.ArrayData) { cols = append(cols, array.MakeFromData(d)) }
	carried := func(col int) error {
		a, err := c.column(col)
		if err == nil {
			cols = append(cols, a)
		}
		return err
	}
	if e.o.ID != "" {
		if c == nil {
			add(e.ids.Data())
		} else if err := carried(c.plan.id); err != nil {
			return nil, fmt.Errorf("encoding scores: id: %w", err)
		}
	}
	if e.o.Time != "" {
		if c == nil {
			add(e.times.Data(timeType))
		} else if err := carried(c.plan.time); err != nil {
			return nil, fmt.Errorf("encoding scores: time: %w", err)
		}
	}
	real := arrow.PrimitiveTypes.Float64
	add(e.partitions.Data(arrow.PrimitiveTypes.Int32))
	add(e.offsets.Data(arrow.PrimitiveTypes.Int64))
	add(e.rows.Data(arrow.PrimitiveTypes.Int32))
	add(e.models.Data(arrow.PrimitiveTypes.Int64))
	add(e.status.Data())
	add(e.reason.Data())
	add(e.segment.Data())
	add(e.target.Data())
	for k := range e.p {
		add(e.p[k].Data(real))
	}
	add(e.baseRate.Data(real))
	add(e.lift.Data(real))
	add(e.percentile.Data(arrow.PrimitiveTypes.Float32))
	add(e.subspace.Data(listText, e.subspaceText.Data()))
	add(e.relevance.Data(listReal, e.relevanceValue.Data(arrow.PrimitiveTypes.Float32)))
	add(e.profile.Data())
	add(e.profileLift.Data(real))
	add(e.why.Data(listWhy, array.NewData(whyType, len(e.whyEffect.V), []*memory.Buffer{nil}, []arrow.ArrayData{
		e.whyFeature.Data(), e.whyValue.Data(), e.whyEffect.Data(real), e.whyLift.Data(real), e.whyN.Data(real)}, 0, 0)))
	if e.o.Features != FeaturesNone && c != nil {
		for f, col := range c.plan.features {
			a, err := c.column(col)
			if err != nil {
				return nil, fmt.Errorf("encoding scores: feature %q: %w", e.o.Schema.Features[f].Name, err)
			}
			if e.o.Features == FeaturesSelected {
				a = e.mask(a, f, s)
			}
			cols = append(cols, a)
		}
	}
	schema := e.schema
	for i, col := range cols {
		if !arrow.TypeEqual(col.DataType(), schema.Field(i).Type) { // see Carry.column
			fields, metadata := slices.Clone(schema.Fields()), schema.Metadata()
			fields[i].Type = col.DataType()
			schema = arrow.NewSchema(fields, &metadata)
		}
	}
	return &Table{rec: array.NewRecord(schema, cols, int64(b.N))}, nil
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
		return array.MakeFromData(array.NewDataWithDictionary(d.DataType(), a.Len(), buffers, nulls, off, dict.Dictionary().Data().(*array.Data)))
	}
	return array.MakeFromData(array.NewData(d.DataType(), a.Len(), buffers, d.Children(), nulls, off))
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (e *ScoreEncoder) fill(b *model.Batch, s *model.Scores, levels *model.Levels) {
	for _, c := range []*column.Text{&e.ids, &e.status, &e.reason, &e.segment, &e.target, &e.profile, &e.subspaceText, &e.whyFeature, &e.whyValue} {
		c.Reset()
	}
	for _, c := range []*column.Fixed[int64]{&e.times, &e.offsets, &e.models} {
		c.Reset()
	}
	for _, c := range []*column.Fixed[float64]{&e.baseRate, &e.lift, &e.profileLift, &e.whyEffect, &e.whyLift, &e.whyN} {
		c.Reset()
	}
	for k := range e.p {
		e.p[k].Reset()
	}
	for _, c := range []*column.List{&e.subspace, &e.relevance, &e.why} {
		c.Reset()
	}
	e.partitions.Reset()
	e.rows.Reset()
	e.percentile.Reset()
	e.relevanceValue.Reset()
	classes := e.o.Schema.Classes
	for i := range b.N {
		if b.ID != nil {
			e.ids.Add(b.ID[i])
		} else {
			e.ids.Null()
		}
		e.times.Add(b.Time[i], true)
		e.partitions.Add(b.Partition, true)
		e.offsets.Add(b.Offset, true)
		e.rows.Add(b.Row[i], true)
		e.models.Add(s.Model, true)
		e.status.Add(s.Status[i].String())
		e.optional(&e.reason, s.Reason[i])
		e.class(&e.segment, s.Segment[i])
		e.class(&e.target, s.Target[i])
		for k := range classes {
			v := s.P[i*len(classes)+k]
			e.p[k].Add(v, known(v))
		}
		trained := s.Status[i] != model.StatusUntrained
		e.baseRate.Add(s.BaseRate[i], known(s.BaseRate[i]))
		e.lift.Add(s.Lift[i], trained && known(s.Lift[i]))
		e.percentile.Add(s.Percentile[i], trained && known(float64(s.Percentile[i])))
		if trained {
			features, relevance := s.SubspaceOf(i)
			for k, f := range features {
				e.subspaceText.Add(e.o.Schema.TermName(f))
				e.relevanceValue.Add(relevance[k], known(float64(relevance[k])))
			}
			e.reasons(s.WhyOf(i), levels)
			e.optional(&e.profile, s.Profile[i])
		} else {
			e.profile.Null()
		}
		e.profileLift.Add(s.ProfileLift[i], trained && s.Profile[i] != "" && known(s.ProfileLift[i]))
		e.subspace.End(len(e.relevanceValue.V), trained)
		e.relevance.End(len(e.relevanceValue.V), trained)
		e.why.End(len(e.whyEffect.V), trained)
	}
}

func (e *ScoreEncoder) optional(c *column.Text, s string) {
	c.Bytes = append(c.Bytes, s...)
	c.End(s != "")
}

func (e *ScoreEncoder) class(c *column.Text, class int32) {
	if class < 0 {
		c.Null()
		return
	}
	c.Add(e.o.Schema.Classes[class])
}

func (e *ScoreEncoder) reasons(why []model.Reason, levels *model.Levels) {
	for k := range why {
		r := &why[k]
		e.whyFeature.Add(e.o.Schema.TermName(r.Feature))
		switch {
		case r.Feature < 0 || !known(r.Value):
			e.whyValue.Null()
		case e.o.Schema.Features[r.Feature].Kind == model.Continuous:
			e.whyValue.Bytes = appendFloat(e.whyValue.Bytes, r.Value, 64)
			e.whyValue.End(true)
		default:
			e.whyValue.Add(levels.Text(int(r.Feature), r.Value))
		}
		e.whyEffect.Add(r.Effect, true)
		e.whyLift.Add(r.Lift, known(r.Lift))
		e.whyN.Add(r.N, known(r.N))
	}
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
