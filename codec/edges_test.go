package codec

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// TestBadRowsOfATableHaveItsNumbers: every column counts from the number of the table's first row.
func TestBadRowsOfATableHaveItsNumbers(t *testing.T) {
	fields := append([]arrow.Field{contractFields[0], field("at", utf8Type)}, contractFields[2:]...)
	rec := record(t, fields, `[
 {"who": 1, "at": "1970-01-01", "w": 1, "x": 1},
 {"who": 2, "at": "yesterday", "w": 1, "x": 1},
 {"who": 3, "at": "2200-01-01", "w": 1, "x": 1},
 {"who": null, "at": null, "w": 1, "x": 1},
 {"who": 5, "at": null, "w": -1, "x": 1}
]`)
	var b model.Batch
	bad, err := mustDecoder(t, contractOptions()).DecodeTable(&Table{rec}, 1000, &Message{Now: 1}, &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		row    int32
		reason Reason
	}
	var got []row
	for _, e := range bad {
		got = append(got, row{e.Row, e.Reason})
	}
	want := []row{{1001, ReasonTime}, {1002, ReasonFuture}, {1003, ReasonID}, {1004, ReasonWeight}}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(b.Row, []int32{1000}) {
		t.Errorf("bad rows %v, want %v; good ones %v", got, want, b.Row)
	}
}

// TestLabelsBehindABadOneKeepTheirPlaces: the remaining rows move up with all their values.
func TestLabelsBehindABadOneKeepTheirPlaces(t *testing.T) {
	fields := []arrow.Field{field(ColumnPartition, int64Type), field(ColumnOffset, int64Type),
		field(ColumnRow, int64Type), field("class", utf8Type)}
	rec := record(t, fields, `[
 {"source_partition": 1, "source_offset": 10, "source_row": 100, "class": "perhaps"},
 {"source_partition": 2, "source_offset": 20, "source_row": 200, "class": "no"},
 {"source_partition": 3, "source_offset": -1, "source_row": 300, "class": "no"},
 {"source_partition": 4, "source_offset": 40, "source_row": 400, "class": "1"}
]`)
	var l model.Labels
	bad, err := mustDecoder(t, contractOptions()).DecodeLabels(
		&Message{Value: encodeStream(t, []arrow.Record{rec})}, &l)
	if err != nil || len(bad) != 2 {
		t.Fatalf("%v, %v", bad, err)
	}
	got := []any{l.N, l.Partition, l.Offset, l.Row, l.Class}
	want := []any{2, []int32{2, 4}, []int64{20, 40}, []int32{200, 400}, []int32{0, 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestBatchesTogetherHaveABound: each of them alone is below it.
func TestBatchesTogetherHaveABound(t *testing.T) {
	o := contractOptions()
	o.MaxMessage = 1 << 30 // the bytes of so many rows are no reason
	for _, c := range []struct {
		rows   int
		reason Reason
	}{{maxRows / 2, ""}, {maxRows/2 + 1, ReasonTooLarge}} {
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{field("x", arrow.Null)}, nil),
			[]arrow.Array{array.NewNull(c.rows)}, int64(c.rows))
		_, _, err := mustDecoder(t, o).in.read(&Message{Value: encodeStream(t, []arrow.Record{rec, rec})})
		if got := err; (got == nil) != (c.reason == "") || got != nil && got.Reason != c.reason {
			t.Errorf("two batches of %d rows: %v", c.rows, err)
		}
	}
}

// TestLargeListsNeedNotStartAtZero is TestOffsetsNeedNotStartAtZero for lists of wide offsets.
func TestLargeListsNeedNotStartAtZero(t *testing.T) {
	values := array.NewInt64Builder(memory.DefaultAllocator)
	values.AppendValues([]int64{9, 1, 2, 3, 9}, nil)
	offsets := arrow.Int64Traits.CastToBytes([]int64{1, 2, 4})
	list := array.NewData(arrow.LargeListOf(int64Type), 2, []*memory.Buffer{nil, memory.NewBufferBytes(offsets)},
		[]arrow.ArrayData{values.NewArray().Data()}, 0, 0)
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{field("xs", list.DataType())}, nil),
		[]arrow.Array{array.MakeFromData(list)}, 2)
	value, err := NewEventEncoder().Encode(nil, &Table{rec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if got := r.Record().Column(0).String(); got != "[[1] [2 3]]" {
		t.Errorf("%s, want [[1] [2 3]]", got)
	}
}

// TestDuplicatesBeforeABadRowAreLeftOutOfAllColumns: the rows that a dedup leaves out may lie before, between and
// behind the bad ones; the columns that scores repeat keep the others, in their order.
func TestDuplicatesBeforeABadRowAreLeftOutOfAllColumns(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x", Kind: model.Continuous}}, Classes: []string{"no", "yes"},
		Positive: 1}
	o := Options{Schema: s, ID: "id", Weight: "w", Dedup: true}
	fields := []arrow.Field{field("id", arrow.BinaryTypes.String), field("x", arrow.PrimitiveTypes.Float64),
		field("w", arrow.PrimitiveTypes.Float64)}
	value := encodeStream(t, []arrow.Record{
		record(t, fields, `[{"id":"a","x":1,"w":1},{"id":"b","x":2,"w":1},{"id":"bad","x":3,"w":-1}]`),
		record(t, fields, `[{"id":"c","x":4,"w":1},{"id":"worse","x":5,"w":-1},{"id":"d","x":6,"w":1}]`)})
	for _, c := range []struct {
		name, want string
		again      []int32
	}{
		{"none", "a b c d", nil}, {"before", "b c d", []int32{0}}, {"between", "a b d", []int32{3}},
		{"behind", "a b c", []int32{5}}, {"all around", "b", []int32{0, 3, 5}},
	} {
		var b model.Batch
		var carry Carry
		bad, err := mustDecoder(t, o).Decode(&Message{Value: value}, &b, &carry)
		if err != nil || len(bad) != 2 {
			t.Fatalf("%v, bad rows %v", err, bad)
		}
		b.Keep(func(i int) bool { return !slices.Contains(c.again, b.Row[i]) })
		carry.Leave(c.again)
		e, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		var scores model.Scores
		scores.Reset(b.N, 2)
		table, err := e.Table(&b, &scores, model.NewLevels(s), &carry)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var ids []string
		for i := range table.Rows() {
			id, _ := table.Text(table.Column("id"), i)
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); got != c.want || got != strings.Join(b.ID, " ") {
			t.Errorf("%s: the scores have the ids %s, the batch %v, want %s", c.name, got, b.ID, c.want)
		}
	}
}

// TestSelectedFeaturesOfAMessageInTurn: a large message is encoded in several calls, and each row keeps the features of
// its own subspace.
func TestSelectedFeaturesOfAMessageInTurn(t *testing.T) {
	o := bankOptions()
	o.Features, o.Format = FeaturesSelected, FormatJSONL
	encode := func(rows ...int) string {
		e, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, n := range rows {
			all += n
		}
		var b model.Batch
		var c Carry
		value := encodeStream(t, []arrow.Record{bankRecord(all)})
		if _, err := mustDecoder(t, o).Decode(&Message{Value: value}, &b, &c); err != nil {
			t.Fatal(err)
		}
		whole := bankScores(all)
		for i := range whole.Subspace {
			whole.Subspace[i] = int32((i/4 + i%4*3) % len(o.Schema.Features))
		}
		e.Begin(&c, 0)
		var out []byte
		from := 0
		for _, n := range rows {
			part := b.Slice(from, n)
			var s model.Scores
			s.Reset(0, 2)
			for i := range n {
				s.Append(whole, from+i)
			}
			if out, err = e.Add(out, &part, &s, model.NewLevels(o.Schema), from); err != nil {
				t.Fatal(err)
			}
			from += n
		}
		return string(out)
	}
	want := encode(40)
	if !strings.Contains(want, "null") {
		t.Fatal("no feature is left out")
	}
	for _, rows := range [][]int{{16, 24}, {3, 30, 7}} {
		if got := encode(rows...); got != want {
			t.Errorf("%v rows at a time: other scores than at once", rows)
		}
	}
}
