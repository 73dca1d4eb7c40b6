package codec

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/model"
)

// fillTimes reads the times of records: those of the column, else the message's.
func (d *Decoder) fillTimes(dst []int64, recs []arrow.Record, col, rows int, first int32, m *Message) []int64 {
	dst = resize(dst, rows)
	if col < 0 {
		for i := range dst {
			dst[i] = m.Time
		}
		return dst
	}
	low, high := d.clocks.span(m, m.Time)
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			t := m.Time
			if !isNull(a, i) {
				v, ok := timeIn(a, i, d.o.TimeUnit)
				switch {
				case !ok:
					if !d.missingText(a, i) {
						d.reject(first+int32(at), ReasonTime, d.o.Time, a, i)
					}
				case v > high:
					d.reject(first+int32(at), ReasonFuture, d.o.Time, a, i)
				case v < low:
					d.reject(first+int32(at), ReasonPast, d.o.Time, a, i)
				default:
					t = v
				}
			}
			dst[at] = t
			at++
		}
	}
	return dst
}

// clocks says how far the times of records and messages may lie from the clock of the caller and from each other.
type clocks struct {
	future, past int64 // in nanoseconds; 0 = any distance
}

// span returns the earliest and the latest time that a record of the message may have. also is another clock that it
// must not be ahead of, 0 = none.
func (c clocks) span(m *Message, also int64) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	for _, now := range [...]int64{m.Now, also} {
		if c.future > 0 && now != 0 && now < math.MaxInt64-c.future {
			high = min(high, now+c.future)
		}
	}
	if c.past > 0 && m.Now != 0 && m.Now > math.MinInt64+c.past {
		low = m.Now - c.past
	}
	return low, high
}

// timely refuses a message whose own timestamp is out of bounds: its records would take it, or be measured by it.
func (c clocks) timely(m *Message) *MessageError {
	low, high := c.span(m, 0)
	switch text := time.Unix(0, m.Time).UTC().Format(time.RFC3339); {
	case m.Time == 0:
	case m.Time > high:
		return dead(ReasonFuture, "the timestamp of the message is %s", text)
	case m.Time < low:
		return dead(ReasonPast, "the timestamp of the message is %s", text)
	}
	return nil
}

// Numbers of no stated unit are milliseconds. Those of this range would be of the first weeks of 1970 or the last ones
// of 1969, and are times of 1980 to 2105 in seconds: they are refused until the configuration says which.
const doubtLow, doubtHigh = 315_532_800, 1 << 32

// inUnit reads a number as a time; unit 0 is that of numbers of no stated unit.
func inUnit(v int64, unit time.Duration) (int64, bool) {
	if unit > 0 {
		return scaled(v, int64(unit))
	}
	if size := max(v, -v); size >= doubtLow && size < doubtHigh {
		return 0, false
	}
	return scaled(v, int64(time.Millisecond))
}

// fractionIn reads a number as a time; only one of a stated unit may have a fraction.
func fractionIn(v float64, unit time.Duration) (int64, bool) {
	if v == math.Trunc(v) {
		if math.Abs(v) > 1<<53 {
			return 0, false
		}
		return inUnit(int64(v), unit)
	}
	whole, part := math.Modf(v)
	if unit <= 0 || !(math.Abs(v) <= 1<<53) {
		return 0, false
	}
	t, ok := scaled(int64(whole), int64(unit))
	more := int64(math.Round(part * float64(unit)))
	if !ok || more > 0 && t > math.MaxInt64-more || more < 0 && t < math.MinInt64-more {
		return 0, false
	}
	return t + more, true
}

// timeIn reads value i as a time: timestamps of any unit (without a zone: UTC), dates, numbers in the unit, text as
// parseTime does. ok is false when it cannot be read; null must be tested before.
func timeIn(a arrow.Array, i int, unit time.Duration) (t int64, ok bool) {
	switch a := a.(type) {
	case *array.Float64:
		return fractionIn(a.Value(i), unit)
	case *array.String:
		return parseTime(a.Value(i), unit)
	case *array.LargeString:
		return parseTime(a.Value(i), unit)
	case *array.StringView:
		return parseTime(a.Value(i), unit)
	case *array.Dictionary:
		k := a.GetValueIndex(i)
		if isNull(a.Dictionary(), k) {
			return 0, false
		}
		return timeIn(a.Dictionary(), k, unit)
	}
	if v, ok := integer(a, i); ok {
		return inUnit(v, unit)
	}
	return unixNano(a, i)
}

// unixNano reads a timestamp or date.
func unixNano(a arrow.Array, i int) (t int64, ok bool) {
	switch a := a.(type) {
	case *array.Timestamp:
		unit := int64(1)
		switch a.DataType().(*arrow.TimestampType).Unit {
		case arrow.Second:
			unit = 1e9
		case arrow.Millisecond:
			unit = 1e6
		case arrow.Microsecond:
			unit = 1e3
		}
		return scaled(int64(a.Value(i)), unit)
	case *array.Date32:
		return scaled(int64(a.Value(i)), 24*3600*1e9)
	case *array.Date64:
		return scaled(int64(a.Value(i)), 1e6)
	}
	return 0, false
}

// parseTime reads a text as model.ParseTime does, or a number.
func parseTime(s string, unit time.Duration) (int64, bool) {
	if len(s) > 200 {
		return 0, false // many rows may hold the same long text
	}
	s = strings.TrimSpace(s)
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return inUnit(v, unit)
	}
	if t, ok := model.ParseTime(s); ok {
		return t, true
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && unit > 0 {
		return fractionIn(v, unit)
	}
	return 0, false
}
