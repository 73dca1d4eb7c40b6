package codec

import (
	"bytes"
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// partsOf encodes n records in calls of step records each, into a buffer with that much room.
func partsOf(t *testing.T, o Options, n, step, limit, room int) (value []byte, parts []Part) {
	t.Helper()
	e, err := NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	e.Begin(nil, limit)
	value = append(make([]byte, 0, room), "before"...)
	for from := 0; from < n; from += step {
		b := &model.Batch{N: min(step, n-from), Partition: 1, Offset: 2}
		s := &model.Scores{}
		s.Reset(b.N, len(o.Schema.Classes))
		for i := range b.N {
			b.ID, b.Time, b.Row = append(b.ID, fmt.Sprint(from+i)), append(b.Time, 0), append(b.Row, int32(from+i))
		}
		if value, err = e.Add(value, b, s, model.NewLevels(o.Schema), from); err != nil {
			t.Fatal(err)
		}
	}
	parts, lost := e.Parts()
	if len(lost) > 0 {
		t.Fatalf("records %v are left out", lost)
	}
	return value, parts
}

// A part takes rows until they no longer fit. Whether the buffer has room for the rows that do not must not show.
func TestPartsDoNotDependOnTheRoomOfTheirBuffer(t *testing.T) {
	modeltest.Computes(t)
	for _, format := range []Format{FormatArrow, FormatJSONL} {
		o := contractOptions()
		o.Format = format
		whole, _ := partsOf(t, o, 10, 10, 0, 0)
		for _, limit := range []int{len(whole), 2 * len(whole), 5 * len(whole)} {
			want, parts := partsOf(t, o, 100, 10, limit, 1<<20)
			if len(parts) < 2 {
				t.Fatalf("%v, limit %d: %d parts", format, limit, len(parts))
			}
			for room := 6; room < len(want)+len(whole); room += 977 {
				got, _ := partsOf(t, o, 100, 10, limit, room)
				if !bytes.Equal(got, want) {
					t.Errorf("%v, limit %d: a buffer of %d bytes gives other bytes", format, limit, room)
				}
			}
			row := 0
			for i, p := range parts {
				if p.First != row || p.End-p.Start > limit {
					t.Errorf("%v, limit %d: part %d begins with row %d, want %d, and has %d bytes", format, limit, i, p.First,
						row, p.End-p.Start)
				}
				row += p.Rows
				if format == FormatJSONL {
					continue
				}
				n := 0
				for table, err := range Tables(want[p.Start:p.End], 1<<20) {
					if err != nil {
						t.Fatalf("limit %d: part %d: %v", limit, i, err)
					}
					n += table.Rows()
				}
				if n != p.Rows {
					t.Errorf("limit %d: part %d has %d rows, want %d", limit, i, n, p.Rows)
				}
			}
			if row != 100 {
				t.Errorf("%v, limit %d: %d rows", format, limit, row)
			}
		}
	}
}
