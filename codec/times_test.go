package codec

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// TestNumbersAreTimesInTheirUnit: without a unit they are milliseconds, and seconds are not taken for those.
func TestNumbersAreTimesInTheirUnit(t *testing.T) {
	want := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	half := want + int64(time.Second)/2
	column := func(v any) arrow.Array {
		switch v := v.(type) {
		case int64:
			b := array.NewInt64Builder(memory.DefaultAllocator)
			b.Append(v)
			return b.NewArray()
		case float64:
			b := array.NewFloat64Builder(memory.DefaultAllocator)
			b.Append(v)
			return b.NewArray()
		}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(v.(string))
		return b.NewArray()
	}
	for _, c := range []struct {
		value any
		unit  time.Duration
		want  int64 // 0 = refused
	}{
		{want / 1e6, 0, want}, {float64(want / 1e6), 0, want}, {"1782907200000", 0, want},
		{want / 1e9, 0, 0}, {float64(want / 1e9), 0, 0}, {"1782907200", 0, 0}, {-(want / 1e9), 0, 0},
		{want / 1e9, time.Second, want}, {float64(want / 1e9), time.Second, want}, {"1782907200", time.Second, want},
		{float64(want/1e9) + .5, time.Second, half}, {"1782907200.5", time.Second, half}, {float64(1.5), 0, 0},
		{want / 1e3, time.Microsecond, want}, {want, time.Nanosecond, want}, {want / 1e3, 0, 0}, {want, 0, 0},
		{int64(math.MaxInt64), time.Second, 0}, {math.Inf(1), time.Second, 0}, {math.NaN(), time.Second, 0},
		{9.2233720368e9 + .99, time.Second, 0}, {"inf", time.Second, 0},
		{int64(1_000), time.Millisecond, 1e9}, {want / 1e9, time.Millisecond, want / 1e3},
		{"2026-07-01T12:00:00Z", time.Second, want}, {"2026-07-01 12:00:00.5", 0, half},
	} {
		got, ok := timeIn(column(c.value), 0, c.unit)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%v in %v: %v %v, want %v", c.value, c.unit, got, ok, c.want)
		}
	}
}

// TestTimesOfRowsAndMessagesHaveBounds, of events and labels alike.
func TestTimesOfRowsAndMessagesHaveBounds(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	rows := []time.Time{now, now.Add(time.Minute), now.Add(2 * day), time.UnixMilli(3_600_000), now.Add(-30 * day),
		now.Add(7 * time.Minute)}
	o := Options{Schema: &model.Schema{Features: []model.Feature{{Name: "x", Kind: model.Continuous}},
		Classes: []string{"no", "yes"}}, ID: "id", Time: "at", Label: "y", Future: 5 * time.Minute, Past: 3650 * day}
	s := arrow.NewSchema([]arrow.Field{field("id", arrow.BinaryTypes.String),
		field("at", arrow.FixedWidthTypes.Timestamp_ms), field("x", arrow.PrimitiveTypes.Float64),
		field("y", arrow.BinaryTypes.String)}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for _, at := range rows {
		b.Field(0).(*array.StringBuilder).Append("a")
		b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(at.UnixMilli()))
		b.Field(2).(*array.Float64Builder).Append(1)
		b.Field(3).(*array.StringBuilder).Append("yes")
	}
	value := encodeStream(t, []arrow.Record{b.NewRecord()})
	for _, c := range []struct {
		name      string
		time, now time.Time
		dead      Reason
		want      map[int32]Reason
	}{
		{"the clock alone", time.Time{}, now, "", map[int32]Reason{2: ReasonFuture, 3: ReasonPast, 5: ReasonFuture}},
		{"message and clock", now, now, "", map[int32]Reason{2: ReasonFuture, 3: ReasonPast, 5: ReasonFuture}},
		{"the message alone", now, time.Time{}, "", map[int32]Reason{2: ReasonFuture, 5: ReasonFuture}},
		{"a message a little ahead: the clock still bounds its rows", now.Add(4 * time.Minute), now, "",
			map[int32]Reason{2: ReasonFuture, 3: ReasonPast, 5: ReasonFuture}},
		{"neither", time.Time{}, time.Time{}, "", nil},
		{"a backlog", now.Add(-29 * day), now, "", map[int32]Reason{0: ReasonFuture, 1: ReasonFuture, 2: ReasonFuture,
			3: ReasonPast, 5: ReasonFuture}},
		{"a message ahead", now.Add(2 * day), now, ReasonFuture, nil},
		{"a message of 1970", time.UnixMilli(5), now, ReasonPast, nil},
		{"a message of the last nanosecond", time.Unix(0, math.MaxInt64), now, ReasonFuture, nil},
		{"a message of the first one", time.Unix(0, math.MinInt64), now, ReasonPast, nil},
	} {
		m := &Message{Value: value}
		if !c.time.IsZero() {
			m.Time = c.time.UnixNano()
		}
		if !c.now.IsZero() {
			m.Now = c.now.UnixNano()
		}
		d := mustDecoder(t, o)
		for _, labels := range []bool{false, true} {
			var bad []RowError
			var err error
			if labels {
				bad, err = d.DecodeLabels(m, &model.Labels{})
			} else {
				bad, err = d.Decode(m, &model.Batch{}, nil)
			}
			var dead *MessageError
			if errors.As(err, &dead) != (c.dead != "") || dead != nil && dead.Reason != c.dead {
				t.Errorf("%s, labels %v: %v", c.name, labels, err)
				continue
			}
			got := map[int32]Reason{}
			for _, e := range bad {
				got[e.Row] = e.Reason
			}
			if len(got) != len(c.want) {
				t.Errorf("%s, labels %v: %v, want %v", c.name, labels, got, c.want)
			}
			for row, reason := range c.want {
				if got[row] != reason {
					t.Errorf("%s, labels %v: row %d is %q, want %q", c.name, labels, row, got[row], reason)
				}
			}
			if Untimely(bad, err) != (c.dead != "" || len(c.want) > 0) {
				t.Errorf("%s, labels %v: Untimely is wrong", c.name, labels)
			}
		}
	}
}
