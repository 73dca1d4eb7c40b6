package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// NewPropensityReader finds the columns of the scores in a table of which it needs no other than the propensity of one
// class, class 0 of the reader; the error of a missing one names the column. Values of columns that are not there are
// null.
func NewPropensityReader(t *Table, class string) (*ScoreReader, error) {
	r := &ScoreReader{t: t}
	for c := range scoreColumns {
		r.at[c] = -1
		if Score(c) != ScorePropensity {
			r.at[c] = t.Column(scoreColumns[c].name)
		}
	}
	at := t.Column(PropensityColumn(class))
	if at < 0 {
		return nil, fmt.Errorf("there is no column %s", PropensityColumn(class))
	}
	r.classes = []int{at}
	r.goalLift, r.goalWhy = t.Column(GoalLiftColumn(class)), t.Column(GoalWhyColumn(class))
	return r, nil
}

// GoalLift is the lift of the goal whose propensities are read, ok false where it is null. has says that the table has
// its column: then a model has scored those goals that have a lift.
func (r *ScoreReader) GoalLift(i int) (lift float64, ok, has bool) {
	if r.goalLift < 0 {
		return 0, false, false
	}
	lift, ok = r.number(r.goalLift, i)
	return lift, ok && !math.IsNaN(lift), true
}

// number is the value of a column of numbers. A text column, as one of CSV with NaN among its numbers, is read as
// numbers.
func (r *ScoreReader) number(column, i int) (v float64, ok bool) {
	if v, ok = r.t.Float(column, i); !ok {
		text, _ := r.t.Text(column, i)
		x, err := strconv.ParseFloat(text, 64)
		v, ok = x, err == nil
	}
	return v, ok
}

// GoalWhy is Why of the goal whose propensities are read. flat says that the reasons are there, flattened as CSV has
// them.
func (r *ScoreReader) GoalWhy(i int) (why []AudienceReason, flat bool) {
	if r.goalWhy < 0 {
		return nil, false
	}
	text, ok := r.t.Text(r.goalWhy, i)
	if ok && json.Unmarshal([]byte(text), &why) != nil {
		return nil, true
	}
	return why, false
}

// Has reports whether the table has the column.
func (r *ScoreReader) Has(c Score) bool { return r.at[c] >= 0 }

// Known is Propensity with ok false where it is null, no number, or none of 0 to 1.
func (r *ScoreReader) Known(class, i int) (p float64, ok bool) {
	p, ok = r.number(r.classes[class], i)
	if !ok || !(p >= 0 && p <= 1) {
		return 0, false
	}
	return p, true
}

// Time is the time of a score in Unix nanoseconds, by the contract of record.time: unit is that of numbers, 0 = none is
// stated. ok is false for null, and for a value that is no time in that unit.
func (r *ScoreReader) Time(i int, unit time.Duration) (t int64, ok bool) {
	at := r.at[ScoreTime]
	if at < 0 || isNull(r.t.rec.Column(at), i) {
		return 0, false
	}
	return timeIn(r.t.rec.Column(at), i, unit)
}

// Why returns the reasons of a score; nil where they are null, absent, or flattened as CSV has them.
func (r *ScoreReader) Why(i int) []AudienceReason {
	text, ok := r.Text(ScoreWhy, i)
	var why []AudienceReason
	if !ok || json.Unmarshal([]byte(text), &why) != nil {
		return nil
	}
	return why
}

// AudienceReason is an element of the column why.
type AudienceReason struct {
	Feature string   `json:"feature"`
	Value   *string  `json:"value"`
	Effect  float64  `json:"effect"`
	Lift    *float64 `json:"lift"`
	N       *float64 `json:"n"`
}

// AudienceRow is a member of an audience. Empty texts and NaN are null, and so are reasons without an element.
type AudienceRow struct {
	ID                                     string
	Partition                              int32
	Offset                                 int64
	Row                                    int32
	Rank                                   int64
	Segment                                string
	Propensity, BaseRate, Lift, Percentile float64
	Why                                    []AudienceReason
}

// audienceColumn is a column of an audience.
type audienceColumn struct {
	name     string
	typ      arrow.DataType
	nullable bool
	builder  builder
	add      func(r *AudienceRow)
}

// NewAudienceTable returns the table of an audience of a class (CONTRACT.md 3.2). Its members have an id, or else the
// position of their record.
func NewAudienceTable(rows []AudienceRow, class string, ids bool) *Table {
	var columns []audienceColumn
	texts := func(name string, nullable bool, of func(r *AudienceRow) string) {
		c := &column.Text{}
		columns = append(columns, audienceColumn{name, typeText, nullable, c, func(r *AudienceRow) {
			if v := of(r); v != "" || !nullable {
				c.Add(v)
			} else {
				c.Null()
			}
		}})
	}
	figures := func(name string, of func(r *AudienceRow) float64) {
		c := &column.Fixed[float64]{}
		columns = append(columns, audienceColumn{name, typeFloat64, true, c, func(r *AudienceRow) {
			c.Add(of(r), known(of(r)))
		}})
	}
	if ids {
		texts(ScoreID.String(), false, func(r *AudienceRow) string { return r.ID })
	} else {
		columns = append(columns,
			integers(ColumnPartition, typeInt32, func(r *AudienceRow) int32 { return r.Partition }),
			integers(ColumnOffset, typeInt64, func(r *AudienceRow) int64 { return r.Offset }),
			integers(ColumnRow, typeInt32, func(r *AudienceRow) int32 { return r.Row }))
	}
	columns = append(columns, integers("rank", typeInt64, func(r *AudienceRow) int64 { return r.Rank }))
	texts(ScoreSegment.String(), true, func(r *AudienceRow) string { return r.Segment })
	texts(ScoreTarget.String(), false, func(*AudienceRow) string { return class })
	figures("propensity", func(r *AudienceRow) float64 { return r.Propensity })
	figures(ScoreBaseRate.String(), func(r *AudienceRow) float64 { return r.BaseRate })
	figures(ScoreLift.String(), func(r *AudienceRow) float64 { return r.Lift })
	figures(ScorePercentile.String(), func(r *AudienceRow) float64 { return r.Percentile })
	columns = append(columns, whyColumn())

	fields, arrays := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for k := range columns {
		c := &columns[k]
		c.builder.Reset()
		for i := range rows {
			c.add(&rows[i])
		}
		fields[k] = arrow.Field{Name: c.name, Type: c.typ, Nullable: c.nullable}
		arrays[k] = array.MakeFromData(c.builder.Data(c.typ))
	}
	return &Table{rec: array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(len(rows)))}
}

// integers is a column of integers without nulls.
func integers[T int32 | int64](name string, typ arrow.DataType, of func(r *AudienceRow) T) audienceColumn {
	c := &column.Fixed[T]{}
	return audienceColumn{name, typ, false, c, func(r *AudienceRow) { c.Add(of(r), true) }}
}

// whyColumn is the column of the reasons.
func whyColumn() audienceColumn {
	elements := &reasons{}
	c := &listBuilder{elements: elements}
	return audienceColumn{ScoreWhy.String(), scoreColumns[ScoreWhy].typ, true, c, func(r *AudienceRow) {
		for k := range r.Why {
			w := &r.Why[k]
			elements.feature.Add(w.Feature)
			if w.Value == nil {
				elements.value.Null()
			} else {
				elements.value.Add(*w.Value)
			}
			elements.effect.Add(w.Effect, true)
			orNull(&elements.lift, w.Lift)
			orNull(&elements.n, w.N)
		}
		c.End(elements.Len(), len(r.Why) > 0)
	}}
}

// orNull adds a number, nil as null.
func orNull(c *column.Fixed[float64], v *float64) {
	if v == nil {
		c.Add(0, false)
		return
	}
	c.Add(*v, true)
}

// ScoreFileOptions are the options by which files of scores are read as tables: ids are text, all else is of the type
// of its values.
func ScoreFileOptions() Options {
	return Options{Schema: &model.Schema{}, ID: ScoreID.String(), Missing: []string{""}}
}
