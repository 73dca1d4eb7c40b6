package codec

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// Score is a column of the scores, in the order of the message. The columns of features that are handed on follow.
type Score uint8

const (
	ScoreID   Score = iota // only where the record has an id
	ScoreTime              // only where the record has a time
	ScorePartition
	ScoreOffset
	ScoreRow
	ScoreModel
	ScoreStatus
	ScoreReason
	ScoreSegment
	ScoreTarget
	ScorePropensity // one column a class: see PropensityColumn
	ScoreBaseRate
	ScoreLift
	ScorePercentile
	ScoreSubspace
	ScoreRelevance
	ScoreProfile
	ScoreProfileLift
	ScoreWhy
	ScoreControl // only where Options.Control says so
	ScoreUplift  // this and the next two only where Options.Uplift says so
	ScoreUpliftLow
	ScoreUpliftHigh
	ScoreLow // this and the next only where Options.Interval says so
	ScoreHigh
	ScoreUnusual // only where Options.Unusual says so
)

// Names of the columns that name a record by its position, in scores and in labels.
const (
	ColumnPartition = "source_partition"
	ColumnOffset    = "source_offset"
	ColumnRow       = "source_row"
)

// String is the name of the column; that of ScorePropensity is the beginning of its names.
func (c Score) String() string { return scoreColumns[c].name }

// PropensityColumn is the name of the column that holds the propensity for a class.
func PropensityColumn(class string) string { return ScorePropensity.String() + class }

// ScoreNames lists the names of the columns of the scores for the given classes, without those of OptionalNames. No
// feature and no class may have one of them.
func ScoreNames(classes []string) []string {
	var names []string
	for c := range scoreColumns {
		if scoreColumns[c].asked {
			continue
		}
		if Score(c) != ScorePropensity {
			names = append(names, scoreColumns[c].name)
			continue
		}
		for _, class := range classes {
			names = append(names, PropensityColumn(class))
		}
	}
	return names
}

// OptionalNames lists the names of the columns that a section of the configuration asks for.
func OptionalNames() (names []string) {
	for c := range scoreColumns {
		if scoreColumns[c].asked {
			names = append(names, scoreColumns[c].name)
		}
	}
	return names
}

// scoreColumn declares a column and says how it is filled.
type scoreColumn struct {
	name     string
	typ      arrow.DataType
	nullable bool
	fill     filler
	// The id and the time are there only where the options name them, and are those of the input, in its type, where
	// there is one. role and input are nil for other columns.
	role  func(o *Options) string
	input func(p *plan) int
	asked bool // it is there only where a section of the configuration asks for it
}

func (c *scoreColumn) configured(o *Options) bool { return c.role == nil || c.role(o) != "" }

// scoreColumns is the one table of the columns of the scores, in their order.
var scoreColumns = [...]scoreColumn{
	ScoreID: {name: "id", typ: typeText, nullable: true, fill: text((*scored).id),
		role: func(o *Options) string { return o.ID }, input: func(p *plan) int { return p.id }},
	ScoreTime: {name: "time", typ: typeTime, nullable: true,
		fill: whole(func(x *scored) []int64 { return x.b.Time }),
		role: func(o *Options) string { return o.Time }, input: func(p *plan) int { return p.time }},
	ScorePartition: {name: ColumnPartition, typ: typeInt32,
		fill: constant(func(x *scored) int32 { return x.b.Partition })},
	ScoreOffset: {name: ColumnOffset, typ: typeInt64, fill: constant(func(x *scored) int64 { return x.b.Offset })},
	ScoreRow:    {name: ColumnRow, typ: typeInt32, fill: whole(func(x *scored) []int32 { return x.b.Row })},
	ScoreModel:  {name: "model", typ: typeInt64, fill: constant(func(x *scored) int64 { return x.s.Model })},
	ScoreStatus: {name: "status", typ: typeText,
		fill: text(func(x *scored, i int) (string, bool) { return x.s.Status[i].String(), true })},
	ScoreReason: {name: "reason", typ: typeText, nullable: true,
		fill: text(func(x *scored, i int) (string, bool) { return x.s.Reason[i], x.s.Reason[i] != "" })},
	ScoreSegment: {name: "segment", typ: typeText, nullable: true,
		fill: text(func(x *scored, i int) (string, bool) { return x.class(x.s.Segment[i]) })},
	ScoreTarget: {name: "target", typ: typeText, nullable: true,
		fill: text(func(x *scored, i int) (string, bool) { return x.class(x.s.Target[i]) })},
	ScorePropensity: {name: "propensity_", typ: typeFloat64, nullable: true, fill: propensity},
	ScoreBaseRate: {name: "base_rate", typ: typeFloat64, nullable: true,
		fill: figure(always, func(x *scored) []float64 { return x.s.BaseRate })},
	ScoreLift: {name: "lift", typ: typeFloat64, nullable: true,
		fill: figure((*scored).trained, func(x *scored) []float64 { return x.s.Lift })},
	ScorePercentile: {name: "percentile", typ: typeFloat32, nullable: true,
		fill: figure((*scored).trained, func(x *scored) []float32 { return x.s.Percentile })},
	ScoreSubspace: {name: "subspace", typ: arrow.ListOf(typeText), nullable: true,
		fill: list(newOf[column.Text], func(c *column.Text, x *scored, i int) {
			features, _ := x.s.SubspaceOf(i)
			for _, f := range features {
				c.Add(x.schema.Features[f].Name)
			}
		})},
	ScoreRelevance: {name: "relevance", typ: arrow.ListOf(typeFloat32), nullable: true,
		fill: list(newOf[column.Fixed[float32]], func(c *column.Fixed[float32], x *scored, i int) {
			_, relevance := x.s.SubspaceOf(i)
			for _, r := range relevance {
				c.Add(r, known(float64(r)))
			}
		})},
	ScoreProfile: {name: "profile", typ: typeText, nullable: true,
		fill: text(func(x *scored, i int) (string, bool) { return x.s.Profile[i], x.profiled(i) })},
	ScoreProfileLift: {name: "profile_lift", typ: typeFloat64, nullable: true,
		fill: figure((*scored).profiled, func(x *scored) []float64 { return x.s.ProfileLift })},
	ScoreWhy: {name: "why", typ: typeReasons, nullable: true, fill: list(newOf[reasons], (*reasons).add)},
	ScoreControl: {name: "control", typ: arrow.FixedWidthTypes.Boolean, asked: true,
		role: func(o *Options) string { return when(o.Control, "control") },
		fill: flag(func(x *scored, i int) bool { return i < len(x.s.Control) && x.s.Control[i] })},
	ScoreUplift:     uplift("uplift", func(u *model.Uplift) float64 { return u.Value }),
	ScoreUpliftLow:  uplift("uplift_low", func(u *model.Uplift) float64 { return u.Low }),
	ScoreUpliftHigh: uplift("uplift_high", func(u *model.Uplift) float64 { return u.High }),
	ScoreLow:        bound("propensity_low", func(x *model.Interval) float64 { return x.Low }),
	ScoreHigh:       bound("propensity_high", func(x *model.Interval) float64 { return x.High }),
	ScoreUnusual: {name: "unusual", typ: typeText, nullable: true, asked: true,
		role: func(o *Options) string { return when(o.Unusual, "unusual") }, fill: text((*scored).unusual)},
}

// uplift is a column of the effect of the treatment, null where it is not known.
func uplift(name string, of func(u *model.Uplift) float64) scoreColumn {
	return scoreColumn{name: name, typ: typeFloat64, nullable: true, asked: true,
		role: func(o *Options) string { return when(o.Uplift, name) },
		fill: func(int) (builder, func(x *scored)) {
			c := &column.Fixed[float64]{}
			return c, func(x *scored) {
				for i := range x.b.N {
					v := math.NaN()
					if i < len(x.s.Uplift) {
						v = of(&x.s.Uplift[i])
					}
					c.Add(v, known(v))
				}
			}
		}}
}

// when is the text where ok, else empty.
func when(ok bool, text string) string {
	if ok {
		return text
	}
	return ""
}

var (
	typeText    = arrow.BinaryTypes.String
	typeInt32   = arrow.PrimitiveTypes.Int32
	typeInt64   = arrow.PrimitiveTypes.Int64
	typeFloat32 = arrow.PrimitiveTypes.Float32
	typeFloat64 = arrow.PrimitiveTypes.Float64
	typeTime    = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	typeReasons = arrow.ListOf(arrow.StructOf(reasonFields...))

	reasonFields = []arrow.Field{{Name: "feature", Type: typeText}, {Name: "value", Type: typeText, Nullable: true},
		{Name: "effect", Type: typeFloat64}, {Name: "lift", Type: typeFloat64, Nullable: true},
		{Name: "n", Type: typeFloat64, Nullable: true}}
)

// scored is a batch with its scores.
type scored struct {
	b      *model.Batch
	s      *model.Scores
	levels *model.Levels
	schema *model.Schema
}

// trained reports whether a model scored record i.
func (x *scored) trained(i int) bool { return x.s.Status[i] != model.StatusUntrained }

// profiled reports whether record i has a profile.
func (x *scored) profiled(i int) bool { return x.trained(i) && x.s.Profile[i] != "" }

func always(*scored, int) bool { return true }

// id is the id of record i, ok false in a batch without ids.
func (x *scored) id(i int) (id string, ok bool) {
	if x.b.ID == nil {
		return "", false
	}
	return x.b.ID[i], true
}

// class is the name of a class, ok false below 0.
func (x *scored) class(class int32) (name string, ok bool) {
	if class < 0 {
		return "", false
	}
	return x.schema.Classes[class], true
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// builder holds the values of a column in buffers that it reuses.
type builder interface {
	Reset()
	Len() int
	Data(t arrow.DataType) arrow.ArrayData
}

// filler makes an empty builder and the function that appends the rows of a batch to it. class is the number of the
// class of a propensity, 0 for other columns.
type filler func(class int) (builder, func(x *scored))

// constant fills a column whose value is the same in all rows.
func constant[T int32 | int64](of func(x *scored) T) filler {
	return func(int) (builder, func(x *scored)) {
		c := &column.Fixed[T]{}
		return c, func(x *scored) {
			v := of(x)
			for range x.b.N {
				c.Add(v, true)
			}
		}
	}
}

// whole fills a column of integers without nulls.
func whole[T int32 | int64](of func(x *scored) []T) filler {
	return func(int) (builder, func(x *scored)) {
		c := &column.Fixed[T]{}
		return c, func(x *scored) {
			for _, v := range of(x)[:x.b.N] {
				c.Add(v, true)
			}
		}
	}
}

// figure fills a column of figures, null where a record has none or the figure is not finite.
func figure[T float32 | float64](has func(x *scored, i int) bool, of func(x *scored) []T) filler {
	return func(int) (builder, func(x *scored)) {
		c := &column.Fixed[T]{}
		return c, func(x *scored) {
			for i, v := range of(x)[:x.b.N] {
				c.Add(v, known(float64(v)) && has(x, i))
			}
		}
	}
}

// propensity fills the column of a class.
func propensity(class int) (builder, func(x *scored)) {
	c := &column.Fixed[float64]{}
	return c, func(x *scored) {
		for at := class; at < x.b.N*x.s.Classes; at += x.s.Classes {
			c.Add(x.s.P[at], known(x.s.P[at]))
		}
	}
}

// flag fills a column of booleans without nulls.
func flag(of func(x *scored, i int) bool) filler {
	return func(int) (builder, func(x *scored)) {
		c := &column.Flags{}
		return c, func(x *scored) {
			for i := range x.b.N {
				c.Add(of(x, i))
			}
		}
	}
}

// text fills a column of text; of returns ok false for null.
func text(of func(x *scored, i int) (v string, ok bool)) filler {
	return func(int) (builder, func(x *scored)) {
		c := &column.Text{}
		return c, func(x *scored) {
			for i := range x.b.N {
				if v, ok := of(x, i); ok {
					c.Add(v)
				} else {
					c.Null()
				}
			}
		}
	}
}

// list fills a column of lists, null for a record that no model scored; add appends the elements of record i.
func list[E builder](empty func() E, add func(elements E, x *scored, i int)) filler {
	return func(int) (builder, func(x *scored)) {
		elements := empty()
		c := &listBuilder{elements: elements}
		return c, func(x *scored) {
			for i := range x.b.N {
				if x.trained(i) {
					add(elements, x, i)
				}
				c.End(elements.Len(), x.trained(i))
			}
		}
	}
}

func newOf[T any]() *T { return new(T) }

// listBuilder is a column of lists with the column of their elements.
type listBuilder struct {
	column.List
	elements builder
}

// Reset empties both columns.
func (c *listBuilder) Reset() {
	c.List.Reset()
	c.elements.Reset()
}

// Data returns the column as the list type t.
func (c *listBuilder) Data(t arrow.DataType) arrow.ArrayData {
	return c.List.Data(t, c.elements.Data(t.(*arrow.ListType).Elem()))
}

// reasons is a column of the elements of "why".
type reasons struct {
	feature, value  column.Text
	effect, lift, n column.Fixed[float64]
}

// Reset empties the column.
func (c *reasons) Reset() {
	for _, field := range c.fields() {
		field.Reset()
	}
}

// Len is the number of reasons.
func (c *reasons) Len() int { return c.effect.Len() }

func (c *reasons) fields() [5]builder {
	return [...]builder{&c.feature, &c.value, &c.effect, &c.lift, &c.n}
}

// Data returns the column as the struct type t.
func (c *reasons) Data(t arrow.DataType) arrow.ArrayData {
	fields := c.fields()
	children := make([]arrow.ArrayData, len(fields))
	for k, field := range fields {
		children[k] = field.Data(t.(*arrow.StructType).Field(k).Type)
	}
	return array.NewData(t, c.Len(), []*memory.Buffer{nil}, children, 0, 0)
}

// add appends the reasons of record i. Values of a continuous feature are numbers in text, those of others the text of
// their level; terms of several features and missing values have none.
func (c *reasons) add(x *scored, i int) { c.addAll(x, x.s.WhyOf(i)) }

// addAll appends these reasons.
func (c *reasons) addAll(x *scored, why []model.Reason) {
	for k := range why {
		r := &why[k]
		c.feature.Add(x.s.TermName(x.schema, r.Feature))
		switch {
		case r.Feature < 0 || !known(r.Value):
			c.value.Null()
		case x.schema.Features[r.Feature].Kind == model.Continuous:
			c.value.Bytes = model.AppendNumber(c.value.Bytes, r.Value, 64)
			c.value.End(true)
		default:
			c.value.Add(x.levels.Text(int(r.Feature), r.Value))
		}
		c.effect.Add(r.Effect, true)
		c.lift.Add(r.Lift, known(r.Lift))
		c.n.Add(r.N, known(r.N))
	}
}

// ScoreReader reads a table of scores by column.
type ScoreReader struct {
	t       *Table
	at      [len(scoreColumns)]int
	classes []int // columns of the propensities

	goalLift, goalWhy int // of NewPropensityReader: those of the goal, -1 where the table has none
}

// NewScoreReader finds the columns of the scores of the given classes in a table. It fails when one is missing; id and
// time may be.
func NewScoreReader(t *Table, classes []string) (*ScoreReader, error) {
	r := &ScoreReader{t: t, goalLift: -1, goalWhy: -1}
	find := func(name string, needed bool) (int, error) {
		at := t.Column(name)
		if at < 0 && needed {
			return at, fmt.Errorf("there is no column %s", name)
		}
		return at, nil
	}
	for c := range scoreColumns {
		var err error
		if Score(c) == ScorePropensity {
			r.at[c] = -1
			continue
		}
		if r.at[c], err = find(scoreColumns[c].name, scoreColumns[c].role == nil); err != nil {
			return nil, err
		}
	}
	for _, class := range classes {
		at, err := find(PropensityColumn(class), true)
		if err != nil {
			return nil, err
		}
		r.classes = append(r.classes, at)
	}
	return r, nil
}

// Place is the position of the record that row i scores.
func (r *ScoreReader) Place(i int) (partition int32, offset int64, row int32) {
	p, _ := r.Int(ScorePartition, i)
	offset, _ = r.Int(ScoreOffset, i)
	n, _ := r.Int(ScoreRow, i)
	return int32(p), offset, int32(n)
}

// Propensity is that of a class, by its number; 0 where it is null.
func (r *ScoreReader) Propensity(class, i int) float64 {
	v, _ := r.t.Float(r.classes[class], i)
	return v
}

// Text is the text of a value, as Table.Text gives it; it is valid as long as the table. It is empty and ok false for
// null, and where the table has no such column.
func (r *ScoreReader) Text(c Score, i int) (text string, ok bool) {
	if r.at[c] < 0 {
		return "", false
	}
	return r.t.Text(r.at[c], i)
}

// Float is a value as a number, as Table.Float gives it; 0 and ok false where Text says so.
func (r *ScoreReader) Float(c Score, i int) (v float64, ok bool) {
	if r.at[c] < 0 {
		return 0, false
	}
	return r.t.Float(r.at[c], i)
}

// Int is a value as an integer, as Table.Int gives it; 0 and ok false where Text says so.
func (r *ScoreReader) Int(c Score, i int) (v int64, ok bool) {
	if r.at[c] < 0 {
		return 0, false
	}
	return r.t.Int(r.at[c], i)
}

// Kept is Text in memory of its own, empty for null.
func (r *ScoreReader) Kept(c Score, i int) string {
	s, _ := r.Text(c, i)
	return strings.Clone(s)
}
