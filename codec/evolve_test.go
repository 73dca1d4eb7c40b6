package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// TestDifferencesAreNamed: an error names every column that does not fit, with type, unit, zone and nullability.
func TestDifferencesAreNamed(t *testing.T) {
	o := contractOptions()
	o.Nullable = map[string]bool{"x": false, "color": true}
	at := arrow.Field{Name: "x", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}}
	rec := record(t, []arrow.Field{field("Who", int64Type), field("at", arrow.ListOf(int64Type)), at,
		field("size", &arrow.DurationType{Unit: arrow.Second})}, `[]`)
	var b model.Batch
	_, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil)
	var m *MessageError
	if !errors.As(err, &m) || m.Reason != ReasonSchema || m.Column != "who" {
		t.Fatal(err)
	}
	for _, want := range []string{`"who": missing; there is a column "Who"`, `column "at": of type list<item: int64`,
		`column "w": missing`, `column "x": of type timestamp[us, tz=Europe/Berlin] not null; a number is needed`,
		`(it must not be null)`, `column "size": of type duration[s]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "color") {
		t.Errorf("%v names a column that may be absent", err)
	}
}

// TestNullable: a nullable column may be absent, one that must not be null refuses the rows without a value under any
// schema of a batch, and by default the column must be there.
func TestNullable(t *testing.T) {
	o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"}, Features: []model.Feature{
		{Name: "x", Kind: model.Continuous}, {Name: "v", Kind: model.Nominal}}}, Features: FeaturesAll,
		Missing: []string{"NA"}}
	rows := `[{"x": 1, "v": "a"}, {"x": null, "v": "b"}, {"x": 3, "v": "NA"}, {"x": 4, "v": null}]`
	both := record(t, []arrow.Field{field("x", realType), field("v", utf8Type)}, rows)
	x := record(t, []arrow.Field{field("x", realType)}, `[{"x": 1}, {"x": 2}]`)
	v := record(t, []arrow.Field{field("v", utf8Type)}, `[{"v": "a"}, {"v": "b"}]`)
	column, never := true, false
	for _, c := range []struct {
		name   string
		x, v   *bool
		rec    arrow.Record
		rows   int
		bad    []int32
		absent int
		err    string
	}{
		{"default", nil, nil, both, 4, nil, 0, ""},
		{"default, x absent", nil, nil, v, 0, nil, 0, `column "x": missing`},
		{"nullable, x absent", &column, nil, v, 2, nil, 2, ""},
		{"nullable, v absent", nil, &column, x, 2, nil, 2, ""},
		{"x is never null", &never, nil, both, 3, []int32{1}, 0, ""},
		{"v is never null", nil, &never, both, 2, []int32{2, 3}, 0, ""},
		{"v is never null, and absent", nil, &never, x, 0, nil, 0, `column "v": missing (it must not be null)`},
	} {
		o.Nullable = map[string]bool{}
		if c.x != nil {
			o.Nullable["x"] = *c.x
		}
		if c.v != nil {
			o.Nullable["v"] = *c.v
		}
		d, e := survivor(t, o)
		var b model.Batch
		var carry Carry
		for range 2 { // the first message loosens nothing
			bad, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{c.rec})}, &b, &carry)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: %v, want %s", c.name, err, c.err)
				}
				continue
			}
			var got []int32
			for _, r := range bad {
				got = append(got, r.Row)
				if r.Reason != ReasonNull {
					t.Errorf("%s: %v", c.name, r)
				}
			}
			if err != nil || b.N != c.rows || !reflect.DeepEqual(got, c.bad) || d.Changes().Absent != c.absent {
				t.Errorf("%s: %d rows, %v, %v, %+v", c.name, b.N, bad, err, d.Changes())
				continue
			}
			s := &model.Scores{}
			s.Reset(b.N, 2)
			if _, err := e.Encode(nil, &b, s, model.NewLevels(o.Schema), &carry); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if c.absent > 0 && c.x != nil && !math.IsNaN(b.Columns[0].Float[0]) {
			t.Errorf("%s: x is %v", c.name, b.Columns[0].Float)
		}
		if c.absent > 0 && c.v != nil && b.Columns[1].Code[0] != model.MissingCode {
			t.Errorf("%s: v is %v", c.name, b.Columns[1].Code)
		}
	}
}

// TestTypesThatAreNotRead are refused by the column's name.
func TestTypesThatAreNotRead(t *testing.T) {
	value := encodeStream(t, []arrow.Record{smallRecord(t, []arrow.Field{field("id", utf8Type),
		field("money", &arrow.Decimal256Type{Precision: 9, Scale: 2})})})
	frames, merr := split(value, nil)
	if merr != nil {
		t.Fatal(merr)
	}
	fb := flat{b: frames[0].meta}
	fields, _ := fb.vector(fb.field(fb.ref(fb.field(fb.root(), messageHeader)), schemaFields), 4)
	width := fb.field(fb.ref(fb.field(fb.ref(fields+4), fieldType)), 2)
	for _, bits := range []byte{16, 96} {
		fb.b[width], fb.b[width+1] = bits, 0
		var b model.Batch
		d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"a"}}})
		_, err := d.Decode(&Message{Value: value}, &b, nil)
		var m *MessageError
		if !errors.As(err, &m) || m.Reason != ReasonSchema || m.Column != "money" ||
			!strings.Contains(err.Error(), "decimal") || !strings.Contains(err.Error(), "(9, 2)") {
			t.Errorf("%v", err)
		}
	}
}

// texts makes a column of a text type, of bytes that need not be UTF-8.
func texts(of arrow.DataType, values ...string) arrow.Array {
	if dt, ok := of.(*arrow.DictionaryType); ok {
		indices := array.NewInt8Builder(memory.DefaultAllocator)
		for i := range values {
			indices.Append(int8(i))
		}
		return array.NewDictionaryArray(dt, indices.NewArray(), texts(dt.ValueType, values...))
	}
	b := array.NewBuilder(memory.DefaultAllocator, of).(array.StringLikeBuilder)
	for _, v := range values {
		b.Append(v)
	}
	return b.NewArray()
}

// TestNoBadTextLeaves: an id that is not UTF-8 makes a dead letter of its row; features have U+FFFD, in scores as in
// levels; and the number of replaced values is counted.
func TestNoBadTextLeaves(t *testing.T) {
	dict := func(of arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: of}
	}
	for _, of := range []arrow.DataType{utf8Type, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		dict(utf8Type), dict(arrow.BinaryTypes.LargeString)} {
		for _, batches := range []int{1, 2} {
			schema := arrow.NewSchema([]arrow.Field{field("id", of), field("v", of)}, nil)
			rec := array.NewRecord(schema, []arrow.Array{
				texts(of, "a", "b\xC3", "a longer text, \xFF, of many bytes", "d", "é"),
				texts(of, "x", "y", "z", "M\xFCller & Söhne, of many bytes", "\xFF\xFE")}, 5)
			recs := []arrow.Record{rec, rec}[:batches]
			o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
				Features: []model.Feature{{Name: "v", Kind: model.Nominal}}}, ID: "id", Features: FeaturesAll}
			d, err := NewDecoder(o)
			if err != nil {
				t.Fatal(err)
			}
			e, err := NewScoreEncoder(o)
			if err != nil {
				t.Fatal(err)
			}
			var b model.Batch
			var c Carry
			bad, err := d.Decode(&Message{Value: encodeStream(t, recs)}, &b, &c)
			if err != nil || len(bad) != 2*batches || bad[0].Row != 1 || bad[1].Row != 2 || bad[0].Reason != ReasonID {
				t.Fatalf("%s: %v, %v", of, bad, err)
			}
			if n := d.Changes().Text; n != 2*batches {
				t.Errorf("%s: %d texts are counted, want %d", of, n, 2*batches)
			}
			s := &model.Scores{}
			s.Reset(b.N, 2)
			out, err := e.Encode(nil, &b, s, model.NewLevels(o.Schema), &c)
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			for table, err := range Tables(out, 0) {
				if err != nil {
					t.Fatal(err)
				}
				for k, a := range table.Record().Columns() {
					if !validColumn(a) {
						t.Errorf("%s: column %s of the scores holds bad text", of, table.Columns()[k].Name)
					}
				}
				for i := range table.Rows() {
					got, _ := table.Text(table.Column("v"), i)
					if want := b.Columns[0].Levels[b.Columns[0].Code[i]]; got != want {
						t.Errorf("%s: row %d is %q in the scores and %q as a level", of, i, got, want)
					}
					rows++
				}
			}
			if rows != 3*batches {
				t.Errorf("%s: %d rows", of, rows)
			}
		}
	}
}

// TestGoodTextBesideBadText: a record batch of good texts keeps its own in the scores, before, between and behind those
// whose texts are replaced.
func TestGoodTextBesideBadText(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: utf8Type}
	for _, of := range []arrow.DataType{utf8Type, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView, dict} {
		for _, order := range []string{"gb", "bg", "gbg", "bgb", "bggb", "ggb"} {
			var recs []arrow.Record
			var want []string
			for i, kind := range order {
				values := []string{fmt.Sprint("good ", i), "same"}
				if kind == 'b' {
					values[0] = fmt.Sprint("bad \xff", i)
				}
				recs = append(recs, textRecord(t, "v", of, values...))
				want = append(want, strings.ToValidUTF8(values[0], "\uFFFD"), "same")
			}
			o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
				Features: []model.Feature{{Name: "v", Kind: model.Nominal}}}, Features: FeaturesAll}
			var b model.Batch
			var c Carry
			if _, err := mustDecoder(t, o).Decode(&Message{Value: encodeStream(t, recs)}, &b, &c); err != nil {
				t.Fatalf("%s %s: %v", of, order, err)
			}
			e, err := NewScoreEncoder(o)
			if err != nil {
				t.Fatal(err)
			}
			s := &model.Scores{}
			s.Reset(b.N, 2)
			table, err := e.Table(&b, s, model.NewLevels(o.Schema), &c)
			if err != nil {
				t.Errorf("%s %s: %v", of, order, err)
				continue
			}
			var got []string
			for i := range table.Rows() {
				text, _ := table.Text(table.Column("v"), i)
				got = append(got, text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: %q, want %q", of, order, got, want)
			}
		}
	}
}

// validColumn reports whether all texts of a column are UTF-8, those of its dictionary too.
func validColumn(a arrow.Array) bool {
	if d, ok := a.(*array.Dictionary); ok {
		a = d.Dictionary()
	}
	for i := range a.Len() {
		if text, is := rawText(a, i); is && !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// TestChangesAreCounted: values that a batch holds otherwise than they were sent.
func TestChangesAreCounted(t *testing.T) {
	long := strings.Repeat("x", maxLevel+1)
	for _, c := range []struct {
		name string
		kind model.Kind
		typ  arrow.DataType
		rows string
		want Changes
	}{
		{"whole numbers", model.Continuous, int64Type, `[{"v": "9007199254740992"},
			{"v": "9007199254740993"}, {"v": "-9007199254740993"},
			{"v": "9007199254740994"}, {"v": null}, {"v": "9223372036854775807"}]`, Changes{Rounded: 3}},
		{"unsigned", model.Continuous, arrow.PrimitiveTypes.Uint64, `[{"v": "18446744073709551615"}, {"v": 7},
			{"v": "9223372036854775808"}]`, Changes{Rounded: 1}},
		{"levels keep every digit", model.Nominal, int64Type, `[{"v": "9007199254740993"}]`, Changes{}},
		{"decimals", model.Continuous, &arrow.Decimal128Type{Precision: 38, Scale: 2}, `[{"v": "0.10"},
			{"v": "123456789012345.67"},
			{"v": "123456789012345678901234.56"}]`, Changes{Rounded: 1}},
		{"long texts", model.Nominal, utf8Type, `[{"v": "` + long + `"}, {"v": "a"}, {"v": "` + long + `"}]`,
			Changes{Shortened: 2}},
	} {
		o := Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "v", Kind: c.kind}}}}
		rec := record(t, []arrow.Field{field("v", c.typ)}, c.rows)
		d := mustDecoder(t, o)
		var b model.Batch
		for range 2 {
			if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil ||
				d.Changes() != c.want {
				t.Errorf("%s: %+v, want %+v; %v", c.name, d.Changes(), c.want, err)
			}
		}
	}
	// Not a number and infinity, in a column of numbers and in a dictionary.
	values := array.NewFloat64Builder(memory.DefaultAllocator)
	values.AppendValues([]float64{1, math.NaN(), math.Inf(1), math.Inf(-1)}, []bool{true, true, true, true})
	plain := values.NewArray()
	indices := array.NewInt8Builder(memory.DefaultAllocator)
	indices.AppendValues([]int8{1, 1, 2, 0}, nil)
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: realType}
	for _, c := range []struct {
		a    arrow.Array
		want Changes
	}{{plain, Changes{NaN: 1, Infinite: 2}}, {array.NewDictionaryArray(dt, indices.NewArray(), plain),
		Changes{NaN: 2, Infinite: 1}}} {
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{field("v", c.a.DataType())}, nil), []arrow.Array{c.a}, 4)
		d := mustDecoder(t, Options{Schema: &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "v", Kind: model.Continuous}}}})
		var b model.Batch
		if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{rec})}, &b, nil); err != nil ||
			d.Changes() != c.want {
			t.Errorf("%s: %+v, want %+v; %v", c.a.DataType(), d.Changes(), c.want, err)
		}
		for i, v := range b.Columns[0].Float {
			if math.IsInf(v, 0) {
				t.Errorf("%s: row %d is %v", c.a.DataType(), i, v)
			}
		}
	}
}
