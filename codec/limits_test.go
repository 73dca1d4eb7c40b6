package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/number"
	"liftstream/model"
)

// TestMemoryIsGivenBackOnce: an account that held the half of the budget and released it counts like a new one.
func TestMemoryIsGivenBackOnce(t *testing.T) {
	const mib = 1 << 20
	b := NewBudget(8 * mib)
	fresh := func() *account { return &account{limit: b.share(), shared: b} }
	first, second := fresh(), fresh()
	for round := range 3 {
		for _, step := range []struct {
			a    *account
			take int64 // 0 = release
			want int64 // in use
		}{{first, 3 * mib, 3 * mib}, {second, mib / 2, 3*mib + mib/2}, {second, 2 * mib, 7*mib + mib/2},
			{second, mib, 7*mib + mib/2}, {second, 0, 3 * mib}, {second, mib / 4, 3*mib + mib/4},
			{second, mib / 4, 3*mib + mib/2}, {first, 0, mib / 2}, {second, 0, 0}} {
			if step.take > 0 && !step.a.take(step.take) {
				t.Fatalf("round %d: %d bytes are refused", round, step.take)
			}
			if step.take == 0 {
				step.a.begin(nil)
			}
			if got := b.InUse(); got != step.want {
				t.Fatalf("round %d: after %d bytes %d are in use, want %d", round, step.take, got, step.want)
			}
		}
	}
	if first.take(4*mib+1) || !first.over || first.running() {
		t.Error("a message took more than its share")
	}
	first.begin(nil)
	if !first.take(4*mib) || !first.running() {
		t.Error("a message may not take its share")
	}
}

// TestEachChangeHasItsName, and sums keep them apart.
func TestEachChangeHasItsName(t *testing.T) {
	c := Changes{NaN: 1, Infinite: 2, Rounded: 3, Text: 4, Shortened: 5, Absent: 6}
	want := map[string]int{"nan": 2, "infinite": 4, "rounded": 6, "utf8": 8, "shortened": 10, "absent": 12}
	got := map[string]int{}
	c.Add(c).Each(func(kind string, n int) { got[kind] += n })
	if !reflect.DeepEqual(got, want) || reflect.TypeFor[Changes]().NumField() != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNumbersThatADoubleDoesNotHold begin behind 2^53, in columns and in dictionaries of them.
func TestNumbersThatADoubleDoesNotHold(t *testing.T) {
	const most = 1 << 53
	unsigned := arrow.PrimitiveTypes.Uint64
	for _, c := range []struct {
		typ     arrow.DataType
		value   string
		rounded int
	}{
		{int64Type, fmt.Sprint(most - 1), 0}, {int64Type, fmt.Sprint(most), 0}, {int64Type, fmt.Sprint(most + 1), 1},
		{int64Type, fmt.Sprint(most + 2), 0}, {int64Type, fmt.Sprint(-most), 0}, {int64Type, fmt.Sprint(-most - 1), 1},
		{int64Type, fmt.Sprint(math.MinInt64), 0}, {int64Type, fmt.Sprint(math.MaxInt64), 1},
		{unsigned, fmt.Sprint(most), 0}, {unsigned, fmt.Sprint(most + 1), 1}, {unsigned, fmt.Sprint(2*most - 1), 1},
		{unsigned, fmt.Sprint(2 * most), 0}, {unsigned, fmt.Sprint(2*most + 2), 1},
		{unsigned, fmt.Sprint(uint64(math.MaxUint64)), 1},
		{&arrow.Decimal128Type{Precision: 20, Scale: 0}, fmt.Sprint(most), 0},
		{&arrow.Decimal128Type{Precision: 20, Scale: 0}, fmt.Sprint(most + 1), 1},
		{&arrow.Decimal128Type{Precision: 20, Scale: 1}, "0.1", 0},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, c.typ)
		for _, v := range []string{c.value, c.value, "7"} {
			if err := b.AppendValueFromString(v); err != nil {
				t.Fatal(err)
			}
		}
		b.AppendNull()
		plain := b.NewArray()
		indices := array.NewInt8Builder(memory.DefaultAllocator)
		indices.AppendValues([]int8{0, 1, 1, 0}, []bool{true, true, false, false})
		dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: c.typ}
		for _, a := range []arrow.Array{plain, array.NewDictionaryArray(dt, indices.NewArray(), plain)} {
			rec := array.NewRecord(arrow.NewSchema([]arrow.Field{field("v", a.DataType())}, nil), []arrow.Array{a}, 4)
			d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
				Features: []model.Feature{{Name: "v"}}}})
			var batch model.Batch
			_, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &batch, nil)
			if want := (Changes{Rounded: 2 * c.rounded}); err != nil || d.Changes() != want {
				t.Errorf("%s of type %s: %+v, want %+v, %v", c.value, a.DataType(), d.Changes(), want, err)
			}
		}
	}
}

// textRecord makes a record of one text column, of a type of text.
func textRecord(t *testing.T, name string, typ arrow.DataType, values ...string) arrow.Record {
	t.Helper()
	a := texts(typ, values...)
	return array.NewRecord(arrow.NewSchema([]arrow.Field{field(name, typ)}, nil), []arrow.Array{a}, int64(a.Len()))
}

var textTypes = []arrow.DataType{utf8Type, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}}

// TestTextsHaveTheirLength: ids up to 8 KiB, levels up to 1 KiB as they stand, and nothing of a longer one.
func TestTextsHaveTheirLength(t *testing.T) {
	for _, typ := range textTypes {
		d := mustDecoder(t, Options{ID: "id", Schema: &model.Schema{Classes: []string{"no", "yes"}}})
		whole, long := strings.Repeat("i", 8<<10), strings.Repeat("i", 8<<10+1)
		var b model.Batch
		rec := textRecord(t, "id", typ, "a", whole, long, "", "z")
		bad, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
		want := []RowError{{Row: 2, Reason: ReasonID, Column: "id", Value: long[:100]},
			{Row: 3, Reason: ReasonID, Column: "id"}}
		if err != nil || !reflect.DeepEqual(bad, want) || !reflect.DeepEqual(b.ID, []string{"a", whole, "z"}) {
			t.Errorf("ids of type %s: %v, %d ids, %v", typ, bad, len(b.ID), err)
		}
		d = mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{{Name: "v",
			Kind: model.Nominal}}}})
		whole, long = strings.Repeat("v", 1<<10), strings.Repeat("v", 1<<10+1)
		rec = textRecord(t, "v", typ, whole, long, long+"w", " "+whole)
		_, err = d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
		levels := b.Columns[0].Levels
		if err != nil || len(levels) != 3 || levels[0] != whole || d.Changes() != (Changes{Shortened: 2}) {
			t.Fatalf("levels of type %s: %d, %+v, %v", typ, len(levels), d.Changes(), err)
		}
		for _, l := range levels[1:] {
			if len(l) > 1<<10 || !strings.HasPrefix(long, l[:900]) || l[len(l)-35:len(l)-32] != "..." {
				t.Errorf("a long level of type %s is %q", typ, l)
			}
		}
	}
}

// TestNumbersOfSecondsAreInDoubt from 1980 to 2105, and no others.
func TestNumbersOfSecondsAreInDoubt(t *testing.T) {
	for v, ok := range map[int64]bool{0: true, 315_532_799: true, 315_532_800: false, 1<<32 - 1: false, 1 << 32: true,
		-315_532_799: true, -315_532_800: false, -(1<<32 - 1): false, -1 << 32: true, math.MinInt64: false,
		math.MaxInt64 / 1_000_000: true, math.MaxInt64/1_000_000 + 1: false} {
		for _, read := range []func() (int64, bool){
			func() (int64, bool) { return inUnit(v, 0) },
			func() (int64, bool) { return parseTime(fmt.Sprint(v), 0) },
		} {
			if got, is := read(); is != ok || is && got != v*1e6 {
				t.Errorf("%d is %d, %v; want %v", v, got, is, ok)
			}
		}
	}
}

// TestUnsignedNumbersBeyondTheRangeAreNone: they are no times and no integers.
func TestUnsignedNumbersBeyondTheRangeAreNone(t *testing.T) {
	b := array.NewUint64Builder(memory.DefaultAllocator)
	b.AppendValues([]uint64{math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}, nil)
	a := b.NewArray()
	table := NewTable(array.NewRecord(arrow.NewSchema([]arrow.Field{field("v", a.DataType())}, nil), []arrow.Array{a}, 3))
	for i, ok := range []bool{true, false, false} {
		if got, is := timeIn(a, i, time.Nanosecond); is != ok || ok && got != math.MaxInt64 {
			t.Errorf("number %d is the time %d, %v", i, got, is)
		}
		if got, is := table.Int(0, i); is != ok || ok && got != math.MaxInt64 {
			t.Errorf("number %d is %d, %v", i, got, is)
		}
	}
}

// TestPositionsOfLabelsHaveTheRangeOfTheirColumns.
func TestPositionsOfLabelsHaveTheRangeOfTheirColumns(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}}, Label: "class"}
	place := func(partition, offset, row string) string {
		return fmt.Sprintf(`{"source_partition": %q, "source_offset": %q, "source_row": %q, "class": "yes"}`, partition,
			offset, row)
	}
	const large, larger = "2147483647", "2147483648"
	for _, c := range []struct {
		typ   arrow.DataType
		row   string
		fault string // the column
		value string
	}{
		{int64Type, place("0", "0", "0"), "", ""}, {int64Type, place(large, "9223372036854775807", large), "", ""},
		{int64Type, place(larger, "0", "0"), ColumnPartition, larger},
		{int64Type, place("0", "0", larger), ColumnRow, larger},
		{int64Type, place("-1", "0", "0"), ColumnPartition, "-1"}, {int64Type, place("0", "-1", "0"), ColumnOffset, "-1"},
		{int64Type, place("0", "0", "-1"), ColumnRow, "-1"},
		{arrow.PrimitiveTypes.Uint64, place("0", "9223372036854775807", "0"), "", ""},
		{arrow.PrimitiveTypes.Uint64, place("0", "9223372036854775808", "0"), ColumnOffset, "9223372036854775808"},
		{arrow.PrimitiveTypes.Uint64, place("18446744073709551615", "0", "0"), ColumnPartition, "18446744073709551615"},
		{int64Type, `{"source_partition": "1", "source_row": "2", "class": "no"}`, ColumnOffset, ""},
	} {
		rec := record(t, []arrow.Field{field(ColumnPartition, c.typ), field(ColumnOffset, c.typ), field(ColumnRow, c.typ),
			field("class", utf8Type)}, "["+c.row+"]")
		var l model.Labels
		bad, err := mustDecoder(t, o).DecodeLabels(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &l)
		var want []RowError
		if c.fault != "" {
			want = []RowError{{Reason: ReasonRecord, Column: c.fault, Value: c.value}}
		}
		if err != nil || !reflect.DeepEqual(bad, want) || l.N != 1-len(want) {
			t.Errorf("%s: %v, %d labels, %v; want %v", c.row, bad, l.N, err, want)
		}
	}
}

// TestHeadersSayTheWholeValue: eight digits, also where the sum begins with zeros, and no more than it has.
func TestHeadersSayTheWholeValue(t *testing.T) {
	zeros := 0
	for i := range 600 {
		value := fmt.Appendf(nil, "value %d", i)
		h := EventHeaders(value, i)
		if string(h.Rows) != fmt.Sprint(i) || len(h.CRC32C) != 8 {
			t.Fatalf("%s: %s rows, sum %s", value, h.Rows, h.CRC32C)
		}
		if h.CRC32C[0] == '0' {
			zeros++
		}
		if n, err := checkHeaders(h, value); err != nil || n != int64(i) {
			t.Fatalf("%s: %d, %v", value, n, err)
		}
		for _, sum := range []string{"1" + string(h.CRC32C), "-" + string(h.CRC32C), "0x" + string(h.CRC32C), ""} {
			if _, err := checkHeaders(Headers{CRC32C: []byte(sum)}, value); err == nil || err.Reason != ReasonCRC {
				t.Fatalf("the sum %q is taken for %s: %v", sum, h.CRC32C, err)
			}
		}
	}
	if zeros == 0 {
		t.Error("no sum begins with zeros")
	}
	for _, rows := range []string{"-1", "+1", " 1", "1 ", "", "1.0", "9223372036854775808"} {
		if _, err := checkHeaders(Headers{Rows: []byte(rows)}, nil); err == nil || err.Reason != ReasonRows {
			t.Errorf("%q is a number of rows: %v", rows, err)
		}
	}
}

// TestErrorsNameRowColumnAndValue.
func TestErrorsNameRowColumnAndValue(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{RowError{7, ReasonTime, "at", "soon"}, `row 7: time: column "at" holds "soon"`},
		{RowError{0, ReasonID, "id", ""}, `row 0: id: column "id"`},
		{&MessageError{ReasonDamaged, "x", errors.New("torn")}, `decoding message: damaged: column "x": torn`},
		{dead(ReasonEmpty, "no bytes"), `decoding message: empty: no bytes`},
		{(&ScoreEncoder{parts: Parts{limit: 90}}).TooLarge(3), `row 3: too_large: scores of more than 90 bytes`},
	} {
		if c.err.Error() != c.want {
			t.Errorf("got %s, want %s", c.err, c.want)
		}
	}
	// Of many differences eight are named after the first.
	for _, columns := range []int{1, 2, 8, 9, 10, 15} {
		s := &model.Schema{Classes: []string{"no", "yes"}}
		for i := range columns {
			s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("f%02d", i)})
		}
		rec := record(t, []arrow.Field{field("other", int64Type)}, `[]`)
		var b model.Batch
		_, err := mustDecoder(t, Options{Schema: s}).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
		if err == nil {
			t.Fatal("a message without its columns was taken")
		}
		named := strings.Count(err.Error(), `column "f`)
		more := 0
		if _, rest, found := strings.Cut(err.Error(), "; and "); found {
			if _, err := fmt.Sscanf(rest, "%d more columns", &more); err != nil {
				t.Fatal(err)
			}
		}
		if named+more != columns || named > 8 {
			t.Errorf("%d columns: %d are named and %d more: %v", columns, named, more, err)
		}
	}
}

// TestTextsOfNumbersThatAreNoneAreCounted, in every type of text: an infinite number is missing.
func TestTextsOfNumbersThatAreNoneAreCounted(t *testing.T) {
	for _, typ := range textTypes {
		d := mustDecoder(t, Options{Numbers: number.Format{Decimal: ","}, Missing: []string{"NA", "-9"},
			Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{{Name: "x"}}}})
		var b model.Batch
		rec := textRecord(t, "x", typ, "1,5", "1e999", " NA ", "-9,0", "old", "-1e999", "2")
		bad, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
		want := []RowError{{Row: 4, Reason: ReasonNumber, Column: "x", Value: "old"}}
		if err != nil || !reflect.DeepEqual(bad, want) || d.Changes() != (Changes{Infinite: 2}) ||
			fmt.Sprint(b.Columns[0].Float) != "[1.5 NaN NaN NaN NaN 2]" {
			t.Errorf("%s: %v, %+v, %v, %v", typ, bad, d.Changes(), b.Columns[0].Float, err)
		}
	}
}

// TestSchemasAndTextsThatAreRememberedHaveABound.
func TestSchemasAndTextsThatAreRememberedHaveABound(t *testing.T) {
	d := mustDecoder(t, Options{Label: "y", Schema: &model.Schema{Classes: []string{"no", "yes"}}})
	var b model.Batch
	for i := range 90 {
		name := strings.Repeat("n", 400_000) + fmt.Sprint(i)
		if i >= 30 {
			name = fmt.Sprint(i)
		}
		rec := record(t, []arrow.Field{field(name, int64Type)}, `[]`)
		if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil {
			t.Fatal(err)
		}
		kept := int64(0)
		for _, s := range d.in.known {
			kept += s.cost
		}
		if kept != d.in.kept || kept > maxKept || len(d.in.known) > maxStreams {
			t.Fatalf("after %d schemas %d are kept, of %d bytes, counted as %d", i+1, len(d.in.known), kept, d.in.kept)
		}
	}
	c := &d.classes
	c.begin()
	for i := range 3 * internTexts {
		if got := c.lookup(fmt.Appendf(nil, "text %d", i)); got != model.UnknownClass {
			t.Fatalf("text %d is class %d", i, got)
		}
	}
	if len(c.raw) > internTexts+1 || len(c.class) != len(c.raw) {
		t.Errorf("%d texts of labels are kept", len(c.raw))
	}
	for class, text := range []string{"no", "yes"} {
		if got := c.lookup([]byte(text)); got != int32(class) {
			t.Errorf("%s is class %d behind many texts", text, got)
		}
	}
	if d.Findings.UnknownClass != "text 0" {
		t.Errorf("the first text that is no class is %q", d.Findings.UnknownClass)
	}
}

// TestAStreamOfTablesEndsWithItsFirstError.
func TestAStreamOfTablesEndsWithItsFirstError(t *testing.T) {
	rec := bankRecord(10)
	value := encodeStream(t, []arrow.Record{rec, rec, rec})
	frames, merr := split(value, nil)
	if merr != nil {
		t.Fatal(merr)
	}
	torn := append([]byte{}, value...)
	at := bytes.LastIndex(value[:len(value)-len(frames[3].body)-len(frames[3].meta)-16], frames[2].meta)
	clear(torn[at : at+len(frames[2].meta)])
	s, err := NewTableStream(strings.NewReader(string(torn)))
	if err != nil {
		t.Fatal(err)
	}
	if table, err := s.Next(); err != nil || table.Rows() != 10 {
		t.Fatal(err)
	}
	var m *MessageError
	if _, err := s.Next(); !errors.As(err, &m) {
		t.Errorf("a torn batch: %v", err)
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind a torn batch: %v", err)
	}
}

// TestTheFirstColumnOfANameIsTaken.
func TestTheFirstColumnOfANameIsTaken(t *testing.T) {
	rec := record(t, []arrow.Field{field("a", int64Type), field("b", int64Type), field("b", utf8Type),
		field("b", realType)}, `[]`)
	for name, want := range map[string]int{"a": 0, "b": 1, "c": -1} {
		if got := NewTable(rec).Column(name); got != want {
			t.Errorf("%s is column %d, want %d", name, got, want)
		}
	}
}
