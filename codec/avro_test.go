package codec

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	lib "github.com/twmb/avro"

	"liftstream/model"
)

// schemas is a registry of the test.
type schemas map[uint32]string

func (s schemas) Avro(id uint32, done <-chan struct{}) (string, error) {
	if text, ok := s[id]; ok {
		return text, nil
	}
	if id == 99 { // away
		<-done
		return "", ErrStopped
	}
	return "", errors.New("no such schema")
}

// framed puts the id of a schema before a datum.
func framed(id uint32, datum []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, id), datum...)
}

// encoded encodes a value by the library that this package does not decode by.
func encoded(t testing.TB, schema string, v any) []byte {
	t.Helper()
	s, err := lib.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// avroSchemaOf is a schema for the rows of a record, every field a union with null.
func avroSchemaOf(rec arrow.Record) string {
	names := map[arrow.Type]string{arrow.STRING: "string", arrow.INT64: "long", arrow.FLOAT64: "double",
		arrow.BOOL: "boolean"}
	var fields []string
	for _, f := range rec.Schema().Fields() {
		fields = append(fields, fmt.Sprintf(`{"name": %q, "type": ["null", %q]}`, f.Name, names[f.Type.ID()]))
	}
	return `{"type": "record", "name": "Event", "namespace": "test", "fields": [` + strings.Join(fields, ",") + `]}`
}

// TestAvroIsReadAsArrowIs: the same rows are the same records, and have the same scores, bit for bit.
func TestAvroIsReadAsArrowIs(t *testing.T) {
	for name, c := range map[string]struct {
		o   Options
		rec arrow.Record
	}{
		"bank":     {bankOptions(), bankRecord(20)},
		"derived":  {derivedBank(), bankRecord(20)},
		"contract": {contractOptions(), record(t, contractFields, contractRows)},
	} {
		c.o.Format = FormatJSONL
		arrowOptions := c.o
		c.o.Input = InputAvro
		schema := avroSchemaOf(c.rec)
		c.o.Schemas = schemas{7: schema}
		for i := range int(c.rec.NumRows()) {
			want, wantBad, wantScores := batchOf(t, arrowOptions, encodeStream(t, []arrow.Record{c.rec.NewSlice(int64(i),
				int64(i)+1)}))
			var row map[string]any
			d := json.NewDecoder(strings.NewReader(string((&Table{c.rec}).AppendJSON(nil, i))))
			d.UseNumber()
			if err := d.Decode(&row); err != nil {
				t.Fatal(err)
			}
			value := framed(7, encoded(t, schema, row))
			got, bad, scores := batchOf(t, c.o, value)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(bad, wantBad) || scores != wantScores {
				t.Errorf("%s, row %d: bad %v, want %v, batch\n%+v, want\n%+v, scores\n%s, want\n%s", name, i, bad, wantBad, got,
					want, scores, wantScores)
			}
		}
	}
}

const oddSchema = `{"type": "record", "name": "Odd", "namespace": "a.b", "fields": [
 {"name": "skipped", "type": {"type": "array", "items": {"type": "map", "values": ["null", "Odd", "bytes"]}}},
 {"name": "x", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
 {"name": "f", "type": ["float", "null"]},
 {"name": "i", "type": "int"},
 {"name": "b", "type": "boolean"},
 {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
 {"name": "day", "type": {"type": "int", "logicalType": "date"}},
 {"name": "e", "type": {"type": "enum", "name": "Size", "symbols": ["s", "m"]}},
 {"name": "e2", "type": "Size"},
 {"name": "who", "type": {"type": "string", "logicalType": "uuid"}},
 {"name": "home", "type": ["null", {"type": "record", "name": "Home", "fields": [{"name": "city", "type": "string"},
   {"name": "geo", "type": {"type": "record", "name": "Geo", "fields": [{"name": "lat", "type": "double"}]}}]}]},
 {"name": "many", "type": ["null", "string", "long"]},
 {"name": "big", "type": {"type": "fixed", "name": "Big", "size": 20, "logicalType": "decimal", "precision": 47,
	"scale": 1}}
]}`

func oddOptions() Options {
	o := Options{ID: "who", Time: "at", Label: "y", Input: InputAvro, Schemas: schemas{1: oddSchema},
		Schema: &model.Schema{Classes: []string{"no", "yes"}}}
	for _, n := range []string{"x", "f", "i", "b", "big"} {
		o.Schema.Features = append(o.Schema.Features, model.Feature{Name: n, Kind: model.Continuous})
	}
	for _, n := range []string{"day", "e", "e2"} {
		o.Schema.Features = append(o.Schema.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	return o
}

func oddValue(t testing.TB) []byte {
	home := map[string]any{"city": "Oslo", "geo": map[string]any{"lat": 59.9}}
	inner := map[string]any{"skipped": []any{}, "x": big.NewRat(1, 4), "f": nil, "i": 1, "b": false,
		"at":  time.UnixMicro(1),
		"day": time.Unix(0, 0), "e": "m", "e2": "m", "who": "u", "home": nil, "many": nil, "big": big.NewRat(0, 1)}
	return encoded(t, oddSchema, map[string]any{
		"skipped": []any{map[string]any{"k": nil, "l": inner, "m": []byte{1}}}, "x": big.NewRat(-12345, 100),
		"f": float32(0.5), "i": -7, "b": true, "at": time.UnixMicro(1_700_000_000_000_001), "day": time.Unix(86400*365, 0),
		"e": "m", "e2": "s", "who": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "home": home, "many": "text",
		"big": new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(-1), 130), big.NewInt(10)),
	})
}

// TestAvroTypes: logical types, enums, fixed and nested records, written by another program.
func TestAvroTypes(t *testing.T) {
	o := oddOptions()
	o.Nested = true
	o.Schema.Features = append(o.Schema.Features, model.Feature{Name: "home.city", Kind: model.Nominal},
		model.Feature{Name: "home.geo.lat", Kind: model.Continuous})
	d := mustDecoder(t, o)
	var b model.Batch
	for range 2 { // the builders serve once more
		bad, err := d.Decode(&Message{Value: framed(1, oddValue(t)), Time: 5}, &b, nil)
		if err != nil || len(bad) != 0 || b.N != 1 {
			t.Fatal(bad, err)
		}
		var got []any
		for _, c := range b.Columns {
			if c.Float != nil {
				got = append(got, c.Float[0])
			} else {
				got = append(got, c.Levels[c.Code[0]])
			}
		}
		want := []any{-123.45, 0.5, -7.0, 1.0, -math.Ldexp(1, 130) / 10, "1971-01-01", "m", "s", "Oslo", 59.9}
		if !reflect.DeepEqual(got, want) || b.ID[0] != "7c9e6679-7425-40de-944b-e07fc1f90ae7" ||
			b.Time[0] != 1_700_000_000_000_001_000 {
			t.Errorf("%v, want %v, id %s, time %d", got, want, b.ID[0], b.Time[0])
		}
	}
}

// TestAvroFaults: each has its reason, and an error in words.
func TestAvroFaults(t *testing.T) {
	whole := oddValue(t)
	plain := func(fields string) string { return `{"type": "record", "name": "R", "fields": [` + fields + `]}` }
	zero := plain(`{"name": "z", "type": {"type": "array", "items": "null"}}, {"name": "x", "type": "int"}`)
	deep := plain(`{"name": "z", "type": ["null", "R"]}, {"name": "x", "type": "int"}`)
	wide := `"null"`
	for i := range 30 {
		wide = fmt.Sprintf(`{"type": "record", "name": "W%d", "fields": [{"name": "a", "type": %s},
			{"name": "b", "type": %s}]}`,
			i, wide, map[bool]string{true: fmt.Sprintf(`"W%d"`, i-1), false: `"null"`}[i > 0])
	}
	for _, c := range []struct {
		name   string
		id     uint32
		schema string
		value  []byte
		want   string
	}{
		{"nothing", 0, "", nil, "empty"},
		{"no frame", 0, "", []byte("hello"), "not_avro: the first bytes are 68"},
		{"half a frame", 0, "", []byte{0, 0, 0}, "not_avro"},
		{"an unknown id", 0, "", framed(5, nil), "unknown_schema: schema 5: no such schema"},
		{"no schema", 2, `{"type": "rec`, framed(2, nil), "schema: schema 2: reading schema"},
		{"no record", 2, `"string"`, framed(2, nil), "its top is of type string; a record is needed"},
		{"a missing column", 2, plain(`{"name": "X", "type": "int"}`), framed(2, []byte{2}),
			`column "x": missing; there is a column "X"`},
		{"a record for a number", 2, plain(`{"name": "x", "type": ` + plain("") + `}`), framed(2, nil), "schema"},
		{"a text for a number", 2, plain(`{"name": "x", "type": "string"}`), framed(2, nil), `column "x": of type utf8`},
		{"several types", 2, plain(`{"name": "x", "type": ["null", "int", "long"]}`), framed(2, nil), "dense_union"},
		{"a field of a record", 3,
			plain(`{"name": "h", "type": {"type": "record", "name": "H", "fields": [{"name": "x", "type": "int"}]}}`),
			framed(3, nil), "input.nested"},
		{"half a datum", 2, plain(`{"name": "x", "type": "double"}`), framed(2, []byte{1, 2}),
			"truncated: schema 2: field \"x\""},
		{"more than a datum", 2, plain(`{"name": "x", "type": "int"}`), framed(2, []byte{2, 2, 2}), "trailing_bytes"},
		{"a branch that is not there", 2, plain(`{"name": "x", "type": ["null", "int"]}`), framed(2, []byte{4}), "damaged"},
		{"an endless varint", 2, plain(`{"name": "x", "type": "int"}`), framed(2, []byte(strings.Repeat("\xff", 12))),
			"damaged"},
		{"an int beyond its range", 2, plain(`{"name": "x", "type": "int"}`), framed(2, binary.AppendVarint(nil, 1<<40)),
			"damaged"},
		{"a decimal of 40 bytes", 2,
			plain(`{"name": "x", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}}`),
			framed(2, append([]byte{80}, make([]byte, 39)...)), "truncated"},
		{"many values without bytes", 2, zero, framed(2, append(binary.AppendVarint(nil, math.MaxInt64), 0, 2)), ""},
		{"a logical type that the type cannot have", 2,
			plain(`{"name": "x", "type": {"type": "long", "logicalType": "uuid"}}`), framed(2, []byte{10}), ""},
		{"a datum in itself", 2, deep, framed(2, []byte(strings.Repeat("\x02", 1000))), "too_large"},
		{"wide types without bytes", 2, plain(`{"name": "w", "type": ` + wide + `}, {"name": "x", "type": "int"}`),
			framed(2, []byte{2}), "too_large"},
	} {
		o := Options{Label: "y", Input: InputAvro, Schema: &model.Schema{Classes: []string{"no", "yes"},
			Features: []model.Feature{{Name: "x", Kind: model.Continuous}}}, Schemas: schemas{c.id: c.schema}}
		if c.id == 3 {
			o.Schema.Features[0].Name = "h.x"
		}
		var b model.Batch
		_, err := mustDecoder(t, o).Decode(&Message{Value: c.value}, &b, nil)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	d := mustDecoder(t, oddOptions())
	for n := range whole {
		var b model.Batch
		var m *MessageError
		if _, err := d.Decode(&Message{Value: framed(1, whole[:n])}, &b, nil); !errors.As(err, &m) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	done := make(chan struct{})
	close(done)
	var b model.Batch
	if _, err := d.Decode(&Message{Value: framed(99, whole), Done: done}, &b, nil); !errors.Is(err, ErrStopped) {
		t.Errorf("while the registry is away: %v", err)
	}
	if _, err := d.Decode(&Message{Value: framed(1, whole)}, &b, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestLabelsOfAvro: the other fields are passed over, a first one of any type too.
func TestLabelsOfAvro(t *testing.T) {
	inner := `{"type": "record", "name": "H", "fields": [{"name": "y", "type": "string"}]}`
	for typ, c := range map[string]struct {
		label string
		h     any
	}{`["null", "int", "long"]`: {"y", nil}, inner: {"h.y", map[string]any{"y": "yes"}}, `"double"`: {"y", .5}} {
		schema := `{"type": "record", "name": "R", "fields": [{"name": "h", "type": ` + typ +
			`}, {"name": "who", "type": "string"}, {"name": "y", "type": "string"}]}`
		d := mustDecoder(t, Options{ID: "who", Label: c.label, Input: InputAvro, Nested: true, Schemas: schemas{1: schema},
			Schema: &model.Schema{Classes: []string{"no", "yes"}}})
		value := framed(1, encoded(t, schema, map[string]any{"h": c.h, "who": "a", "y": "yes"}))
		var l model.Labels
		bad, err := d.DecodeLabels(&Message{Value: value}, &l)
		if err != nil || len(bad) > 0 || l.N != 1 || l.ID[0] != "a" || l.Class[0] != 1 {
			t.Errorf("%s: %+v, bad %v, %v", typ, l, bad, err)
		}
	}
}

// TestALetterOfAvroIsItsMessage: the row is bad, and its letter can be sent again.
func TestALetterOfAvroIsItsMessage(t *testing.T) {
	o := oddOptions()
	o.Future = time.Minute
	d := mustDecoder(t, o)
	var b model.Batch
	value := framed(1, oddValue(t))
	bad, err := d.Decode(&Message{Value: value, Now: 1}, &b, nil)
	if err != nil || len(bad) != 1 || bad[0].Reason != ReasonFuture || string(d.DeadRow(nil, 0)) != string(value) {
		t.Error(bad, err)
	}
}

// TestNamesThatAvroCannotHave: underscores stand for the other characters of a column.
func TestNamesThatAvroCannotHave(t *testing.T) {
	o := Options{Label: "y", Input: InputAvro, Schema: &model.Schema{Classes: []string{"no", "yes"},
		Features: []model.Feature{{Name: "capital-gain", Kind: model.Continuous}, {Name: "1st", Kind: model.Continuous},
			{Name: "a_b", Kind: model.Continuous}}}, Schemas: schemas{1: `{"type": "record", "name": "R", "fields": [
			{"name": "capital_gain", "type": "int"}, {"name": "_1st", "type": "int"}, {"name": "a_b", "type": "int"}]}`}}
	var b model.Batch
	_, err := mustDecoder(t, o).Decode(&Message{Value: framed(1, []byte{2, 4, 6})}, &b, nil)
	if err != nil || b.Columns[0].Float[0] != 1 || b.Columns[1].Float[0] != 2 || b.Columns[2].Float[0] != 3 {
		t.Errorf("%+v, %v", b.Columns, err)
	}
	o.Schema.Features[0].Name = "a-b"
	if _, err = mustDecoder(t, o).Decode(&Message{Value: framed(1, []byte{2, 4, 6})}, &b, nil); err == nil ||
		!strings.Contains(err.Error(), `column "a-b": missing`) {
		t.Errorf("two columns of one name: %v", err)
	}
}

// TestNamesOfColumnsOfBothTopics: a column that events and labels have under one name means the same in both.
func TestNamesOfColumnsOfBothTopics(t *testing.T) {
	schema := `{"type": "record", "name": "R", "fields": [{"name": "customer_id", "type": "string"},
		{"name": "event_time", "type": "long"}, {"name": "has_left", "type": "string"},
		{"name": "has_bought", "type": "string"}, {"name": "was_treated", "type": "string"}]}`
	d := mustDecoder(t, Options{ID: "customer-id", Time: "event time", Label: "has left", Treated: "was treated",
		Input: InputAvro, Goals: []Goal{{Column: "has bought", Classes: []string{"no", "yes"}}},
		Schema: &model.Schema{Classes: []string{"no", "yes"}}, Schemas: schemas{1: schema}})
	value := framed(1, encoded(t, schema, map[string]any{"customer_id": "a", "event_time": int64(1_700_000_000_000),
		"has_left": "yes", "has_bought": "yes", "was_treated": "true"}))
	var b model.Batch
	const at = 1_700_000_000_000_000_000
	bought := model.Outcomes(0).With(0, 1)
	if bad, err := d.Decode(&Message{Value: value}, &b, nil); err != nil || len(bad) > 0 || b.ID[0] != "a" ||
		b.Time[0] != at || b.Label[0] != 1 || b.Outcomes[0] != bought {
		t.Errorf("events: %+v, bad %v, %v", b, bad, err)
	}
	var l model.Labels
	if bad, err := d.DecodeLabels(&Message{Value: value}, &l); err != nil || len(bad) > 0 || l.ID[0] != "a" ||
		l.Time[0] != at || l.Class[0] != 1 || l.Outcomes[0] != bought {
		t.Errorf("labels: %+v, bad %v, %v", l, bad, err)
	}
	if len(b.Treated) != 1 || len(l.Treated) != 1 || b.Treated[0] != l.Treated[0] {
		t.Errorf("treated: %v of the event, %v of the label", b.Treated, l.Treated)
	}
}

func FuzzAvro(f *testing.F) {
	f.Add(oddSchema, oddValue(f))
	f.Add(`{"type":"record","name":"R","fields":[{"name":"x","type":["null","R"]},{"name":"i","type":"int"}]}`, []byte{0,
		2})
	f.Add(`{"type":"record","name":"R","fields":[{"name":"i","type":{"type":"array","items":"null"}}]}`, []byte{1, 2, 0})
	f.Fuzz(func(t *testing.T, schema string, datum []byte) {
		for _, nested := range []bool{false, true} {
			o := oddOptions()
			o.Schemas, o.Nested, o.MaxMessage = schemas{1: schema}, nested, 1<<20
			o.ID, o.Time, o.Nullable = "", "", map[string]bool{"x": true, "f": true, "b": true, "big": true, "day": true,
				"e": true, "e2": true}
			d := mustDecoder(t, o)
			var b model.Batch
			var c Carry
			if bad, err := d.Decode(&Message{Value: framed(1, datum)}, &b, &c); err == nil && b.N+len(bad) != 1 {
				t.Fatalf("%d records, bad %v", b.N, bad)
			}
			var l model.Labels
			if _, err := d.DecodeLabels(&Message{Value: framed(1, datum)}, &l); err == nil && len(l.Class) != l.N {
				t.Fatalf("%d classes of %d", len(l.Class), l.N)
			}
		}
	})
}
