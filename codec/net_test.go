package codec

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/codec/number"
	"liftstream/model"
	"liftstream/model/modeltest"
)

// netTexts are texts that may stand in any column.
const netTexts = `["1", " 2 ", "-0", "+3", "1e3", "1E-400", "1e400", "0x10", "1_000", "1,5", "1.5", "1.000,5",
	"12 %", "€ 5", "5 EUR", "(7)", "NaN", "inf", "-Infinity", "NA", "", " ", "-999", "-999.0",
	"yes", " yes", "YES", "no", "True", "true", "1.0", "later", "2024-02-29", "2024-02-30",
	"2024-02-29T23:30:00Z", "2024-02-29 23:30:00+02:00", "1700000000", "1700000000000", "é", "é",
	"９", "high", "low", "(other)", "(missing)", "9007199254740993", "-1", "1e-7",
	"0.1000000000000000055", null]`

// netColumns are columns of each type, as JSON.
var netColumns = []struct {
	typ    arrow.DataType
	values string
}{
	{arrow.BinaryTypes.String, netTexts},
	{arrow.BinaryTypes.LargeString, `["1", "yes", "NA", null]`},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		`["yes", "no", "1", "NA", "yes", null]`},
	{arrow.FixedWidthTypes.Boolean, `[true, false, null]`},
	{arrow.PrimitiveTypes.Int8, `[-128, 127, 0, 1, null]`},
	{arrow.PrimitiveTypes.Uint8, `[255, 0, 1, null]`},
	{arrow.PrimitiveTypes.Int16, `[-32768, -999, 1, null]`},
	{arrow.PrimitiveTypes.Uint16, `[65535, 1, null]`},
	{arrow.PrimitiveTypes.Int32, `[-2147483648, -999, 0, null]`},
	{arrow.PrimitiveTypes.Uint32, `[4294967295, 1, null]`},
	{arrow.PrimitiveTypes.Int64, `[-9007199254740993, 9007199254740993, 1700000000, 1700000000000, -1, null]`},
	{arrow.PrimitiveTypes.Uint64, `[18446744073709551615, 1, null]`},
	{arrow.FixedWidthTypes.Float16, `[0.5, -2, null]`},
	{arrow.PrimitiveTypes.Float32, `[0.1, -999, 16777217, 1e38, null]`},
	{arrow.PrimitiveTypes.Float64, `[0.1, -0.0, 1e308, 1e9, 1e10, -3, 1, null]`},
	{arrow.FixedWidthTypes.Date32, `["2024-02-29", "1969-12-31", null]`},
	{arrow.FixedWidthTypes.Date64, `["2024-02-29", "1969-12-31", null]`},
	{arrow.FixedWidthTypes.Timestamp_s, `["2024-02-29 23:30:00", "1969-12-31 23:59:59", null]`},
	{arrow.FixedWidthTypes.Timestamp_ms, `["2024-02-29 23:30:00.123", null]`},
	{arrow.FixedWidthTypes.Timestamp_us, `["2024-02-29 23:30:00.123456", null]`},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}, `["2024-02-29 23:30:00.123456789", null]`},
	{arrow.FixedWidthTypes.Time32ms, `["10:20:30.5", null]`},
	{arrow.FixedWidthTypes.Duration_s, `[5, null]`},
	{&arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1.25", "-999.00", null]`},
	{&arrow.Decimal256Type{Precision: 40, Scale: 5}, `["1.25", null]`},
	{arrow.BinaryTypes.Binary, `["eWVz", null]`},
	{arrow.ListOf(arrow.PrimitiveTypes.Int64), `[[1, 2], null]`},
	{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}), `[{"a": 1}, null]`},
	{arrow.Null, `[null, null]`},
}

// netRoles are the columns that one may be, by their names in netOptions.
var netRoles = []string{"number", "special", "level", "rank", "id", "at", "w", "class", "goal", "called"}

func netOptions(f number.Format) Options {
	return Options{ID: "id", Time: "at", Weight: "w", Label: "class", Treated: "called", Missing: []string{"", "NA"},
		Goals: []Goal{{Column: "goal", Classes: []string{"no", "yes"}}}, Numbers: f,
		Nullable: map[string]bool{"special": true, "level": false},
		Schema: &model.Schema{Classes: []string{"no", "yes", "1"}, Positive: 1, Features: []model.Feature{
			{Name: "number", Kind: model.Continuous},
			{Name: "special", Kind: model.Continuous, Special: []float64{-999, -1}},
			{Name: "level", Kind: model.Nominal},
			{Name: "rank", Kind: model.Ordinal, Levels: []string{"low", "1", "high"}},
		}}}
}

// netRecord is a record in which one column is the given one, and the others are plain.
func netRecord(t *testing.T, role string, column arrow.Array) arrow.Record {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for _, name := range netRoles {
		a := column
		if name != role {
			text := map[string]string{"number": "5", "special": "6", "level": `"a"`, "rank": `"low"`, "id": `"i"`,
				"at": `1700000000000`, "w": "1", "class": `"yes"`, "goal": `"no"`, "called": "true"}[name]
			typ := map[byte]arrow.DataType{'"': arrow.BinaryTypes.String, 't': arrow.FixedWidthTypes.Boolean}[text[0]]
			if typ == nil {
				typ = arrow.PrimitiveTypes.Int64
			}
			var err error
			if a, _, err = array.FromJSON(memory.DefaultAllocator, typ,
				strings.NewReader("["+strings.Repeat(text+",", column.Len()-1)+text+"]")); err != nil {
				t.Fatal(err)
			}
		}
		fields, columns = append(fields, arrow.Field{Name: name, Type: a.DataType(), Nullable: true}), append(columns, a)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(column.Len()))
}

// TestNetOfColumns holds the values and refusals of columns of every type in every role of an event, and of a label,
// with plain numbers and with numbers as people write them (CONTRIBUTING.md 4.3).
func TestNetOfColumns(t *testing.T) {
	var f modeltest.Figures
	for _, c := range netColumns {
		column, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.values))
		if err != nil {
			t.Fatalf("%s: %v", c.typ, err)
		}
		for _, role := range netRoles {
			rec := netRecord(t, role, column)
			o := netOptions(number.Format{})
			m := &Message{Value: encodeStream(t, []arrow.Record{rec}), Time: 1_700_000_000_000_000_000}
			name := fmt.Sprint(c.typ, " as ", role)
			netEvent(t, &f, name, role, o, m)
			if _, text := column.(*array.String); text && (role == "number" || role == "special") {
				o = netOptions(number.Format{Decimal: ",", Thousands: ".", Percent: true, Currency: []string{"€", "EUR"}})
				netEvent(t, &f, name+" of people", role, o, m)
			}
			if role == "at" || role == "w" {
				o.TimeUnit, o.Weight = time.Second, ""
				netEvent(t, &f, name+" in seconds", role, o, m)
			}
			if role == "class" || role == "goal" || role == "called" || role == "id" {
				netLabels(t, &f, name+" of labels", o, m)
			}
		}
	}
	f.Golden(t, "testdata/net/columns.txt")
}

// netEvent writes down the column of the role in the batch of a message, and the refused rows.
func netEvent(t *testing.T, f *modeltest.Figures, name, role string, o Options, m *Message) {
	t.Helper()
	var b model.Batch
	d := mustDecoder(t, o)
	bad, err := d.Decode(m, &b, nil)
	if err != nil {
		f.Add(name, err.Error())
		return
	}
	line := []any{b.N, fmt.Sprintf("%+v", d.Changes())}
	for i := range b.N {
		var v any
		switch role {
		case "number", "special":
			// a text: the decoded number has all its digits
			v = "v" + strconv.FormatFloat(b.Columns[o.Schema.Feature(role)].Float[i], 'g', -1, 64)
		case "level", "rank":
			if c := b.Columns[o.Schema.Feature(role)]; c.Code[i] != model.MissingCode {
				v = fmt.Sprintf("%q", c.Levels[c.Code[i]])
			}
		case "id":
			v = fmt.Sprintf("%q", b.ID[i])
		case "at":
			v = b.Time[i]
		case "w":
			if v = 1.; b.Weight != nil {
				v = b.Weight[i]
			}
		case "class":
			v = b.Label[i]
		case "goal":
			v = b.Outcomes[i].Of(0)
		case "called":
			v = b.Treated[i]
		}
		line = append(line, fmt.Sprintf("%d:", b.Row[i]), v)
	}
	f.Add(name, line...)
	for _, e := range bad {
		f.Add(name+" refused", e.Row, e.Reason, e.Column, fmt.Sprintf("%q", e.Value))
	}
}

// netLabels is netEvent for a message of labels.
func netLabels(t *testing.T, f *modeltest.Figures, name string, o Options, m *Message) {
	t.Helper()
	var l model.Labels
	bad, err := mustDecoder(t, o).DecodeLabels(m, &l)
	if err != nil {
		f.Add(name, err.Error())
		return
	}
	for i := range l.N {
		f.Add(name, l.Class[i], l.Outcomes[i].Of(0), fmt.Sprintf("%q", l.ID[i]), l.Treated[i], l.Time[i])
	}
	for _, e := range bad {
		f.Add(name+" refused", e.Row, e.Reason, e.Column, fmt.Sprintf("%q", e.Value))
	}
}
