package codec

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// treatedMessage is a message of labels by id, of the rows in which treated, a JSON array, has values of type typ.
func treatedMessage(t *testing.T, typ arrow.DataType, treated string) []byte {
	t.Helper()
	column, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(treated))
	if err != nil {
		t.Fatal(err)
	}
	text := func(of string) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for range column.Len() {
			b.Append(of)
		}
		return b.NewArray()
	}
	fields := []arrow.Field{{Name: "who", Type: arrow.BinaryTypes.String},
		{Name: "class", Type: arrow.BinaryTypes.String}, {Name: "called", Type: typ, Nullable: true}}
	columns := []arrow.Array{text("a"), text("yes"), column}
	rec := array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(column.Len()))
	var e streamEncoder
	value, err := e.encode(nil, rec)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestTreatments: each type of a treatment is read alike beside a label, in messages of labels and of events; other
// texts make their row a bad one, and a message without the column says nothing.
func TestTreatments(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}, ID: "who", Label: "class",
		Treated: "called", Missing: []string{"?"}}
	d, err := NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	const u, n, y = model.TreatmentUnknown, model.Untreated, model.Treated
	for _, c := range []struct {
		typ    arrow.DataType
		values string
		want   []model.Treatment
		bad    []int32
	}{
		{arrow.FixedWidthTypes.Boolean, `[true, false, null]`, []model.Treatment{y, n, u}, nil},
		{arrow.PrimitiveTypes.Int8, `[1, 0, null, 2]`, []model.Treatment{y, n, u}, []int32{3}},
		{arrow.PrimitiveTypes.Float64, `[1, 0, null, 0.5]`, []model.Treatment{y, n, u}, []int32{3}},
		{arrow.BinaryTypes.String, `["TRUE", " false ", "?", "1", "0", "1.0", null, "yes", ""]`,
			[]model.Treatment{y, n, u, y, n, y, u}, []int32{7, 8}},
		{arrow.BinaryTypes.String, `["maybe", "1"]`, []model.Treatment{y}, []int32{0}},
	} {
		value := treatedMessage(t, c.typ, c.values)
		for _, kind := range []string{StageLabels, StageEvents} {
			var l model.Labels
			var b model.Batch
			var bad []RowError
			got := &l.Treated
			if kind == StageLabels {
				bad, err = d.DecodeLabels(&Message{Value: value}, &l)
			} else {
				bad, err = d.Decode(&Message{Value: value}, &b, nil)
				got = &b.Treated
			}
			if err != nil {
				t.Fatal(err)
			}
			var rows []int32
			for _, e := range bad {
				if e.Reason != ReasonTreated || e.Column != "called" {
					t.Errorf("%s of %s: %v", c.values, kind, e)
				}
				rows = append(rows, e.Row)
			}
			if !slices.Equal(*got, c.want) || !slices.Equal(rows, c.bad) {
				t.Errorf("%s of %s: %v without %v, want %v without %v", c.values, kind, *got, rows, c.want, c.bad)
			}
		}
	}
	o.Treated = "other"
	if d, err = NewDecoder(o); err != nil {
		t.Fatal(err)
	}
	l := model.Labels{Treated: []model.Treatment{y, y}}
	value := treatedMessage(t, arrow.FixedWidthTypes.Boolean, `[true, false]`)
	if _, err := d.DecodeLabels(&Message{Value: value}, &l); err != nil || l.Treated != nil || l.N != 2 {
		t.Errorf("without the column: %v of %d labels, %v", l.Treated, l.N, err)
	}
	o.Treated = "class"
	if _, err := NewDecoder(o); err == nil {
		t.Error("one column is label and treatment")
	}
}
